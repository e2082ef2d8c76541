"""Branches: which steps the conversation continued from, and which were abandoned.

Lines form a tree by `parentUuid`, but not every dead end is a branch: results of parallel calls hang on different
lines, and notes of failed requests are written late. Two prompts hang on the same step only where a person went back
and asked something else; the later one counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pantrace.model import Step, Usage, is_prompt

from .lines import kept_lines


def active_path(steps: Sequence[Step]) -> tuple[list[Step], str | None]:
    """The steps, with what compactions replaced and, if a branch was abandoned, with the parents of the active path;
    then the id of that path's last step."""
    places = _places(steps)
    named = [kept_lines(step).get("parentUuid") or _raw_parent(step) for step in steps]
    parents = [places.get(each) if isinstance(each, str) else None for each in named]
    given_up = _given_up_steps(steps, parents)
    found = [_with_replaced(step, steps[:place]) for place, step in enumerate(steps)]
    if not given_up:
        return found, None
    before: str | None = None
    for place, step in enumerate(found):
        if place not in given_up:
            found[place] = msgspec.structs.replace(step, parent=before)
            before = step.id or before
        # Abandoned steps keep their parent, so that the tree stays whole.
        elif (parent := parents[place]) is not None:
            found[place] = msgspec.structs.replace(step, parent=steps[parent].id)
    return found, before


def _places(steps: Sequence[Step]) -> dict[str, int]:
    """The place of each line's step, by uuid."""
    found: dict[str, int] = {}
    for place, step in enumerate(steps):
        if step.id is not None:
            found.setdefault(step.id, place)
        for line in kept_lines(step).get("lines") or ():
            if isinstance(name := line.get("uuid"), str):
                found.setdefault(name, place)
    return found


def _raw_parent(step: Step) -> object:
    raw = getattr(step.parts[0], "raw", None) if step.parts else None
    return raw.get("parentUuid") if isinstance(raw, dict) else None


def _given_up_steps(steps: Sequence[Step], parents: Sequence[int | None]) -> set[int]:
    children: dict[int, list[int]] = {}
    for place, parent in enumerate(parents):
        # A parent that comes later would make a ring.
        if parent is not None and parent < place:
            children.setdefault(parent, []).append(place)
    # From the leaves up: whether the next thing after a step is a prompt, notes and the like left out.
    # Results of parallel calls and late `api_error` lines hang on different parents too, so a dead end alone is not an
    # abandoned branch (seen in 2.1.197).
    asks = [False] * len(steps)
    for place in reversed(range(len(steps))):
        step = steps[place]
        asks[place] = is_prompt(step) or (step.role != "agent" and any(asks[each] for each in children.get(place, ())))
    found: set[int] = set()
    for inner in children.values():
        for place in [each for each in inner if asks[each]][:-1]:
            waiting = [place]
            while waiting:
                each = waiting.pop()
                found.add(each)
                waiting += children.get(each, ())
    return found


def _with_replaced(step: Step, before: Sequence[Step]) -> Step:
    """A compaction with the steps that the model no longer saw; it still saw preserved ones."""
    if step.kind != "compaction":
        return step
    raw = next((getattr(part, "raw", None) for each in before[-1:] for part in each.parts), None)
    metadata = raw.get("compactMetadata") if isinstance(raw, dict) else None
    kept = metadata.get("preservedMessages") if isinstance(metadata, dict) else None
    still = kept.get("uuids") if isinstance(kept, dict) else None
    names = {each for each in still if isinstance(each, str)} if isinstance(still, list) else set()
    gone = [each.id for each in before if each.id is not None and each.id not in names and each.kind != "note"]
    # The call that made the summary is in no file: an empty usage makes the total a lower bound.
    usage = Usage() if isinstance(metadata, dict) and step.usage is None else step.usage
    return msgspec.structs.replace(step, replaces=tuple(gone), usage=usage)
