"""Mutations: a recording with one thing wrong in it, chosen by dice that always fall the same way."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wrong_values import VALUES, places, replaced, units

RAW = "@raw@"
"""Stands for a piece of JSON that Python's own writer would refuse; put in when the file is written."""

RAWS = (
    "9" * 5_000,
    "-1e999",
    "1" * 400,
    "[" * 300 + "]" * 300,
    '{"a":' * 300 + "1" + "}" * 300,
    "[" * 20_000,
    '"\\ud83d"',
    '"a", "type": "user", "type": 7',
)

HOSTILE: tuple[Any, ...] = (
    *VALUES,
    -1,
    2**63,
    10**30,
    1e300,
    float("nan"),
    float("-inf"),
    "",
    " ",
    "\ud800",
    "\x00\x1b[2J",
    "../../x",
    "9999-99-99T99:99:99Z",
    "0000-00-00",
    "2026-02-30T25:61:61+99:99",
    "+275760-09-13T00:00:00.000Z",
    253_402_300_800_000,
    -62_135_596_801,
    10**19,
    "{not json",
    '{"a": [1, {"b": "c"}]}',
    "data:image/png;base64,@@@",
    "x" * 100_000,
    "a." * 20_000,
    "-" * 20_000 + "x",
    "1" * 20_000,
    "[{" * 10_000,
    " \n" * 20_000,
    "a:b/" * 10_000,
    [[]],
    [None],
    [{}],
    {"": ""},
    {"type": "text", "text": 7},
    [{"type": "unknown"}],
)

Mutation = Callable[[random.Random, Path, Path], str]
"""Takes the golden, and its copy to be changed; says what was done."""


def mutated(golden: Path, work: Path, dice: random.Random) -> tuple[Path, str]:
    """A changed copy of a golden input, and what was changed."""
    copy = work / golden.name
    if golden.is_dir():
        shutil.copytree(golden, copy)
    else:
        shutil.copy(golden, copy)
    chosen = dice.choices((values, bytes_), (4, 1))[0]
    return copy, chosen(dice, golden, copy)


def values(dice: random.Random, golden: Path, copy: Path) -> str:
    """Other values, more or fewer keys, somewhere in one JSON value of the input."""
    found = list(units(golden))
    if not found:
        return bytes_(dice, golden, copy)
    unit = dice.choice(found)
    value, told, raw = changed_value(dice, unit.value, HOSTILE)
    unit.write(value, copy)
    if raw is not None:
        for path in [copy] if copy.is_file() else [each for each in copy.rglob("*") if each.is_file()]:
            data = path.read_bytes()
            if not data.startswith((b"PK", b"SQLite")):
                path.write_bytes(data.replace(f'"{RAW}"'.encode(), raw.encode()))
    return f"{unit.name}: {told}"


def changed_value(dice: random.Random, value: Any, hostile: Sequence[Any]) -> tuple[Any, str, str | None]:
    """A value with other things in it, more or fewer keys; what was done; and what is to stand in the place of RAW once
    it is written."""
    told: list[str] = []
    raw = None
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        inside = [(), *places(value)]
        place = dice.choice(inside)
        deed = dice.choice(("put", "put", "put", "raw", "drop", "double", "swap", "rename"))
        if deed == "put":
            new = dice.choice(hostile)
        elif deed == "raw":
            new, raw = RAW, dice.choice(RAWS)
        elif deed == "swap":
            new = at(value, dice.choice(inside))
        elif place:
            value = {"drop": without, "double": twice, "rename": renamed}[deed](value, place)
            told.append(f"{deed} {place}")
            continue
        else:
            continue
        value = replaced(value, place, new)
        told.append(f"{deed} {str(raw if new is RAW else new)[:40]!r} at {place}")
    return value, "; ".join(told), raw


def bytes_(dice: random.Random, golden: Path, copy: Path) -> str:
    """Bytes that are cut off, turned round, doubled, or those of another encoding."""
    files = sorted(each for each in copy.rglob("*") if each.is_file()) if copy.is_dir() else [copy]
    path = dice.choice(files)
    data = path.read_bytes()
    deed = dice.choice(("cut", "flip", "hole", "double", "utf-16", "latin", "nul", "empty", "line", "bom"))
    at_ = dice.randrange(len(data) + 1)
    if deed == "cut":
        data = data[:at_]
    elif deed == "flip":
        changed = bytearray(data)
        for _ in range(dice.choice((1, 3, 20))):
            if changed:
                changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
        data = bytes(changed)
    elif deed == "hole":
        data = data[:at_] + data[at_ + dice.randrange(200) :]
    elif deed == "double":
        data += data[at_:]
    elif deed == "utf-16":
        data = data.decode("latin-1").encode("utf-16")
    elif deed == "latin":
        data = data[:at_] + b"\xe4\xff\xc3" + data[at_:]
    elif deed == "nul":
        data = data[:at_] + b"\0" * 64 + data[at_:]
    elif deed == "empty":
        data = dice.choice((b"", b"\n", b"{}", b"[]", b"null", b"[{}]", b'""', b"{}\n{}\n", b"7"))
    elif deed == "line":
        data = data[:at_] + b"x" * 2_000_000 + data[at_:]
    else:
        data = b"\xef\xbb\xbf" + data
    path.write_bytes(data)
    return f"{path.name}: {deed} at byte {at_}"


def at(value: Any, place: tuple[Any, ...]) -> Any:
    """What stands at a path."""
    for key in place:
        value = value[key]
    return value


def without(value: Any, place: tuple[Any, ...]) -> Any:
    """The value without one key or item."""
    parent = at(value, place[:-1])
    if isinstance(parent, dict):
        fewer: Any = {key: item for key, item in parent.items() if key != place[-1]}
    else:
        fewer = [item for number, item in enumerate(parent) if number != place[-1]]
    return replaced(value, place[:-1], fewer)


def renamed(value: Any, place: tuple[Any, ...]) -> Any:
    """The value with a key that is called otherwise; of a list, with its items turned round."""
    parent = at(value, place[:-1])
    if isinstance(parent, dict):
        other: Any = {(f"{key}x" if key == place[-1] else key): item for key, item in parent.items()}
    else:
        other = parent[::-1]
    return replaced(value, place[:-1], other)


def twice(value: Any, place: tuple[Any, ...]) -> Any:
    """The value with one item of a list repeated, or a key's value under another key."""
    parent = at(value, place[:-1])
    if isinstance(parent, dict):
        more: Any = {**parent, f"{place[-1]}_": parent[place[-1]]}
    else:
        more = [*parent[: place[-1]], parent[place[-1]], *parent[place[-1] :]]
    return replaced(value, place[:-1], more)
