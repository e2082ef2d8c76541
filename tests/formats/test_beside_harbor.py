"""Claude Code and Codex to ATIF, beside what Harbor itself makes of the same recordings.

Each difference that is taken away here is named in docs/formats/codex.md or docs/formats/claude-code.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from corpus import CORPUS, needs_corpus
from pantrace.engine.read import Notes, read_pile
from pantrace.formats import by_name
from pantrace.model import Sample, Trajectory, Unknown
from pantrace.wire.times import from_iso

OWN = CORPUS / "own"
SESSIONS = OWN / "sessions"
CODEX = {
    OWN / "atif/harbor_codex.trajectory.json": OWN / "codex",
    **{
        SESSIONS / f"atif/harbor_codex_{name}.trajectory.json": SESSIONS / "codex" / name.split("_")[0]
        for name in (
            "work_583a5f31c1d4",
            "work_c461981103e3",
            "codemode",
            "trouble",
            "agents_33246b992448",
            "agents_6083fb5c5fa6",
            "agents_bd24d6956524",
            "agents2_9abde42dc918",
            "agents2_dae8a3cda8b3",
            "agents2_f5f5316df49b",
        )
    },
}
CLAUDE_CODE = {
    OWN / "atif/harbor_claude_code_note.trajectory.json": OWN / "claude_code",
    OWN / "atif/harbor_claude_code_subagent.trajectory.json": OWN / "claude_code",
    **{
        SESSIONS / f"atif/harbor_claude_code_{name}.trajectory.json": SESSIONS / "claude_code" / name.split("_")[0]
        for name in ("long_1098a39d", "long_a8ada84a", "rewind", "subagents", "trouble")
    },
}
Row = dict[str, Any]


Told = tuple[Any, ...]


def session(harbor: Row, folder: Path) -> Trajectory:
    """The session that Harbor's document tells."""
    files = [path for path in sorted(folder.glob("*.jsonl")) if "stdout" not in path.name and "stream" not in path.name]
    for path in files:
        for sample in read_pile([path], notes=Notes()).samples:
            if sample.trajectory is not None and sample.trajectory.id == harbor["session_id"]:
                return sample.trajectory
    raise AssertionError(f"no session {harbor['session_id']} in {folder}")


def document(trajectory: Trajectory) -> Row:
    dump = by_name("atif").dump
    assert dump is not None
    found: Row = dump(Sample(id=trajectory.id or "?", trajectory=trajectory), None)
    return found


def words(content: Any) -> str:
    """The words of a message or of a result. Harbor writes pieces as JSON, and adds what the program kept."""
    if isinstance(content, list):
        return "".join(each.get("text", "") for each in content)
    pieces = []
    for piece in (content or "").split("\n\n"):
        try:
            raw = json.loads(piece)
        except ValueError:
            raw = None
        if isinstance(raw, dict) and raw.get("type") in ("text", "image"):
            piece = raw.get("text", "")
        if piece.startswith(("[stdout]", "[metadata]", "[error]")):
            break
        pieces.append(piece)
    return "\n\n".join(pieces).strip()


def counts(step: Row) -> Row:
    """Tokens of a step; Harbor leaves a zero of cached tokens out, and tells zeros for what no model said."""
    metrics = step.get("metrics") or {}
    kept = {key: metrics.get(key, 0) for key in ("prompt_tokens", "completion_tokens", "cached_tokens")}
    return kept if any(kept.values()) else {}


def calls(step: Row) -> list[Any]:
    return [(each["tool_call_id"], each["function_name"], each["arguments"]) for each in step.get("tool_calls") or ()]


def results(step: Row, told: Any = words) -> list[Any]:
    found = (step.get("observation") or {}).get("results", ())
    return [(each.get("source_call_id"), told(each.get("content"))) for each in found]


@needs_corpus
@pytest.mark.parametrize("path", CLAUDE_CODE, ids=lambda path: path.name.partition(".")[0])
def test_claude_code(path: Path) -> None:
    """Step by step, with branches that were given up and sub-agents among them, in the order of time."""
    harbor = json.loads(path.read_bytes())
    trajectory = session(harbor, CLAUDE_CODE[path])
    whole = document(msgspec.structs.replace(trajectory, leaf=None))
    assert (whole["session_id"], whole["agent"]["version"]) == (harbor["session_id"], harbor["agent"]["version"])
    inner = [step for child in whole.get("subagent_trajectories", ()) for step in child["steps"]]

    def told(step: Row) -> Told:
        model = step.get("model_name") if step.get("model_name") != "<synthetic>" else None
        message = words(step["message"])
        return (
            step["timestamp"],
            step["source"],
            message,
            model,
            step.get("reasoning_content"),
            calls(step),
            results(step),
        )

    def by_time(steps: list[Row]) -> list[Told]:
        return sorted((told(step) for step in steps), key=lambda each: each[:3])

    mine = [*whole["steps"], *inner]
    assert by_time(mine) == by_time(harbor["steps"])
    # What a fork has of its parent is told without tokens: they count there, and the copy has zeros.
    known = {step["timestamp"]: counts(step) for step in mine}
    assert [counts(step) for step in harbor["steps"]] == [known[step["timestamp"]] for step in harbor["steps"]]


def plain(content: Any) -> str:
    """A result's words; Harbor writes JSON anew, and joins pieces by one line's end."""
    text = words(content)
    try:
        return json.dumps(json.loads(text))
    except ValueError:
        return text.replace("\n\n", "\n")


@needs_corpus
@pytest.mark.parametrize("path", CODEX, ids=lambda path: path.name.partition(".")[0])
def test_codex(path: Path) -> None:
    harbor = json.loads(path.read_bytes())
    trajectory = session(harbor, CODEX[path])
    whole = document(trajectory)
    assert (whole["session_id"], whole["agent"]["version"]) == (harbor["session_id"], harbor["agent"]["version"])
    assert whole["agent"]["model_name"] == harbor["agent"]["model_name"]
    scripts = {
        step.id
        for step in trajectory.steps
        for part in step.parts
        if isinstance(part, Unknown) and part.kind == "codex:script"
    }
    steps = [step for step in trajectory.steps if step.kind != "note"]
    rows = [(row, step) for row, step in zip(whole["steps"], [s for s in steps if s.role != "tool"], strict=True)]
    # Harbor does not tell what agents say to each other, what a fork has of its parent, a response that was cut off.
    mine = [
        (row, step)
        for row, step in rows
        if step.kind != "copied"
        and not any(line["item"].get("type") == "agent_message" for line in step.extra["codex"]["lines"])
        and (step.role != "agent" or step.usage is not None)
    ]
    assert len(mine) == len(harbor["steps"])
    for (row, step), theirs in zip(mine, harbor["steps"], strict=True):
        assert (row["source"], words(row["message"])) == (theirs["source"], words(theirs["message"]))
        assert row.get("reasoning_content") == theirs.get("reasoning_content")
        assert counts(row) == counts(theirs)
        begin, end = step.at, step.ended or step.at
        assert begin is not None and end is not None and begin <= (from_iso(theirs["timestamp"]) or 0) <= end
        if step.id not in scripts:  # there the calls are what the script called
            assert [(name, tool.rpartition(".")[2], given) for name, tool, given in calls(row)] == calls(theirs)
            assert results(row, plain) == results(theirs, plain)
    total = whole["final_metrics"]
    before = [counts(row) for row, step in rows if step.kind == "copied"]
    for key in ("prompt_tokens", "completion_tokens", "cached_tokens"):
        copied = sum(each.get(key, 0) for each in before)
        assert total[f"total_{key}"] + copied == harbor["final_metrics"][f"total_{key}"]
