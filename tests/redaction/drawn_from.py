"""Texts drawn from a regular expression: any text that it matches may come out."""

from __future__ import annotations

import random
import re
import string
import warnings
from collections.abc import Callable
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_PRINTED = string.digits + string.ascii_letters + string.punctuation + " "
_CATEGORIES = {
    sre.CATEGORY_DIGIT: string.digits,
    sre.CATEGORY_WORD: string.ascii_letters + string.digits + "_",
    sre.CATEGORY_SPACE: " \t\n",
    sre.CATEGORY_NOT_SPACE: "".join(set(_PRINTED) - {" "}),
}
_MORE = 24
"""Of a run without an end, so many letters above the fewest."""


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern in Go's notation as one of Python's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return re.compile(_in_python(pattern))


def _in_python(pattern: str) -> str:
    """Go lets a flag begin anywhere and hold to the end of its group; Python wants a group of its own for it."""
    pattern = pattern.replace("[:alnum:]", "a-zA-Z0-9").replace(r"\z", r"\Z")
    out: list[str] = []
    flagged = [0]
    place, in_class = 0, False
    while place < len(pattern):
        letter = pattern[place]
        if letter == "\\":
            out.append(pattern[place : place + 2])
            place += 2
            continue
        if in_class:
            in_class = letter != "]"
        elif letter == "[":
            in_class = True
        elif pattern.startswith("(?i)", place):
            out.append("(?i:")
            flagged[-1] += 1
            place += 4
            continue
        elif letter == "(":
            flagged.append(0)
        elif letter == "|":
            out.append(")" * flagged[-1] + "|" + "(?i:" * flagged[-1])
            place += 1
            continue
        elif letter == ")":
            out.append(")" * flagged.pop())
        out.append(letter)
        place += 1
    return "".join(out) + ")" * flagged[0]


def drawer(pattern: re.Pattern[str], *, one_line: bool = False) -> Callable[[random.Random], str]:
    """A function that draws texts; look-arounds are not heeded, so a text may not match."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        tree = parser.parse(pattern.pattern, pattern.flags)

    def draw(dice: random.Random) -> str:
        text = _sequence(tree, dice, pattern.flags, {})
        return text.replace("\n", " ") if one_line else text

    return draw


def _sequence(items: Any, dice: random.Random, flags: int, groups: dict[int, str]) -> str:
    return "".join(_one(kind, held, dice, flags, groups) for kind, held in items)


def _one(kind: Any, held: Any, dice: random.Random, flags: int, groups: dict[int, str]) -> str:
    if kind is sre.LITERAL:
        return _cased(chr(held), dice, flags)
    if kind is sre.NOT_LITERAL:
        return dice.choice([each for each in _PRINTED if each != chr(held)])
    if kind is sre.ANY:
        return dice.choice(_PRINTED)
    if kind is sre.IN:
        return _cased(dice.choice(_class(held)), dice, flags)
    if kind is sre.BRANCH:
        return _sequence(dice.choice(held[1]), dice, flags, groups)
    if kind is sre.SUBPATTERN:
        number, more, less, items = held
        text = _sequence(items, dice, (flags | more) & ~less, groups)
        if number is not None:
            groups[number] = text
        return text
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        least, most, items = held
        count = dice.randint(least, least + _MORE if most is sre.MAXREPEAT else most)
        return "".join(_sequence(items, dice, flags, groups) for _ in range(count))
    if kind is sre.GROUPREF:
        return groups[held]
    return ""


def _cased(letter: str, dice: random.Random, flags: int) -> str:
    return dice.choice((letter, letter.swapcase())) if flags & re.IGNORECASE and letter.isalpha() else letter


def _class(members: Any) -> str:
    letters: set[str] = set()
    negated = False
    for kind, held in members:
        if kind is sre.NEGATE:
            negated = True
        elif kind is sre.LITERAL:
            letters.add(chr(held))
        elif kind is sre.RANGE:
            letters |= {chr(each) for each in range(held[0], held[1] + 1)}
        else:
            letters |= set(_CATEGORIES.get(held, _PRINTED))
    return "".join(sorted(set(_PRINTED) - letters if negated else letters))
