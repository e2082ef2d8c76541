"""Compare: what of a sample is not as it was, both sides as plain values.

Most of two samples is the same, and most of what is lost is lost in every step alike. So what is equal is left alone as
a whole, and indexes are made only once something is not found where it stood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from .align import Elsewhere, Parts, Plain, Taken, align_steps
from .found import Listed, is_own, is_payload, weight
from .json import encode
from .part_order import Order
from .words import CONTAINERS, LONG

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
    if len(after) > len(before) or not after.keys() <= before.keys():
        _add_new(path, [key for key in after if key not in before], after, out)


def _add_new(path: str, keys: Sequence[Any], after: Any, out: Listed) -> None:
    """What stands in a payload and was not there. Elsewhere, a format may say more than its source did."""
    if keys and is_payload(path):
        for key in keys:
            place = out.item(path, key) if isinstance(key, int) else f"{path}.{key}"
            out.add(place, "added", weight(after[key]), after=after[key])


def _compare_lists(path: str, before: Sequence[Any], after: Sequence[Any], out: Listed, gone: Gone) -> None:
    if is_same(before, after):
        return
    names = [_name(item) for item in before]
    places: dict[Any, int]
    if all(names) and len({*names}) == len(names):
        places = {}
        for place, item in enumerate(after):
            places.setdefault(_name(item), place)
        _add_renamed(before, after, places)
    else:
        names, places = [*range(len(before))], {place: place for place in range(len(after))}
    order, found = Order(), set[int]()
    for index, (name, item) in enumerate(zip(names, before, strict=True)):
        if name in places:
            found.add(places[name])
            order.add(out.item(path, index), (places[name], 0))
            compare(out.item(path, index), item, after[places[name]], out, gone)
        else:
            gone(out.item(path, index), item, out)
    for moved in order.moved():
        out.add(moved, "moved", note="out of its order")
    if len(after) > len(found):
        _add_new(path, [place for place in range(len(after)) if place not in found], after, out)


def _add_renamed(before: Sequence[Any], after: Sequence[Any], places: dict[Any, int]) -> None:
    """An item that has another name now is not gone with all that it holds: an agent whose tools are still there."""
    new = {*places.values()} - {places[name] for item in before if (name := _name(item)) in places}
    # Of several, the same short word may be in any: the model of two agents.
    least = 1 if len(before) == len(after) == 1 else LONG
    for item in before if new else ():
        if _name(item) not in places:
            same = (place for place in sorted(new) if _share(item, after[place], least))
            if (place := next(same, None)) is not None:
                new.remove(place)
                places[_name(item)] = place


def _share(one: Plain, other: Any, least: int) -> bool:
    """Whether two items have a text of so many letters in common, or a whole list or object."""
    return isinstance(other, dict) and any(
        value == other.get(key)
        for key, value in one.items()
        if (type(value) is str and len(value) >= least) or (value and type(value) in CONTAINERS)
    )


def _name(item: Any) -> Any:
    name = (item.get("id") or item.get("name")) if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


def _compare_steps(path: str, before: Sequence[Plain], after: Sequence[Plain], out: Listed) -> None:
    if is_same(before, after):
        return
    places = align_steps(before, after)
    elsewhere, order = Elsewhere(after, places), Order()
    used: dict[int, Parts] = {}
    # All that is there word by word, before anything is looked for inside other texts: each text is there only once.
    taken = [_taken(step, place, after, used, elsewhere) for step, place in zip(before, places, strict=True)]
    first: set[int] = set()
    for here, step, place, found in zip(out.items(path), before, places, taken, strict=False):
        if place is None:
            _scattered(here, step, elsewhere, order, out)
            continue
        if place in first:
            out.add(here, "merged", note=f"into step {place + 1} of what was written")
        first.add(place)
        _compare_fields(here, step, after[place], out, whole, besides="parts")
        if found:
            _compare_parts(here, step, found, used[place], elsewhere, order, out)
        else:
            order.add(here, (place, -1))
    for moved in order.moved():
        out.add(moved, "moved", note="out of its order")


def _taken(
    step: Plain, place: int | None, after: Sequence[Plain], used: dict[int, Parts], elsewhere: Elsewhere
) -> list[Taken | None]:
    """What corresponds to each part of a step in the step that it became."""
    if place is None or not (parts := step.get("parts")):
        return []
    if place not in used:
        used[place] = Parts(after[place].get("parts", []), place)
    found = [used[place].take(part) for part in parts]
    elsewhere.taken.update(each[1] for each in found if each is not None)
    return found


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
            _compare_role(here, step, elsewhere.role(other[1]), out)
            _compare_fields(place, part, other[0], out, whole)


def _compare_parts(
    here: str,
    step: Plain,
    taken: list[Taken | None],
    after: Parts,
    elsewhere: Elsewhere,
    order: Order,
    out: Listed,
) -> None:
    for place, part, found in zip(out.items(f"{here}.parts"), step["parts"], taken, strict=False):
        if found is not None:
            order.add(place, found[1])
            if found[0] is not part:
                _compare_fields(place, part, found[0], out, whole)
        elif part.get("type") == "text" and after.hold(part["text"]):
            out.add(place, "joined", note="with the text beside it")
        elif (found := elsewhere.take(part)) is not None:
            out.add(place, "moved", note="to another step")
            _compare_role(here, step, elsewhere.role(found[1]), out)
            _compare_fields(place, part, found[0], out, whole)
        else:
            whole(place, part, out)


def _compare_role(here: str, step: Plain, role: str | None, out: Listed) -> None:
    """Words that somebody else says now. A tool's result may well stand in the step of the agent that called it."""
    if role != step.get("role") and not {role, step.get("role")} <= _AGENTS:
        out.add(f"{here}.role", "changed", before=step.get("role"), after=role)


_AGENTS = frozenset({"agent", "tool"})
