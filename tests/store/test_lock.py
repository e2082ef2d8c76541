"""The lock where the system's own does not reach: another machine holds the directory, or held it and died."""

from __future__ import annotations

import os
import platform
import threading
from pathlib import Path

import pytest

from pantrace.errors import UsageError
from pantrace.store.lock import Lock

ELSEWHERE = "pid 7 on elsewhere, sign {}\n"


def test_a_writer_on_another_machine_is_seen_by_its_signs_of_life(tmp_path: Path) -> None:
    """It wrote its name into the file; its lock is not seen here, as on some file systems of a network."""
    path, done = tmp_path / "lock", threading.Event()

    def live() -> None:
        sign = 0
        while not done.wait(0.01):
            sign += 1
            path.write_text(ELSEWHERE.format(sign))

    path.write_text(ELSEWHERE.format(0))
    other = threading.Thread(target=live)
    other.start()
    try:
        with pytest.raises(UsageError, match=r"another process is writing here \(pid 7 on elsewhere\); wait until"):
            Lock(path, watch=60)
    finally:
        done.set()
        other.join()


def test_one_that_died_there_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text(ELSEWHERE.format(41))
    lock = Lock(path, watch=0.2)
    assert path.read_text() == f"pid {os.getpid()} on {platform.node()}, sign 1\n"
    lock.release()
    assert path.read_text() == ""


def test_a_holder_gives_signs_of_life_until_it_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = Lock(path, beat=0.01)
    seen = {path.read_text()}
    while len(seen - {""}) < 3:
        seen.add(path.read_text())
    lock.release()
    assert path.read_text() == ""
    Lock(path).release()
