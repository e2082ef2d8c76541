"""Tokens that do not add up are read as they stand, and the recording says so: in `validate`, and on the sample."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT, golden_inputs
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.engine.validate import validate
from pantrace.wire import zip_archive
from pantrace.wire.json import encode

WORDS = "is not the total"


def warnings(path: Path) -> list[str]:
    return [each.message for each in validate(path) if each.level == "warning" and WORDS in each.message]


def notes(path: Path) -> list[str]:
    return [note for sample in read(path).samples for note in sample.extra.get("pantrace", {}).get("notes", [])]


def broken_log(folder: Path) -> Path:
    """A log of Inspect whose model calls report a total that nobody can have counted."""
    path = folder / "x.eval"
    with zip_archive.reading(ROOT / "inspect" / "basic.eval") as archive, zipfile.ZipFile(path, "w") as written:
        for name in archive.members:
            value = json.loads(bytes(archive.read(name)))
            written.writestr(name, json.dumps(_with_wrong_totals(value)))
    return path


def broken_session(folder: Path) -> Path:
    """A saved session of ADK with wrong totals."""
    path = folder / "x.session.json"
    value = json.loads((ROOT / "adk-session" / "api_server.session.json").read_bytes())
    path.write_text(json.dumps(_with_wrong_totals(value)))
    return path


def _with_wrong_totals(value: Any) -> Any:
    if isinstance(value, dict):
        wrong = {key: 999_999 for key in ("total_tokens", "totalTokenCount") if key in value}
        return {key: _with_wrong_totals(item) for key, item in value.items()} | wrong
    return [_with_wrong_totals(item) for item in value] if isinstance(value, list) else value


def broken_native(folder: Path) -> Path:
    path = folder / "x.trace.jsonl"
    step = '{"role":"agent","usage":{"input":2,"output":3,"total":7}}'
    path.write_text(f'{{"pantrace":"2","run":{{}}}}\n{{"id":"a","trajectory":{{"steps":[{step}]}}}}\n')
    return path


@pytest.mark.parametrize("make", [broken_log, broken_session], ids=lambda make: make.__name__)
def test_a_total_that_is_no_sum_is_told(make: Any, tmp_path: Path) -> None:
    path = make(tmp_path)
    assert warnings(path)
    assert notes(path)
    assert len(notes(path)) == len(warnings(path))


def test_a_native_file_is_warned_about_and_not_changed(tmp_path: Path) -> None:
    path, copy = broken_native(tmp_path), tmp_path / "y.trace.jsonl"
    assert warnings(path) == ["input 2 plus output 3 is not the total 7"]
    convert(path, copy, to="native")
    assert copy.read_bytes() == path.read_bytes()


def test_a_note_is_no_loss_and_not_written_into_the_recording(tmp_path: Path) -> None:
    path, copy = broken_log(tmp_path), tmp_path / "y.eval"
    report = convert(path, copy, to="inspect")
    assert not report.losses
    with zip_archive.reading(copy) as archive:
        assert not any(b'"notes"' in archive.read(name) for name in archive.members if name.startswith("samples/"))
    # Any other format may keep the note, or let it go: it is none of what was recorded.
    assert not [loss for loss, _, _ in convert(path, tmp_path / "out", to="opencode").losses if "pantrace" in loss]


@pytest.mark.parametrize(
    ("name", "path"), golden_inputs(), ids=[f"{name}/{path.name}" for name, path in golden_inputs()]
)
def test_no_golden_file_is_doubted(name: str, path: Path) -> None:
    for sample in read(path, format=name).samples:
        assert b'"notes"' not in encode(sample.extra.get("pantrace", {}))
