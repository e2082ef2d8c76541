"""Compare: what of a sample is not as it was, both sides as plain values.

Most of two samples is the same, and most of what is lost is lost in every step alike. So what is equal is left alone as
a whole, and indexes are made only once something is not found where it stood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from .align import Elsewhere, Parts, Plain, align_steps
from .found import Listed, is_own, weight
from .json import encode
from .part_order import Order

_TRAJECTORY = re.compile(r"(trajectory|expected)(\.children\[\d*\])*")
"""Where `steps` are steps; in arguments, outputs and extras that key may hold anything."""

Gone = Callable[[str, Any, Listed], None]
_SCALARS = frozenset({str, int, float, bool})
_SEQUENCES = frozenset({list, tuple})


def compare(path: str, before: Any, after: Any, out: Listed, gone: Gone | None = None) -> None:
    """Tell all that is not as it was; `gone` tells what is not there at all (else as one loss)."""
    if type(before) is dict and type(after) is dict:
        if not is_same(before, after):
            _compare_fields(path, before, after, out, gone or whole)
    elif type(before) in _SEQUENCES and type(after) in _SEQUENCES:
        _compare_lists(path, before, after, out, gone or whole)
    elif (type(before) is not type(after) and isinstance(before, bool) != isinstance(after, bool)) or before != after:
        values = weight(before)
        out.add(path, "changed", values, values if is_own(path) else 0, before=before, after=after)


def whole(path: str, value: Any, out: Listed) -> None:
    """Something that is gone, as one loss."""
    out.add_gone(path, value)


def leaves(path: str, value: Any, out: Listed) -> None:
    """Something that is gone, leaf by leaf."""
    if value and isinstance(value, dict):
        for key, item in value.items():
            leaves(f"{path}.{key}", item, out)
    elif value and type(value) in _SEQUENCES:
        for index, item in enumerate(value):
            leaves(out.item(path, index), item, out)
    else:
        whole(path, value, out)


def is_same(before: Any, after: Any) -> bool:
    """To Python True equals 1, and 1 equals 1.0; as they are written, only the first are different."""
    return before == after and (type(before) is str or encode(before) == encode(after))


def _compare_fields(
    path: str, before: Plain, after: Plain, out: Listed, gone: Gone, besides: str | None = None
) -> None:
    find = after.get
    for key, value in before.items():
        other = find(key)
        kind = type(value)
        if kind in _SCALARS:
            # Most are as they were or are gone: no path has to be made for them here.
            if other is None and key not in after:
                out.add_absent(path, key, value)
            elif other != value or type(other) is not kind:
                compare(f"{path}.{key}" if path else key, value, other, out, gone)
        elif key != besides:
            place = f"{path}.{key}" if path else key
            if other is None and key not in after:
                gone(place, value, out)
            elif key == "steps" and _TRAJECTORY.fullmatch(path):
                _compare_steps(place, value, after[key], out)
            else:
                compare(place, value, other, out, gone)


def _compare_lists(path: str, before: Sequence[Any], after: Sequence[Any], out: Listed, gone: Gone) -> None:
    if is_same(before, after):
        return
    names = [_name(item) for item in before]
    others: dict[Any, Any]
    if all(names) and len(set(names)) == len(names):
        others = {name: item for item in after if (name := _name(item))}
    else:
        names, others = [*range(len(before))], dict(enumerate(after))
    for index, (name, item) in enumerate(zip(names, before, strict=True)):
        if name in others:
            compare(out.item(path, index), item, others[name], out, gone)
        else:
            gone(out.item(path, index), item, out)


def _name(item: Any) -> Any:
    name = (item.get("id") or item.get("name")) if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


def _compare_steps(path: str, before: Sequence[Plain], after: Sequence[Plain], out: Listed) -> None:
    if is_same(before, after):
        return
    places = align_steps(before, after)
    elsewhere, order = Elsewhere(after, places), Order()
    used: dict[int, Parts] = {}
    for here, step, place in zip(out.items(path), before, places, strict=False):
        if place is None:
            _scattered(here, step, elsewhere, order, out)
            continue
        other = after[place]
        if place in used:
            out.add(here, "merged", note=f"into step {place + 1} of what was written")
        else:
            used[place] = Parts(other.get("parts", []), place)
        _compare_fields(here, step, other, out, whole, besides="parts")
        if parts := step.get("parts"):
            _compare_parts(f"{here}.parts", parts, used[place], elsewhere, order, out)
    for moved in order.moved():
        out.add(moved, "moved", note="out of its order")


_ANYWHERE = frozenset({"parts", "role"})
"""Of a step that is merged into another, what is not lost with it."""


def _scattered(here: str, step: Plain, elsewhere: Elsewhere, order: Order, out: Listed) -> None:
    """A step that is gone; its calls and results may live on in another."""
    parts = step.get("parts", ())
    found = [elsewhere.take(part) for part in parts]
    if not any(found):
        whole(here, step, out)
        return
    rest = {key: value for key, value in step.items() if key not in _ANYWHERE}
    out.add(here, "merged", weight(rest) if rest else 1, note="into another step", before=rest or None)
    for place, part, other in zip(out.items(f"{here}.parts"), parts, found, strict=False):
        if other is None:
            whole(place, part, out)
        else:
            order.add(place, other[1])
            _compare_fields(place, part, other[0], out, whole)


def _compare_parts(
    path: str, before: Sequence[Plain], after: Parts, elsewhere: Elsewhere, order: Order, out: Listed
) -> None:
    for here, part in zip(out.items(path), before, strict=False):
        if (found := after.take(part)) is not None:
            other, place = found
            elsewhere.taken.add(place)
            order.add(here, place)
            if other is not part:
                _compare_fields(here, part, other, out, whole)
        elif part.get("type") == "text" and after.hold(part["text"]):
            out.add(here, "joined", note="with the text beside it")
        elif (found := elsewhere.take(part)) is not None:
            out.add(here, "moved", note="to another step")
            _compare_fields(here, part, found[0], out, whole)
        else:
            whole(here, part, out)
