"""Absent scores: what does not apply to a sample, told in one text instead of a row each.

Most metrics do not apply to most samples, for one of a few reasons. A run of many samples has few such texts, and
Parquet keeps each of them once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from pantrace.model import Score

from .json_text import column_value, exact_json

COLUMN = "not_applicable"

Placed = tuple[int, Score]
"""A score and its place among those that the run made of the sample."""


def is_bare(score: Score) -> bool:
    """Whether a score says only that it does not apply, and why."""
    return score.status == "not_applicable" and not (
        score.values
        or score.details
        or score.evidence
        or score.extra
        or score.scale is not None
        or score.value is not None
        or score.step is not None
        or score.threshold is not None
        or score.passed is not None
    )


def absent_text(absent: Sequence[Placed]) -> str | None:
    """The text of the column; None where there is nothing to tell, or where it holds what SQL cannot read."""
    if not absent:
        return None
    data = exact_json(absent)
    return None if b"\\u" in data else data.decode()


@lru_cache(maxsize=1024)
def absent_of(text: str) -> tuple[Placed, ...]:
    """The scores that a text tells of."""
    return column_value(text, tuple[Placed, ...])


def merged(made: Iterable[Score], text: str | None) -> tuple[Score, ...]:
    """All scores that a run made of a sample, in the order in which it made them: those of rows and those of a text."""
    found = list(made)
    for place, score in absent_of(text) if text else ():
        found.insert(place, score)
    return tuple(found)


VIEW = """
    select * from score_rows
    union all by name
    select run, part, number, sample, epoch, 'run' as origin, score->>'$.name' as name,
        'not_applicable' as status, score->>'$.explanation' as explanation, score->>'$.maker.name' as maker,
        score->>'$.maker.kind' as maker_kind, score->>'$.maker.version' as maker_version,
        score->>'$.maker.model' as maker_model, score::varchar as json
    from (
        select run, part, number, sample, epoch, unnest(from_json(not_applicable, '[["JSON"]]'))[2] as score
        from samples where not_applicable is not null
    )
"""
"""The table `scores` with a row for each score, whether it has one in the part or not."""
