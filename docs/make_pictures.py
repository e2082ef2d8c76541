"""Takes the pictures of the viewer in docs/pictures: reports of bundled and made-up recordings, in a real Chromium.

Needs the environment of `make browser`: .venvs/browser/bin/python docs/make_pictures.py"""

from __future__ import annotations

import base64
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
CHROMIUM = "/usr/bin/chromium"
SIZES = {"desktop": (1280, 800), "phone": (390, 780)}

SHOTS = [
    ("runs", "both", "#/runs", "desktop"),
    ("run", "both", "#/run/1/samples", "desktop"),
    ("measures", "both", "#/run/1/measures", "desktop"),
    ("failures", "both", "#/run/0/failures", "desktop"),
    ("compare", "both", "#/compare/0/1/case/order-004", "desktop"),
    ("sample", "both", "#/run/0/sample/order-004", "desktop"),
    ("agents", "agents", "", "desktop"),
    ("gui", "gui", "#/run/0/sample/login/step/3", "desktop"),
    ("phone", "both", "#/run/0/sample/order-004", "phone"),
]
"""Name, report, place in it, size; each in light and in dark."""


def main() -> None:
    """All pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        reports = _reports(Path(folder))
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for name, report, place, size in SHOTS:
            for theme in ("light", "dark"):
                target = name if theme == "light" else f"{name}-dark"
                _shoot(browser, reports[report].as_uri() + place, target, theme, SIZES[size])
        browser.close()


def _shoot(browser: Browser, address: str, name: str, theme: Any, size: tuple[int, int]) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
    page = context.new_page()
    page.goto(address)
    page.locator("main").wait_for()
    page.wait_for_timeout(1200)
    page.screenshot(path=PICTURES / f"{name}.png")
    context.close()


def _reports(folder: Path) -> dict[str, Path]:
    for name, better in (("monday", 0.55), ("tuesday", 0.85)):
        _recording(folder / f"{name}.trace.jsonl", name, better)
    given = {
        "both": [folder / "monday.trace.jsonl", folder / "tuesday.trace.jsonl"],
        "agents": [ROOT / "tests" / "golden" / "gemini-cli" / "agents"],
        "gui": [_login(folder / "login.trace.jsonl")],
    }
    made = {name: folder / f"{name}.html" for name in given}
    for name, target in made.items():
        command = [sys.executable, "-m", "pantrace", "report", *map(str, given[name]), "-o", str(target)]
        subprocess.run(command, check=True, cwd=ROOT)
    return made


def _login(target: Path) -> Path:
    """A GUI agent that logs in, on the bundled screenshots, beside what was expected of it."""
    pictures = sorted((ROOT / "examples" / "openadapt" / "login").glob("**/*.png"))
    shots = [f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}" for path in pictures]
    first = {"x": 0.475, "y": 0.33, "space": "normalised"}
    second = {"x": 0.30, "y": 0.455, "space": "normalised"}
    box = {"left": 0.25, "top": 0.43, "right": 0.70, "bottom": 0.48, "space": "normalised"}

    def step(number: int, thought: str, action: dict[str, Any]) -> dict[str, Any]:
        shot = {"type": "media", "id": f"m{number}", "mime": "image/png", "uri": shots[min(number, len(shots) - 1)]}
        parts = [{"type": "thinking", "text": thought}, shot, {"type": "action", "before": f"m{number}"} | action]
        return {"role": "agent", "agent": "clicker", "parts": parts}

    name = {"kind": "click", "target": {"point": first, "box": box | {"top": 0.30, "bottom": 0.36}}}
    password = {"kind": "click", "target": {"point": second, "box": box}}
    expected = {"kind": "click", "target": {"point": second | {"x": 0.475}}}
    task = {"role": "user", "parts": [{"type": "text", "text": "Log in as user0."}]}
    done = [step(0, "Focus the username field.", name), step(1, "Now the password.", password)]
    wanted = [{"role": "agent", "parts": [{"type": "action"} | each]} for each in (name, expected)]
    sample = {
        "id": "login",
        "trajectory": {"title": "Log in as user0", "steps": [task, *done], "outcome": {"status": "passed"}},
        "expected": {"steps": wanted},
    }
    target.write_text(json.dumps({"pantrace": "2", "run": {"name": "login"}}) + "\n" + json.dumps(sample) + "\n")
    return target


def _recording(target: Path, name: str, better: float) -> None:
    """A made-up shop agent with a sub-agent, 60 cases, of which so many go well."""
    chance = random.Random(name)
    lines: list[dict[str, Any]] = [
        {"pantrace": "2", "run": {"name": name, "task": "refunds", "agent": "shop", "created": 1794700000.0}}
    ]
    lines += [_sample(number, chance, better) for number in range(1, 61)]
    target.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _sample(number: int, chance: random.Random, better: float) -> dict[str, Any]:
    case, order = f"order-{number:03}", f"A-{7000 + number * 37 % 900}"
    good = chance.random() < better or (number == 4 and better > 0.6)
    start = 1794700000.0 + number * 90 + chance.random()
    lookup = {
        "type": "call",
        "id": "c1",
        "name": "lookup_order",
        "arguments": {"order": order, "fields": ["status", "total"]},
    }
    steps = [
        _step(
            "user",
            start,
            start,
            [{"type": "text", "text": f"My parcel {order} came **damaged**. I want my money back."}],
        ),
        _step(
            "agent",
            start + 1.2,
            start + 3.8,
            [
                {"type": "thinking", "text": "First the order, then the policy. A refund above $100 needs a check."},
                {"type": "text", "text": "I am sorry to hear that. Let me look at your order."},
                lookup,
                {
                    "type": "result",
                    "call_id": "c1",
                    "output": {"order": order, "status": "delivered", "total": 148.5, "items": ["lamp", "bulb"]},
                    "started": start + 3,
                    "ended": start + 3.8,
                },
            ],
            usage=True,
        ),
        _step(
            "agent",
            start + 4.6,
            start + 9,
            [
                {"type": "text", "text": "I ask a colleague to check the policy."},
                {
                    "type": "call",
                    "id": "c2",
                    "name": "ask_policy_agent",
                    "arguments": {"question": "refund of $148.50, damaged"},
                },
                {
                    "type": "result",
                    "call_id": "c2",
                    "output": "Allowed within 30 days.",
                    "started": start + 6,
                    "ended": start + 9,
                },
            ],
            usage=True,
        ),
    ]
    refund = {"order": order, "amount": 148.5 if good else 0}
    answer = {"type": "result", "call_id": "c3", "output": "refund 148.50 booked"}
    if not good:
        answer = {
            "type": "result",
            "call_id": "c3",
            "output": None,
            "error": "amount must be above 0",
            "failure": "invalid_arguments",
        }
    steps.append(
        _step(
            "agent",
            start + 9.2,
            start + 11.4,
            [
                {"type": "call", "id": "c3", "name": "refund", "arguments": refund},
                answer | {"started": start + 10, "ended": start + 11.4},
            ],
            usage=True,
        )
    )
    last = (
        "Done:\n\n| item | amount |\n|---|---|\n| lamp, bulb | $148.50 |\n\nThe money is back within **3 days**."
        if good
        else "Your refund is on its way!"
    )
    steps.append(_step("agent", start + 11.6, start + 13.1, [{"type": "text", "text": last}], usage=True))
    policy = {
        "id": "policy",
        "title": "policy",
        "caller": "c2",
        "agents": [{"name": "policy"}],
        "steps": [
            _step("user", start + 6, start + 6, [{"type": "text", "text": "refund of $148.50, damaged"}]),
            _step(
                "agent",
                start + 6.1,
                start + 8.8,
                [{"type": "text", "text": "Allowed within 30 days."}],
                usage=True,
                agent="policy",
            ),
        ],
    }
    wanted = [
        {"name": "lookup_order", "arguments": None},
        {"name": "refund", "arguments": {"order": order, "amount": 148.5}},
    ]
    return {
        "id": case,
        "case": {
            "id": case,
            "question": f"My parcel {order} came damaged. I want my money back.",
            "labels": {"difficulty": "hard" if number % 3 == 0 else "easy"},
            "expected_calls": wanted,
        },
        "trajectory": {
            "id": case,
            "title": f"Refund for {order}, which came damaged",
            "created": start,
            "agents": [{"name": "shop", "model": "example-large"}],
            "steps": [each | {"id": f"s{place}"} for place, each in enumerate(steps)],
            "children": [policy],
            "outcome": {"status": "passed" if good else "failed", "reason": None if good else "no refund was booked"},
        },
        "scores": [
            {
                "name": "refund_booked",
                "value": good,
                "passed": good,
                "scale": {"low": 0, "high": 1},
                "explanation": "The refund is booked." if good else "The tool refused, and the answer says otherwise.",
                "evidence": ["s3", "s4"],
            },
            {
                "name": "helpfulness",
                "value": chance.choice([3, 4, 4, 5]) if good else chance.choice([1, 2, 2, 3]),
                "scale": {"low": 1, "high": 5},
                "maker": {"name": "helpfulness", "kind": "rubric", "model": "example-judge"},
                "evidence": ["s4"],
            },
        ],
    }


def _step(
    role: str, at: float, ended: float, parts: list[dict[str, Any]], *, usage: bool = False, agent: str = "shop"
) -> dict[str, Any]:
    step: dict[str, Any] = {"role": role, "at": at, "ended": ended, "parts": parts}
    if role == "agent":
        step |= {"agent": agent, "model": "example-large"}
    if usage:
        step["usage"] = {"input": 1840, "output": 96, "cache_read": 1500, "cost_usd": 0.0031}
    return step


if __name__ == "__main__":
    main()
