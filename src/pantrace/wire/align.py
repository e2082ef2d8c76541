"""Which steps and parts of what was read back carry on those of what was written.

Everything is looked up in indexes and texts are searched from where the last one was found, so that a trajectory of ten
thousand steps takes ten times as long as one of a thousand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from .json import encode

Plain = dict[str, Any]
"""A step or a part as plain values."""

Place = tuple[int, int]
"""Step and part."""

NEAR = 64
"""So many steps of the same role ahead a text is looked for inside others; unchanged it is found anywhere."""


_TEXTS = frozenset({str, type(None)})


def key(part: Plain) -> Hashable:
    """What makes a call or a result the same under another id."""
    if part.get("type") == "call":
        return encode(["call", part.get("name"), part.get("arguments")])
    output, error = part.get("output"), part.get("error")
    # Most are texts, which need no encoding; values need it, as to Python 1 is True.
    if type(output) in _TEXTS and type(error) in _TEXTS:
        return "result", output, error
    return encode(["result", output, error])


def is_paired(part: Plain) -> bool:
    """Whether a part is a call or a result."""
    return part.get("type") in ("call", "result")


class Elsewhere:
    """Calls and results of the other side that no step has claimed yet, and texts in steps that carry on none."""

    def __init__(self, steps: Sequence[Plain], claimed: Iterable[int | None] = ()):
        self.taken: set[Place] = set()
        self._steps = steps
        self._claimed = claimed

    @cached_property
    def _found(self) -> dict[Hashable, deque[tuple[Plain, Place]]]:
        """Made when something is looked for: most of the time everything is in its place."""
        found: dict[Hashable, deque[tuple[Plain, Place]]] = {}
        claimed = {*self._claimed}
        for place, step in enumerate(self._steps):
            for number, part in enumerate(step.get("parts", ())):
                # The same words are often said twice: those of a claimed step stand for its own.
                if is_paired(part) or (part.get("type") == "text" and place not in claimed):
                    found.setdefault(_sought(part), deque()).append((part, (place, number)))
        return found

    def take(self, part: Plain) -> tuple[Plain, Place] | None:
        """The same call, result or text in any step, once, and where it stands."""
        waiting = self._found.get(_sought(part)) if is_paired(part) or part.get("type") == "text" else None
        while waiting:
            other = waiting.popleft()
            if other[1] not in self.taken:
                self.taken.add(other[1])
                return other
        return None


def _sought(part: Plain) -> Hashable:
    return key(part) if is_paired(part) else ("text", part.get("text"))


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

    def __init__(self, parts: Sequence[Plain], step: int):
        self.parts = parts
        self._step = step
        self._in_order = 0
        """So many were taken, each where it stood; as long as that goes on, nothing has to be looked up."""
        self._taken: set[int] | None = None

    def take(self, part: Plain) -> tuple[Plain, Place] | None:
        """The same part and where it stands: the same in all that counts, else as a call, else by its id or name."""
        place = self._in_order
        if self._taken is None and place < len(self.parts) and _is_marked_alike(part, self.parts[place]):
            self._in_order = place + 1
            return self.parts[place], (self._step, place)
        found = self._searched(part)
        return None if found is None else (self.parts[found], (self._step, found))

    @cached_property
    def _kinds(self) -> set[str | None]:
        return {part.get("type") for part in self.parts}

    def _searched(self, part: Plain) -> int | None:
        if part.get("type") not in self._kinds:
            return None
        if self._taken is None:
            self._taken = {*range(self._in_order)}
        found = self._looked_up(part, self._taken)
        if found is not None:
            self._taken.add(found)
        return found

    def _looked_up(self, part: Plain, taken: set[int]) -> int | None:
        for mark in _marks(part):
            waiting = self._places.get(mark)
            while waiting and waiting[0] in taken:
                waiting.popleft()
            if waiting:
                return waiting[0]
        if not is_paired(part) and part.get("type") not in ("text", "thinking"):
            # Equal values may be written differently: 1 and 1.0.
            places = (place for place in range(len(self.parts)) if place not in taken)
            return next((place for place in places if self.parts[place] == part), None)
        return None

    @cached_property
    def _places(self) -> dict[Hashable, deque[int]]:
        found: dict[Hashable, deque[int]] = {}
        for place, part in enumerate(self.parts):
            for mark in _marks(part):
                found.setdefault(mark, deque()).append(place)
        return found

    @cached_property
    def _words(self) -> Words | None:
        texts = [part["text"] for part in self.parts if part.get("type") == "text"]
        return Words("\0".join(texts)) if texts else None

    def hold(self, text: str) -> bool:
        """Whether a text lives on inside another."""
        return self._words is not None and self._words.hold(text)


def _is_marked_alike(one: Plain, other: Plain) -> bool:
    """Whether the most telling mark of two parts is the same."""
    kind = one.get("type")
    if other.get("type") != kind:
        return False
    if kind == "text" or kind == "thinking":
        return one.get("text") == other.get("text")
    if kind == "call":
        return _name(one) == _name(other) and key(one) == key(other)
    if kind == "result":
        if _name(one) != _name(other):
            return False
        output = one.get("output")
        if type(output) is str and output != other.get("output"):
            return False
        return key(one) == key(other)
    return encode(one) == encode(other)


def _name(part: Plain) -> Any:
    return part.get("id") or part.get("call_id")


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


def align_steps(before: Sequence[Plain], after: Sequence[Plain]) -> list[int | None]:
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

    def __init__(self, steps: Sequence[Plain]):
        self.texts: list[list[str]] = []
        self.words: dict[int, Words] = {}
        self.calls: list[set[Hashable]] = []
        self.places: dict[Hashable, list[int]] = {}
        self.done: set[int] = set()
        for place, step in enumerate(steps):
            role = step.get("role")
            texts, calls, actions = _said(step, told_apart=False)
            self.texts.append(texts)
            self.calls.append(calls)
            marks: set[Any] = {(role, mark) for mark in (*texts, *calls, *actions)}
            if not calls and not any(texts):
                marks.add((role, None))
            marks.add(role)
            for mark in marks:
                self.places.setdefault(mark, []).append(place)

    def first(self, step: Plain, cursor: int) -> int | None:
        """The first step from here on that does the same, or says and asks all that this one does."""
        role = step.get("role")
        if role not in self.places:
            return None
        texts, calls, actions = _said(step, told_apart=True)
        found: list[int] = []
        # A step that did the same is the same step, whatever else of it was lost; but each only once.
        for action in actions:
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

    def _carries(self, place: int, texts: list[str], calls: set[Hashable]) -> bool:
        if texts == self.texts[place]:
            return calls <= self.calls[place]
        if (words := self.words.get(place)) is None:
            words = self.words[place] = Words("\n\n".join(self.texts[place]))
        return calls <= self.calls[place] and all(words.hold(text) for text in texts)


def _first(places: Iterable[int]) -> list[int]:
    return [place] if (place := next(iter(places), None)) is not None else []


def _said(step: Plain, *, told_apart: bool) -> tuple[list[str], set[Hashable], set[bytes]]:
    """Texts, calls and actions of a step; `told_apart`: without the texts that a tool has made up."""
    texts: list[str] = []
    calls: set[Hashable] = set()
    actions: set[bytes] = set()
    for part in step.get("parts", ()):
        kind = part.get("type")
        if kind == "text":
            if not (told_apart and part.get("synthetic")):
                texts.append(part["text"])
        elif kind == "call":
            calls.add(key(part))
        elif kind == "action":
            actions.add(encode([part.get(name) for name in ("kind", "target", "text", "key", "url")]))
    return texts, calls, actions
