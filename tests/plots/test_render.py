"""Rendering: every kind of file, without a network, and no label becomes a program."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pantrace.errors import MissingExtra, UsageError, install_command
from pantrace.plots import KINDS, Bar, Curve, comparison, pass_curve, render
from pantrace.stats import Estimate
from thorough import thorough

HOSTILE = "</script><script>document.title='x'</script>"
FIGURE = comparison([Bar(label=HOSTILE, metric="m", value=0.5, low=0.2, high=0.7), Bar(label="b", metric="m")])

MAGIC = {"png": b"\x89PNG\r\n", "svg": b"<svg", "pdf": b"%PDF-", "html": b"<!doctype html>", "vl.json": b"{"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_begins_as_it_should(kind: str) -> None:
    if kind != "vl.json":
        pytest.importorskip("vl_convert", reason="the extra `analysis` is not installed")
    picture = render(FIGURE, kind)
    assert picture.startswith(MAGIC[kind])
    assert len(picture) > 1000


@thorough
def test_labels_with_any_character_are_drawn() -> None:
    """In a process of its own: a character that SVG cannot contain used to end the process."""
    pytest.importorskip("vl_convert", reason="the extra `analysis` is not installed")
    program = """
from pantrace.plots import KINDS, Bar, comparison, render
for letter in map(chr, (0, 0x1B, 0x0B, 0x0D, 0x7F, 0xFFFE, 0xFFFF, 0xD800, 0x2028)):
    bars = [Bar(label="a" + letter, metric="m" + letter, value=0.5), Bar(label="b", metric="m" + letter)]
    for kind in KINDS:
        assert len(render(comparison(bars, title="t" + letter), kind)) > 500, (letter, kind)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[:400]


def test_the_page_fetches_nothing_and_runs_no_label() -> None:
    pytest.importorskip("vl_convert", reason="the extra `analysis` is not installed")
    page = render(FIGURE, "html").decode()
    # Names of XML namespaces look like addresses; nothing is fetched from them.
    assert set(re.findall(r"https?://([\w.-]+)", page)) <= {"www.w3.org"}
    assert "default-src 'none'" in page
    assert not re.search(r"<(?:link|iframe)\b|<script[^>]+src", page)
    assert HOSTILE not in page
    assert page.count("</script>") == 2
    assert "actions: false" in page


def test_a_picture_shows_the_gap_and_the_value() -> None:
    pytest.importorskip("vl_convert", reason="the extra `analysis` is not installed")
    drawing = render(FIGURE, "svg").decode()
    assert ">n/a<" in drawing
    assert ">0.50<" in drawing


def test_the_dict_itself_can_be_read_back() -> None:
    assert json.loads(render(FIGURE, "vl.json")) == FIGURE


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="png, svg, pdf, html"):
        render(FIGURE, "gif")


def test_without_the_extra_one_line_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[analysis\]'"):
        render(FIGURE, "png")


def test_a_checkout_is_told_to_install_itself_and_not_a_package_of_an_index(tmp_path: Path) -> None:
    checkout = tmp_path / "a checkout"
    package = checkout / "src" / "pantrace" / "errors.py"
    assert install_command("judge", str(package)) == "pip install 'pantrace[judge]'"
    checkout.mkdir()
    (checkout / "pyproject.toml").touch()
    assert install_command("judge", str(package)) == f"pip install -e '{checkout}[judge]'"
    installed = tmp_path / "lib" / "site-packages" / "pantrace" / "errors.py"
    assert install_command("judge", str(installed)) == "pip install 'pantrace[judge]'"


@pytest.mark.parametrize("count", [2, 12])
def test_every_curve_is_named_in_the_legend_and_has_a_line(count: int) -> None:
    pytest.importorskip("vl_convert", reason="the extra `analysis` is not installed")
    points = (Estimate(value=0.5, n=9, method="t"), Estimate(value=0.25, n=9, method="t"))
    curves = [Curve(label=f"model {place}", estimates=points) for place in range(count)]
    picture = render(pass_curve(curves, metric="reward"), "svg").decode()
    assert [picture.count(f">model {place}<") for place in range(count)] == [1] * count
    assert picture.count('aria-roledescription="line mark"') == count
    assert picture.count('stroke-dasharray="7,3"') == max(0, count - 8)
