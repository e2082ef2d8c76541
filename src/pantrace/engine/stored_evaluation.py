"""Stored evaluation: a file with only overall numbers, as one sample that has them as scores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from pantrace.formats import Format
from pantrace.model import Aggregate, Case, Maker, Run, Sample, Score

from .stored_numbers import is_number, is_outside, stored_results


def samples_of(run: Run, chosen: Format, path: Path) -> Iterator[Sample]:
    """The samples of an input. If it has none but stores numbers, the whole evaluation becomes one sample.

    So the numbers of an eval JSON are decided, stored and compared like any others; their mean is over evaluations."""
    empty = True
    for sample in run.samples:
        empty = False
        yield sample
    if not empty:
        return
    if results := stored_results(run):
        from .metric_values import evaluation_name  # slow to load, and few inputs have any

        name = evaluation_name(path)
        scores = tuple(_score(key, each, chosen) for key, each in results.items())
        yield Sample(id=name, case=Case(id=name), scores=scores)


def _score(name: str, each: Aggregate, chosen: Format) -> Score:
    known = chosen.stored.get(name)
    score = Score(name=name, maker=Maker(name=chosen.name), scale=known.bounds if known else None)
    if is_number(each.value) and is_outside(each.value, score.scale):
        return replace(score, status="failed", explanation=f"{each.value:g} is outside its scale")
    if is_number(each.value) or isinstance(each.value, str):
        return replace(score, value=each.value)
    if each.withdrawn:
        return replace(score, status="unscored", explanation="the file has withdrawn this metric (-1)")
    return replace(score, status="not_applicable", explanation="null in the file")
