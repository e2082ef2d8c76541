"""Defined rubrics: those of a metric-definition file, which take their inputs from the columns of a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pantrace.errors import SampleRefused
from pantrace.model import Sample

from .columns import Column, Row, column_blocks
from .cut import Absent, Material
from .rubric import Rubric

RowOf = Callable[[Sample], Row]
"""The row of a sample in the format adk-jsonl."""


class Defined(Rubric, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rubric whose inputs are columns of a row."""

    columns: dict[str, Column]
    agents: tuple[str, ...] = ()
    """Apps or agents that it applies to; empty: all."""
    notes: tuple[str, ...] = ()
    """Remarks where the definition is read differently from how it is written."""


ALWAYS = frozenset({"app_name", "agents_evaluated", "extracted_data", "reference_data", "request"})
"""Columns that every definition may use."""


def columns_of(rubric: Defined) -> set[str]:
    """Columns that the sources of a definition can refer to."""
    sources = [source for column in rubric.columns.values() for source in column.sources]
    dotted = [source.replace(":", ".") for source in sources]
    return {*sources, *dotted, *(path[:place] for path in dotted for place in _dots(path))}


def _dots(path: str) -> list[int]:
    return [place for place, letter in enumerate(path) if letter == "."]


def row_material(sample: Sample, rubric: Defined, row_of: RowOf) -> Material | Absent:
    """The inputs that a definition needs, or why the sample cannot be judged by it."""
    if sample.trajectory is None:
        return Absent("it has not been run: there is no trajectory")
    try:
        row = row_of(sample)
    except SampleRefused as error:
        return Absent(f"it cannot be written as a row: {error}")
    if (stranger := of_another_agent(row, rubric.agents)) is not None:
        return stranger
    found: Material = {}
    for name in rubric.inputs:
        if (blocks := column_blocks(row, name, rubric.columns[name])) is not None:
            found[name] = blocks
    if not found:
        listed = ", ".join(dict.fromkeys(source for each in rubric.columns.values() for source in each.sources))
        return Absent(f"its row has none of the inputs ({listed})")
    return found


def of_another_agent(row: Row, agents: Iterable[str]) -> Absent | None:
    """Why a metric for certain agents does not apply to a row; None if it does."""
    wanted = tuple(agents)
    if not wanted or set(wanted) & set(agent_names(row)):
        return None
    return Absent(f"it is a run of {row.get('app_name')}, and the metric is for {', '.join(wanted)}")


def agent_names(row: Row) -> list[str]:
    """The app and all agents that a row names."""
    data = row.get("extracted_data")
    found = [row.get("app_name"), *_items(row.get("agents_evaluated"))]
    for agent in _items(data.get("agents") if isinstance(data, dict) else None):
        found.append(agent.get("name") if isinstance(agent, dict) else None)
    return list(dict.fromkeys(name for name in found if isinstance(name, str)))


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
