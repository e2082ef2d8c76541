"""Recall: every planted kind of secret, in every place where recordings have secrets, drawn anew and looked for."""

from __future__ import annotations

import json
import random
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from pantrace.model import RunHeader, Sample, Step, Text, ToolCall, ToolResult, Trajectory
from pantrace.normalise.secrets import Redactor
from pantrace.wire.json import to_plain
from redaction.planted_kinds import ALPHABETS, BY_FORM, BY_NAME, rows

DRAWS = 3
_PIECE = re.compile(r"\{(\w+)(?::(\d+))?\}")


class Planted(NamedTuple):
    """One secret: what is written, and the letters of it that must be gone."""

    text: str
    """As a line of a file or of a log."""
    name: str | None
    """The name that gives it away, where there is one."""
    value: str
    secret: str


def planted(form: str, dice: random.Random) -> Planted:
    """A secret drawn by a row; of a row of BY_NAME, `NAME value`."""
    drawn: list[str] = []

    def draw(match: re.Match[str]) -> str:
        if match[1] == "nl":
            return "\n"
        if match[1] == "login":
            drawn.append(b64encode(f"shop:{_letters('alnum', 14, dice)}".encode()).decode())
        else:
            drawn.append(_letters(match[1], int(match[2]), dice))
        return drawn[-1]

    value = _PIECE.sub(draw, form)
    # Of several of the same length the last: behind a user comes the password.
    return Planted(value, None, value, max(reversed(drawn), key=len))


def named(form: str, dice: random.Random) -> Planted:
    """A secret behind its name."""
    name, rest = form.split(None, 1)
    _, _, value, secret = planted(rest, dice)
    return Planted(f"{name}={value}", name, value, secret)


def _letters(alphabet: str, count: int, dice: random.Random) -> str:
    return "".join(dice.choice(ALPHABETS[alphabet]) for _ in range(count))


def _step(part: Any) -> Sample:
    return Sample(id="s", trajectory=Trajectory(steps=(Step(role="agent", parts=(part,)),)))


def _member(one: Planted) -> dict[str, str]:
    return {one.name or "note": one.value}


def _text(one: Planted) -> Any:
    return _step(Text(text=f"I looked, and this is what I found:\n{one.text}\nThen it worked."))


def _argument(one: Planted) -> Any:
    return _step(ToolCall(name="deploy", arguments={"stage": "test", "env": _member(one)}))


def _output(one: Planted) -> Any:
    line = f'  "{one.name}": "{one.value}",' if one.name else one.text
    return _step(ToolResult(name="shell", output=f"$ cat settings\n{line}\n$"))


def _key(one: Planted) -> Any:
    return Sample(id="s", extra={"seen": {one.text: 1}})


def _header(one: Planted) -> Any:
    pair = [one.name, one.value] if one.name else ["X-Note", one.text]
    return Sample(id="s", extra={"request": {"headers": [["Accept", "*/*"], pair]}})


def _nested(one: Planted) -> Any:
    return _step(ToolResult(name="fetch", output=json.dumps({"body": json.dumps({"items": [_member(one)]}), "n": 1})))


def _base64(one: Planted) -> Any:
    return _step(Text(text=b64encode(f"export A=1\n{one.text}\nexport B=2\n".encode()).decode()))


def _url(one: Planted) -> Any:
    if one.name:
        address = f"https://api.example.org/v1/items?page=2&{one.name}={quote(one.value, safe='')}&sort=up"
    elif "://" in one.text:
        address = one.text
    elif set(one.text) & set(" \n\"'<>"):
        return None
    else:
        address = f"https://api.example.org/v1/items?page=2&x={one.text}&sort=up"
    return _step(Text(text=f"GET {address} gave 200"))


def _run(one: Planted) -> Any:
    return RunHeader(name="r", config={"model_args": _member(one)})


PLACES: dict[str, Callable[[Planted], Any]] = {
    "text": _text,
    "argument": _argument,
    "output": _output,
    "key": _key,
    "header": _header,
    "nested JSON": _nested,
    "base64": _base64,
    "address": _url,
    "run header": _run,
}


class Planting(NamedTuple):
    """One kind at one place: how many were planted, and how many were found."""

    kind: str
    place: str
    planted: int
    found: int


def plantings(redactor: Redactor | None = None) -> Iterator[Planting]:
    """Every kind at every place where it can stand."""
    redactor = redactor or Redactor()
    for table, make in ((BY_FORM, planted), (BY_NAME, named)):
        for kind, form in rows(table):
            for place, put in PLACES.items():
                tried = found = 0
                for draw in range(DRAWS):
                    one = make(form, random.Random(f"{kind}/{place}/{draw}"))
                    if (record := put(one)) is not None:
                        tried += 1
                        found += _is_gone(one.secret, record, redactor)
                if tried:
                    yield Planting(kind, place, tried, found)


def _is_gone(secret: str, record: Any, redactor: Redactor) -> bool:
    clean = json.dumps(to_plain(redactor.record(record)[0]), ensure_ascii=False)
    assert secret in _opened(json.dumps(to_plain(record), ensure_ascii=False)), "it was not planted"
    return secret not in _opened(clean)


def _opened(text: str) -> str:
    """A text with the base64 in it as what it says, and addresses without escapes."""
    from urllib.parse import unquote

    def plain(match: re.Match[str]) -> str:
        try:
            return match[0] + b64decode(match[0]).decode()
        except ValueError:
            return match[0]

    return re.sub(r"[A-Za-z0-9+/]{24,}={0,2}", plain, unquote(text)) + text
