"""Older and flatter shapes: legacy episodes, demo.json, flat actions."""

from __future__ import annotations

from typing import Any

from pantrace.model import Action, Box, Target
from pantrace.wire.extra_keys import texts_in
from pantrace.wire.field_map import FieldMap, is_number
from pantrace.wire.json import unknown_keys
from pantrace.wire.optional import object_of, present, text_of
from pantrace.wire.shape import must_fit

from .actions import FIELDS, flat_point, read_keys
from .field_names import NAME
from .turns import Episode, Turn

# The original loader turns every type it does not know into a click; here an unknown type stays what it was.
_KINDS = {"failed": "fail", "key_press": "key"}
_FLAT = FieldMap(NAME, Action, FIELDS)


def is_legacy(row: Any) -> bool:
    """Whether an object is an episode from before the schema had a version."""
    return (
        isinstance(row, dict)
        and isinstance(row.get("id"), str)
        and "goal" in row
        and "episode_id" not in row
        and _steps_have(row, "observation", "action")
    )


def is_demo(row: Any) -> bool:
    """Whether an object is a demo.json of openadapt-evals."""
    return (
        isinstance(row, dict)
        and "task_id" in row
        and "demo_id" in row
        and "description" in row
        and _steps_have(row, "action_type", "step_index")
    )


def is_episode(row: Any) -> bool:
    """Whether an object is an episode of the new schema."""
    return (
        isinstance(row, dict)
        and isinstance(row.get("episode_id"), str)
        and "instruction" in row
        and _steps_have(row, "observation", "action")
    )


def _steps_have(row: dict[str, Any], *keys: str) -> bool:
    steps = row.get("steps")
    if not isinstance(steps, list):
        return False
    # Only the beginning of a file is seen here, so the last step may be cut off; the first one shows the shape.
    return not steps or (isinstance(steps[0], dict) and any(key in steps[0] for key in keys))


def older_episode(row: Any) -> Episode | None:
    """An episode of an older shape; None for anything else."""
    if is_episode(row):
        return None
    return _demo(row) if is_demo(row) else _legacy(row) if is_legacy(row) else None


def flat_action(row: dict[str, Any]) -> Action:
    """An action with x, y, end_x, end_y and target_* side by side; the space of x and y is not stated."""
    kind = str(row.get("type") or "unknown").lower()
    point, end = flat_point(row.get("x"), row.get("y")), flat_point(row.get("end_x"), row.get("end_y"))
    used: dict[str, Any] = {"x": point, "y": point, "end_x": end, "end_y": end, "type": kind}
    boxed = "target_bbox" if row.get("target_bbox") else "bbox"
    box = used[boxed] = _flat_box(row.get(boxed))
    # A mark may be 0, so its type is checked and not its truth.
    named = next((key for key in ("target_node_id", "element_index") if _is_mark(row.get(key))), "target_node_id")
    element = used[named] = row[named] if _is_mark(row.get(named)) else None
    role = used["target_role"] = text_of(row.get("target_role"))
    description = used["target_name"] = text_of(row.get("target_name"))
    target = Target(point=point, box=box, element=element, role=role, description=description)
    # openadapt-evals puts a final answer in its own field; we have one text per action, and `text` goes first.
    answer = text_of(row.get("answer")) if text_of(row.get("text")) is None else None
    used["answer"] = answer
    raw_key = "raw_action" if row.get("raw_action") is not None else "raw"
    raw = used[raw_key] = row.get(raw_key)
    if isinstance(raw, dict) and set(raw) == {"original"}:
        raw = raw["original"]
    return _FLAT.load(
        row,
        read_keys(used),
        kind=_KINDS.get(kind, kind),
        target=target if target != Target() else None,
        end=end,
        raw=raw,
        **present({"text": answer}),
    )


def _is_mark(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _flat_box(value: Any) -> Box | None:
    if not isinstance(value, list) or len(value) != 4 or not all(is_number(each) for each in value):
        return None
    space: Any = "normalised" if all(0 <= each <= 1 for each in value) else "pixels"
    return Box(left=value[0], top=value[1], right=value[2], bottom=value[3], space=space)


_LEGACY = {"steps": [{"observation?": (dict, None), "action": dict}], "metadata?": (dict, None)}


def _legacy(row: dict[str, Any]) -> Episode:
    must_fit(row, _LEGACY)
    moved = {"id", "goal", "instruction", "workflow_id", "summary", "steps", "metadata"}
    metadata = {**(row.get("metadata") or {}), **present({key: row.get(key) for key in ("summary", "workflow_id")})}
    fields = {
        "episode_id": row["id"],
        "instruction": row.get("instruction") or row.get("goal") or "",
        **unknown_keys(row, moved),
        **({"metadata": metadata} if metadata else {}),
    }
    return Episode(row=fields, turns=[_legacy_turn(step, place) for place, step in enumerate(row["steps"])])


def _legacy_turn(row: dict[str, Any], place: int) -> Turn:
    observation = row.get("observation") or {}
    # The original loader loses `url`, `app_name` and more on the way; here every other key comes along unchanged.
    renamed = {"image_path": "screenshot_path", "dom_html": "dom"}
    seen = {
        renamed.get(key, key): value
        for key, value in unknown_keys(observation, ("meta", "accessibility_tree")).items()
        if value is not None
    }
    raw = observation.get("meta")
    tree = observation.get("accessibility_tree")
    step = {
        # Legacy steps have no number: `t` is a time.
        "step_index": place,
        "observation": with_tree({**seen, **({"raw": raw} if raw is not None else {})}, tree),
        "reasoning": row.get("thought"),
        "timestamp": row.get("t"),
    }
    rest = unknown_keys(row, {"t", "observation", "action", "thought"})
    return Turn(row={**present(step), **rest}, actions=[flat_action(row["action"])])


def with_tree(observation: dict[str, Any], tree: Any) -> dict[str, Any]:
    """The observation with its accessibility tree: the schema's field takes only an object, so a text goes to `raw`."""
    if tree is None:
        return observation
    if isinstance(tree, dict):
        return {**observation, "a11y_tree": tree}
    raw = observation.get("raw")
    return {**observation, "raw": {**object_of(raw), "a11y_tree": tree}}


_DEMO = {"task_id", "demo_id", "description", "created_at", "metadata", "steps"}
_DEMO_STEP = {
    "step_index",
    "screenshot_path",
    "action_type",
    "action_description",
    "target_description",
    "action_value",
    "x",
    "y",
    "description",
}


def _demo(row: dict[str, Any]) -> Episode:
    must_fit(row, {"steps": [dict], "metadata?": (dict, None)})
    fields = {
        # Neither is unique alone: a task may have several demos.
        "episode_id": f"{row['task_id']}/{row['demo_id']}",
        "task_id": row["task_id"],
        "instruction": row.get("description") or "",
        "source": "human",
        "created_at": row.get("created_at"),
        **unknown_keys(row, _DEMO),
        "metadata": {**(row.get("metadata") or {}), "demo_id": row["demo_id"]},
    }
    return Episode(row=fields, turns=[_demo_turn(step, place) for place, step in enumerate(row["steps"])])


def _demo_turn(row: dict[str, Any], place: int) -> Turn:
    kind = str(row.get("action_type") or "unknown").lower()
    target = Target(
        point=flat_point(row.get("x"), row.get("y")), description=text_of(row.get("target_description")) or None
    )
    value = text_of(row.get("action_value")) or None
    # What action_value means depends on the type: the text typed, the key pressed, the page or app opened.
    field = {"key": "key", "hotkey": "key", "goto": "url", "open_app": "app", "scroll": "direction"}.get(kind, "text")
    action = Action(
        kind=_KINDS.get(kind, kind),
        target=target if target != Target() else None,
        raw=row.get("action_description"),
        **({field: value} if value is not None else {}),  # type: ignore[arg-type]
    )
    step = {
        "step_index": row.get("step_index", place),
        "observation": present({"screenshot_path": row.get("screenshot_path") or None}),
        "reasoning": row.get("description") or None,
    }
    known = _DEMO_STEP - {"x", "y", "target_description", "action_value"}
    known |= {"x", "y"} if target.point is not None else set()
    known |= {*texts_in(row, "target_description", "action_value")}
    kept = {key: value for key, value in unknown_keys(row, known).items() if value not in (None, {}, "")}
    return Turn(row={**present(step), **kept}, actions=[action])
