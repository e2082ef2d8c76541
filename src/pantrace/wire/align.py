"""Which steps and parts of what was read back carry on those of what was written.

Everything is looked up in indexes and texts are searched from where the last one was found, so that a trajectory of ten
thousand steps takes ten times as long as one of a thousand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import Any

from .json import encode

Plain = dict[str, Any]
"""A step or a part as plain values."""

NEAR = 64
"""So many steps of the same role ahead a text is looked for inside others; unchanged it is found anywhere."""


def key(part: Plain) -> bytes:
    """What makes a call or a result the same under another id."""
    if part.get("type") == "call":
        return encode(["call", part.get("name"), part.get("arguments")])
    return encode(["result", part.get("output"), part.get("error")])


def is_paired(part: Plain) -> bool:
    """Whether a part is a call or a result."""
    return part.get("type") in ("call", "result")


class Elsewhere:
    """Calls and results of the other side that no step has claimed yet, and texts in steps that carry on none."""

    def __init__(self, steps: list[Plain], claimed: Collection[int | None] = ()):
        self.found: dict[bytes, deque[Plain]] = {}
        self.taken: set[int] = set()
        for place, step in enumerate(steps):
            for part in step.get("parts", ()):
                # The same words are often said twice: those of a claimed step stand for its own.
                if is_paired(part) or (part.get("type") == "text" and place not in claimed):
                    self.found.setdefault(_sought(part), deque()).append(part)

    def take(self, part: Plain) -> Plain | None:
        """The same call, result or text in any step, once."""
        waiting = self.found.get(_sought(part)) if is_paired(part) or part.get("type") == "text" else None
        while waiting:
            other = waiting.popleft()
            if id(other) not in self.taken:
                self.taken.add(id(other))
                return other
        return None


def _sought(part: Plain) -> bytes:
    return key(part) if is_paired(part) else encode(["text", part.get("text")])


class Words:
    """A text in which others are looked for, mostly in their order."""

    def __init__(self, text: str):
        self.text = text
        self.last = 0

    def hold(self, text: str) -> bool:
        place = self.text.find(text, self.last)
        if place < 0 and self.last:
            place = self.text.find(text)
        if place >= 0:
            self.last = place
        return place >= 0


class Parts:
    """The parts of one step that was read back; each carries on one part only."""

    def __init__(self, parts: list[Plain]):
        self.parts = parts
        self.taken: set[int] = set()
        texts = [part["text"] for part in parts if part.get("type") == "text"]
        self.words = Words("\0".join(texts)) if texts else None
        self.places: dict[Hashable, deque[int]] = {}
        for place, part in enumerate(parts):
            for mark in _marks(part):
                self.places.setdefault(mark, deque()).append(place)

    def take(self, part: Plain) -> Plain | None:
        """The part that is the same: in all that counts, else as a call, else by its id or name."""
        for mark in _marks(part):
            waiting = self.places.get(mark)
            while waiting and waiting[0] in self.taken:
                waiting.popleft()
            if waiting:
                return self._taken(waiting[0])
        if not is_paired(part) and part.get("type") not in ("text", "thinking"):
            # Equal values may be written differently: 1 and 1.0.
            places = (place for place in range(len(self.parts)) if place not in self.taken)
            if (same := next((place for place in places if self.parts[place] == part), None)) is not None:
                return self._taken(same)
        return None

    def _taken(self, place: int) -> Plain:
        self.taken.add(place)
        return self.parts[place]

    def hold(self, text: str) -> bool:
        """Whether a text lives on inside another."""
        return self.words is not None and self.words.hold(text)


def _marks(part: Plain) -> Iterator[Hashable]:
    """By what a part is known, the most telling first."""
    kind = part.get("type")
    if kind == "text" or kind == "thinking":
        yield kind, "text", part.get("text")
    elif is_paired(part):
        called = key(part)
        yield kind, called, part.get("id") or part.get("call_id")
        yield kind, called
    else:
        yield kind, encode(part)
    name = part.get("id") or part.get("call_id") or part.get("name")
    if name is not None and kind != "text":
        yield kind, "name", name


def align_steps(before: list[Plain], after: list[Plain]) -> list[int | None]:
    """For each step the place of the one that carries it on."""
    ids = {step["id"]: place for place, step in enumerate(after) if step.get("id")}
    if before and all(step.get("id") in ids for step in before) and len({step["id"] for step in before}) == len(before):
        return [ids[step["id"]] for step in before]
    if [step.get("role") for step in before] == [step.get("role") for step in after]:
        return list(range(len(before)))
    index = _Steps(after)
    places: list[int | None] = []
    cursor = 0
    for step in before:
        found = index.first(step, cursor)
        places.append(found)
        cursor = cursor if found is None else found
    return places


class _Steps:
    """The steps that were read back, by role and by what they say, ask and do."""

    def __init__(self, steps: list[Plain]):
        self.words: list[Words] = []
        self.calls: list[set[bytes]] = []
        self.places: dict[Hashable, list[int]] = {}
        self.done: set[int] = set()
        for place, step in enumerate(steps):
            role, texts, calls = step.get("role"), _texts(step), _calls(step)
            self.words.append(Words("\n\n".join(texts)))
            self.calls.append(calls)
            self._note(place, role)
            for mark in {*texts, *calls, *_actions(step)}:
                self._note(place, (role, mark))
            if not calls and not any(texts):
                self._note(place, (role, None))

    def _note(self, place: int, mark: Hashable) -> None:
        self.places.setdefault(mark, []).append(place)

    def first(self, step: Plain, cursor: int) -> int | None:
        """The first step from here on that does the same, or says and asks all that this one does."""
        role, calls = step.get("role"), _calls(step)
        texts = [part["text"] for part in step.get("parts", ()) if _is_said(part)]
        found: list[int] = []
        # A step that did the same is the same step, whatever else of it was lost; but each only once.
        for action in _actions(step):
            found += _first(place for place in self._from((role, action), cursor) if place not in self.done)
        if calls:
            asked = self._from((role, next(iter(calls))), cursor)
            found += _first(place for place in asked if self._carries(place, texts, calls))
        elif texts:
            near = self._from(role, cursor, NEAR)
            found += _first(place for place in near if self._carries(place, texts, calls))
            same = self._from((role, texts[0]), cursor)
            found += _first(place for place in same if self._carries(place, texts, calls))
        elif not step.get("parts"):
            found += _first(self._from((role, None), cursor))
        if not found:
            return None
        self.done.add(min(found))
        return min(found)

    def _from(self, mark: Hashable, cursor: int, most: int | None = None) -> Iterator[int]:
        places = self.places.get(mark, [])
        begin = bisect_left(places, cursor)
        end = len(places) if most is None else min(begin + most, len(places))
        return (places[number] for number in range(begin, end))

    def _carries(self, place: int, texts: list[str], calls: set[bytes]) -> bool:
        return all(self.words[place].hold(text) for text in texts) and calls <= self.calls[place]


def _first(places: Iterable[int]) -> list[int]:
    return [place] if (place := next(iter(places), None)) is not None else []


def _is_said(part: Plain) -> bool:
    return part.get("type") == "text" and not part.get("synthetic")


def _texts(step: Plain) -> list[str]:
    return [part["text"] for part in step.get("parts", ()) if part.get("type") == "text"]


def _calls(step: Plain) -> set[bytes]:
    return {key(part) for part in step.get("parts", ()) if part.get("type") == "call"}


def _actions(step: Plain) -> set[bytes]:
    return {
        encode([part.get(name) for name in ("kind", "target", "text", "key", "url")])
        for part in step.get("parts", ())
        if part.get("type") == "action"
    }
