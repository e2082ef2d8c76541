"""Reads streams of `opencode run --format json`: the agent's parts in the order in which they were finished.

A stream has no prompt, no message objects and no parts of sub-agents. Tokens and stop reason of a message come from
its step-finish part. The time it began is read from its id, which OpenCode derives from the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Sample, Source
from pantrace.wire import files
from pantrace.wire.json import decode, typed_decoder, unknown_keys
from pantrace.wire.rows import OnBroken

from .messages import Message
from .sessions import load_session
from .taken_keys import NAME, Raw

TYPES = ("step_start", "text", "reasoning", "tool_use", "step_finish", "error")
_LINE = ("type", "timestamp", "sessionID")
NOTE = "Read from a run stream: the prompt and the sessions of sub-agents are not recorded there."


class _Line(msgspec.Struct, gc=False):
    sessionID: str = ""  # noqa: N815 (the source's name)


_line = typed_decoder(_Line)


def is_row(row: Any) -> bool:
    """Whether a value is a line of a run stream."""
    return (
        isinstance(row, dict)
        and row.get("type") in TYPES
        and isinstance(row.get("sessionID"), str)
        and (isinstance(row.get("part"), dict) or (row["type"] == "error" and "error" in row))
    )


def samples(path: Path, on_broken: OnBroken) -> Iterator[Sample]:
    """One sample per session. Lines of several sessions may be mixed; each session is held until its last line."""
    last: dict[str, int] = {}
    # The first pass only finds where each session ends; the second reports what is broken.
    for number, line in files.lines(path, None, lambda _: None):
        try:
            last[_line(line).sessionID] = number
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
    sessions: dict[str, _Session] = {}
    for number, line in files.lines(path, None, on_broken):
        place = f"line {number}"
        try:
            row = decode(line)
        except ReadError as error:
            on_broken(error.at(path=str(path), place=place))
            continue
        if not is_row(row):
            on_broken(ReadError("not a line of an OpenCode run stream", path=str(path), place=place))
            continue
        name = row["sessionID"]
        session = sessions.setdefault(name, _Session(name, place))
        session.add(row)
        if last.get(name, 0) <= number:
            yield session.sample(path)
            del sessions[name]
    # Sessions whose last line was broken.
    for session in sessions.values():
        yield session.sample(path)


class _Session:
    """The messages of one session, growing line by line."""

    def __init__(self, name: str, place: str):
        self.name = name
        self.place = place
        self.messages: dict[str | None, Message] = {}
        self.created: int | None = None

    def add(self, row: Raw) -> None:
        stamp = row.get("timestamp")
        if self.created is None and type(stamp) is int:
            self.created = moment_of(self.name, stamp)
        if row["type"] == "error" and not isinstance(row.get("part"), dict):
            self._fail(row)
            return
        part = {**row["part"], **_around(row, "part")}
        name = part.get("messageID")
        info, parts = self._message(name if type(name) is str else None, stamp)
        # Without a message id, everything goes into one message without a name.
        parts.append(part)
        if part.get("type") == "step-finish":
            _account(info, part)

    def _message(self, name: str | None, stamp: Any) -> Message:
        if name not in self.messages:
            info: Raw = {"role": "assistant"}
            if name is not None:
                info["id"] = name
                created = moment_of(name, stamp) if type(stamp) is int else None
                if created is not None:
                    info["time"] = {"created": created}
            self.messages[name] = (info, [])
        return self.messages[name]

    def _fail(self, row: Raw) -> None:
        """Add an error. It names no message: it ends the unfinished one, or becomes a message of its own."""
        info = next(reversed(self.messages.values()))[0] if self.messages else None
        if info is None or "finish" in info or "error" in info:
            info, _ = self._message(None, None)
        info["error"] = row["error"]
        info |= _around(row, "error")

    def sample(self, path: Path) -> Sample:
        info: Raw = {"id": self.name}
        if self.created is not None:
            info["time"] = {"created": self.created}
        for _, parts in self.messages.values():
            # Lines are written when a part is finished; its id shows when it began.
            parts.sort(key=lambda part: str(part.get("id", "")))
        source = Source(format=NAME, version="stream", producer="opencode run", path=str(path), place=self.place)
        return Sample(id=self.name, trajectory=load_session(info, self.messages.values(), {"note": NOTE}, source))


def _around(row: Raw, content: str) -> Raw:
    """What a line has beside its content: its time and unknown keys."""
    rest = unknown_keys(row, (*_LINE, content))
    found = {"timestamp": row["timestamp"]} if "timestamp" in row else {}
    return {**found, "line": rest} if rest else found


def _account(info: Raw, part: Raw) -> None:
    """Add a step-finish part to its message: tokens and cost are summed, the last reason counts."""
    if type(part.get("reason")) is str:
        info["finish"] = part["reason"]
    for key in ("cost", "tokens"):
        if key in part:
            info[key] = _sum(info.get(key), part[key])


def _sum(one: Any, two: Any) -> Any:
    if isinstance(one, dict) and isinstance(two, dict):
        return {key: _sum(one.get(key), two.get(key)) for key in (*one, *(key for key in two if key not in one))}
    if one is None or two is None:
        return one if two is None else two
    numbers = isinstance(one, (int, float)) and isinstance(two, (int, float))
    return one + two if numbers else two


_ID = re.compile(r"(ses|msg|prt)_([0-9a-f]{12})")
# An id holds the milliseconds modulo 2^36, about 2.18 years.
_CYCLE = 2**36
_MONTH = 30 * 86_400_000


def moment_of(name: str, near: int) -> int | None:
    """The time at which an id was made, in milliseconds: 36 bits of it are in the id, the others come from `near`, a
    time soon after. None if the id has another form, or is over a month from `near`. Session ids count backwards."""
    found = _ID.match(name)
    if found is None:
        return None
    value = int(found[2], 16)
    if found[1] == "ses":
        value ^= 2**48 - 1
    before = (near - (value >> 12)) % _CYCLE
    # A larger gap means that the id was not made in this run: guessing its cycle would invent a time.
    return near - before if before < _MONTH else None
