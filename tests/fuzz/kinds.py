"""Kinds of damage: recordings, run directories, settings, words of the command line, and what exporters send."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from fuzz.attempt import attempt, patience, tried
from fuzz.command_lines import RUN, SETTINGS, TEXTS, Line
from fuzz.damaged_runs import damaged_run
from fuzz.damaged_settings import WORDS, damaged_setting, settings
from fuzz.damaged_text import damaged_text
from fuzz.mutations import mutated
from fuzz.whole import Whole
from pantrace.engine.collect import _decoded
from pantrace.errors import PantraceError
from pantrace.recording.receiver import Receiver

Goldens = list[tuple[str, Path]]


class Ground(NamedTuple):
    """What an input is made of, and where it is tried."""

    goldens: Goldens
    whole: Whole
    work: Path

    @property
    def out(self) -> Path:
        return self.work / "out"


def recording(number: int, ground: Ground, dice: random.Random) -> list[str]:
    """A golden recording that is damaged; gives what the frame caught."""
    name, golden = ground.goldens[number % len(ground.goldens)]
    copy, deed = mutated(golden, ground.work, dice)
    asked = name if dice.random() < 0.7 else None
    with told(f"{name}/{golden.name}: {deed}"):
        caught = attempt(copy, asked, ground.out, dice, {**ground.whole.names, "whole": str(golden)})
    return [f"{name}/{golden.name}: {deed}: {each}" for each in caught]


def run_directory(number: int, ground: Ground, dice: random.Random) -> list[str]:
    """A run directory that is damaged."""
    whole = dice.choice(ground.whole.runs)
    source = ground.work / "run"
    deed = damaged_run(whole, source, dice)
    line = _one_of(RUN, dice)
    sql = dice.choice([text for text, each in TEXTS.items() if each.command == "query" and "select" in text])
    with told(f"{whole.name}: {deed}"):
        names = {**ground.whole.names, "whole": str(whole), "sql": sql, **_copied(line, ground)}
        tried(line, {**names, "source": str(source)}, ground.out, dice)
    return []


def setting(number: int, ground: Ground, dice: random.Random) -> list[str]:
    """A file of settings that is damaged, with a command that reads it."""
    found = (*settings(), *ground.whole.settings)
    kind = dice.choice(list(SETTINGS))
    given = dice.choice([each for each in found if each.kind == kind])
    path, deed = damaged_setting(given, ground.work, dice)
    line = _one_of(SETTINGS[kind], dice)
    with told(f"{kind} {given.name}: {deed}"):
        tried(line, {**ground.whole.names, "source": str(path), **_copied(line, ground)}, ground.out, dice)
    return []


def text(number: int, ground: Ground, dice: random.Random) -> list[str]:
    """Words of the command line that are damaged: SQL, conditions, times, sizes, names."""
    given = dice.choice(list(TEXTS))
    changed, deed = damaged_text(dice, given, [str(each) for each in WORDS])
    # No shell can hand over more of one word, nor a zero byte.
    changed = changed.replace("\0", "")[:100_000]
    with told(f"{given!r} as {changed[:200]!r} ({deed})"):
        tried(TEXTS[given], {**ground.whole.names, "source": changed}, ground.out, dice, usage=True)
    return []


def sent(number: int, ground: Ground, dice: random.Random) -> list[str]:
    """A request to `collect` that is damaged; whatever it is, it is answered, and what is kept can be read."""
    golden = dice.choice([path for name, path in ground.goldens if name == "otlp" and path.is_file()])
    copy, deed = mutated(golden, ground.work, dice)
    kind = "application/json" if dice.random() < 0.7 else "application/x-protobuf"
    path = dice.choice(("/v1/traces", "/v1/logs", "/of/a/v1/traces", "/of/..%2f..%2fx/v1/logs", "/v1/metrics"))
    with told(f"collect {golden.name}: {deed}"), patience():
        status = _posted(ground.out / "made", path, copy.read_bytes(), {"content-type": kind})
        assert status in (200, 400, 404, 413, 503), f"answered with {status}"
        left = [each.name for each in ground.out.iterdir() if each.name != "made"]
        assert not left, f"left behind: {left}"
        shutil.rmtree(ground.out / "made", ignore_errors=True)
    return []


def _posted(folder: Path, path: str, body: bytes, headers: dict[str, str]) -> int:
    receiver = Receiver(folder, _decoded)
    thread = Thread(target=receiver.handle_request, daemon=True)
    connection = HTTPConnection("127.0.0.1", receiver.server_address[1], timeout=60)
    try:
        thread.start()
        connection.request("POST", path, body, headers)
        return connection.getresponse().status
    finally:
        connection.close()
        thread.join(60)
        receiver.server_close()


KINDS: dict[Callable[[int, Ground, random.Random], list[str]], int] = {
    recording: 68,
    run_directory: 13,
    setting: 13,
    text: 5,
    sent: 1,
}
"""What is tried, and how often among a hundred."""


class told:  # noqa: N801 -- reads as a verb
    """Puts what was damaged in front of whatever fails."""

    def __init__(self, what: str):
        self.what = what

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, AssertionError):
            raise AssertionError(f"{self.what[:400]}: {error}") from (error.__cause__ or error)
        if isinstance(error, (HTTPException, OSError, PantraceError)):
            raise AssertionError(f"{self.what[:400]}: {type(error).__name__}: {error}") from error


def _one_of(lines: tuple[Line, ...], dice: random.Random) -> Line:
    return dice.choices(lines, [each.weight for each in lines])[0]


def _copied(line: Line, ground: Ground) -> dict[str, str]:
    """A run directory that may be written to, where the command needs one."""
    if "{copy}" not in line.words:
        return {}
    shutil.copytree(ground.whole.names["run"], ground.work / "copy")
    return {"copy": str(ground.work / "copy")}
