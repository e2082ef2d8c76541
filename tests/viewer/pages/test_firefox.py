"""The report in a browser of another make: what it shows, what it does, what it refuses, what it asks for."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from firefox import FIREFOX, Window, firefox
from known import EXAMPLES, KNOWN, Known

sys.path.insert(0, str(Path(__file__).parents[1]))
from hostile import MARK, TEXTS, sample_id, write


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    if shutil.which(FIREFOX) is None:
        pytest.fail(f"{FIREFOX} is missing; `make browser` installs it")
    with firefox(tmp_path_factory.mktemp("firefox") / "profile") as window:
        yield window


@pytest.fixture
def window(opened: Window) -> Iterator[Window]:
    """A window that may complain of nothing and ask for nothing but the file that it shows."""
    opened.complaints.clear()
    opened.requests.clear()
    yield opened
    assert opened.complaints == []
    assert [each for each in opened.requests if not each.startswith(("file:///", "blob:", "about:"))] == []


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.path.name)
def test_a_recording_shows_what_was_said_and_called(
    window: Window, addresses: Callable[..., str], known: Known
) -> None:
    window.open(addresses("file", known.path) + known.place)
    window.until("!!document.querySelector('.step .parts:not(.waiting)')")
    for words in known.shows:
        window.scrolls_to(words)


def test_keys_search_and_links_work(window: Window, addresses: Callable[..., str]) -> None:
    window.open(addresses("file", EXAMPLES / "opencode" / "multi_turn_reasoning_edit_compaction.json"))
    window.until("!!document.querySelector('.step .said')")
    window.press("j")
    window.until("!!document.querySelector('#step-2.current')")
    window.press("/")
    window.until("document.activeElement.type === 'search'")
    for letter in "must not be":
        window.press(letter)
    window.until("!!document.querySelector('.hits mark')")
    window.press("\ue007")  # Enter
    window.until("!!document.querySelector('#step-7.current pre.diff .added')")
    window.run("location.hash = '#/run/0/sample/ses_e1f901162ffesXODlT1I2RwJdD/step/13'")
    window.until("!!document.querySelector('#step-13.current')")


def test_the_table_sorts_and_runs_are_compared(window: Window, addresses: Callable[..., str], tmp_path: Path) -> None:
    other = tmp_path / "other.eval"
    shutil.copy(EXAMPLES / "inspect" / "basic.eval", other)
    window.open(addresses("file", EXAMPLES / "inspect" / "basic.eval", other) + "#/run/0/samples")
    window.until("document.querySelectorAll('a.row').length === 5")
    window.run("[...document.querySelectorAll('.row.head button')].find((each) => each.title === 'sample').click()")
    window.until("document.querySelector('a.row b').textContent === '1'")
    window.run("[...document.querySelectorAll('.row.head button')].find((each) => each.title === 'sample').click()")
    window.until("document.querySelector('a.row b').textContent === '5'")
    window.run("location.hash = '#/compare/0/1'")
    window.shows("Nothing changed between")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("hostile") / "hostile.trace.jsonl")


@pytest.mark.parametrize("name", ["handler", "unclosed svg", "end of style", "bidi", "fences", "remote image"])
def test_hostile_text_stays_text(window: Window, addresses: Callable[..., str], hostile: Path, name: str) -> None:
    assert name in TEXTS
    window.open(addresses("file", hostile) + "#/run/0/sample/" + quote(sample_id(name), safe=""))
    window.shows(f"{MARK} {name}")
    assert window.run("document.title") != "owned"
    assert window.run("document.querySelectorAll('iframe, object, #app style, #app script, [onerror]').length") == 0


def test_the_policy_is_in_force(window: Window, addresses: Callable[..., str]) -> None:
    """No script, no style and no request but its own. Newer versions have Trusted Types and refuse a script before it
    is in the page, older ones when it is put there."""
    window.open(addresses("file", EXAMPLES / "inspect" / "basic.eval"))
    window.run(
        "globalThis.refused = []; document.addEventListener('securitypolicyviolation',"
        " (event) => refused.push(event.effectiveDirective)); void 0"
    )
    window.run(
        "try { document.body.append(Object.assign(document.createElement('script'),"
        " { textContent: 'globalThis.ran = 1' })) } catch (error) { globalThis.stopped = error.name }; void 0"
    )
    window.run(
        "document.body.append(Object.assign(document.createElement('img'), { src: 'https://example.org/a.png' }),"
        " Object.assign(document.createElement('style'), { textContent: 'body { display: none }' })); void 0"
    )
    window.until("refused.length >= 3")
    refused = set(window.run("refused.join()").split(","))
    assert refused - {"script-src-elem", "require-trusted-types-for"} == {"img-src", "style-src-elem"}
    assert window.run("globalThis.stopped ?? 'not stopped'") in ("TypeError", "not stopped")
    assert len(refused) == 3
    assert window.run("typeof globalThis.ran") == "undefined"
    # It said so on its console, too, and a request that the policy stops is never sent.
    window.complaints.clear()
