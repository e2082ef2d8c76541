"""The two doors of the viewer: a report on the disk, and a server that runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

Open = Callable[..., Page]
PANTRACE = [sys.executable, "-m", "pantrace"]


def report(target: Path, *words: str | Path) -> str:
    """Write a report; gives its address."""
    command = [*PANTRACE, "report", *map(str, words), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target.as_uri()


@contextmanager
def server(*words: str | Path) -> Iterator[str]:
    """A server; gives its address, and is ended as Ctrl-C would."""
    command = [*PANTRACE, "view", *map(str, words), "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        try:
            assert address.startswith("http://127.0.0.1:"), running.stderr.read() if running.stderr else ""
            yield address
        finally:
            import signal

            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=30)
    assert running.returncode in (0, 130), errors
    assert "Traceback" not in errors, errors
