"""Debian's Firefox over WebDriver BiDi: as much of the protocol as looking at a page takes."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

FIREFOX = "/usr/bin/firefox-esr"
PREFERENCES = {
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "extensions.update.enabled": False,
    "app.update.enabled": False,
}
_LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
PATIENCE = 60.0
"""Seconds for the browser to answer, or for something to appear; a loaded machine needs them."""


class Window:
    """One window. Whatever the page complains of, and all that it asks for, is kept."""

    def __init__(self, wire: ClientConnection):
        self._wire = wire
        self._count = 0
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._send("session.new", {"capabilities": {}})
        self._send("session.subscribe", {"events": ["log.entryAdded", "network.beforeRequestSent"]})
        self._context = self._send("browsingContext.getTree", {})["contexts"][0]["context"]
        size = {"width": 1280, "height": 800}
        self._send("browsingContext.setViewport", {"context": self._context, "viewport": size})

    def _send(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._count += 1
        self._wire.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._wire.recv(timeout=PATIENCE))
            if answer["type"] == "event":
                self._heard(answer["method"], answer["params"])
            elif answer.get("id") == self._count:
                assert answer["type"] == "success", f"{method}: {answer}"
                found: dict[str, Any] = answer["result"]
                return found

    def _heard(self, method: str, found: dict[str, Any]) -> None:
        if method == "log.entryAdded" and found["level"] == "error":
            self.complaints.append(str(found.get("text")))
        elif method == "network.beforeRequestSent":
            self.requests.append(found["request"]["url"])

    def open(self, address: str) -> None:
        """Go to an address as if for the first time, and wait until its page is drawn."""
        self._send("browsingContext.navigate", {"context": self._context, "url": "about:blank", "wait": "complete"})
        self._send("browsingContext.navigate", {"context": self._context, "url": address, "wait": "complete"})
        self.until("!!document.querySelector('main')")

    def run(self, expression: str) -> Any:
        """The value of an expression in the page: text, number, yes or no."""
        asked = {"expression": expression, "target": {"context": self._context}, "awaitPromise": True}
        answer = self._send("script.evaluate", asked)
        assert answer["type"] == "success", answer
        return answer["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(expression):
            assert time.monotonic() < end, f"never came true: {expression}; the page says: {self.text()[:600]}"
            time.sleep(0.05)

    def shows(self, words: str) -> None:
        """Wait until the page shows these words."""
        self.until(f"document.body.innerText.includes({json.dumps(words)})")

    def scrolls_to(self, words: str) -> None:
        """Read the steps from the top until these words are in the page; fail where they end without them."""
        self.run("document.querySelector('.steps').scrollTop = 0")
        while not self.run(f"document.body.textContent.includes({json.dumps(words)})"):
            moved = self.run(
                "new Promise((done) => { const steps = document.querySelector('.steps'), before = steps.scrollTop;"
                "steps.scrollTop += 500; const end = () => done(steps.scrollTop > before);"
                "requestAnimationFrame(() => requestAnimationFrame(end)); })"
            )
            self.until("!document.querySelector('.parts.waiting')")
            assert moved, f"{words!r} is nowhere on the page"

    def text(self) -> str:
        """All that the page shows."""
        return str(self.run("document.body.innerText"))

    def press(self, key: str) -> None:
        """A key, typed as a person would."""
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        keyboard = [{"type": "key", "id": "keyboard", "actions": actions}]
        self._send("input.performActions", {"context": self._context, "actions": keyboard})


@contextmanager
def firefox(profile: Path) -> Iterator[Window]:
    """A Firefox without a screen, in a profile of its own."""
    profile.mkdir()
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("\n".join(lines) + "\n")
    command = [FIREFOX, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
        assert running.stderr is not None
        try:
            address = next(found[1] for line in running.stderr if (found := _LISTENING.search(line)))
            with connect(f"{address}/session", max_size=None) as wire:
                yield Window(wire)
        finally:
            running.terminate()
            running.stderr.close()
