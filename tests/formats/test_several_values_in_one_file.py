"""Files as jq, editors and datasets leave them: values on many lines, in an array, or many documents in one file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT, golden_inputs, without_source
from pantrace.engine.read import read
from pantrace.engine.validate import validate
from pantrace.formats import all_formats, by_name, detect
from pantrace.wire.json import to_plain
from pantrace.wire.rows import layout_at

LOGS = [each.name for each in all_formats() if each.layout == "log"]
FORMS: dict[str, Callable[[list[Any]], str]] = {
    "pretty": lambda values: "\n".join(json.dumps(each, indent=2) for each in values),
    "array": lambda values: json.dumps(values, indent=1),
}
"""What `jq .` and `jq -s .` print."""


def content(path: Path) -> list[Any]:
    """What was recorded, without ids and sources: both may come from the file's name and line."""
    return [without_source(to_plain(each.trajectory)) for each in read(path).samples]


def values_in(path: Path) -> list[Any]:
    """The values of the lines; none if a line is broken or no object."""
    try:
        values = [json.loads(line) for line in path.read_text("utf-8-sig").splitlines() if line.strip()]
    except ValueError:
        return []
    return values if all(isinstance(each, dict) for each in values) else []


LINES = [
    path
    for name, path in golden_inputs()
    if name in LOGS and path.is_file() and layout_at(path) == "lines" and len(values_in(path)) > 1
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", LINES, ids=[f"{each.parent.name}/{each.name}" for each in LINES])
def test_a_log_that_was_printed_another_way_is_the_same(path: Path, form: str, tmp_path: Path) -> None:
    # Alone in its folder, as the copy: files beside it may belong to it.
    before, after = tmp_path / "before" / path.name, tmp_path / "after" / path.name
    for each in (before, after):
        each.parent.mkdir()
    before.write_bytes(path.read_bytes())
    after.write_text(FORMS[form](values_in(path)))
    assert detect(after)[0].name == path.parent.name
    assert content(after) == content(before)


ALONE = [
    ("atif", ["every_field.trajectory.json", "harbor_mini_swe_agent.trajectory.json"]),
    ("mini-swe-agent", ["steps.traj.json", "note.traj.json"]),
    ("swe-agent", ["calls.traj", "pump.traj"]),
    ("adk-session", ["api_server.session.json", "api_server.session.json"]),
    ("pydantic-ai", ["shop.json", "library.json"]),
]


@pytest.mark.parametrize("form", [*FORMS, "lines"])
@pytest.mark.parametrize(("name", "files"), ALONE, ids=[name for name, _ in ALONE])
def test_each_document_of_a_dataset_is_a_sample(name: str, files: list[str], form: str, tmp_path: Path) -> None:
    if name == "pydantic-ai" and form == "pretty":
        pytest.skip("its documents are arrays, and several arrays one after another look like a broken one")
    paths = [ROOT / name / each for each in files]
    documents = [json.loads(each.read_bytes()) for each in paths]
    write = FORMS.get(form, lambda values: "".join(json.dumps(each) + "\n" for each in values))
    path = tmp_path / "dataset.jsonl"
    path.write_text(write(documents))
    found, _ = detect(path)
    assert found.name == name
    assert content(path) == [each for one in paths for each in content(one)]
    assert not [each for each in validate(path) if each.level == "error"]


def test_a_format_that_is_not_tried_above_has_no_documents_that_stand_alone() -> None:
    tried = {name for name, _ in ALONE} - {"pydantic-ai"} | {"agent-framework"}
    assert {each.name for each in all_formats() if each.stands_alone is not None} == tried


def test_sessions_of_agent_framework_stand_alone(tmp_path: Path) -> None:
    session = {"type": "session", "session_id": "a", "state": {"memory": {"messages": [_said("user", "Hi")]}}}
    path = tmp_path / "sessions.jsonl"
    path.write_text("".join(json.dumps(session | {"session_id": each}) + "\n" for each in "ab"))
    assert [each.id for each in read(path).samples] == ["a", "b"]


def test_documents_without_a_name_get_that_of_their_line(tmp_path: Path) -> None:
    document = json.loads((ROOT / "mini-swe-agent" / "steps.traj.json").read_bytes())
    document["info"].pop("instance_id", None)
    document.pop("instance_id", None)
    path = tmp_path / "runs.traj.jsonl"
    path.write_text((json.dumps(document) + "\n") * 2)
    assert [each.id for each in read(path).samples] == ["runs line 1", "runs line 2"]


def _said(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "contents": [{"type": "text", "text": text}]}


def test_a_document_on_one_long_line_is_one_sample(tmp_path: Path) -> None:
    document = json.loads((ROOT / "atif" / "harbor_mini_swe_agent.trajectory.json").read_bytes())
    document["notes"] = "x" * 100_000
    path = tmp_path / "long.json"
    path.write_text(json.dumps(document) + "\n\n")
    assert not by_name("atif").holds_several(path)
    path.write_text((json.dumps(document) + "\n") * 3)
    assert [each.trajectory.source.place for each in read(path).samples] == ["line 1", "line 2", "line 3"]


def test_events_of_adk_on_lines_are_one_session(tmp_path: Path) -> None:
    events = json.loads((ROOT / "adk-session" / "api_run_response.events.json").read_bytes())
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in events))
    assert content(path) == content(ROOT / "adk-session" / "api_run_response.events.json")
    assert not list(validate(path))
