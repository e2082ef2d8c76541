"""An archive of recordings is refused by name, with what to do; it is not taken for an unknown file."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

from pantrace.errors import UnknownFormat
from pantrace.formats import detect


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_an_archive_is_refused_with_a_remedy(kind: str, tmp_path: Path) -> None:
    inside, path = tmp_path / "session.jsonl", tmp_path / f"sessions.{kind}"
    inside.write_text('{"type": "user"}\n')
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(inside, "session.jsonl")
    else:
        with tarfile.open(path, "w:gz" if kind == "tar.gz" else "w") as tar:
            tar.add(inside, "session.jsonl")
    with pytest.raises(UnknownFormat, match=r"an archive of files, which pantrace does not read \(unpack it"):
        detect(path)
