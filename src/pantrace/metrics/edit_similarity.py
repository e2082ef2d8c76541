"""How close the answer is to the reference, in edits."""

from __future__ import annotations

from pantrace.matching.answers import answer, no_answer_because, reference
from pantrace.model import Measure, Sample

from .metric import Found, Measurement, NoSettings, NotApplicable, metric


@metric(
    per_turn=False,
    measures=(
        Measure(
            name="similarity", unit="share", better="higher", high=1.0, headline=True, what="1 - distance / length"
        ),
        Measure(name="distance", unit="count", better="lower", what="edits from one text to the other"),
        Measure(name="longer_length", unit="count", what="characters of the longer text"),
    ),
)
def edit_similarity(sample: Sample, settings: NoSettings) -> Found:
    """Similarity of the final response and the reference answer, character by character.

    Formula: 1 - Levenshtein distance / length of the longer text; white space at the ends is left out. An agent that
    ran and answered nothing has 0.

    Not applicable when: there is no reference or it is empty, or nothing of the agent was recorded.

    Source: Levenshtein 1966; computed by rapidfuzz.
    """
    wanted = reference(sample)
    if not wanted or not wanted.strip():
        return NotApplicable("the case has no reference answer")
    given = answer(sample)
    if given is None:
        return NotApplicable(no_answer_because(sample))
    # Imported here: only plans with this metric need it, and `import pantrace` must stay light.
    from rapidfuzz.distance import Levenshtein

    given, wanted = given.strip(), wanted.strip()
    distance = Levenshtein.distance(given, wanted)
    longest = max(len(given), len(wanted))
    return Measurement(value=1 - distance / longest, values={"distance": distance, "longer_length": longest})
