"""Long samples stay small in the document, and what is damaged or left out is said while the rest works."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from doors import Open, report
from playwright.sync_api import Page

STEPS = 10_000


def native(target: Path, *samples: dict[str, Any]) -> Path:
    lines = [{"pantrace": "2", "run": {"name": "long"}}, *samples]
    target.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return target


def step(number: int) -> dict[str, Any]:
    parts = [
        {"type": "text", "text": f"This is step {number}. " + "word " * (number % 90)},
        {"type": "call", "id": f"c{number}", "name": "bash", "arguments": {"command": f"echo {number}"}},
        {"type": "result", "call_id": f"c{number}", "output": f"{number}\n" * (number % 40)},
    ]
    return {"id": f"s{number}", "role": "agent", "parts": parts, "at": 1.79e9 + number, "ended": 1.79e9 + number + 0.9}


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    steps = [step(number) for number in range(1, STEPS)]
    steps.append({"role": "agent", "parts": [{"type": "text", "text": "The very last word: Zanzibar."}]})
    folder = tmp_path_factory.mktemp("long")
    return native(folder / "long.trace.jsonl", {"id": "long", "trajectory": {"title": "Long", "steps": steps}})


def nodes(page: Page) -> int:
    found: int = page.evaluate("document.querySelectorAll('body *:not(script)').length")
    return found


def test_ten_thousand_steps_never_fill_the_document(door: Open, long: Path) -> None:
    page = door(long)
    page.get_by_text("This is step 1. ").first.wait_for()
    most = 0
    for _ in range(40):
        page.evaluate("document.querySelector('.steps').scrollTop += 1500")
        page.wait_for_timeout(20)
        most = max(most, nodes(page))
    assert most <= 2_000
    page.evaluate("document.querySelector('.steps').scrollTop = 1e9")
    page.get_by_text("Zanzibar").last.wait_for()


def test_the_last_of_ten_thousand_steps_is_found(door: Open, long: Path) -> None:
    page = door(long)
    page.locator(".step .said").first.wait_for()
    page.keyboard.press("/")
    page.get_by_label("Search in all steps").fill("zanzibar")
    page.locator(".hits button", has_text=f"#{STEPS}").click()
    page.locator(f"#step-{STEPS}.current").get_by_text("Zanzibar").wait_for()


def test_a_link_into_the_middle_stays_where_it_leads(door: Open, long: Path) -> None:
    page = door(long, at="#/run/0/sample/long/step/5000")
    wanted = page.locator("#step-5000")
    wanted.get_by_text("This is step 5000. ").wait_for()
    page.wait_for_timeout(800)
    box, frame = wanted.bounding_box(), page.locator(".steps").bounding_box()
    assert box is not None
    assert frame is not None
    assert box["y"] - frame["y"] == pytest.approx(12, abs=3)


def damaged(path: Path, long: Path, how: str) -> str:
    """A report of which the second block of steps is broken or gone, or the list of all steps is broken."""
    address = report(path, long)
    page = path.read_text()
    behind = page.index("<script>")
    letter = "h" if how == "heads" else "b"
    embedded = re.compile(rf'<script type="application/octet-stream" id="{letter}[^"]+"[^>]*>([^<]*)</script>\n')
    block = embedded.search(page, behind)
    assert block is not None
    if how == "gone":
        page = page[: block.start()] + page[block.end() :]
    else:
        middle = block.start(1) + len(block[1]) // 2
        page = page[:middle] + "AAAAAAAAAAAAAAAA" + page[middle + 16 :]
    path.write_text(page)
    return address


@pytest.mark.parametrize(("how", "words"), [("gone", "left out of the report"), ("broken", "This part is damaged")])
def test_a_damaged_part_is_told_and_the_rest_works(
    page: Page, tmp_path: Path, long: Path, how: str, words: str
) -> None:
    page.goto(damaged(tmp_path / "report.html", long, how))
    page.get_by_text("This is step 1. ").first.wait_for()
    for number in range(50, 3_000, 50):
        page.evaluate(f"location.hash = '#/run/0/sample/long/step/{number}'")
        page.locator(f"#step-{number} .said, #step-{number} .trouble").first.wait_for()
        if page.locator(".step .trouble").count():
            break
    assert words in page.locator(".step .trouble").first.inner_text()
    page.evaluate("location.hash = '#/run/0/sample/long/step/9000'")
    page.get_by_text("This is step 9000. ").wait_for()


def test_a_damaged_list_of_steps_is_told_and_the_first_steps_are_there(page: Page, tmp_path: Path, long: Path) -> None:
    page.goto(damaged(tmp_path / "report.html", long, "heads"))
    page.get_by_text("This is step 1. ").first.wait_for()
    page.locator(".steps").evaluate("(steps) => { steps.scrollTop = 1e6; }")
    page.get_by_text("Only the first 60 of 10,000 steps can be shown. This part is damaged").wait_for()
    page.evaluate("location.hash = '#/run/0/sample/long/step/60'")
    page.locator("#step-60 .said", has_text="This is step 60. ").wait_for()
