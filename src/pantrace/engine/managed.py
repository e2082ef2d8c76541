"""Managed metrics: converts a sample to the row that the service's client expects, asks the service, and scores."""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.errors import Unanswered
from pantrace.formats import by_name
from pantrace.judges import (
    Absent,
    Judge,
    Managed,
    managed_case,
    managed_request,
    managed_score,
)
from pantrace.judges.managed import no_project, not_applicable, unscored_score
from pantrace.model import Sample, Score
from pantrace.normalise.secrets import Redactor
from pantrace.wire.json import decode

_FORMAT = "vertex-agent"
_RUBRICS = "rubric_groups"


def case_of(shown: Sample, recorded: Sample, managed: Managed, redactor: Redactor | None) -> dict[str, Any] | Absent:
    """What the service would see of a sample. `shown` is the sample as judges may see it."""

    def row() -> dict[str, Any]:
        format_ = by_name(_FORMAT)
        assert format_.dump is not None
        # Scores would tell the service what others thought of the answer.
        bare = msgspec.structs.replace(shown, scores=(), extra=_rubrics(recorded, redactor))
        columns: dict[str, Any] = format_.dump(bare, format_.options())
        return columns

    return managed_case(shown, managed, row)


def _rubrics(recorded: Sample, redactor: Redactor | None) -> dict[str, Any]:
    """The rubrics of a sample in one of the client's own formats; nothing else of its extras is sent."""
    for name in (_FORMAT, "vertex-flat"):
        if isinstance(found := recorded.extra.get(name, {}).get(_RUBRICS), dict):
            only = Sample(id=recorded.id, extra={_FORMAT: {_RUBRICS: found}})
            return (only if redactor is None else redactor.sample(only)[0]).extra
    return {}


async def managed_judged(case: dict[str, Any] | Absent, managed: Managed, judge: Judge | None) -> Score:
    """The score of one case; without a judge it is unscored."""
    if isinstance(case, Absent):
        return not_applicable(managed, case.reason)
    if judge is None:
        return unscored_score(managed, no_project(managed))
    try:
        reply = await judge.ask(managed_request(managed, case))
    except Unanswered as error:
        return unscored_score(managed, error.reason, code=error.code, unanswered=True)
    return managed_score(managed, decode(reply.text.encode()))
