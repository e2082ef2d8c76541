"""A path whose name is a URL: the system sees the copy, people see the URL, other processes get the URL."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from pantrace.places import is_mirrored, path_at, url_of
from pantrace.places.mirrored import Mirrored, Root, register
from pantrace.wire.output import writing

URL = "s3://bucket/some/runs"


@pytest.fixture
def runs(tmp_path: Path) -> Mirrored:
    folder = tmp_path / "view" / "runs"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.jsonl").write_text("a")
    (folder / "deep" / "b.jsonl").write_text("b")
    return register(Root(str(folder), URL))


def test_what_is_made_of_it_is_named_by_its_url_and_read_from_the_copy(runs: Mirrored, tmp_path: Path) -> None:
    file = runs / "deep" / "b.jsonl"
    assert (str(file), file.read_text(), file.name) == (f"{URL}/deep/b.jsonl", "b", "b.jsonl")
    assert os.fspath(file) == str(tmp_path / "view" / "runs" / "deep" / "b.jsonl")
    for other, url in {
        file.parent: f"{URL}/deep",
        file.resolve(): str(file),
        file.absolute(): str(file),
        file.with_name("c"): f"{URL}/deep/c",
        next(iter(runs.glob("*.jsonl"))): f"{URL}/a.jsonl",
        next(iter(runs.rglob("b.*"))): str(file),
        next(iter((runs / "deep").iterdir())): str(file),
    }.items():
        assert (is_mirrored(other), str(other)) == (True, url)
    assert {runs / "deep", file.parent} == {runs / "deep"}
    assert file.relative_to(runs).as_posix() == "deep/b.jsonl"
    assert f"{file}" == str(file)
    with pytest.raises(FileNotFoundError):
        (runs / "none").read_text()


def test_a_plain_path_of_the_same_copy_knows_its_url_and_others_have_none(runs: Mirrored, tmp_path: Path) -> None:
    assert url_of(tmp_path / "view" / "runs" / "a.jsonl") == f"{URL}/a.jsonl"
    assert url_of(tmp_path / "view") is None
    assert url_of(tmp_path / "view" / "runs-2") is None
    assert not is_mirrored(path_at(tmp_path))
    assert path_at(runs) is runs


def test_libraries_that_ask_for_a_path_get_the_copy(runs: Mirrored) -> None:
    with sqlite3.connect(runs / "x.db") as database:
        database.execute("create table t (a)")
    database.close()
    assert (runs / "x.db").stat().st_size > 0


def test_nothing_is_written_to_a_folder_that_is_called_like_a_scheme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception, match="cannot be written to s3://"), writing(Path("s3://bucket/out.jsonl")):
        pass
    assert [*tmp_path.iterdir()] == []
