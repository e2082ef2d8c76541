"""Formats of other packages: found by their entry points; the faults of a package are reported with its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pantrace.errors import UsageError
from pantrace.formats import by_name, detect, names
from pantrace.wire.installed import installed

GOOD = """
from pantrace.formats import Format
from pantrace.model import Sample

FORMAT = Format(
    name="other", title="", spec="", detect=lambda head: "" if "conv" in head.record else None,
    load=lambda row: Sample(id=row["conv"]),
)
"""

Install = Callable[[str], Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package whose module has this text; gives a file that no built-in format knows."""
    count = iter(range(9))

    def installing(text: str) -> Path:
        module = f"{tmp_path.name.replace('-', '_')}_{next(count)}"  # Python remembers what it imported
        info = tmp_path / "other-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[pantrace.formats]\nother = {module}:FORMAT\n")
        (tmp_path / f"{module}.py").write_text(text)
        (tmp_path / "chats.jsonl").write_text('{"conv": "a1", "turns": []}\n')
        monkeypatch.syspath_prepend(str(tmp_path))
        installed.cache_clear()
        by_name.cache_clear()
        return tmp_path / "chats.jsonl"

    yield installing
    monkeypatch.undo()
    installed.cache_clear()
    by_name.cache_clear()


def test_a_format_of_a_package_is_found(install: Install) -> None:
    path = install(GOOD)
    assert names()[-1] == "other"
    assert detect(path) == (by_name("other"), "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from .format import Format", "cannot be loaded: ImportError"),
        (" x = 1", r"cannot be loaded: IndentationError: .*\.py: unexpected indent"),
        ("FORMAT = 1", "is not a Format"),
        (GOOD.replace('"other"', '"another"'), "is named 'another': give both one name"),
        (GOOD.replace("head.record else", "head.recrod else"), "fails on .*chats.jsonl: AttributeError"),
    ],
)
def test_the_fault_of_a_package_is_its_own(text: str, message: str, install: Install) -> None:
    path = install(text)
    with pytest.raises(UsageError, match=rf"the format 'other' of an installed package .* {message}"):
        detect(path)
