"""The viewer in a real Chromium: a sample of 10,000 steps and 102 MB, and a run of 100,000 samples.

A report of the long sample is opened from the disk beside a bare page that shows the same first screen and nothing
else; what is asked is how many times as long the first words take. Then it is scrolled from top to bottom, searched
for a word of its last step, and jumped through. The run of many samples is served, opened, filtered and sorted.

Needs the environment of `make browser`: .venvs/browser/bin/python bench/viewer.py
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
PANTRACE = [sys.executable, "-m", "pantrace"]
LAST = "Zanzibar"
ROUNDS = 9
FRAMES = """(pixels) => new Promise((done) => {
  const scroller = document.querySelector('.steps');
  const times = [];
  let nodes = 0;
  let before = null;
  const next = (now) => {
    if (before !== null) times.push(now - before);
    before = now;
    nodes = Math.max(nodes, document.querySelectorAll('body *:not(script)').length);
    scroller.scrollTop += pixels;
    if (times.length < 300) requestAnimationFrame(next);
    else done({ nodes, times: times.sort((one, two) => one - two) });
  };
  requestAnimationFrame(next);
})"""
FIRST = """(() => {
  const look = () => {
    if (!document.querySelector('.step .said, a.row')) return requestAnimationFrame(look);
    // The frame in which it is drawn has ended when the next task runs.
    requestAnimationFrame(() => setTimeout(() => { globalThis.firstWords = performance.now(); }));
  };
  look();
})()"""
"""Runs before anything of the page does, and keeps when the first step or row was on the screen."""


def recordings(folder: Path, steps: int, megabytes: int, samples: int) -> tuple[Path, Path]:
    """One sample of so many steps and megabytes of words, and a run of so many samples."""
    chance = random.Random(17)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 11))) for _ in range(5_000)]
    # As in any language, few words are used most of the time.
    shares = [1 / place for place in range(1, len(words) + 1)]
    size = megabytes * 1_000_000 // steps
    long, many = folder / "long.trace.jsonl", folder / "many.trace.jsonl"
    with long.open("w") as file:
        file.write(json.dumps({"pantrace": "2", "run": {"name": "long"}}) + "\n")
        told = [_step(number, " ".join(chance.choices(words, shares, k=size // 8))) for number in range(1, steps)]
        told.append({"role": "agent", "parts": [{"type": "text", "text": f"The last word: {LAST}."}]})
        file.write(json.dumps({"id": "long", "trajectory": {"title": "Long", "steps": told}}) + "\n")
    with many.open("w") as file:
        file.write(json.dumps({"pantrace": "2", "run": {"name": "many"}}) + "\n")
        for number in range(samples):
            file.write(json.dumps(_sample(number, chance)) + "\n")
    return long, many


def _step(number: int, text: str) -> dict[str, Any]:
    middle = len(text) // 3
    parts = [
        {"type": "text", "text": f"Step {number}. {text[:middle]}"},
        {"type": "call", "id": f"c{number}", "name": "bash", "arguments": {"command": f"echo {number}"}},
        {"type": "result", "call_id": f"c{number}", "output": text[middle:]},
    ]
    return {"id": f"s{number}", "role": "agent", "parts": parts, "at": 1.79e9 + number, "ended": 1.79e9 + number + 0.9}


def _sample(number: int, chance: random.Random) -> dict[str, Any]:
    good = chance.random() < 0.7
    return {
        "id": f"case-{number:06}",
        "case": {"id": f"case-{number:06}", "question": f"Question {number}", "labels": {"level": f"L{number % 5}"}},
        "trajectory": {
            "title": f"Case {number} of many",
            "steps": [{"role": "agent", "parts": [{"type": "text", "text": f"Answer {number}"}]}],
            "outcome": {"status": "passed" if good else "failed"},
        },
        "scores": [{"name": "grade", "value": round(chance.random(), 3), "scale": {"low": 0, "high": 1}}],
    }


BARE = """<!doctype html><meta charset=utf-8><title>bare</title><style>
body { font: 14px/1.5 system-ui; margin: 20px } article { border: 1px solid #ccc; border-radius: 10px; padding: 10px }
</style><div class="steps">%s</div>"""


def bare_page(long: Path, target: Path) -> Path:
    """The words of the first screen, and nothing else."""
    with long.open() as file:
        next(file)
        steps = json.loads(next(file))["trajectory"]["steps"][:12]
    cards = [
        f"<article class=step><b>agent</b><div class=said>{step['parts'][0]['text']}</div><pre>"
        f"{step['parts'][1]['arguments']['command']}</pre><pre>{step['parts'][2]['output'][:3600]}</pre></article>"
        for step in steps
    ]
    target.write_text(BARE % "".join(cards))
    return target


def first_words(browser: Browser, *addresses: str) -> list[float]:
    """Milliseconds from the navigation to the first step on the screen, for each address: medians of rounds in which
    they take turns, so that what else the machine does meets all of them."""
    found: list[list[float]] = [[] for _ in addresses]
    for _ in range(ROUNDS):
        for times, address in zip(found, addresses, strict=True):
            context = browser.new_context(viewport={"width": 1360, "height": 860})
            page = context.new_page()
            page.add_init_script(FIRST)
            page.goto(address)
            times.append(_first(page))
            context.close()
    return [statistics.median(times) for times in found]


def _first(page: Page) -> float:
    while (found := page.evaluate("globalThis.firstWords || 0")) == 0:
        page.wait_for_timeout(20)
    milliseconds: float = found
    return milliseconds


def busy(session: CDPSession) -> float:
    """Milliseconds of CPU that the page's main thread has needed so far: what a loaded machine does not change."""
    found = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    return float(found["TaskDuration"]) * 1_000


def timed(page: Page, action: str, done: str) -> float:
    """Milliseconds from an action in the page until an expression is true and drawn."""
    # Written out, since the page's own policy forbids making functions of texts.
    script = f"""async () => {{
      const start = performance.now();
      {action}
      while (!({done})) await new Promise((wait) => requestAnimationFrame(wait));
      await new Promise((wait) => requestAnimationFrame(() => setTimeout(wait)));
      return performance.now() - start;
    }}"""
    found: float = page.evaluate(script)
    return found


def long_sample(browser: Browser, report: Path, bare: Path, middle: int) -> dict[str, Any]:
    """The figures of the report with one long sample."""
    ours, theirs = first_words(browser, report.as_uri(), bare.as_uri())
    page = browser.new_page(viewport={"width": 1360, "height": 860})
    page.goto(report.as_uri(), wait_until="load")
    page.locator(".step .said").first.wait_for()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    start = busy(session)
    scrolled = page.evaluate(FRAMES, 260)
    scrolling = (busy(session) - start) / 300
    times = scrolled["times"]
    page.keyboard.press("/")
    search = (
        "const input = document.querySelector('aside.search input');"
        f"input.value = {LAST!r}; input.dispatchEvent(new Event('input'));"
    )
    start = busy(session)
    found = timed(page, search, "document.querySelector('.hits mark')")
    searching = busy(session) - start
    there = f"document.querySelector('#step-{middle} .said')"
    jump = timed(page, f"location.hash = '#/run/0/sample/long/step/{middle}';", there)
    page.close()
    return {
        "report_mb": report.stat().st_size / 1e6,
        "first_words_ms": ours,
        "bare_page_ms": theirs,
        "ratio": ours / theirs,
        "nodes": scrolled["nodes"],
        "frame_p50_ms": times[len(times) // 2],
        "frame_p95_ms": times[int(len(times) * 0.95)],
        "frame_cpu_ms": scrolling,
        "search_ms": found,
        "search_cpu_ms": searching,
        "jump_ms": jump,
    }


@contextmanager
def served(path: Path) -> Iterator[str]:
    """A server over a recording."""
    command = [*PANTRACE, "view", str(path), "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout is not None
        try:
            yield running.stdout.readline().strip()
        finally:
            running.send_signal(signal.SIGINT)


def many_samples(browser: Browser, path: Path, samples: int) -> dict[str, Any]:
    """The figures of a run of many samples on the server."""
    with served(path) as address:
        started = time.monotonic()
        page = browser.new_page(viewport={"width": 1360, "height": 860})
        page.goto(address)
        page.locator("a.row").first.wait_for(timeout=600_000)
        packed = time.monotonic() - started
        again = browser.new_page(viewport={"width": 1360, "height": 860})
        page.close()
        again.add_init_script(FIRST)
        again.goto(address)
        opened = _first(again)
        count = "document.querySelector('.filters [role=status]').textContent"
        pick = (
            "const input = document.querySelector('.filters %s'); "
            "input.value = '%s'; input.dispatchEvent(new Event('%s'));"
        )
        actions = {
            "text_ms": (
                pick % ("input[type=search]", f"case {samples - 7} ", "input"),
                f"{count}.startsWith('1 of')",
            ),
            "clear_ms": (pick % ("input[type=search]", "", "input"), f"{count}.endsWith('samples')"),
            "status_ms": (pick % ("select", "failed", "change"), f"/of/.test({count})"),
            "sort_ms": (
                "[...document.querySelectorAll('.row.head button')].find((each) => each.title === 'grade').click();",
                "document.querySelector('.row.head [aria-sort=descending]')",
            ),
        }
        figures = {name: timed(again, action, done) for name, (action, done) in actions.items()}
    return {"packed_s": packed, "opened_ms": opened, **figures}


def main() -> None:
    """Everything, as JSON or as a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=10_000)
    options.add_argument("--megabytes", type=int, default=102)
    options.add_argument("--samples", type=int, default=100_000)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        long, many = recordings(Path(folder), chosen.steps, chosen.megabytes, chosen.samples)
        report = Path(folder) / "long.html"
        subprocess.run([*PANTRACE, "report", str(long), "-o", str(report)], check=True, capture_output=True, cwd=ROOT)
        bare = bare_page(long, Path(folder) / "bare.html")
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        figures = {
            "source_mb": long.stat().st_size / 1e6,
            **long_sample(browser, report, bare, chosen.steps // 2),
            **many_samples(browser, many, chosen.samples),
        }
        browser.close()
    if chosen.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:16} {value:12,.1f}")


if __name__ == "__main__":
    main()
