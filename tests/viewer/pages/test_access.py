"""Every page can be used by everybody: names, roles, contrast and order, as axe-core checks them, in both themes."""

from __future__ import annotations

import subprocess

import pytest
from axe_playwright_python.sync_playwright import Axe
from doors import PANTRACE
from known import EXAMPLES, GOLDEN
from playwright.sync_api import Page

OPTIONS = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21aa"]}}
"""What the guidelines demand of everybody. Colours of a recording's own terminal output are its own."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("access") / "report.html"
    paths = [EXAMPLES / "inspect" / "basic.eval", GOLDEN / "native" / "every_part.trace.jsonl"]
    subprocess.run([*PANTRACE, "report", *map(str, paths), "-o", str(target)], check=True, capture_output=True)
    return target.as_uri()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "place",
    ["#/runs", "#/run/0/samples", "#/run/0/measures", "#/run/1/failures", "#/run/1/sample/a", "#/run/1/sample/a/scores",
     "#/run/1/sample/a/expected", "#/run/1/sample/a/details", "#/compare/0,1"],
)  # fmt: skip
def test_everybody_can_use_it(page: Page, address: str, theme: str, place: str) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.goto(address + place)
    page.locator("main").wait_for()
    page.wait_for_timeout(200)
    found = Axe().run(page, options=OPTIONS).response["violations"]
    told = [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:300]}" for each in found for node in each["nodes"]
    ]
    assert told == []


def test_tabs_menus_and_rows_can_be_reached_by_keyboard(page: Page, address: str) -> None:
    page.goto(address + "#/run/0/samples")
    page.locator("a.row").first.wait_for()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.matches('a.row')")
    page.keyboard.press("Enter")
    page.locator(".step").first.wait_for()
    page.get_by_role("tab", name="Details").focus()
    page.keyboard.press("Enter")
    page.locator(".details").wait_for()
    page.keyboard.press("g")
    page.locator("a.row").first.wait_for()
