"""Loss, measured: what a sample said before it was written, and what it says when it is read back.

Steps are aligned by id, else by what they say, so that a format that merges turns is told apart from one that drops
them. The words: absent (not there any more), changed, merged (the step lives on inside another), joined (the text lives
on inside a longer one), moved (the call or result stands in another step).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from pantrace.model import Loss, RunHeader, Sample, Trajectory, header_of

from .align import Elsewhere, Parts, Plain, align_steps
from .carried import without_notes
from .json import encode, to_plain

Found = tuple[str, str]
"""Path and what happened there."""

_TRAJECTORY = re.compile(r"(trajectory|expected)(\.children\[\d+\])*")
"""Where `steps` are steps; in arguments, outputs and extras that key may hold anything."""


def sample_losses(before: Sample, after: Sample, why: Mapping[str, str], target: str) -> list[Loss]:
    """Everything of a sample that did not survive."""
    found = _compare("", to_plain(_unread(before)), to_plain(_unread(after)))
    return [
        Loss(sample=before.id, path=path, what=what, why=told) for path, what, told in _explained(found, why, target)
    ]


def header_losses(before: RunHeader, after: RunHeader, why: Mapping[str, str], target: str) -> list[Loss]:
    """Everything of a run's header that did not survive, leaf by leaf: thirteen results are not one value."""
    found = _compare("run", to_plain(_said(before)), to_plain(_said(after)), _leaves)
    return [Loss(path=path, what=what, why=told) for path, what, told in _explained(found, why, target)]


def _said(run: RunHeader) -> RunHeader:
    """A header without what its file does not say: where it was read, and a name that is only the file's."""
    header = header_of(run)
    named_after = Path(header.source.path).name if header.source and header.source.path else None
    return msgspec.structs.replace(header, source=None, name=None if header.name == named_after else header.name)


def _unread(sample: Sample) -> Sample:
    """Without `source` and notes: where something was read and what pantrace thought of it is not what it says."""

    def without(trajectory: Trajectory | None) -> Trajectory | None:
        if trajectory is None:
            return None
        children = tuple([child for each in trajectory.children if (child := without(each)) is not None])
        return msgspec.structs.replace(trajectory, source=None, children=children)

    sample = without_notes(sample)
    return msgspec.structs.replace(sample, trajectory=without(sample.trajectory), expected=without(sample.expected))


def _explained(found: Iterator[Found], why: Mapping[str, str], target: str) -> Iterator[tuple[str, str, str]]:
    reasons: dict[str, str] = {}
    for path, what in found:
        place = general(path)
        if place not in reasons:
            reasons[place] = reason(place, why, target)
        yield path, what, reasons[place]


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
    yield path, f"absent: {_short(value)}"


def _leaves(path: str, value: Any) -> Iterator[Found]:
    """Something that is gone, leaf by leaf."""
    if value and isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item)
    elif value and isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _leaves(f"{path}[{index}]", item)
    else:
        yield from _whole(path, value)


Gone = Callable[[str, Any], Iterator[Found]]


def _compare(path: str, before: Any, after: Any, gone: Gone = _whole) -> Iterator[Found]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            place = f"{path}.{key}" if path else key
            if key not in after:
                yield from gone(place, value)
            elif key == "steps" and _TRAJECTORY.fullmatch(path):
                yield from _compare_steps(place, value, after[key])
            else:
                yield from _compare(place, value, after[key], gone)
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        yield from _compare_lists(path, list(before), list(after), gone)
    elif (type(before) is not type(after) and isinstance(before, bool) != isinstance(after, bool)) or before != after:
        yield path, f"changed: {_short(before)} to {_short(after)}"


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
    elsewhere = Elsewhere(after)
    used: dict[int, Parts] = {}
    for index, (step, place) in enumerate(zip(before, align_steps(before, after), strict=True)):
        here = f"{path}[{index}]"
        if place is None:
            yield from _scattered(here, step, elsewhere)
            continue
        other = after[place]
        if place in used:
            yield here, f"merged into step {place + 1} of what was written"
        else:
            used[place] = Parts(other.get("parts", []))
        fields = {key: value for key, value in step.items() if key != "parts"}
        yield from _compare(here, fields, other)
        yield from _compare_parts(f"{here}.parts", step.get("parts", []), used[place], elsewhere)


def _scattered(here: str, step: Plain, elsewhere: Elsewhere) -> Iterator[Found]:
    """A step that is gone; its calls and results may live on in another."""
    kept = [(number, part, elsewhere.take(part)) for number, part in enumerate(step.get("parts", ()))]
    if not any(other for _, _, other in kept):
        yield here, f"absent: {_short(step)}"
        return
    rest = {key: value for key, value in step.items() if key not in ("parts", "role")}
    yield here, f"merged into another step; absent: {_short(rest)}" if rest else "merged into another step"
    for number, part, other in kept:
        place = f"{here}.parts[{number}]"
        if other is None:
            yield place, f"absent: {_short(part)}"
        else:
            yield from _compare(place, part, other)


def _compare_parts(path: str, before: list[Plain], after: Parts, elsewhere: Elsewhere) -> Iterator[Found]:
    for index, part in enumerate(before):
        here = f"{path}[{index}]"
        if (other := after.take(part)) is not None:
            elsewhere.taken.add(id(other))
            yield from _compare(here, part, other)
        elif part.get("type") == "text" and after.hold(part["text"]):
            yield here, "joined with the text beside it"
        elif (other := elsewhere.take(part)) is not None:
            yield here, "moved to another step"
            yield from _compare(here, part, other)
        else:
            yield here, f"absent: {_short(part)}"


def _short(value: Any) -> str:
    text = encode(value).decode("utf-8", "replace")
    return text if len(text) <= 120 else text[:117] + "..."
