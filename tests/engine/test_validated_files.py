"""What `validate` looked at is what it counts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from pantrace.engine.validate import _violations, validate_files
from pantrace.formats import Format
from pantrace.model import Case, Sample

RECORDING = '{"pantrace":"1"}\n{"id":"a","trajectory":{"steps":[]}}\n'


def test_each_recording_of_a_folder_counts(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    names = ["a.trace.jsonl", "b.trace.jsonl", "inner/c.trace.jsonl"]
    for name in names:
        (tmp_path / name).write_text(RECORDING)
    (tmp_path / "notes.txt").write_text("no recording")
    found = validate_files([tmp_path])
    assert [str(path.relative_to(tmp_path)) for path in found.files] == names
    assert not found.unreadable


def test_what_cannot_be_read_counts_too(tmp_path: Path) -> None:
    found = validate_files([tmp_path / "gone.json"])
    assert found.files == [tmp_path / "gone.json"]
    assert len(found.unreadable) == 1


LETTERS = Format(
    name="letters",
    title="a format without a check of its own",
    spec="",
    detect=lambda head: None,
    load=lambda row: Sample(id=row["name"], case=Case(question=row["question"])),
)
"""A reader that believes what it finds, as a first one does."""


def test_a_record_that_cannot_be_read_is_not_valid(tmp_path: Path) -> None:
    rows = [{"name": "a", "question": "?"}, {"name": "b", "question": 7}, {"question": "?"}]
    path = tmp_path / "letters.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = [*_violations(path, LETTERS, None)]
    assert [(each.level, each.place) for each in found] == [("error", "line 2"), ("error", "line 3")]
    assert "case.question has a wrong type: expected" in found[0].message
    assert "key 'name' is missing" in found[1].message


def test_neither_is_one_that_its_own_check_lets_pass(tmp_path: Path) -> None:
    lenient = replace(LETTERS, check=lambda row: [])
    path = tmp_path / "letters.jsonl"
    path.write_text('{"name": "b", "question": 7}\n{"name": "c", "question": "?"}\n')
    (found,) = _violations(path, lenient, None)
    assert found.level == "error" and "case.question has a wrong type" in found.message
