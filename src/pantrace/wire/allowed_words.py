"""The allowed words of a field, for messages about a wrong one."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args, get_origin

import msgspec

_STEP = re.compile(r"([\w-]+)|\[[^\]]*\]")
_WRONG = re.compile(r"Invalid enum value (?P<given>.+)", re.S)


def not_among(message: str, kind: Any, path: str) -> str | None:
    """msgspec's message about a wrong word, rewritten to list the allowed words and the closest one. None for any other
    message. `path` looks like "rule[0].expect.in"."""
    wrong = _WRONG.fullmatch(message)
    words = choices(kind, path)
    if wrong is None or not words:
        return None
    # Late, as everywhere: only an error message needs it.
    from difflib import get_close_matches

    given = wrong["given"].strip("'\"")
    # A person who types the beginning of a word means that word, even if another one is closer by letters.
    close = [word for word in words if word.startswith(given)] or get_close_matches(given, words, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"{wrong['given']} is not one of {', '.join(words)}{hint}"


def choices(kind: Any, path: str) -> list[str]:
    """The words allowed at a path in a struct; empty if any value is allowed."""
    kinds = [kind]
    for step in _STEP.finditer(path):
        kinds = [inner for each in kinds for inner in inside(each, step[1])]
    return [str(word) for each in kinds for word in _words(each)]


def inside(kind: Any, name: str | None) -> list[Any]:
    """Types held by a field or key of that name, or by the items of a list if there is no name."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [each.type for each in msgspec.structs.fields(kind) if each.encode_name == name]
    arguments, origin = get_args(kind), get_origin(kind)
    if origin is dict:
        return [arguments[1]]
    if origin in (list, tuple):
        return [arguments[0]] if name is None else []
    return [inner for each in arguments for inner in inside(each, name)]


def _words(kind: Any) -> list[Any]:
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    return [word for each in get_args(kind) for word in _words(each)] if get_origin(kind) not in (dict, list) else []
