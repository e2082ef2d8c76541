"""Texts of recordings run nothing, hide nothing and ask for nothing, through both doors; the browser itself says so.

The fixture `page` fails a test on any console error, dialog, foreign request or violation of the policy."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from doors import Open
from playwright.sync_api import Locator, Page

sys.path.insert(0, str(Path(__file__).parents[1]))
from hostile import MARK, TEXTS, sample_id, write


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("hostile") / "hostile.trace.jsonl")


def address(name: str) -> str:
    return "#/run/0/sample/" + quote(sample_id(name).encode("utf-8", "replace"), safe="")


def harmless(page: Page) -> None:
    """Nothing ran, nothing was polluted, and nothing but our own elements is there."""
    assert page.evaluate("[typeof ({}).polluted, document.title === 'owned']") == ["undefined", False]
    foreign = (
        "iframe, object, embed, base, form[action], link, video, audio, #app style, #app script, [onerror], [onload]"
    )
    assert page.locator(foreign).count() == 0
    links = page.evaluate("[...document.querySelectorAll('a[href]')].map((a) => a.protocol)")
    assert set(links) <= {"file:", "http:", "https:", "mailto:"}
    pictures = page.evaluate("[...document.images].map((image) => image.src).filter((src) => !/^(blob:|$)/.test(src))")
    assert pictures == []


def test_the_table_and_every_tab_are_harmless(door: Open, recording: Path) -> None:
    page = door(recording)
    page.locator("a.row").first.wait_for()
    for tab in ("Measures", "Failures", "About", "Samples"):
        page.get_by_role("tab", name=tab).click()
        page.wait_for_timeout(50)
        harmless(page)


def unfold(place: Locator) -> None:
    """Show what is folded because it is long."""
    for words, most in (("Show all", 30), ("Show more", 5)):
        for _ in range(most):
            button = place.get_by_role("button", name=words, disabled=False).first
            if not button.count():
                break
            button.evaluate("(element) => element.click()")
            place.page.wait_for_timeout(20)


@pytest.mark.parametrize("name", TEXTS)
def test_a_sample_is_shown_whole_and_harmless(door: Open, recording: Path, name: str) -> None:
    page = door(recording, at=address(name))
    page.locator(".step").first.wait_for()
    page.get_by_role("button", name="Unfold all").click()
    for number in (1, 2, 3, 4):
        page.locator(".outline .entry").nth(number - 1).click()
        step = page.locator(f"#step-{number}")
        step.wait_for()
        unfold(step)
        step.evaluate("(element) => element.querySelectorAll('details').forEach((each) => { each.open = true; })")
        page.wait_for_timeout(30)
        words = step.inner_text()
        # A text that hid its own end would hide evidence: in every part of the step it is there.
        assert words.count(f"{MARK} {name}") >= (8 if number == 3 and name != "long line" else 1), number
        harmless(page)
    for tab in ("Scores", "Expected", "Details"):
        page.get_by_role("tab", name=tab).click()
        unfold(page.locator(".tab-body"))
        page.locator(".tab-body").get_by_text(MARK).first.wait_for(state="attached")
        harmless(page)


def test_hidden_characters_are_shown_as_marks(door: Open, recording: Path) -> None:
    page = door(recording, at=address("bidi"))
    page.locator("#step-1 .mark", has_text="U+202E").first.wait_for()
    assert "\u202e" not in page.inner_text("body")


def test_bytes_that_are_no_text_are_told_and_the_rest_is_shown(door: Open, tmp_path: Path) -> None:
    source = tmp_path / "bytes.trace.jsonl"
    said = '{"id": "%s", "trajectory": {"steps": [{"role": "user", "parts": [{"type": "text", "text": "%s"}]}]}}\n'
    head = '{"pantrace": "2", "run": {"name": "bytes"}}\n'
    lines = head.encode() + (said % ("one", "still here")).encode()
    source.write_bytes(lines + (said % ("two", "BROKEN")).encode().replace(b"BROKEN", b"\xff\xfe <svg> \xc3("))
    page = door(source, at="#/run/0/samples")
    page.locator("a.row", has_text="still here").wait_for()
    page.get_by_text("line 3: not UTF-8 text").wait_for()
    harmless(page)


def test_a_step_stays_in_its_frame(door: Open, recording: Path) -> None:
    for name in ("combining", "long line", "deep quote"):
        page = door(recording, at=address(name))
        page.locator("#step-1 .said").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        assert page.evaluate(
            "document.querySelector('.steps').scrollWidth <= document.querySelector('.steps').clientWidth + 1"
        ), name


def test_markup_cannot_be_made_from_text_at_all(door: Open, recording: Path, troubles: list[str]) -> None:
    """The proof that the policy is in force: this page refuses what a sanitiser would have to let through."""
    page = door(recording)
    refused = page.evaluate(
        "() => { try { document.createElement('div').innerHTML = '<b>x</b>'; return 'let through'; }"
        " catch (error) { return error.name; } }"
    )
    assert refused == "TypeError"
    assert any("require-trusted-types-for" in each for each in page.evaluate("violations"))
    page.evaluate("violations.length = 0")
    troubles.clear()
