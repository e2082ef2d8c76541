"""Whether the answer contains a text."""

from __future__ import annotations

from pantrace.matching.answers import answer, even_out, no_answer_because, reference
from pantrace.model import Record, Sample

from .metric import Found, Measurement, NotApplicable, metric


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings."""

    text: str | None = None
    """The text to look for; by default the reference answer."""
    ignore_case: bool = True
    """Treat upper and lower case as equal."""


@metric(settings=Settings, low=0, high=1, better="higher", unit="share", yes_or_no=True, per_turn=False)
def contains(sample: Sample, settings: Settings) -> Found:
    """Whether the final response contains the reference answer, or a text from the settings.

    Formula: true when the text occurs in the response; white space is normalised in both, case is ignored unless set
    otherwise. An agent that ran and answered nothing contains nothing.

    Not applicable when: neither a text nor a reference is given, or nothing of the agent was recorded.

    Source: common practice (Inspect's `includes`).
    """
    wanted = settings.text if settings.text is not None else reference(sample)
    if not wanted:
        return NotApplicable("there is no text to look for: the case has no reference answer")
    given = answer(sample)
    if given is None:
        return NotApplicable(no_answer_because(sample))
    given, wanted = even_out(given), even_out(wanted)
    if settings.ignore_case:
        given, wanted = given.casefold(), wanted.casefold()
    return Measurement(value=wanted in given, explanation=None if given else "the agent gave no answer")
