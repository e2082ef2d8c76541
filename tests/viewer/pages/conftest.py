"""A real Chromium, and pages that tell every trouble they have."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parent))
from doors import Open, report, server

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if shutil.which(CHROMIUM) is None:
        pytest.fail(f"{CHROMIUM} is missing; `make browser` installs it")
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def troubles() -> list[str]:
    """What went wrong on a page; a test that provokes something empties it."""
    return []


@pytest.fixture
def page(browser: Browser, troubles: list[str]) -> Iterator[Page]:
    """A page that may ask for nothing but itself: no error, no violation of its policy, no request elsewhere."""
    context = browser.new_context(viewport={"width": 1360, "height": 860}, permissions=["clipboard-read"])
    opened = context.new_page()
    opened.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.on("dialog", lambda dialog: troubles.append(f"a dialog: {dialog.message}") or dialog.dismiss())
    opened.on("request", lambda request: troubles.append(request.url) if not _is_own(request.url) else None)
    opened.add_init_script(
        "globalThis.violations = []; document.addEventListener('securitypolicyviolation', "
        "(event) => violations.push(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample));"
    )
    yield opened
    if not opened.is_closed():
        troubles += opened.evaluate("globalThis.violations || []")
    context.close()
    assert troubles == []


def _is_own(address: str) -> bool:
    return address.startswith(("file:///", "blob:", "data:", "http://127.0.0.1:"))


@pytest.fixture(scope="session")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """Where recordings can be looked at, through which door; each is written or served once."""
    known: dict[tuple[str, ...], str] = {}
    with ExitStack() as running:

        def address(kind: str, *paths: str | Path) -> str:
            key = (kind, *map(str, paths))
            if key not in known:
                if kind == "file":
                    known[key] = report(tmp_path_factory.mktemp("report") / "report.html", *paths)
                else:
                    known[key] = running.enter_context(server(*paths))
            return known[key]

        yield address


@pytest.fixture(params=["file", "server"])
def door(request: pytest.FixtureRequest, page: Page, addresses: Callable[..., str]) -> Open:
    """Opens recordings in each door, at a place (`#/…`); the page has said something when it comes back."""

    def opened(*paths: str | Path, at: str = "") -> Page:
        page.goto(addresses(request.param, *paths) + at)
        page.locator("main").wait_for(timeout=30_000)
        # Packing goes on in the background: the first index of a server may be empty.
        page.locator("h1", has_text="Reading").wait_for(state="detached", timeout=60_000)
        return page

    return opened


@pytest.fixture(scope="session", autouse=True)
def _english() -> None:
    os.environ.setdefault("LANG", "C.UTF-8")
