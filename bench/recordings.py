"""Inputs of any size for the benchmarks: real recordings of the golden files told again, or samples made up.

Everything is deterministic, and written as a stream, so that making a large input needs no memory.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measuring import GOLDEN


def made_sample(number: int, *, turns: int = 10) -> Any:
    """A conversation of several prompts with thoughts, tool calls, times and usage; its words differ from others'."""
    from pantrace.model import Sample, Score, Step, Text, Thinking, ToolCall, ToolResult, Trajectory, Usage

    words = [f"word{(number * 7919 + place * 104729) % 9973}" for place in range(4000)]
    at = 1_794_766_798.0 + number
    steps = [Step(id="system", role="system", parts=(Text(text="You are careful. " * 20),))]
    for turn in range(turns):
        now = at + turn
        place = turn % 10
        text = " ".join(words[place * 300 : place * 300 + 120])
        steps.append(Step(id=f"u{turn}", role="user", at=now, parts=(Text(text=f"Question {turn}: {text}"),)))
        call = ToolCall(id=f"c{turn}", name="bash", arguments={"command": f"grep {words[turn % 4000]} notes.txt"})
        thought = Thinking(text=" ".join(words[place : place + 60]))
        steps.append(
            Step(
                id=f"a{turn}",
                role="agent",
                at=now + 0.1,
                ended=now + 0.3,
                model="model/one",
                usage=Usage(input=100 * turn + 50, output=40, total=100 * turn + 90),
                parts=(thought, Text(text="Let me look."), call),
            )
        )
        output = "\n".join(words[place * 200 : place * 200 + 250])
        result = ToolResult(call_id=f"c{turn}", name="bash", output=output, started=now + 0.3, ended=now + 0.4)
        steps.append(Step(id=f"t{turn}", role="tool", parts=(result,)))
        steps.append(
            Step(
                id=f"b{turn}",
                role="agent",
                at=now + 0.5,
                ended=now + 0.9,
                model="model/one",
                usage=Usage(input=100 * turn + 80, output=20, total=100 * turn + 100),
                parts=(Text(text=" ".join(words[place * 100 : place * 100 + 90])),),
            )
        )
    trajectory = Trajectory(id=f"trajectory-{number}", created=at, ended=at + turns, steps=tuple(steps))
    score = Score(name="accuracy", value=float(number % 2))
    return Sample(id=f"sample {number}", epoch=1, trajectory=trajectory, scores=(score,))


def native(folder: Path, count: int, *, turns: int = 10) -> Path:
    """A native file of made samples."""
    from pantrace.formats import by_name
    from pantrace.model import RunHeader
    from pantrace.wire.output_row import Row

    format_ = by_name("native")
    assert format_.save is not None and format_.dump is not None
    path = folder / "made.trace.jsonl"
    samples = (made_sample(number, turns=turns) for number in range(count))
    rows = (Row(sample, format_.dump(sample, format_.options())) for sample in samples)
    format_.save(RunHeader(name="bench"), rows, path, format_.options())
    return path


def eval_log(folder: Path, count: int, *, turns: int = 10) -> Path:
    """An `.eval` log of made samples, without the notes that only pantrace reads."""
    from pantrace.formats import by_name
    from pantrace.model import RunHeader
    from pantrace.wire.output_row import Row

    format_ = by_name("inspect")
    assert format_.save is not None and format_.dump is not None and format_.load is not None

    def rows() -> Iterator[Row]:
        for number in range(count):
            row = format_.dump(made_sample(number, turns=turns), format_.options())
            row["metadata"].pop("pantrace", None)
            sample = format_.load(row)
            yield Row(sample, format_.dump(sample, format_.options()))

    path = folder / "made.eval"
    format_.save(RunHeader(name="bench", model="model/one"), rows(), path, format_.options())
    return path


def adk_history(folder: Path, count: int) -> Path:
    """An eval history of google-adk 2.13 with as many cases: those of the golden file, told again under new ids."""
    source = json.loads((GOLDEN / "adk-history" / "two_cases.evalset_result.json").read_bytes())
    cases = source.pop("eval_case_results")
    path = folder / "told_again.evalset_result.json"
    with path.open("w") as file:
        # As ADK writes it: two spaces per level, the cases last.
        file.write(json.dumps(source, indent=2).rstrip("}\n ") + ',\n  "eval_case_results": [\n')
        for number in range(count):
            case = {**cases[number % len(cases)], "eval_id": f"case {number}"}
            text = json.dumps(case, indent=2).replace("\n", "\n    ")
            file.write(f"    {text}" + (",\n" if number + 1 < count else "\n"))
        file.write("  ]\n}\n")
    return path


def adk_jsonl(folder: Path, count: int, *, golden: str = "reference_converter.jsonl") -> Path:
    """Evaluation rows of ADK interactions: those of a golden file under new ids."""
    rows = [json.loads(line) for line in (GOLDEN / "adk-jsonl" / golden).read_bytes().splitlines() if line.strip()]
    path = folder / "told_again.jsonl"
    with path.open("w") as file:
        for number in range(count):
            row = {**rows[number % len(rows)], "question_id": f"question {number}"}
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
    return path


def opencode_database(folder: Path, count: int) -> Path:
    """A database of OpenCode 1.18 with as many sessions of 13 messages and 37 parts: those of a golden export."""
    path = folder / "opencode.db"
    shutil.copy(GOLDEN / "opencode" / "database-1.18.33" / "opencode.db", path)
    exported = json.loads((GOLDEN / "opencode" / "multi_turn_reasoning_edit_compaction.json").read_bytes())
    database = sqlite3.connect(path)
    database.execute("pragma foreign_keys = off")
    database.row_factory = sqlite3.Row
    session = dict(database.execute("select * from session where parent_id is null limit 1").fetchone())
    for table in ("session", "message", "part", "todo", "session_message", "session_input"):
        database.execute(f"delete from {table}")
    for number in range(count):
        name = f"ses_{number:06}"
        _insert(database, "session", {**session, "id": name, "title": exported["info"]["title"]})
        for message in exported["messages"]:
            info = {key: value for key, value in message["info"].items() if key not in ("id", "sessionID")}
            times = {"time_created": info["time"]["created"], "time_updated": info["time"]["created"]}
            message_id = f"{message['info']['id']}.{number}"
            row = {"id": message_id, "session_id": name, **times, "data": json.dumps(info)}
            _insert(database, "message", row)
            for part in message["parts"]:
                data = {key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")}
                row = {"id": f"{part['id']}.{number}", "message_id": message_id, "session_id": name, **times}
                _insert(database, "part", {**row, "data": json.dumps(data)})
    database.commit()
    database.execute("vacuum")
    database.close()
    return path


def _insert(database: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    names = ", ".join(f'"{name}"' for name in row)
    database.execute(f"insert into {table} ({names}) values ({', '.join('?' * len(row))})", list(row.values()))


def vertex_rows(folder: Path, count: int, to: str) -> Path:
    """Made samples, written for Vertex by pantrace."""
    from pantrace import write
    from pantrace.model import Run

    path = folder / f"{to}.jsonl"
    samples = (made_sample(number, turns=6) for number in range(count))
    write(Run(name="bench", samples=samples), path, to=to)
    return path
