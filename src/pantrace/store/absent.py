"""Absent scores: metrics that do not apply to a sample, stored as one text instead of a row each.

Half of all scores only say that a metric does not apply, for one of a few reasons. Even a large run has few different
texts of this kind, and Parquet stores each of them once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from pantrace.model import Score

from .json_text import column_value, exact_json

COLUMN = "not_applicable"

Placed = tuple[int, Score]
"""A score, behind its position among the scores that the run computed for the sample."""


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
    """The text of the column; None if there is nothing to store, or if SQL could not read it."""
    if not absent:
        return None
    data = exact_json(absent)
    # DuckDB's JSON refuses some escapes, for example of lone surrogates; the caller then writes rows.
    return None if b"\\u" in data else data.decode()


# Few texts repeat for many samples, so decoding each of them once is enough.
@lru_cache(maxsize=1024)
def absent_of(text: str) -> tuple[Placed, ...]:
    """The scores in such a text."""
    return column_value(text, tuple[Placed, ...])


def merged(made: Iterable[Score], text: str | None) -> tuple[Score, ...]:
    """All scores that a run computed for a sample, in their original order: those from rows and those from the text."""
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
"""The table `scores` with a row for each score, whether the part has a row for it or not."""
