"""What is tried with something damaged. Each ends well, or with an error in words; nothing is left half written."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from click import ClickException

from fuzz.command_lines import RECORDING, Line
from fuzz.mutations import HOSTILE, changed_value
from pantrace.cli import cli
from pantrace.engine import judge as judging
from pantrace.engine.convert import UNWRITABLE, convert
from pantrace.engine.read import Notes, read
from pantrace.errors import PantraceError
from pantrace.formats import all_formats
from pantrace.judges import Reply, Request
from pantrace.library.shown import Wanted, find_sources, gather
from pantrace.viewer.server import Site
from scripted import Scripted, verdict

LONGEST = 20
"""Seconds of processor time: a busy machine is no hang."""
WITHOUT_FORMAT = ("compare", "gate", "migrate", "power", "query", "run", "plot")
"""Commands that take no `--from`, or take it for what is whole, too."""
MADE = "made"


class Hung(BaseException):
    """It takes too long; not an Exception, so that nobody takes it for a broken record."""


@contextmanager
def patience() -> Iterator[None]:
    """Ends what never ends."""

    def end(*_: Any) -> None:
        raise Hung(f"more than {LONGEST} s of processor time")

    former = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, former)


def attempt(source: Path, name: str | None, out: Path, dice: random.Random, names: Mapping[str, str]) -> list[str]:
    """Convert and look at a recording. Gives what a reader or a writer stumbled over, and what the frame caught."""
    to = dice.choice(["native", dice.choice([each.name for each in all_formats() if each.writes])])
    line = dice.choices(RECORDING, [each.weight for each in RECORDING])[0]
    before = _state(source)
    try:
        with patience():
            caught = _convert(source, name, to, out)
    except (Exception, Hung) as error:
        raise AssertionError(f"--from {name}; convert --to {to}: {type(error).__name__}: {error}") from error
    if dice.random() < 0.6:
        asked = ("--from", name) if name and line.command not in WITHOUT_FORMAT else ()
        tried(Line((*line.words, *asked)), {**names, "source": str(source)}, out, dice)
    assert _state(source) == before, f"{' '.join(line.words)}: the input was changed"
    return caught


def tried(line: Line, names: Mapping[str, str], out: Path, dice: random.Random, *, usage: bool = False) -> None:
    """A command; whatever it raises but a PantraceError is a defect. With `usage` it may also be a complaint about an
    option."""
    words = [word.format(**names, out=out) for word in line.words]
    told = " ".join(line.words)
    try:
        with patience(), scripted_judge(dice):
            _command(words, usage)
    except (Exception, Hung) as error:
        raise AssertionError(f"{told}: {type(error).__name__}: {error}"[:2_000]) from error
    _clear(each for each in out.iterdir() if each.name.startswith(MADE))
    left = [each.name for each in out.iterdir()]
    assert not left, f"{told}: left behind: {left}"


def _convert(source: Path, name: str | None, to: str, out: Path) -> list[str]:
    target = out / "converted"
    try:
        report = convert(source, target, to=to, format=name)
    except PantraceError as error:
        assert not target.exists(), f"a part of it was written, then {error}"
        return _stumbled([error])
    if to == "native":
        again = len(list(read(target, format=to).samples))
        assert again == report.samples, f"{report.samples} samples were written as {to}, {again} are read"
    _clear([target])
    refused = [why for _, why in report.refused if why.startswith(UNWRITABLE)]
    return [*_stumbled(report.notes.broken), *(f"{to}: {why}" for why in refused)]


def _stumbled(errors: Iterable[Exception]) -> list[str]:
    return [f"{type(error.__cause__).__name__}: {error}" for error in errors if error.__cause__ is not None]


def _command(words: list[str], usage: bool) -> None:
    try:
        if words[0] == "view":
            _viewed(Path(words[1]), words[3] if "--from" in words else None)
        else:
            quiet(words)
    except PantraceError as error:
        str(error).encode("utf-8", "surrogatepass")
    except ClickException as error:
        if not usage:
            raise AssertionError(error.format_message()) from None


def quiet(words: Sequence[str]) -> None:
    """A command whose words nobody reads."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
    with redirect_stdout(printed), redirect_stderr(printed):
        cli.main(args=list(words), prog_name="pantrace", standalone_mode=False)


def _viewed(path: Path, name: str | None) -> None:
    """The pages of `view`, without its server."""
    wanted = Wanted(paths=[path], format=name)
    find_sources(wanted, Notes.keeping())
    site = Site(lambda: gather(wanted, Notes.keeping()), lambda: 0, "me")
    try:
        site._pack()
        json.loads(site.served_index())
    finally:
        site._stop.set()
        for spool in site._spools:
            spool.close()


class _Judge(Scripted):
    """Answers with a verdict that has sometimes something wrong in it."""

    def __init__(self, dice: random.Random, damaged: float):
        super().__init__(lambda _: self._answer())
        self._dice, self._damaged = dice, damaged

    def _answer(self) -> str:
        if self._dice.random() >= self._damaged:
            return verdict(self._dice.randint(1, 5))
        changed, _, _ = changed_value(self._dice, json.loads(verdict(3)), HOSTILE)
        return json.dumps(changed)[: self._dice.choice((10, 1_000_000))]

    def open(self) -> None: ...

    async def close(self) -> None: ...

    async def ask(self, request: Request) -> Reply:
        return await super().ask(request)


@contextmanager
def scripted_judge(dice: random.Random, damaged: float = 0.3) -> Iterator[None]:
    """In the place of a provider: the cache, the budget and all else about judges are real."""
    keys = {"OPENAI_API_KEY": "none-is-needed"}
    with patch.object(judging, "Provider", lambda *_, **__: _Judge(dice, damaged)), patch.dict(os.environ, keys):
        yield


def _state(path: Path) -> object:
    """What would be another if somebody had written to it."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [
        (str(each), found.st_size, found.st_mtime_ns) for each in files if (found := each.lstat()) and each.is_file()
    ]


def _clear(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
