"""Loss, measured: what a sample said before it was written, and what it says when it is read back.

Steps are aligned by id, else by what they say, so that a format that merges turns is told apart from one that drops
them. The words: absent (not there any more), changed, merged (the step lives on inside another), joined (the text lives
on inside a longer one), moved (the call or result stands in another step).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pantrace.model import Loss, RunHeader, Sample, header_of

from .json import encode, to_plain

Found = tuple[str, str]
"""Path and what happened there."""

_TRAJECTORY = re.compile(r"(trajectory|expected)(\.children\[\d+\])*")
"""Where `steps` are steps; in arguments, outputs and extras that key may hold anything."""


def sample_losses(before: Sample, after: Sample, why: Mapping[str, str], target: str) -> list[Loss]:
    """Everything of a sample that did not survive."""
    found = _compare("", _content(to_plain(before)), _content(to_plain(after)))
    return [Loss(sample=before.id, path=path, what=what, why=reason(path, why, target)) for path, what in found]


def header_losses(before: RunHeader, after: RunHeader, why: Mapping[str, str], target: str) -> list[Loss]:
    """Everything of a run's header that did not survive."""
    found = _compare("run", _content(to_plain(header_of(before))), _content(to_plain(header_of(after))))
    return [Loss(path=path, what=what, why=reason(path, why, target)) for path, what in found]


def general(path: str) -> str:
    """A path without its numbers, cut behind a format's name in `extra`: steps[3].usage -> steps[].usage."""
    parts = []
    for part in path.split("."):
        parts.append(part.partition("[")[0] + "[]" if "[" in part else part)
        if len(parts) > 1 and parts[-2] == "extra":
            break
    return ".".join(parts)


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


def _content(value: Any) -> Any:
    """Without `source`, which says where something was read and not what it says."""
    if isinstance(value, dict):
        return {
            key: value if key in ("extra", "raw") else _content(value)
            for key, value in value.items()
            if key != "source"
        }
    if isinstance(value, (list, tuple)):
        return [_content(item) for item in value]
    return value


def _compare(path: str, before: Any, after: Any) -> Iterator[Found]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            place = f"{path}.{key}" if path else key
            if key not in after:
                yield place, f"absent: {_short(value)}"
            elif key == "steps" and _TRAJECTORY.fullmatch(path):
                yield from _compare_steps(place, value, after[key])
            else:
                yield from _compare(place, value, after[key])
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        yield from _compare_lists(path, list(before), list(after))
    elif (type(before) is not type(after) and isinstance(before, bool) != isinstance(after, bool)) or before != after:
        yield path, f"changed: {_short(before)} to {_short(after)}"


def _compare_lists(path: str, before: list[Any], after: list[Any]) -> Iterator[Found]:
    names = [_name(item) for item in before]
    if all(names) and len(set(names)) == len(names):
        others = {name: item for item in after if (name := _name(item))}
        for index, (name, item) in enumerate(zip(names, before, strict=True)):
            if name in others:
                yield from _compare(f"{path}[{index}]", item, others[name])
            else:
                yield f"{path}[{index}]", f"absent: {_short(item)}"
        return
    for index, item in enumerate(before):
        if index < len(after):
            yield from _compare(f"{path}[{index}]", item, after[index])
        else:
            yield f"{path}[{index}]", f"absent: {_short(item)}"


def _name(item: Any) -> str | None:
    name = (item.get("id") or item.get("name")) if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


class _Elsewhere:
    """Calls and results of the other side that no step has claimed yet."""

    def __init__(self, steps: list[dict[str, Any]]):
        self.found: dict[bytes, list[dict[str, Any]]] = {}
        for step in steps:
            for part in step.get("parts", ()):
                if part.get("type") in ("call", "result"):
                    self.found.setdefault(_key(part), []).append(part)
        self.taken: set[int] = set()

    def take(self, part: dict[str, Any]) -> dict[str, Any] | None:
        for other in self.found.get(_key(part), ()):
            if id(other) not in self.taken:
                self.taken.add(id(other))
                return other
        return None


def _key(part: dict[str, Any]) -> bytes:
    if part.get("type") == "call":
        return encode(["call", part.get("name"), part.get("arguments")])
    return encode(["result", part.get("output"), part.get("error")])


def _compare_steps(path: str, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Iterator[Found]:
    places = _align(before, after)
    elsewhere = _Elsewhere(after)
    used: set[int] = set()
    taken_parts: dict[int, set[int]] = {}
    for index, (step, place) in enumerate(zip(before, places, strict=True)):
        here = f"{path}[{index}]"
        if place is None:
            yield from _scattered(here, step, elsewhere)
            continue
        other = after[place]
        if place in used:
            yield here, f"merged into step {place + 1} of what was written"
        used.add(place)
        fields = {key: value for key, value in step.items() if key != "parts"}
        yield from _compare(here, fields, other)
        parts = step.get("parts", [])
        yield from _compare_parts(
            f"{here}.parts", parts, other.get("parts", []), elsewhere, taken_parts.setdefault(place, set())
        )


def _scattered(here: str, step: dict[str, Any], elsewhere: _Elsewhere) -> Iterator[Found]:
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


def _align(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[int | None]:
    """For each step the place of the one that carries it on."""
    ids = {step["id"]: place for place, step in enumerate(after) if step.get("id")}
    if before and all(step.get("id") in ids for step in before) and len({step["id"] for step in before}) == len(before):
        return [ids[step["id"]] for step in before]
    if [step.get("role") for step in before] == [step.get("role") for step in after]:
        return list(range(len(before)))
    places: list[int | None] = []
    cursor = 0
    texts = [_text(step) for step in after]
    calls = [_calls(step) for step in after]
    actions = [_actions(step) for step in after]
    for step in before:
        found = None
        done = _actions(step)
        for place in range(cursor, len(after)):
            if after[place].get("role") != step.get("role"):
                continue
            # A step that did the same is the same step, whatever else of it was lost; but each only once.
            same = done and done & actions[place] and place not in places
            if same or _carries(step, texts[place], calls[place]):
                found = place
                break
        places.append(found)
        cursor = cursor if found is None else found
    return places


def _carries(step: dict[str, Any], text: str, calls: set[bytes]) -> bool:
    mine = [part["text"] for part in step.get("parts", ()) if part.get("type") == "text" and not part.get("synthetic")]
    asked = _calls(step)
    if not mine and not asked:
        return not step.get("parts") and not text and not calls
    return all(each in text for each in mine) and asked <= calls


def _text(step: dict[str, Any]) -> str:
    return "\n\n".join(part["text"] for part in step.get("parts", ()) if part.get("type") == "text")


def _calls(step: dict[str, Any]) -> set[bytes]:
    return {_key(part) for part in step.get("parts", ()) if part.get("type") == "call"}


def _actions(step: dict[str, Any]) -> set[bytes]:
    return {
        encode([part.get(name) for name in ("kind", "target", "text", "key", "url")])
        for part in step.get("parts", ())
        if part.get("type") == "action"
    }


def _compare_parts(
    path: str,
    before: list[dict[str, Any]],
    after: list[dict[str, Any]],
    elsewhere: _Elsewhere,
    taken: set[int] | None = None,
) -> Iterator[Found]:
    taken = set() if taken is None else taken
    for index, part in enumerate(before):
        here = f"{path}[{index}]"
        place = _same_part(part, after, taken)
        if place is not None:
            taken.add(place)
            elsewhere.taken.add(id(after[place]))
            yield from _compare(here, part, after[place])
        elif part.get("type") == "text" and any(
            other.get("type") == "text" and part["text"] in other["text"] for other in after
        ):
            yield here, "joined with the text beside it"
        elif part.get("type") in ("call", "result") and (other := elsewhere.take(part)) is not None:
            yield here, "moved to another step"
            yield from _compare(here, part, other)
        else:
            yield here, f"absent: {_short(part)}"


def _same_part(part: dict[str, Any], after: list[dict[str, Any]], taken: set[int]) -> int | None:
    candidates = [
        place for place, other in enumerate(after) if place not in taken and other.get("type") == part.get("type")
    ]
    for place in candidates:
        if _essence(part) == _essence(after[place]):
            return place
    kind = part.get("type")
    if kind == "text":
        return None
    if kind in ("call", "result"):
        # The same call under another id is still this call.
        alike = next((place for place in candidates if _key(after[place]) == _key(part)), None)
        if alike is not None:
            return alike
    name = _handle(part)
    return next((place for place in candidates if name is not None and _handle(after[place]) == name), None)


def _handle(part: dict[str, Any]) -> Any:
    return part.get("id") or part.get("call_id") or part.get("name")


def _essence(part: dict[str, Any]) -> Any:
    kind = part.get("type")
    if kind in ("call", "result"):
        return _key(part), part.get("id") or part.get("call_id")
    if kind in ("text", "thinking"):
        return part.get("text")
    return part


def _short(value: Any) -> str:
    text = encode(value).decode("utf-8", "replace")
    return text if len(text) <= 120 else text[:117] + "..."
