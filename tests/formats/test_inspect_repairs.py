"""Logs that inspect_ai would refuse come out set right, and each repair is told."""

from __future__ import annotations

import json
import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.engine.validate import validate
from pantrace.model import ToolResult
from pantrace.wire import zip_archive
from pantrace.wire.json import decode

GOLDEN = ROOT / "inspect" / "hu_agent_ok.eval"


def _log(folder: Path, sample: dict[str, Any] | None = None, header: dict[str, Any] | None = None) -> Path:
    """The log of an A2A agent, with other values in it."""
    path = folder / "log.eval"
    with zipfile.ZipFile(GOLDEN) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            row = json.loads(source.read(name))
            if name.startswith("samples/"):
                row = {**row, **(sample or {})}
            elif name == "header.json":
                row = {**row, **(header or {})}
            target.writestr(name, json.dumps(row))
    return path


def _copied(path: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """Sample and header of the copy, and what was repaired; the copy is valid."""
    target = path.with_name("copy.eval")
    report = convert(path, target, to="inspect")
    assert [each for each in validate(target) if each.level == "error"] == []
    with zip_archive.reading(target) as archive:
        (name,) = [each for each in zip_archive.member_names(target) if each.startswith("samples/")]
        return (
            decode(archive.read(name)),
            decode(archive.read("header.json")),
            dict(report.repairs.keys()),
        )


TOOL = {
    "event": "tool",
    "timestamp": "2026-11-15T18:28:50+00:00",
    "type": "function",
    "id": "call_123",
    "function": "tool_name",
    "arguments": {"param": "value"},
}


def test_a_failed_run_gets_its_tracebacks_and_its_tool_error_a_type(tmp_path: Path) -> None:
    failed = {**TOOL, "result": "None", "error": {"message": "no such document"}, "failed": True}
    path = _log(tmp_path, {"error": {"message": "boom"}, "events": [failed]}, {"error": {"message": "boom"}})
    sample, header, repairs = _copied(path)
    assert sample["error"] == {"message": "boom", "traceback": "", "traceback_ansi": ""}
    assert header["error"] == sample["error"]
    assert sample["events"][0]["error"] == {"message": "no such document", "type": "unknown"}
    assert {"error.traceback", "error.traceback_ansi", "events[].error.type"} <= repairs.keys()


def test_the_tool_event_of_the_document_gets_a_shape_that_is_read(tmp_path: Path) -> None:
    event = {**TOOL, "result": {"success": True}, "events": [], "view": "markdown", "truncated": None}
    sample, _, repairs = _copied(_log(tmp_path, {"events": [event]}))
    assert sample["events"][0]["result"] == '{"success":true}'
    assert "view" not in sample["events"][0]
    assert repairs == {"events[].result": "is JSON text now", "events[].view": "must be an object, is text: left out"}
    # For pantrace nothing changed.
    (copy,) = read(tmp_path / "copy.eval").samples
    assert copy.trajectory is not None
    (result,) = [part for step in copy.trajectory.steps for part in step.parts if isinstance(part, ToolResult)]
    assert result.output == {"success": True}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"started_at": "yesterday"}, "started_at"),
    ({"completed_at": 7}, "completed_at"),
    ({"total_time": "long"}, "total_time"),
    ({"messages": [{"role": "narrator", "content": "x"}]}, "messages[]"),
    ({"messages": [{"role": "assistant", "content": None}]}, "messages[].content"),
    (
        {"messages": [{"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": "f"}]}]},
        "messages[].tool_calls[].arguments",
    ),
    (
        {"output": {"model": "m", "choices": [{"message": {"role": "user", "content": "x"}}]}},
        "output.choices[].message.role",
    ),
    ({"scores": {"s": {"value": None}}}, "scores.s.value"),
    ({"scores": {"s": 1}}, "scores.s"),
    ({"metadata": [1]}, "metadata"),
    ({"model_usage": {"input_tokens": 1}}, "model_usage"),
    ({"limit": "tokens"}, "limit"),
    ({"error": "boom"}, "error"),
    ({"events": [{"event": "thought", "timestamp": "2026-11-15T18:28:50+00:00"}]}, "events[]"),
    ({"events": [{"event": "info", "timestamp": "noon", "data": 1}]}, "events[].timestamp"),
    ({"events": [{"event": "model", "timestamp": "2026-11-15T18:28:50+00:00", "model": "m"}]}, "events[].output"),
    (
        {
            "events": [
                {
                    "event": "tool",
                    "timestamp": "2026-11-15T18:28:50+00:00",
                    "id": "3",
                    "function": "f",
                    "arguments": "x",
                }
            ]
        },
        "events[].arguments",
    ),
    (
        {
            "events": [
                {"event": "span_begin", "timestamp": "2026-11-15T18:28:50+00:00", "id": "1", "name": "n", "type": 4}
            ]
        },
        "events[].type",
    ),
]


@pytest.mark.parametrize(("change", "place"), WRONG, ids=[place for _, place in WRONG])
def test_what_inspect_refuses_is_set_right_and_told(change: dict[str, Any], place: str, tmp_path: Path) -> None:
    path = _log(tmp_path, deepcopy(change))
    assert any(each.level == "error" for each in validate(path))
    _, _, repairs = _copied(path)
    assert place in repairs


HEADERS: list[tuple[str, Any, str]] = [
    ("created", None, "eval.created"),
    ("created", "yesterday", "eval.created"),
    ("model", None, "eval.model"),
    ("dataset", None, "eval.dataset"),
    ("dataset", {"name": 7}, "eval.dataset.name"),
    ("config", [], "eval.config"),
    ("packages", {"a": 1}, "eval.packages.a"),
]


@pytest.mark.parametrize(("key", "value", "place"), HEADERS, ids=[f"{key}-{place}" for key, _, place in HEADERS])
def test_headers_are_set_right(key: str, value: Any, place: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(GOLDEN) as source:
        spec = json.loads(source.read("header.json"))["eval"]
    path = _log(tmp_path, header={"eval": {**spec, key: value}})
    _, header, repairs = _copied(path)
    assert isinstance(header["eval"][key], (str, dict))
    assert any(each.startswith(place) for each in repairs)


def test_a_sound_log_is_not_repaired(tmp_path: Path) -> None:
    report = convert(ROOT / "inspect" / "basic.eval", tmp_path / "copy.eval", to="inspect")
    assert not report.repairs
    assert not report.losses


def test_a_missing_task_args_passed_is_reported(tmp_path: Path) -> None:
    with zipfile.ZipFile(GOLDEN) as source:
        spec = json.loads(source.read("header.json"))["eval"]
    spec = {key: value for key, value in spec.items() if key != "task_args_passed"} | {"task_args": {"a": 1}}
    path = _log(tmp_path, header={"eval": spec})
    places = [each.place for each in validate(path) if "missing" in each.message]
    assert "header.json, eval.task_args_passed" in places


def test_other_targets_refuse_a_row_that_they_would_call_wrong_but_copy_what_was_wrong_before(tmp_path: Path) -> None:
    case: dict[str, Any] = {
        "case_id": "a-1",
        "agent_name": "a",
        "question": "q",
        "model_answer": "x",
        "invoked_tool_calls": [],
        "required_evals": ["FluencyExplain"],
    }
    lying = {**case, "explain_inputs": {"FluencyExplain": {"input": "another answer", "question": "q"}}}
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(lying) + "\n")
    report = convert(path, tmp_path / "copy.jsonl", to="explain")
    assert [sample for sample, _ in report.faults] == ["a-1"]
    assert json.loads((tmp_path / "copy.jsonl").read_text()) == lying
