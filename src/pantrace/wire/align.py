"""Alignment: which steps and parts that were read back correspond to those that were written.

Everything is looked up in indexes, and texts are searched from where the last one was found, so that the time is linear
in the number of steps.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from .json import encode

Plain = dict[str, Any]
"""A step or a part as plain values."""

Place = tuple[int, int]
"""Step and part."""

Taken = tuple[Plain, Place]
"""A part that was found, and where."""

NEAR = 64
"""How many steps of the same role ahead a text is searched inside other texts; an unchanged text is found anywhere."""

OCCURRENCES = 1_000
"""How many occurrences of a text are looked at for one that stands by itself."""

_TEXTS = frozenset({str, type(None)})


def key(part: Plain) -> Hashable:
    """What identifies a call or a result, apart from its id."""
    if part.get("type") == "call":
        return encode(["call", part.get("name"), part.get("arguments")])
    output, error = part.get("output"), part.get("error")
    # Most are texts and need no encoding; other values do, because 1 == True in Python.
    if type(output) in _TEXTS and type(error) in _TEXTS:
        return "result", output, error
    return encode(["result", output, error])


def is_paired(part: Plain) -> bool:
    """Whether a part is a call or a result."""
    return part.get("type") in ("call", "result")


class Elsewhere:
    """Calls and results of the other side that no step has claimed yet, and texts in steps that correspond to none."""

    def __init__(self, steps: Sequence[Plain], claimed: Iterable[int | None] = ()):
        self.taken: set[Place] = set()
        self._steps = steps
        self._claimed = claimed

    @cached_property
    def _found(self) -> dict[Hashable, deque[Taken]]:
        """Built only when something is missing: most of the time everything is in its place."""
        found: dict[Hashable, deque[Taken]] = {}
        claimed = {*self._claimed}
        for place, step in enumerate(self._steps):
            for number, part in enumerate(step.get("parts", ())):
                # The same text often occurs twice: in a claimed step, it belongs to that step.
                if part.get("type") != "text" or place not in claimed:
                    for mark in _sought(part):
                        found.setdefault(mark, deque()).append((part, (place, number)))
        return found

    def take(self, part: Plain) -> Taken | None:
        """The same call, result or text in any step, and its place; each is found only once."""
        for mark in _sought(part):
            waiting = self._found.get(mark)
            while waiting:
                other = waiting.popleft()
                if other[1] not in self.taken:
                    self.taken.add(other[1])
                    return other
        return None

    def role(self, place: Place) -> str | None:
        """Who speaks where a part was found."""
        role: str | None = self._steps[place[0]].get("role")
        return role


def _sought(part: Plain) -> Iterator[Hashable]:
    """By what a part is found in another step, the most specific first; nothing if it is not looked for there."""
    kind = part.get("type")
    if kind == "text":
        yield "text", part.get("text")
    elif is_paired(part):
        yield key(part)
        if (name := _name(part)) is not None:
            yield kind, "id", name


class Words:
    """A text that others were joined to, mostly in order."""

    def __init__(self, text: str):
        self.text = text
        self._taken: list[Span] = []
        self._last = 0

    def hold(self, text: str) -> bool:
        """Whether another text is in it, with a space or the end on both sides: "no" is not in "I know"."""
        return next(self._places(text, 0), None) is not None

    def take(self, text: str) -> bool:
        """The same, but no place is found twice."""
        # Not behind the last one: look from the start, because parts may have changed their order.
        for begin in (self._last, 0) if self._last else (0,):
            for place in islice(self._places(text, begin), NEAR):
                span = (place, place + len(text))
                if self._claim(span):
                    self._last = span[1]
                    return True
        return False

    def _claim(self, span: Span) -> bool:
        """Mark a place as taken, unless a part of it is."""
        number = bisect_left(self._taken, span)
        around = self._taken[max(number - 1, 0) : number + 1]
        if any(begin < span[1] and span[0] < end for begin, end in around):
            return False
        self._taken.insert(number, span)
        return True

    def _places(self, text: str, begin: int) -> Iterator[int]:
        place = self.text.find(text, begin)
        # Bounded: a letter that a text of a million repeats would be looked at a million times, for each part again.
        for _ in range(OCCURRENCES):
            if place < 0:
                return
            end = place + len(text)
            if (place == 0 or _is_gap(self.text[place - 1], text[:1])) and (
                end == len(self.text) or _is_gap(self.text[end], text[-1:])
            ):
                yield place
            place = self.text.find(text, place + 1)


Span = tuple[int, int]
_END = "\0"
"""Between the texts of two parts."""


def _is_gap(outside: str, inside: str) -> bool:
    return outside == _END or outside.isspace() or inside.isspace()


class Parts:
    """The parts of one step that was read back; each corresponds to one part only."""

    def __init__(self, parts: Sequence[Plain], step: int):
        self.parts = parts
        self._step = step
        self._in_order = 0
        """How many parts were taken in order; as long as they are in order, nothing has to be looked up."""
        self._taken: set[int] | None = None
        self._indexes: dict[str | None, dict[Hashable, deque[int]]] = {}

    def take(self, part: Plain) -> Taken | None:
        """The same part and its place: equal in all that counts, otherwise as a call, otherwise by its id or name."""
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
        places = self._places(part.get("type"))
        for mark in _marks(part):
            waiting = places.get(mark)
            while waiting and waiting[0] in taken:
                waiting.popleft()
            if waiting:
                return waiting[0]
        if not is_paired(part) and part.get("type") not in ("text", "thinking"):
            # Equal values may be written differently: 1 and 1.0.
            left = (place for place in range(len(self.parts)) if place not in taken)
            return next((place for place in left if self.parts[place] == part), None)
        return None

    def _places(self, kind: str | None) -> dict[Hashable, deque[int]]:
        """Where the parts of a kind stand, by their marks."""
        if (found := self._indexes.get(kind)) is None:
            found = self._indexes[kind] = {}
            for place, part in enumerate(self.parts):
                if part.get("type") == kind:
                    for mark in _marks(part):
                        found.setdefault(mark, deque()).append(place)
        return found

    @cached_property
    def _words(self) -> Words:
        """The texts of this step, without those that were taken as a whole. Asked for once all of these are."""
        texts = [
            part["text"] for place, part in enumerate(self.parts) if part.get("type") == "text" and self._is_left(place)
        ]
        return Words(_END.join(texts))

    def _is_left(self, place: int) -> bool:
        return place >= self._in_order if self._taken is None else place not in self._taken

    def hold(self, text: str) -> bool:
        """Whether a text was joined to another; no place is found twice."""
        return self._words.take(text)


def _is_marked_alike(one: Plain, other: Plain) -> bool:
    """Whether two parts agree in what identifies them best."""
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
        output, error = one.get("output"), one.get("error")
        if type(output) in _TEXTS and type(error) in _TEXTS:
            return bool(output == other.get("output") and error == other.get("error"))
        return key(one) == key(other)
    return encode(one) == encode(other)


def _name(part: Plain) -> Any:
    return part.get("id") or part.get("call_id")


def _marks(part: Plain) -> Iterator[Hashable]:
    """What identifies a part, the most specific first."""
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
    """For each step, the place of the corresponding one; None if there is none."""
    ids = {step["id"]: place for place, step in enumerate(after) if step.get("id")}
    # Most formats keep ids: then nothing has to be compared.
    if before and all(step.get("id") in ids for step in before) and len({step["id"] for step in before}) == len(before):
        return [ids[step["id"]] for step in before]
    # The same roles in the same order: without ids, nothing was merged or split, so steps correspond by position.
    if [step.get("role") for step in before] == [step.get("role") for step in after]:
        return list(range(len(before)))
    index = _Steps(after)
    places: list[int | None] = []
    cursor = 0
    for step in before:
        found = index.first(step, cursor)
        # From the same step again, not behind it: several messages may have become one.
        cursor = cursor if found is None else found
        places.append(found)
    claimed = {*places}
    for number, step in enumerate(before):
        # What it says has changed, but its id has not: a result may be an object now.
        place = ids.get(step.get("id")) if places[number] is None else None
        if place is not None and place not in claimed and step.get("role") == after[place].get("role"):
            places[number] = place
            claimed.add(place)
    return places


class _Steps:
    """The steps that were read back, by role, texts, calls and actions."""

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
        """The first step from here on with the same action, or with all texts and calls of this one."""
        role = step.get("role")
        if role not in self.places:
            return None
        texts, calls, actions = _said(step, told_apart=True)
        found: list[int | None] = []
        # A step with the same action is the same step, whatever else was lost; but each corresponds only once.
        for action in actions:
            undone = (place for place in self._from((role, action), cursor) if place not in self.done)
            found.append(next(undone, None))
        if calls:
            found.append(self._carrier((role, next(iter(calls))), cursor, texts, calls))
        elif texts:
            # Merged messages are near; searching all steps for each text would take quadratic time.
            found.append(self._carrier(role, cursor, texts, calls, NEAR))
            found.append(self._carrier((role, texts[0]), cursor, texts, calls))
        elif not step.get("parts"):
            found.append(next(self._from((role, None), cursor), None))
        place = min([each for each in found if each is not None], default=None)
        if place is not None:
            self.done.add(place)
        return place

    def _from(self, mark: Hashable, cursor: int) -> Iterator[int]:
        places = self.places.get(mark, [])
        return (places[number] for number in range(bisect_left(places, cursor), len(places)))

    def _carrier(
        self, mark: Hashable, cursor: int, texts: list[str], calls: set[Hashable], most: int | None = None
    ) -> int | None:
        """The first step with a mark from here on that says and asks all of this."""
        if (places := self.places.get(mark)) is None:
            return None
        begin = bisect_left(places, cursor)
        for number in range(begin, len(places) if most is None else min(begin + most, len(places))):
            if self._carries(places[number], texts, calls):
                return places[number]
        return None

    def _carries(self, place: int, texts: list[str], calls: set[Hashable]) -> bool:
        if texts == self.texts[place]:
            return calls <= self.calls[place]
        if (words := self.words.get(place)) is None:
            words = self.words[place] = Words("\n\n".join(self.texts[place]))
        return calls <= self.calls[place] and all(words.hold(text) for text in texts)


def _said(step: Plain, *, told_apart: bool) -> tuple[list[str], set[Hashable], set[bytes]]:
    """Texts, calls and actions of a step; `told_apart`: without texts that a program inserted."""
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
