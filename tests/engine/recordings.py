"""Small recordings to evaluate, and the rows that came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pantrace.engine.convert import write_run
from pantrace.engine.plan import MeasureTable, Plan, prepare
from pantrace.model import Case, Run, Sample, Score, Step, Text, ToolCall, ToolResult, Trajectory
from pantrace.store import query

READY = prepare(Plan(measure=MeasureTable(metrics=("tool_success_rate", "exact_match"))), Path())
TABLES = ("runs", "samples", "steps", "calls", "scores", "decisions")


def sample(number: int, answer: str | None = None) -> Sample:
    call = ToolCall(id="c", name="read", arguments={"n": number})
    result = ToolResult(call_id="c", name="read", output="ok", failure="error" if number % 3 == 0 else None)
    steps = (
        Step(id="u", role="user", parts=(Text(text=f"question {number}"),)),
        Step(id="a", role="agent", parts=(call, result, Text(text=answer or f"answer {number}"))),
    )
    case = Case(reference=f"answer {number}", labels={"parity": "odd" if number % 2 else "even"})
    return Sample(
        id=f"s{number:04d}",
        case=case,
        trajectory=Trajectory(steps=steps),
        scores=(Score(name="quality", value=number),),
    )


def write(path: Path, numbers: range) -> Path:
    write_run(Run(samples=[sample(number) for number in numbers]), path, to="native", measure=False)
    return path


def rows(out: Path) -> dict[str, list[tuple[Any, ...]]]:
    columns = {"runs": "* exclude (run, created)"}
    return {
        table: sorted(query(out, f"select {columns.get(table, '* exclude (run)')} from {table}").rows, key=repr)
        for table in TABLES
    }
