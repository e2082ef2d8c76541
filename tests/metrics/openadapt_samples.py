"""Samples from episodes and predictions in OpenAdapt's words, as its reader maps them."""

from __future__ import annotations

import json
import re
from typing import Any

from pantrace.model import Action, Box, Case, Media, Part, Point, Sample, Step, Target, Trajectory


def action(row: dict[str, Any], before: str | None = None) -> Action:
    """An action of the episode schema."""
    raw = dict(row.get("raw") or {})
    element = row.get("element") or {}
    place = row.get("normalized_coordinates")
    point = _point(place) or _pixels(row.get("coordinates")) or _point(row.get("normalized_start"))
    box = _bounds(element["bounds"]) if "bounds" in element else _corners(raw.pop("bbox", None))
    mark = element.get("element_id")
    if mark is None and isinstance(raw.get("element_index"), int):
        mark = raw.pop("element_index")
    kept = {"normalized_start": row["normalized_start"]} if "normalized_start" in row else {}
    return Action(
        kind=row["type"],
        target=Target(point=point, box=box, element=mark),
        end=_point(row.get("normalized_end")),
        text=row.get("text"),
        key=row.get("key"),
        url=row.get("url"),
        before=before,
        raw=raw or None,
        extra={"openadapt-episodes": kept} if kept else {},
    )


def _point(pair: Any) -> Point | None:
    return Point(x=pair[0], y=pair[1], space="normalised") if pair else None


def _pixels(pair: Any) -> Point | None:
    return Point(x=pair["x"], y=pair["y"], space="pixels") if pair else None


def _corners(box: Any) -> Box | None:
    return Box(left=box[0], top=box[1], right=box[2], bottom=box[3], space="normalised") if box else None


def _bounds(box: Any) -> Box:
    right, bottom = box["x"] + box["width"], box["y"] + box["height"]
    return Box(left=box["x"], top=box["y"], right=right, bottom=bottom, space="pixels")


def truth(episode: dict[str, Any]) -> Trajectory:
    """The ground-truth episode: a screenshot, where there is one, and the action that followed it."""
    steps = []
    for number, row in enumerate(episode["steps"]):
        path = row["observation"].get("screenshot_path")
        screen = Media(id=f"screen-{number}", uri=path) if path else None
        parts: tuple[Part, ...] = (action(row["action"], screen.id if screen else None),)
        steps.append(Step(id=f"step-{number}", role="agent", parts=(screen, *parts) if screen else parts))
    return Trajectory(id=episode["episode_id"], steps=tuple(steps))


def _logged(row: dict[str, Any]) -> Action:
    """A prediction as the step log tells it."""
    pair = None if row["x"] is None else (row["x"], row["y"])
    return Action(kind=row["type"], target=Target(point=_point(pair), element=row["element_index"]), text=row["text"])


def _state(output: str) -> dict[str, Any] | None:
    """What a model says of its state, up to the first closing brace."""
    found = re.search(r"State:\s*(\{.*?\})", output)
    try:
        return dict(json.loads(found[1])) if found else None
    except ValueError:
        return None


def samples(case: dict[str, Any]) -> list[Sample]:
    """One sample per episode; the flat list of predictions is dealt out by screenshots."""
    if "predictions" in case:
        predicted = [action(each["action"]) for each in case["predictions"]]
        states: list[Any] = case.get("states") or [None] * len(predicted)
    else:
        predicted = [_logged(row["pred_action"]) for row in case["expected"]["step_log"]]
        states = [_state(output) for output in case["model_outputs"]]
    found, used = [], 0
    for episode in case["episodes"]:
        shown = sum(bool(step["observation"].get("screenshot_path")) for step in episode["steps"])
        steps = tuple(
            Step(id=f"p-{place}", role="agent", parts=(predicted[place],), state_delta=states[place])
            for place in range(used, min(used + shown, len(predicted)))
        )
        used += shown
        name = episode["episode_id"]
        found.append(Sample(id=name, case=Case(id="task"), trajectory=Trajectory(steps=steps), expected=truth(episode)))
    return found
