"""Checks of other packages: found by their entry points, refused in one line when they are broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pantrace.errors import UsageError
from pantrace.metrics import by_name, names
from pantrace.model import Sample
from pantrace.wire.installed import installed as installed_names

MODULE = '''
from pantrace.metrics import Measurement, metric

@metric()
def seven(sample, settings):
    """Seven."""
    return Measurement(value=7)
'''


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def install(line: str) -> None:
        info = tmp_path / "other-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[pantrace.metrics]\n{line}\n")
        (tmp_path / "other_checks.py").write_text(MODULE)
        (tmp_path / "broken_checks.py").write_text("1 / 0")
        monkeypatch.syspath_prepend(str(tmp_path))
        installed_names.cache_clear()
        by_name.cache_clear()

    yield install
    monkeypatch.undo()
    installed_names.cache_clear()
    by_name.cache_clear()


def test_a_check_of_a_package_is_found(installed: Callable[[str], None]) -> None:
    installed("seven = other_checks:seven")
    assert "seven" in names()
    assert by_name("seven").score(Sample(id="s")).value == 7


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("seven = nowhere_at_all:seven", "cannot be loaded: ModuleNotFoundError"),
        ("seven = other_checks:eight", "cannot be loaded: AttributeError"),
        ("seven = broken_checks:seven", "cannot be loaded: ZeroDivisionError"),
        ("seven = json:dumps", "is not a metric; decorate"),
    ],
)
def test_a_broken_one_is_told_in_one_line(line: str, message: str, installed: Callable[[str], None]) -> None:
    installed(line)
    with pytest.raises(UsageError, match=rf"the metric 'seven' of an installed package .* {message}"):
        by_name("seven")
