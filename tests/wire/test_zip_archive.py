"""Zip archives: what we write others read, what others write we read, beyond 65,535 members too."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from pantrace.errors import ReadError
from pantrace.wire import zip_archive

MANY = 66_000


def test_an_archive_of_very_many_members_is_written_for_others(tmp_path: Path) -> None:
    path = tmp_path / "many.zip"
    with path.open("wb") as file:
        writer = zip_archive.Writer(file, "stored")
        for number in range(MANY):
            writer.add(f"{number}.json", b"%d" % number)
        writer.finish()
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == MANY
        assert archive.read(f"{MANY - 1}.json") == b"%d" % (MANY - 1)


def test_an_archive_of_very_many_members_by_others_is_read(tmp_path: Path) -> None:
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(MANY):
            archive.writestr(f"{number}.json", b"%d" % number)
    with zip_archive.reading(path) as archive:
        assert len(archive.members) == MANY
        assert archive.read(f"{MANY - 1}.json") == b"%d" % (MANY - 1)


@pytest.mark.parametrize("compression", ["zstd", "deflate", "stored"])
def test_names_and_contents_return(compression: zip_archive.Compression, tmp_path: Path) -> None:
    members = {"a b/ç_epoch_1.json": b"x" * 100_000, "empty.json": b""}
    path = tmp_path / "log.eval"
    with path.open("wb") as file:
        writer = zip_archive.Writer(file, compression)
        for name, content in members.items():
            writer.add(name, content)
        writer.finish()
    with zip_archive.reading(path) as archive:
        assert {name: archive.read(name) for name in archive.members} == members
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == list(members)


def test_of_repeated_names_the_last_counts(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with path.open("wb") as file:
        writer = zip_archive.Writer(file)
        for content in (b"first", b"last"):
            writer.add("a.json", content)
        writer.finish()
    assert zip_archive.member_names(path) == ("a.json", "a.json")
    with zip_archive.reading(path) as archive:
        assert archive.read("a.json") == b"last"


def test_a_torn_archive_has_no_names(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(b"PK\x03\x04 and then nothing")
    assert zip_archive.member_names(path) == ()


def test_what_is_no_archive_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(ReadError, match="list of members is missing"), zip_archive.reading(path):
        pass
