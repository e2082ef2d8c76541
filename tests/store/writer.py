"""Writes a run as a process of its own, to be killed: `writer.py DIR PARTS SAMPLES-PER-PART LARGEST-FILE`.

Prints "begun", then the name of each part once it is committed, then "finished"; errors of pantrace as one line."""

from __future__ import annotations

import sys

import pyarrow.parquet  # noqa: F401 -- else the first moments of the process are its import

from pantrace.errors import PantraceError
from pantrace.model import (
    Case,
    Decision,
    Maker,
    RunHeader,
    Sample,
    Score,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
)
from pantrace.store import Result, RunDirectory


def result(number: int) -> Result:
    """A small result; nothing in it depends on when or where it is made."""
    parts = (
        Text(text=f"answer {number}"),
        ToolCall(id="c", name="read", arguments={"path": f"/{number}", "limit": None}),
        ToolResult(call_id="c", name="read", output="text" if number % 3 else None, exit_code=0),
    )
    steps = (
        Step(id="u", role="user", parts=(Text(text=f"question {number}"),)),
        Step(id="a", role="agent", parts=parts, at=1_700_000_000.5 + number, usage=Usage(input=number, output=7)),
    )
    sample = Sample(
        id=f"sample-{number}",
        epoch=1 + number % 2,
        case=Case(id=f"case-{number // 2}", labels={"difficulty": "hard" if number % 2 else "easy"}),
        trajectory=Trajectory(id=f"t-{number}", steps=steps),
    )
    made = Maker(name="length", kind="check", version="1")
    scores = (
        Score(name="length", value=number / 10, maker=made, details={"number": number}),
        Score(name="grounded", status="not_applicable", explanation="no sources", maker=made),
    )
    decision = Decision(sample=sample.id, profile="strict", passed=number % 5 != 0, reasons=("because",))
    return Result(sample=sample, scores=scores, decisions=(decision,))


def write(folder: str, parts: int, size: int) -> None:
    with RunDirectory.open_for_writing(folder, RunHeader(name="test"), "plan = 1", "hash") as directory:
        print("begun", flush=True)
        for part in range(parts):
            name = f"{part:05d}-abc"
            if not directory.is_done(name):
                directory.write_part(name, map(result, range(part * size, part * size + size)))
                print(name, flush=True)
        directory.finish(RunHeader(name="test", status="success"))
        print("finished", flush=True)


if __name__ == "__main__":
    folder, parts, size, limit = sys.argv[1], *map(int, sys.argv[2:])
    if limit:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        write(folder, parts, size)
    except PantraceError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
