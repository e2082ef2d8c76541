"""Whether the answer matches a pattern."""

from __future__ import annotations

import re

from pantrace.errors import UsageError
from pantrace.matching.answers import answer, no_answer_because
from pantrace.model import Record, Sample
from pantrace.wire.patterns import compiled, search

from .metric import Found, Measurement, NotApplicable, metric


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings."""

    pattern: str | None = None
    """A Python regular expression; it may match anywhere in the response."""
    ignore_case: bool = False
    """Treat upper and lower case as equal."""

    def __post_init__(self) -> None:
        if self.pattern is not None:
            try:
                # Reported once, with the settings, and not by every sample.
                compiled(self.pattern)
            except UsageError as error:
                raise UsageError(f"{self.pattern!r} is {error}") from None


@metric(settings=Settings, low=0, high=1, better="higher", unit="share", yes_or_no=True, per_turn=False)
def regex(sample: Sample, settings: Settings) -> Found:
    """Whether the final response matches a regular expression.

    Formula: true when the pattern is found anywhere in the response (`^` and `$` are the ends of lines). The first
    match and its groups are in the details.

    Not applicable when: no pattern is set, or nothing of the agent was recorded.

    Source: common practice (Inspect's `pattern`).
    """
    if settings.pattern is None:
        return NotApplicable("no pattern is set")
    given = answer(sample)
    if given is None:
        return NotApplicable(no_answer_because(sample))
    found = search(settings.pattern, given, re.MULTILINE | (re.IGNORECASE if settings.ignore_case else 0))
    if found is None:
        return Measurement(value=False, explanation=None if given else "the agent gave no answer")
    return Measurement(value=True, details={"match": found[0], "groups": list(found.groups())})
