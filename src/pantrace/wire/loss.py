"""Loss, measured: what a sample said before it was written, and what it says when it is read back.

Steps are aligned by id, else by what they say, so that a format that merges turns is told apart from one that drops
them. The words: absent (not there any more), changed, merged (the step lives on inside another), joined (the text lives
on inside a longer one), moved (it stands in another step, or out of its order).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pantrace.model import Loss, RunHeader, Sample, Trajectory, header_of

from .align import Elsewhere, Parts, Plain, align_steps
from .carried import without_notes
from .json import encode, to_plain
from .order import Order

MISSING = frozenset({"absent", "changed", "refused"})
"""What is not there any more. Anything else is still there, and stands elsewhere."""

_TRAJECTORY = re.compile(r"(trajectory|expected)(\.children\[\d+\])*")
"""Where `steps` are steps; in arguments, outputs and extras that key may hold anything."""


class Found(NamedTuple):
    """Something that is not as it was."""

    path: str
    what: str
    values: int = 1
    """How many values it comes to: a step that is gone weighs what it held."""
    own: int = 0
    """How many of these only their own format has a word for."""
    note: str = ""
    before: Any = None
    after: Any = None

    def text(self) -> str:
        """What happened, with the values: made only for those who ask, as these may be long."""
        if self.what == "absent":
            return f"absent: {_short(self.before)}"
        if self.what == "changed":
            return f"changed: {_short(self.before)} to {_short(self.after)}"
        lost = "" if self.before is None else f"; absent: {_short(self.before)}"
        return f"{self.what} {self.note}{lost}"


def sample_losses(before: Sample, after: Sample, why: Mapping[str, str], target: str) -> list[Loss]:
    """Everything of a sample that did not survive."""
    return [as_loss(each, why, target, before.id) for each in differences(plain(before), plain(after))]


def header_losses(before: RunHeader, after: RunHeader, why: Mapping[str, str], target: str) -> list[Loss]:
    """Everything of a run's header that did not survive, leaf by leaf: thirteen results are not one value."""
    found = _compare("run", to_plain(_said(before)), to_plain(_said(after)), _leaves)
    return [as_loss(each, why, target) for each in found]


def plain(sample: Sample) -> Plain:
    """A sample as plain values, without where it was read."""
    found: Plain = to_plain(without_source(sample))
    return found


def plain_header(run: RunHeader) -> Plain:
    """A header as plain values, as far as its file says them."""
    found: Plain = to_plain(_said(run))
    return found


def differences(before: Plain, after: Plain) -> Iterator[Found]:
    """What of a sample is not as it was; both as `plain` gives them."""
    return _compare("", before, after)


def weight(value: Any) -> int:
    """How many values something comes to; what is empty is one."""
    count = 0
    stack = [value]
    while stack:
        item = stack.pop()
        if item and type(item) is dict:
            stack += item.values()
        elif item and type(item) is list:
            stack += item
        else:
            count += 1
    return count


def own_weight(value: Any) -> int:
    """How many values only the format they come from has a word for: in `extra`, and in parts that are unknown."""
    count = 0
    stack = [value]
    while stack:
        item = stack.pop()
        if type(item) is dict:
            if item.get("type") == "unknown" and "raw" in item:
                count += weight(item)
            else:
                count += weight(item["extra"]) if item.get("extra") else 0
                stack += [inner for key, inner in item.items() if key != "extra"]
        elif type(item) is list:
            stack += item
    return count


def common_weight(value: Any) -> int:
    """How many values there are without those that only their own format has a word for: `weight` less `own_weight`,
    in one walk that leaves out `extra`, which may be most of a sample."""
    count = 0
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if item and kind is dict:
            if item.get("type") == "unknown" and "raw" in item:
                continue
            stack += item.values() if not item.get("extra") else [item[key] for key in item if key != "extra"]
        elif item and kind is list:
            stack += item
        else:
            count += 1
    return count


def as_loss(found: Found, why: Mapping[str, str], target: str, sample: str | None = None, *, full: bool = True) -> Loss:
    """With the reason that the format gives; `full`: with the values themselves."""
    return Loss(
        sample=sample,
        path=found.path,
        what=found.text() if full else found.what,
        why=reason(found.path, why, target),
        values=found.values,
        own=found.own,
        part=found.before.get("type") if isinstance(found.before, dict) and found.path.endswith("]") else None,
    )


def _said(run: RunHeader) -> RunHeader:
    """A header without what its file does not say: where it was read, and a name that is only the file's."""
    header = header_of(run)
    named_after = Path(header.source.path).name if header.source and header.source.path else None
    return msgspec.structs.replace(header, source=None, name=None if header.name == named_after else header.name)


def without_source(sample: Sample) -> Sample:
    """Without `source` and notes: where something was read and what pantrace thought of it is not what it says."""

    def without(trajectory: Trajectory | None) -> Trajectory | None:
        if trajectory is None:
            return None
        children = tuple([child for each in trajectory.children if (child := without(each)) is not None])
        return msgspec.structs.replace(trajectory, source=None, children=children)

    sample = without_notes(sample)
    return msgspec.structs.replace(sample, trajectory=without(sample.trajectory), expected=without(sample.expected))


_INDEX = re.compile(r"\[[^.]*")
_FORMAT = re.compile(r"(?:^|\.)extra\.[^.]*")


@lru_cache(1 << 14)
def general(path: str) -> str:
    """A path without its numbers, cut behind a format's name in `extra`: steps[3].usage -> steps[].usage."""
    place = _INDEX.sub("[]", path)
    cut = _FORMAT.search(place)
    return place if cut is None else place[: cut.end()]


def reason(path: str, why: Mapping[str, str], target: str) -> str:
    """The format's own word for the longest part of the path it explains."""
    place = general(path)
    while place:
        if place in why:
            return why[place]
        place = place.rpartition(".")[0]
    if ".extra." in f".{path}":
        return f"kept for its own format; {target} has no place for it"
    return f"{target} has no place for it"


def _whole(path: str, value: Any) -> Iterator[Found]:
    """Something that is gone, as one loss."""
    values = weight(value)
    yield Found(path, "absent", values, values if _is_own(path) else own_weight(value), before=value)


def _is_own(path: str) -> bool:
    return ".extra" in path or path.startswith("extra")


def _leaves(path: str, value: Any) -> Iterator[Found]:
    """Something that is gone, leaf by leaf."""
    if value and isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item)
    elif value and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(f"{path}[{index}]", item)
    else:
        yield from _whole(path, value)


Gone = Callable[[str, Any], Iterator[Found]]
_SCALARS = frozenset({str, int, float, bool})


def _compare(path: str, before: Any, after: Any, gone: Gone = _whole) -> Iterator[Found]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            other = after.get(key)
            if type(value) in _SCALARS and type(other) is type(value) and other == value:
                continue  # most are: no path has to be made for them
            place = f"{path}.{key}" if path else key
            if key not in after:
                yield from gone(place, value)
            elif key == "steps" and _TRAJECTORY.fullmatch(path):
                yield from _compare_steps(place, value, after[key])
            else:
                yield from _compare(place, value, other, gone)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(path, before, after, gone)
    elif (type(before) is not type(after) and isinstance(before, bool) != isinstance(after, bool)) or before != after:
        values = weight(before)
        yield Found(path, "changed", values, values if _is_own(path) else 0, before=before, after=after)


def _compare_lists(path: str, before: list[Any], after: list[Any], gone: Gone) -> Iterator[Found]:
    names = [_name(item) for item in before]
    if all(names) and len(set(names)) == len(names):
        others = {name: item for item in after if (name := _name(item))}
        for index, (name, item) in enumerate(zip(names, before, strict=True)):
            if name in others:
                yield from _compare(f"{path}[{index}]", item, others[name], gone)
            else:
                yield from gone(f"{path}[{index}]", item)
        return
    for index, item in enumerate(before):
        if index < len(after):
            yield from _compare(f"{path}[{index}]", item, after[index], gone)
        else:
            yield from gone(f"{path}[{index}]", item)


def _name(item: Any) -> str | None:
    name = (item.get("id") or item.get("name")) if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


def _compare_steps(path: str, before: list[Plain], after: list[Plain]) -> Iterator[Found]:
    # To Python True equals 1, and 1 equals 1.0; as they are written, only the first are different.
    if before == after and encode(before) == encode(after):
        return
    places = align_steps(before, after)
    elsewhere, order = Elsewhere(after, set(places)), Order(after)
    used: dict[int, Parts] = {}
    for index, (step, place) in enumerate(zip(before, places, strict=True)):
        here = f"{path}[{index}]"
        if place is None:
            yield from _scattered(here, step, elsewhere, order)
            continue
        other = after[place]
        if place in used:
            yield Found(here, "merged", note=f"into step {place + 1} of what was written")
        else:
            used[place] = Parts(other.get("parts", []))
        fields = {key: value for key, value in step.items() if key != "parts"}
        yield from _compare(here, fields, other)
        yield from _compare_parts(f"{here}.parts", step.get("parts", []), used[place], elsewhere, order)
    yield from (Found(moved, "moved", note="out of its order") for moved in order.moved())


def _scattered(here: str, step: Plain, elsewhere: Elsewhere, order: Order) -> Iterator[Found]:
    """A step that is gone; its calls and results may live on in another."""
    kept = [(number, part, elsewhere.take(part)) for number, part in enumerate(step.get("parts", ()))]
    if not any(other for _, _, other in kept):
        yield from _whole(here, step)
        return
    rest = {key: value for key, value in step.items() if key not in ("parts", "role")}
    yield Found(here, "merged", weight(rest) if rest else 1, note="into another step", before=rest or None)
    for number, part, other in kept:
        place = f"{here}.parts[{number}]"
        if other is None:
            yield from _whole(place, part)
        else:
            order.add(place, other)
            yield from _compare(place, part, other)


def _compare_parts(path: str, before: list[Plain], after: Parts, elsewhere: Elsewhere, order: Order) -> Iterator[Found]:
    for index, part in enumerate(before):
        here = f"{path}[{index}]"
        if (other := after.take(part)) is not None:
            elsewhere.taken.add(id(other))
            order.add(here, other)
            yield from _compare(here, part, other)
        elif part.get("type") == "text" and after.hold(part["text"]):
            yield Found(here, "joined", note="with the text beside it")
        elif (other := elsewhere.take(part)) is not None:
            yield Found(here, "moved", note="to another step")
            yield from _compare(here, part, other)
        else:
            yield from _whole(here, part)


def _short(value: Any) -> str:
    text = encode(value).decode("utf-8", "replace")
    return text if len(text) <= 120 else text[:117] + "..."
