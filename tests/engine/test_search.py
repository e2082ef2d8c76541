"""Each file of a directory is read, belongs to something that is read, or is named with a reason."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pantrace.engine.read import IN_A_ROW, Notes, inputs, read, read_pile
from pantrace.errors import ReadError

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "golden"
NATIVE = b'{"pantrace":"1"}\n{"id":"a","trajectory":{"steps":[]}}\n'


def found_in(*paths: Path, format: str | None = None) -> tuple[dict[str, str], dict[str, str], Notes]:  # noqa: A002
    """Inputs with their formats, ignored paths with their reasons; both relative to the first path."""
    notes = Notes.keeping()
    opened = {os.path.relpath(path, paths[0]): chosen.name for path, chosen, _ in inputs(paths, format, notes)}
    return opened, {os.path.relpath(path, paths[0]): reason for path, reason in notes.ignored}, notes


def accounted(folder: Path, format: str | None = None) -> tuple[int, int]:  # noqa: A002
    """How many files a directory holds, and for how many of them the search accounts."""
    opened, ignored, notes = found_in(folder, format=format)
    read_alone = sum(not (folder / each).is_dir() for each in opened)
    files = sum(len(names) for _, _, names in os.walk(folder))
    return files, read_alone + len(ignored) + notes.belonging.total() + len(notes.broken)


def opencode_folder(folder: Path) -> None:
    """A data directory of OpenCode in which somebody keeps other things as well."""
    database = next((GOLDEN / "opencode").glob("**/*.db"))
    folder.mkdir(exist_ok=True)
    shutil.copy(database, folder / "opencode.db")
    (folder / "tool-output").mkdir()
    (folder / "tool-output/tool_1").write_text("long")
    (folder / "log").mkdir()
    (folder / "log/dev.log").write_text("INFO")
    shutil.copytree(GOLDEN / "vertex-seed", folder / "vertex")
    shutil.copy(GOLDEN / "inspect/basic.eval", folder)
    (folder / "run.trace.jsonl").write_bytes(NATIVE)


def test_a_database_does_not_hide_what_lies_beside_it(tmp_path: Path) -> None:
    opencode_folder(tmp_path)
    opened, ignored, notes = found_in(tmp_path)
    assert opened == {
        ".": "opencode",
        "basic.eval": "inspect",
        "run.trace.jsonl": "native",
        "vertex/document.json": "vertex-seed",
        "vertex/document_example.json": "vertex-seed",
        "vertex/script_24604da.json": "vertex-seed",
    }
    assert ignored["log/dev.log"] == "no known format"
    assert notes.belonging == {tmp_path: 2}
    files, told = accounted(tmp_path)
    assert files == told


def test_samples_of_a_database_and_of_its_neighbours_are_read_together(tmp_path: Path) -> None:
    opencode_folder(tmp_path)
    alone = len(list(read(tmp_path / "opencode.db").samples))
    beside = sum(len(list(read(tmp_path / each).samples)) for each in ("basic.eval", "run.trace.jsonl", "vertex"))
    assert alone and beside
    assert len(list(read(tmp_path).samples)) == alone + beside
    notes = Notes.keeping()
    assert len(list(read_pile([tmp_path], notes=notes).samples)) == alone + beside


def test_a_named_format_takes_its_own_and_names_the_rest(tmp_path: Path) -> None:
    opencode_folder(tmp_path)
    opened, ignored, _ = found_in(tmp_path, format="opencode")
    assert opened == {".": "opencode"}
    assert ignored["basic.eval"] == "inspect, not opencode"
    assert ignored["log/dev.log"] == "no known format"
    files, told = accounted(tmp_path, "opencode")
    assert files == told
    opened, ignored, _ = found_in(tmp_path, format="inspect")
    assert opened == {"basic.eval": "inspect"}
    assert ignored["opencode.db"] == "opencode, not inspect"
    files, told = accounted(tmp_path, "inspect")
    assert files == told


@pytest.mark.parametrize("name", sorted(each.name for each in GOLDEN.iterdir()))
def test_all_golden_files_are_accounted_for(name: str, tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / name, tmp_path / "copy")
    for folder in [each for each in (tmp_path / "copy").rglob("*") if each.is_dir()]:
        (folder / "stray.txt").write_text("not a recording")
    files, told = accounted(tmp_path / "copy")
    assert files == told


def test_a_storage_tree_is_read_once_and_its_strangers_are_named(tmp_path: Path) -> None:
    tree = next(each.parent for each in (GOLDEN / "opencode").rglob("session") if (each.parent / "message").is_dir())
    shutil.copytree(tree, tmp_path / "storage")
    (tmp_path / "storage/session/notes.txt").write_text("x")
    (tmp_path / "storage/native.trace.jsonl").write_bytes(NATIVE)
    opened, ignored, _ = found_in(tmp_path)
    assert opened == {".": "opencode", "storage/native.trace.jsonl": "native"}
    assert ignored == {"storage/session/notes.txt": "no known format"}


def test_links_lead_to_each_thing_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/run.trace.jsonl").write_bytes(NATIVE)
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c.trace.jsonl").symlink_to("a/run.trace.jsonl")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "gone.json").symlink_to("nothing")
    opened, ignored, _ = found_in(tmp_path)
    assert opened == {"a/run.trace.jsonl": "native"}
    assert ignored == {
        "a/up": "read already under another name",
        "b": "read already under another name",
        "c.trace.jsonl": "read already under another name",
        "circle": "a link that leads in a circle",
        "gone.json": "a link that leads nowhere",
    }


def test_a_file_that_is_named_twice_or_beside_its_folder_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "run.trace.jsonl"
    path.write_bytes(NATIVE)
    opened, ignored, _ = found_in(tmp_path, path, path, tmp_path)
    assert (opened, ignored) == ({"run.trace.jsonl": "native"}, {})


def test_what_is_no_regular_file_is_left_out(tmp_path: Path) -> None:
    for name in ("opencode.db", "traj.jsonl", "pipe"):
        os.mkfifo(tmp_path / name)
    opened, ignored, _ = found_in(tmp_path)
    assert opened == {}
    assert set(ignored.values()) == {"not a regular file but a pipe"}
    with pytest.raises(ReadError, match="not a regular file but a pipe"):
        read(tmp_path / "pipe")


def test_what_tools_keep_for_themselves_is_named_once(tmp_path: Path) -> None:
    for name in (".git", "node_modules", ".pantrace-1x.tmp"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.trace.jsonl").write_bytes(NATIVE)
    opened, ignored, _ = found_in(tmp_path)
    assert opened == {}
    assert ignored == {
        ".git": "a folder that is never searched",
        ".pantrace-1x.tmp": "left over from a write that was not finished",
        "node_modules": "a folder that is never searched",
    }


def test_what_sqlite_keeps_beside_a_database_belongs_to_it(tmp_path: Path) -> None:
    source = GOLDEN / "adk-session/sqlite_session_service.sqlite"
    path = tmp_path / "sessions.sqlite"
    shutil.copy(source, path)
    with sqlite3.connect(path) as database:
        database.execute("pragma journal_mode=wal")
        database.execute("create table more (x)")
        database.commit()
        opened, ignored, notes = found_in(tmp_path)
        assert len(list(tmp_path.iterdir())) == 3
    assert (opened, ignored, notes.broken) == ({"sessions.sqlite": "adk-session"}, {}, [])
    assert notes.belonging == {path: 2}


def test_a_file_that_vanishes_meanwhile_is_named(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.trace.jsonl").write_bytes(NATIVE)
    notes = Notes.keeping()
    search = inputs([tmp_path], None, notes)
    next(search)
    (tmp_path / "b.trace.jsonl").unlink()
    assert [path.name for path, _, _ in search] == ["c.trace.jsonl"]
    assert [str(error) for error in notes.broken] == [f"{tmp_path / 'b.trace.jsonl'}: no such file or directory"]


def test_one_damaged_input_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.trace.jsonl").write_bytes(b'{"pantrace":"99"}\n')
    (tmp_path / "b.trace.jsonl").write_bytes(NATIVE)
    found = detect_json(tmp_path)
    assert [each["path"] for each in found["inputs"]] == [str(tmp_path / "b.trace.jsonl")]
    assert [each["path"] for each in found["broken"]] == [str(tmp_path / "a.trace.jsonl")]


def detect_json(*arguments: str | Path) -> Any:
    done = pantrace("detect", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def pantrace(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent / "src")}
    command = [sys.executable, "-m", "pantrace", *arguments]
    return subprocess.run(command, capture_output=True, env=environment, timeout=120)


def test_detect_lists_what_it_does_not_read_and_others_count_it(tmp_path: Path) -> None:
    (tmp_path / "run.trace.jsonl").write_bytes(NATIVE)
    (tmp_path / "empty.json").write_bytes(b"")
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("x")
    listed = pantrace("detect", tmp_path).stderr.decode()
    assert f"ignored: {tmp_path / 'a.txt'}: no known format\n" in listed
    assert f"ignored: {tmp_path / 'empty.json'}: the file is empty\n" in listed
    for command in (("measure",), ("show",), ("validate",), ("convert", "--to", "native", "-o", "-")):
        said = pantrace(*command, tmp_path).stderr.decode()
        assert "ignored: no known format (2), the file is empty (1); `pantrace detect` lists them\n" in said
    assert detect_json(tmp_path)["ignored"] == [
        {"path": str(tmp_path / "a.txt"), "reason": "no known format"},
        {"path": str(tmp_path / "b.txt"), "reason": "no known format"},
        {"path": str(tmp_path / "empty.json"), "reason": "the file is empty"},
    ]


def test_names_that_are_no_text_are_read_and_told(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in (b"r\xff.trace.jsonl", b"bad\xfe.json"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(NATIVE if b"trace" in name else b"{}")
    opencode_folder(Path(os.fsdecode(os.fsencode(folder) + b"/o\xff")))
    found = detect_json(folder)
    assert {each["format"] for each in found["inputs"]} == {"native", "opencode", "inspect", "vertex-seed"}
    for command in (
        ("detect",),
        ("show",),
        ("validate",),
        ("measure",),
        ("convert", "--to", "native", "-o", tmp_path / "out.trace.jsonl"),
        ("eval", "--out", tmp_path / "results"),
    ):
        done = pantrace(*command, folder)
        assert done.returncode in (0, 1), done.stderr[-500:]
    assert len(list(read(tmp_path / "out.trace.jsonl").samples)) == len(list(read(folder).samples))


def test_a_run_directory_inside_is_read_as_one_thing(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/run.trace.jsonl").write_bytes(NATIVE)
    assert pantrace("eval", tmp_path / "runs", "--out", tmp_path / "results").returncode == 0
    (tmp_path / "results").rename(tmp_path / "runs/results")
    (tmp_path / "runs/results/notes.txt").write_text("x")
    opened, ignored, _ = found_in(tmp_path / "runs")
    assert opened == {"results": "run-directory", "run.trace.jsonl": "native"}
    assert ignored == {"results/notes.txt": "no known format"}
    files, told = accounted(tmp_path / "runs")
    assert files == told


def test_nothing_readable_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    for command in ("validate", "detect", "measure"):
        done = pantrace(command, tmp_path)
        assert done.returncode == 2
        assert b"nothing readable in it" in done.stderr


def test_a_damaged_recording_in_a_directory_is_an_error_of_validate(tmp_path: Path) -> None:
    (tmp_path / "good.trace.jsonl").write_bytes(NATIVE)
    (tmp_path / "bad.jsonl.gz").write_bytes(b"\x1f\x8b\x08 and nothing more")
    done = pantrace("validate", tmp_path)
    assert done.returncode == 1
    assert b"bad.jsonl.gz" in done.stdout


def test_an_input_of_broken_records_alone_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "run.trace.jsonl"
    path.write_bytes(NATIVE + b'{"id":1}\n' * (2 * IN_A_ROW) + b'{"id":"last"}\n')
    notes = Notes.keeping()
    assert [each.id for each in read_pile([path], notes=notes).samples] == ["a"]
    assert len(notes.broken) == IN_A_ROW + 1
    assert "1,000 broken records in a row: the rest is not read" in str(notes.broken[-1])


def test_broken_records_among_good_ones_do_not_end_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "run.trace.jsonl"
    path.write_bytes(b'{"pantrace":"1"}\n' + (b'{"id":1}\n' * (IN_A_ROW - 1) + b'{"id":"x"}\n') * 3)
    notes = Notes.keeping()
    assert len(list(read_pile([path], notes=notes).samples)) == 3
    assert len(notes.broken) == 3 * (IN_A_ROW - 1)
