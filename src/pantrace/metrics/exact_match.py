"""Whether the answer is the reference."""

from __future__ import annotations

from pantrace.matching.answers import answer, even_out, no_answer_because, reference
from pantrace.model import Record, Sample

from .metric import Found, Measurement, NotApplicable, metric


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings."""

    ignore_case: bool = False
    """Treat upper and lower case as equal."""
    ignore_space: bool = True
    """Treat runs of white space as one space, and ignore it at both ends."""


@metric(settings=Settings, low=0, high=1, better="higher", unit="share", yes_or_no=True, per_turn=False)
def exact_match(sample: Sample, settings: Settings) -> Found:
    """Whether the final response is the reference answer.

    Formula: true when both texts are equal, after white space is normalised (`ignore_space`) and, if set, case is
    ignored. An agent that ran and answered nothing does not match.

    Not applicable when: there is no reference, or nothing of the agent was recorded.

    Source: common practice (Inspect's `match`, SQuAD's exact match without its removal of articles).
    """
    wanted = reference(sample)
    if wanted is None:
        return NotApplicable("the case has no reference answer")
    given = answer(sample)
    if given is None:
        return NotApplicable(no_answer_because(sample))
    if settings.ignore_space:
        given, wanted = even_out(given), even_out(wanted)
    if settings.ignore_case:
        given, wanted = given.casefold(), wanted.casefold()
    return Measurement(value=given == wanted, explanation=None if given else "the agent gave no answer")
