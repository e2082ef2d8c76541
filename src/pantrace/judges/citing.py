"""What a verdict rests on: the steps it names and the passages it quotes, checked against what the judge saw."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from .cut import Block
from .fence import visible

_NAMED = re.compile(r"\bsteps?\s+#?(\d+(?:\s*(?:,|and|&|-|–|to)+\s*#?\d+)*)", re.IGNORECASE)
_RANGE = re.compile(r"(\d+)\s*(?:-|–|to)\s*#?(\d+)|(\d+)", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"\n]{12,})"|“([^”\n]{12,})”')
_GAP = re.compile(r"\s*(?:\[?\.\.\.\]?|\[?…\]?)\s*")
_MARKS = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})
_WORDS = 3
"""Quotation marks around fewer words are names and terms, not passages."""
_MOST = 200
"""Maximum number of steps that a range may name: a judge may write "steps 1 to 9999999"."""


class Cited(msgspec.Struct, frozen=True):
    """What was cited, and what could not be found."""

    evidence: tuple[str, ...] = ()
    """Ids of the steps that were named or quoted, in the order cited."""
    absent_steps: tuple[int, ...] = ()
    """Numbers of steps that the judge was not shown."""
    absent_quotes: tuple[str, ...] = ()
    """Passages that the judge was not shown."""


def cited(
    reason: str | None, steps: Sequence[int], quotes: Sequence[str], shown: Sequence[Block], asked: str = ""
) -> Cited:
    """The citations of a verdict: those it lists, and those in its reason. Quoting what was `asked` is allowed."""
    ids = {block.step: block.id for block in shown if block.step is not None and block.id is not None}
    named = list(dict.fromkeys([*steps, *_steps_in(reason or "")]))
    found = [ids[number] for number in named if number in ids]
    # As the judge saw it, with hidden characters as escapes: it cannot quote anything else.
    texts = [(block, _plain("\n".join(map(visible, block.text.splitlines())))) for block in shown]
    missing = []
    for quote in dict.fromkeys([*quotes, *_quotes_in(reason or "")]):
        places = [block for block, text in texts if _holds(text, quote)]
        if not places and not _holds(_plain(asked), quote):
            missing.append(quote)
        elif not any(block.id in found for block in places):
            found += [block.id for block in places[:1] if block.id is not None]
    # Without numbered material the judge was shown no step, and "step 2" in its reason means something else.
    absent = tuple(number for number in named if number not in ids) if ids else ()
    return Cited(tuple(dict.fromkeys(found)), absent, tuple(missing))


def _steps_in(reason: str) -> Iterator[int]:
    for listed in _NAMED.finditer(reason):
        for first, last, alone in _RANGE.findall(listed[1]):
            if alone:
                yield int(alone)
            else:
                yield from range(int(first), min(int(last), int(first) + _MOST) + 1)


def _quotes_in(reason: str) -> Iterator[str]:
    for straight, curly in _QUOTED.findall(reason):
        if len((quote := straight or curly).split()) >= _WORDS:
            yield quote


def _holds(text: str, quote: str) -> bool:
    """Whether a text contains the passage, ignoring case, white space and what an ellipsis leaves out."""
    place = 0
    for piece in _GAP.split(quote):
        plain = _plain(piece).strip(" .,;:")
        if (found := text.find(plain, place)) < 0:
            return False
        place = found + len(plain)
    return True


def _plain(text: str) -> str:
    return " ".join(text.translate(_MARKS).casefold().split())
