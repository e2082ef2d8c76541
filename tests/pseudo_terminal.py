"""A real pseudo-terminal with a person in front: what stands on the screen when a command has ended, and under way.

The command is the leader of a session whose controlling terminal this is, as in a shell, so that Ctrl-C reaches it the
way it does there. An emulator draws what comes out; tests look at the drawn lines, never at raw bytes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyte

ROOT = Path(__file__).parent.parent
PANTRACE = (sys.executable, "-m", "pantrace")
ROWS = 24
PATIENCE = 120
"""Seconds after which a command counts as hanging."""

PROGRESS = re.compile(r"([\d,]+) (?:sample|trial)s?(, [\d.]+/s)?, \d+:\d\d:\d\d")
"""The line that is drawn while a person waits."""

# The kernel gives a session its terminal only when the leader asks for it, which the command itself does not do.
_LEADER = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)  # a suite that runs in the background has it ignored
fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)
os.execvp(sys.argv[2], sys.argv[2:])
"""


@dataclass
class Seen:
    """What a person has seen of one command."""

    code: int = 0
    lines: list[str] = field(default_factory=list)
    """All lines at the end, those that were scrolled away included."""
    under_way: list[str] = field(default_factory=list)
    """The line that the cursor stood in, each time that it changed."""
    cursor_hidden: bool = False
    column: int = 0
    """Where the cursor stands: 0 is where the prompt of the shell belongs."""
    styled: bool = False
    """Whether the next thing to be printed would be bold or coloured."""
    colours: frozenset[str] = frozenset()
    """Colours on the screen at the end."""
    cells: list[list[tuple[str, str, bool]]] = field(default_factory=list)
    """Each line as its letters, with their colours and whether they are bold: for pictures."""
    settings_kept: bool = True
    """Whether the terminal is set as it was: echo, lines, signals."""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def words(self) -> str:
        """The text with all that is folded in one line, as the words are read."""
        return " ".join(self.text.split())

    def counted(self) -> list[int]:
        """The numbers that the progress line has shown."""
        return [int(match[1].replace(",", "")) for line in self.under_way if (match := PROGRESS.match(line))]


def untroubled(seen: Seen) -> None:
    """Nothing went wrong, and the next prompt of the shell stands where it belongs and looks as it should."""
    assert "Traceback" not in seen.text, seen.text
    assert "internal error" not in seen.words, seen.text
    assert not seen.cursor_hidden
    assert not seen.styled
    assert seen.settings_kept
    assert seen.column == 0, seen.text
    assert not any(PROGRESS.match(line) for line in seen.lines), seen.text


Keys = Callable[["_Screen"], bytes | None]
"""What the person types when the screen looks like this; None for nothing yet."""


def watch(
    *words: object,
    folder: Path,
    columns: int = 80,
    variables: Mapping[str, str | None] | None = None,
    stdin: Path | None = None,
    stdout: Path | None = None,
    stderr: Path | None = None,
    keys: Keys | None = None,
) -> Seen:
    """Run a command in front of a person. A stream that is given a file is no terminal."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    before = termios.tcgetattr(inner)
    opened = [
        path.open(mode) if path is not None else None for path, mode in ((stdin, "rb"), (stdout, "wb"), (stderr, "wb"))
    ]
    try:
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", _LEADER, str(inner), *map(str, words)],
            stdin=opened[0] or inner,
            stdout=opened[1] or inner,
            stderr=opened[2] or inner,
            cwd=folder,
            env=environment(variables or {}),
            pass_fds=(inner,),
            start_new_session=True,
        )
    finally:
        for file in opened:
            if file is not None:
                file.close()
    screen = _Screen(columns)
    try:
        _follow(process, outer, screen, keys)
        settings_kept = termios.tcgetattr(inner) == before
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(inner)
        os.close(outer)
    return screen.seen(process.returncode, settings_kept)


def pantrace(*words: object, folder: Path, **how: object) -> Seen:
    """`pantrace WORDS` in front of a person."""
    return watch(*PANTRACE, *words, folder=folder, **how)  # type: ignore[arg-type]


def environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """A plain environment: nothing of how the tests are run decides what is drawn."""
    found: dict[str, str | None] = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME"),
        "PYTHONPATH": str(ROOT / "src"),
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
        **changes,
    }
    return {name: value for name, value in found.items() if value is not None}


def _follow(process: subprocess.Popen[bytes], outer: int, screen: _Screen, keys: Keys | None) -> None:
    """Draw until the command has ended and nothing more comes."""
    deadline = time.monotonic() + PATIENCE
    while True:
        ended = process.poll() is not None
        readable, _, _ = select.select([outer], [], [], 0 if ended else 0.02)
        if readable:
            screen.feed(os.read(outer, 1 << 16))
        elif ended:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"no end after {PATIENCE} seconds; on the screen:\n{screen.text()}")
        if keys is not None and (typed := keys(screen)) is not None:
            os.write(outer, typed)
            keys = None


class _Screen:
    """The emulator, and the line of the cursor over time."""

    def __init__(self, columns: int):
        self._screen = pyte.HistoryScreen(columns, ROWS, history=100_000)
        self._stream = pyte.ByteStream(self._screen)
        self.under_way: list[str] = []

    def feed(self, data: bytes) -> None:
        # A terminal draws more often than we look: each carriage return shows the line that it leaves.
        for piece in re.split(rb"(?=\r)", data):
            self._stream.feed(piece)
            line = self._cursor_line()
            if line and (not self.under_way or self.under_way[-1] != line):
                self.under_way.append(line)

    def _cursor_line(self) -> str:
        line = self._screen.buffer[self._screen.cursor.y]
        return "".join(line[column].data for column in range(min(self._screen.columns, 120))).rstrip()

    def lines(self) -> list[str]:
        every = range(self._screen.columns)
        scrolled = ["".join(line[column].data for column in every) for line in self._screen.history.top]
        found = [line.rstrip() for line in [*scrolled, *self._screen.display]]
        while found and not found[-1]:
            found.pop()
        return found

    def text(self) -> str:
        return "\n".join(self.lines())

    def seen(self, code: int, settings_kept: bool) -> Seen:
        cursor = self._screen.cursor
        cells = [cell for line in [*self._screen.history.top, *self._screen.buffer.values()] for cell in line.values()]
        return Seen(
            code=code,
            lines=self.lines(),
            under_way=self.under_way,
            cursor_hidden=cursor.hidden,
            column=cursor.x,
            styled=cursor.attrs._replace(data=" ") != self._screen.default_char,
            colours=frozenset(colour for cell in cells for colour in (cell.fg, cell.bg)) - {"default"},
            cells=self._cells(),
            settings_kept=settings_kept,
        )

    def _cells(self) -> list[list[tuple[str, str, bool]]]:
        every = range(self._screen.columns)
        lines = [*self._screen.history.top, *(self._screen.buffer[row] for row in range(ROWS))]
        found = [[(line[column].data, line[column].fg, line[column].bold) for column in every] for line in lines]
        while found and not any(letter.strip() for letter, _, _ in found[-1]):
            found.pop()
        return found
