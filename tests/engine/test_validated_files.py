"""What `validate` looked at is what it counts."""

from __future__ import annotations

from pathlib import Path

from pantrace.engine.validate import validate_files

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
