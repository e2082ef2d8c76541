"""Words that the answer and the reference have in common."""

from __future__ import annotations

from collections import Counter

from pantrace.matching.answers import answer, no_answer_because, reference, words
from pantrace.model import Measure, Sample

from .metric import Found, Measurement, NoSettings, NotApplicable, metric


@metric(
    per_turn=False,
    measures=(
        Measure(name="f1", unit="share", better="higher", high=1.0, headline=True, what="F of precision and recall"),
        Measure(
            name="precision", unit="share", better="higher", high=1.0, what="words of the response that are shared"
        ),
        Measure(name="recall", unit="share", better="higher", high=1.0, what="words of the reference that are shared"),
        Measure(name="shared_words", unit="count", what="words that both have"),
    ),
)
def rouge_1(sample: Sample, settings: NoSettings) -> Found:
    """ROUGE-1 F: how many words the final response and the reference answer share.

    Formula: F = 2PR / (P + R), P = shared words / words of the response, R = shared words / words of the reference; a
    word that occurs n and m times is shared min(n, m) times. Words are runs of letters and digits of any script in
    lower case; each Chinese, Japanese and Korean character is a word; no stemming. An agent that ran and answered
    nothing has 0.

    Not applicable when: there is no reference or it has no word, or nothing of the agent was recorded.

    Source: Lin 2004; equal to the package rouge-score (without its stemmer) on ASCII text.
    """
    wanted = reference(sample)
    if wanted is None:
        return NotApplicable("the case has no reference answer")
    given = answer(sample)
    if given is None:
        return NotApplicable(no_answer_because(sample))
    ours, theirs = Counter(words(given)), Counter(words(wanted))
    if not theirs:
        return NotApplicable("the reference answer has no words")
    # `&` of counters is the minimum of both counts.
    shared = (ours & theirs).total()
    precision = shared / ours.total() if ours else 0.0
    recall = shared / theirs.total()
    f = 2 * precision * recall / (precision + recall) if shared else 0.0
    return Measurement(value=f, values={"precision": precision, "recall": recall, "shared_words": shared})
