"""What is tried with a damaged recording. Each ends well, or with an error in words; nothing is left half written."""

from __future__ import annotations

import io
import random
import shutil
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from pantrace.cli import cli
from pantrace.engine.convert import UNWRITABLE, convert
from pantrace.engine.read import read
from pantrace.errors import PantraceError
from pantrace.formats import all_formats

LONGEST = 20
"""Seconds of processor time: a busy machine is no hang."""

COMMANDS = (
    ("detect", "{source}", "--json"),
    ("show", "{source}"),
    ("show", "{source}", "--json"),
    ("show", "{source}", "--sample", "1"),
    ("measure", "{source}", "--by", "turn", "--format", "csv"),
    ("measure", "{source}"),
    ("validate", "{source}"),
    ("check", "{source}", "--rules", "stateless-handoff"),
    ("redact", "{source}", "-o", "{out}/redacted"),
    ("diagnose", "{source}"),
    ("report", "{source}", "-o", "{out}/report.html"),
    ("measure", "{source}", "--format", "json", "-o", "{out}/measured.json"),
    ("eval", "{source}", "--out", "{out}/results", "--markdown", "{out}/told.md", "--junit", "{out}/told.xml"),
)


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


def attempt(source: Path, name: str | None, out: Path, dice: random.Random) -> list[str]:
    """Convert and look at a recording; whatever is raised but a PantraceError is a defect. Gives what a reader or a
    writer stumbled over, and what the frame caught."""
    to = dice.choice(["native", dice.choice([each.name for each in all_formats() if each.writes])])
    # An eval takes as long as ten others.
    weights = [1 if each[0] == "eval" else 5 for each in COMMANDS]
    words = [word.format(source=source, out=out) for word in dice.choices(COMMANDS, weights)[0]]
    told = f"--from {name}; convert --to {to}; {' '.join(words)}"
    try:
        with patience():
            caught = _convert(source, name, to, out)
            if dice.random() < 0.6:
                _command([*words, *(("--from", name) if name and words[0] != "report" else ())])
    except (Exception, Hung) as error:
        raise AssertionError(f"{told}: {type(error).__name__}: {error}") from error
    _clear(out, "redacted", "report.html", "results", "measured.json", "told.md", "told.xml")
    left = [each.name for each in out.iterdir()]
    assert not left, f"{told}: left behind: {left}"
    return caught


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
    _clear(out, "converted")
    refused = [why for _, why in report.refused if why.startswith(UNWRITABLE)]
    return [*_stumbled(report.notes.broken), *(f"{to}: {why}" for why in refused)]


def _stumbled(errors: Iterable[Exception]) -> list[str]:
    return [f"{type(error.__cause__).__name__}: {error}" for error in errors if error.__cause__ is not None]


def _command(words: list[str]) -> None:
    from click import ClickException

    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            cli.main(args=words, prog_name="pantrace", standalone_mode=False)
        except PantraceError:
            pass
        except ClickException as error:
            raise AssertionError(error.format_message()) from None


def _clear(out: Path, *names: str) -> None:
    for name in names:
        path = out / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
