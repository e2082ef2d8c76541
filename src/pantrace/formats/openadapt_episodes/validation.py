"""Finds every place where an episode breaks OpenAdapt's schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Violation
from pantrace.wire.field_map import is_number
from pantrace.wire.head import Head
from pantrace.wire.rows import read_rows
from pantrace.wire.shape import ANY, one_of, violations
from pantrace.wire.times import from_iso
from pantrace.wire.violation import error, under, warning

from .field_names import ACTION_TYPES, SOURCES
from .older_shapes import is_episode
from .opening import newest, open_run
from .recognise import shape_of

_BOUNDS = {"x": int, "y": int, "width": int, "height": int}
_POINT = {"x": int, "y": int}


def _maybe(shape: Any) -> tuple[Any, None]:
    return shape, None


_ELEMENT = {
    "role?": _maybe(str),
    "name?": _maybe(str),
    "value?": _maybe(str),
    "bounds?": _maybe(_BOUNDS),
    "element_id?": _maybe(str),
    "xpath?": _maybe(str),
    "selector?": _maybe(str),
    "automation_id?": _maybe(str),
}
_OBSERVATION = {
    "screenshot_path?": _maybe(str),
    "screenshot_base64?": _maybe(str),
    "a11y_tree?": _maybe(dict),
    "dom?": _maybe(str),
    "window_title?": _maybe(str),
    "app_name?": _maybe(str),
    "url?": _maybe(str),
    "screen_size?": _maybe([int]),
    "focused_element?": _maybe(_ELEMENT),
    "timestamp?": _maybe(float),
    "raw?": _maybe(dict),
}
_ACTION = {
    "type": one_of(*ACTION_TYPES),
    "coordinates?": _maybe(_POINT),
    "start_coordinates?": _maybe(_POINT),
    "end_coordinates?": _maybe(_POINT),
    "scroll_direction?": one_of("up", "down", "left", "right", None),
    "scroll_amount?": _maybe(int),
    "text?": _maybe(str),
    "key?": _maybe(str),
    "modifiers?": _maybe([str]),
    "element?": _maybe(_ELEMENT),
    "url?": _maybe(str),
    "app_name?": _maybe(str),
    "duration?": _maybe(float),
    "monitor_id?": _maybe(int),
    "window_title?": _maybe(str),
    "normalized_coordinates?": _maybe([float]),
    "normalized_start?": _maybe([float]),
    "normalized_end?": _maybe([float]),
    "raw?": _maybe(dict),
}
_STEP = {
    "step_index": int,
    "observation": _OBSERVATION,
    "action": _ACTION,
    "reasoning?": _maybe(str),
    "reward?": _maybe(float),
    "done?": _maybe(bool),
    "timestamp?": _maybe(float),
    "duration_ms?": _maybe(int),
}
EPISODE = {
    "schema_version?": str,
    "episode_id": str,
    "task_id?": _maybe(str),
    "instruction": str,
    "goal?": _maybe(str),
    "steps": [_STEP],
    "success?": _maybe(bool),
    "final_reward?": _maybe(float),
    "source?": one_of(*SOURCES, None),
    "source_file?": _maybe(str),
    "created_at?": _maybe(str),
    "agent_model?": _maybe(str),
    "environment?": _maybe(str),
    "tags?": _maybe([str]),
    "metadata?": _maybe(dict),
    # Ours, and not in the schema: OpenAdapt ignores unknown keys.
    "pantrace?": ANY,
}


def check(row: Any) -> Iterator[Violation]:
    """Violations of one decoded episode; older shapes are migrated first."""
    if isinstance(row, dict) and isinstance(row.get("episodes"), list) and "steps" not in row:
        for number, each in enumerate(row["episodes"]):
            yield from under(f"episodes[{number}]", check(each))
        return
    if isinstance(row, dict) and not is_episode(row):
        try:
            # Older shapes have no schema of their own.
            newer = newest(row)
        except (KeyError, TypeError, ValueError, AttributeError) as why:
            yield error(f"cannot be read as an older episode: {why}")
            return
        if newer is not row:
            yield warning("an older shape; `pantrace migrate` writes it in the newest one")
            row = newer
    yield from violations(row, EPISODE)
    if isinstance(row, dict) and isinstance(row.get("steps"), list):
        yield from _steps(row["steps"])
    if isinstance(row, dict) and isinstance(created := row.get("created_at"), str) and from_iso(created) is None:
        yield error(f"{created!r} is not a time", "created_at")


def _steps(steps: list[Any]) -> Iterator[Violation]:
    last = -1
    for number, step in enumerate(steps):
        if not isinstance(step, dict):
            continue
        place = f"steps[{number}]"
        index = step.get("step_index")
        if isinstance(index, int):
            if index < 0:
                yield error("must not be negative", f"{place}.step_index")
            # Only a warning: OpenAdapt loads it, but its metrics take steps by their position.
            elif index <= last:
                yield warning(f"{index} does not follow {last}", f"{place}.step_index")
            last = max(last, index)
        observation = step.get("observation")
        if isinstance(observation, dict):
            yield from _pair(observation.get("screen_size"), f"{place}.observation.screen_size")
        if isinstance(step.get("action"), dict):
            yield from _action(step["action"], f"{place}.action")


def _action(action: dict[str, Any], place: str) -> Iterator[Violation]:
    # OpenAdapt's model checks these on top of the types of its fields.
    for kind, needed in (("type", "text"), ("key", "key"), ("goto", "url")):
        if action.get("type") == kind and action.get(needed) is None:
            yield error(f"is missing: {kind} needs it", f"{place}.{needed}")
    for name in ("coordinates", "start_coordinates", "end_coordinates"):
        point = action.get(name)
        if isinstance(point, dict):
            for axis in ("x", "y"):
                if is_number(point.get(axis)) and point[axis] < 0:
                    yield error("must not be negative", f"{place}.{name}.{axis}")
    for name in ("normalized_coordinates", "normalized_start", "normalized_end"):
        value = action.get(name)
        yield from _pair(value, f"{place}.{name}")
        # The schema does not check the range, so this is not an error; it is what mistaken pixels look like.
        if isinstance(value, list) and any(is_number(each) and not 0 <= each <= 1 for each in value):
            yield warning(f"{value} is outside 0..1: are these pixels?", f"{place}.{name}")
    element = action.get("element")
    bounds = element.get("bounds") if isinstance(element, dict) else None
    for side in ("width", "height"):
        if isinstance(bounds, dict) and is_number(bounds.get(side)) and bounds[side] < 0:
            yield error("must not be negative", f"{place}.element.bounds.{side}")


def _pair(value: Any, place: str) -> Iterator[Violation]:
    if isinstance(value, list) and len(value) != 2:
        yield error(f"must be two numbers, has {len(value)}", place)


def validate(path: Path) -> Iterator[Violation]:
    """Violations of a file or directory. Episodes are checked against the schema; other shapes have none and only need
    to be readable."""
    shape = shape_of(Head(path))
    broken: list[ReadError] = []
    # A file of no known shape is checked as an episode, to say what it lacks.
    if shape in ("episode", "legacy", "demo") or (shape is None and path.is_file()):
        for place, row in read_rows(path, broken.append):
            for each in check(row):
                inner = ", ".join(part for part in (place, each.place) if part)
                yield msgspec.structs.replace(each, place=inner or None)
    elif shape == "episode-folder":
        for file in sorted(path.glob("*.json")):
            for each in validate(file):
                yield msgspec.structs.replace(each, place=": ".join(part for part in (file.name, each.place) if part))
    else:
        for sample in open_run(path, broken.append).samples:
            outcome = sample.trajectory.outcome if sample.trajectory else None
            if outcome is not None and outcome.status == "unscored" and outcome.reward is None:
                yield warning(f"is unscored: {outcome.reason}", f"sample {sample.id}")
    for found in broken:
        yield error(found.message, found.place or found.path)
