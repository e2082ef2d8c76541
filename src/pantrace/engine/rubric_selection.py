"""What judges are asked: rubrics by name or file, and metrics from definition files with the rows that they read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from pantrace import formats
from pantrace.errors import UsageError
from pantrace.judges import (
    ALWAYS,
    AnyRubric,
    Defined,
    LayerOneMetric,
    Managed,
    RowOf,
    columns_of,
    load_any_rubric,
    load_criteria,
    load_definitions,
)
from pantrace.metrics import names as check_names
from pantrace.model import Sample
from pantrace.wire.text_file import is_file

YAML = (".yaml", ".yml")

Clean = Callable[[Any], Any]
"""Removes secrets from plain data."""


class RubricSelection(msgspec.Struct, frozen=True):
    """What a list of rubrics and definition files contains."""

    rubrics: tuple[AnyRubric, ...] = ()
    measured: tuple[str, ...] = ()
    """Metrics in definition files that are measured, not judged."""


def select_rubrics(names: Iterable[str], folder: Path = Path()) -> RubricSelection:
    """Rubrics by name or file, metrics of FILE.json and criteria of FILE.yaml (FILE.json:NAME for one of them); files
    are relative to `folder`."""
    found: dict[str, AnyRubric] = {}
    measured: list[str] = []
    for name in dict.fromkeys(names):
        for each in rubrics_named(name, folder):
            if isinstance(each, LayerOneMetric):
                measured.append(each.name)
            else:
                found[each.name] = _either(found.get(each.name), each)
    return RubricSelection(tuple(found.values()), tuple(dict.fromkeys(measured)))


def rubrics_named(name: str, folder: Path = Path()) -> list[AnyRubric | LayerOneMetric]:
    """The rubrics that one name means."""
    path, only = _split(name)
    beside = folder / path
    located = str(beside) if is_file(beside) else path
    if Path(path).suffix in YAML:
        return list[AnyRubric | LayerOneMetric](load_criteria(Path(located), only))
    if Path(path).suffix != ".json":
        rubric = load_any_rubric(located)
        if rubric.name in check_names():
            # Names in definition files are given, so they are made distinct; the author of a rubric can rename it.
            raise UsageError(
                f"{located}: {rubric.name} is the name of a metric, and the scores of the two could not be told apart; "
                f"call the rubric {rubric.name}_judge"
            )
        return [rubric]
    return list[AnyRubric | LayerOneMetric](load_definitions(Path(located), check_names(), only))


def _split(name: str) -> tuple[str, str]:
    """FILE.json:NAME and FILE.yaml:ID split in two; any other name stays whole."""
    for suffix in (".json", *YAML):
        path, colon, only = name.rpartition(f"{suffix}:")
        if colon:
            return f"{path}{suffix}", only
    return name, ""


def _either(there: AnyRubric | None, new: AnyRubric) -> AnyRubric:
    """Of two with the same name: a rubric takes precedence over a managed metric; otherwise they must be equal."""
    if there is None or there == new or isinstance(there, Managed) != isinstance(new, Managed):
        return new if there is None or isinstance(there, Managed) else there
    raise UsageError(
        f"two metrics are called {new.name!r}, and their scores could not be told apart: "
        "name one of them alone (FILE.json:NAME), or give its file a metric_prefix"
    )


def row_once(rubrics: Iterable[AnyRubric] = (), clean: Clean = lambda value: value) -> RowOf:
    """The row of a sample with the columns that the rubrics use, cleaned; built when it is first needed."""
    wanted = {column for rubric in rubrics if isinstance(rubric, Defined) for column in columns_of(rubric)}
    made: list[dict[str, Any]] = []

    def row_of(sample: Sample) -> dict[str, Any]:
        if not made:
            # Only these: the longest columns (session, spans) are rarely used, and cleaning them takes long.
            made.append(clean({key: value for key, value in adk_row(sample).items() if key in wanted | ALWAYS}))
        return made[0]

    return row_of


def adk_row(sample: Sample) -> dict[str, Any]:
    """A sample of any format as an adk-jsonl row, without pantrace's own data in it."""
    adk = formats.by_name("adk-jsonl")
    assert adk.dump is not None
    # A judge sees the session itself, not what the original writer made of it (cut histories, placeholders).
    row: dict[str, Any] = adk.dump(sample, adk.options(anew=True))
    return {key: value for key, value in row.items() if not key.startswith("pantrace")}
