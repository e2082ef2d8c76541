"""One action of an episode, read and written.

Pixels and normalised coordinates never mix: a point has the space of the field it was read from. If a source gives
both, the normalised point becomes the target and the pixels are kept in `extra`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec

from pantrace.model import Action, Box, Point, Target
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.field_map import MISFIT, NUMBER, TEXT, Codec, FieldMap, is_number
from pantrace.wire.optional import present, text_of

from .field_names import ACTION_TYPES, NAME

Viewport = tuple[int, int] | None


def _texts(value: Any) -> Any:
    return tuple(str(each) for each in value) if isinstance(value, list) else MISFIT


def _direction(word: str) -> str | None:
    return word if word in ("up", "down", "left", "right") else None


def _whole_number(number: float) -> int | None:
    return int(number) if isfinite(number) else None


FIELDS: dict[str, tuple[str, Codec]] = {
    "text": ("text", TEXT),
    "key": ("key", TEXT),
    "modifiers": ("modifiers", Codec(_texts, lambda words: list(words) or None, [str])),
    "scroll_direction": ("direction", TEXT._replace(dump=_direction)),
    # The schema wants an integer and one of four directions: what does not fit is left out, not bent.
    "scroll_amount": ("amount", NUMBER._replace(dump=_whole_number)),
    "url": ("url", TEXT),
    "app_name": ("app", TEXT),
}
"""The fields that actions of every generation have in common."""
_ACTION = FieldMap(NAME, Action, {**FIELDS, "duration": ("seconds", NUMBER)})
_ELEMENT = FieldMap(
    NAME, Target, {"role": ("role", TEXT), "name": ("description", TEXT), "element_id": ("element", TEXT)}
)


def read_keys(used: Mapping[str, Any]) -> set[str]:
    """The keys whose value was understood; others are kept as they are."""
    return {key for key, value in used.items() if value is not None}


def action_from(row: dict[str, Any], viewport: Viewport) -> Action:
    """An action of the new schema."""
    share, pixels = _pair(row.get("normalized_coordinates")), _pixels(row.get("coordinates"), viewport)
    end_share, end_pixels = _pair(row.get("normalized_end")), _pixels(row.get("end_coordinates"), viewport)
    # Best source first: normalised coordinates stay right whatever the size of the screen.
    point = share or pixels or _pair(row.get("normalized_start")) or _pixels(row.get("start_coordinates"), viewport)
    element = row.get("element") if isinstance(row.get("element"), dict) else None
    target, raw = _target(element, row.get("raw"), point, viewport)
    used = {
        "normalized_coordinates": share,
        "coordinates": pixels if share is None else None,
        "normalized_end": end_share,
        "end_coordinates": end_pixels if end_share is None else None,
        "element": element,
    }
    return _ACTION.load(
        row,
        {"type", "raw"} | read_keys(used),
        kind=str(row.get("type") or "unknown").lower(),
        target=target,
        end=end_share or end_pixels,
        raw=raw,
    )


def _pair(value: Any) -> Point | None:
    if isinstance(value, list) and len(value) == 2 and all(is_number(each) for each in value):
        return Point(x=value[0], y=value[1], space="normalised")
    return None


def _pixels(value: Any, viewport: Viewport) -> Point | None:
    if isinstance(value, dict) and is_number(value.get("x")) and is_number(value.get("y")):
        return Point(x=value["x"], y=value["y"], space="pixels", viewport=viewport)
    return None


def _target(
    element: dict[str, Any] | None, raw: Any, point: Point | None, viewport: Viewport
) -> tuple[Target | None, Any]:
    """The target, and the rest of `raw`, which may hold a normalised box and a mark number."""
    element = element or {}
    fields: dict[str, Any] = present({"point": point, "box": _bounds(element.get("bounds"), viewport)})
    if isinstance(raw, dict):
        raw = dict(raw)
        # OpenAdapt's own metrics look in the same order: the element's bounds, then `raw.bbox`.
        if "box" not in fields and (corners := _corners(raw.get("bbox"))) is not None:
            fields["box"] = corners
            del raw["bbox"]
        mark = raw.get("element_index")
        # Its SoM generator writes the mark here, although the schema has `element_id` for it.
        if text_of(element.get("element_id")) is None and isinstance(mark, int) and not isinstance(mark, bool):
            fields["element"] = mark
            del raw["element_index"]
        raw = raw["original"] if set(raw) == {"original"} else raw or None
    boxed = isinstance(fields.get("box"), Box) and fields["box"].space == "pixels"
    target = _ELEMENT.load(element, {"bounds"} if boxed else (), **fields)
    return (target if target != Target() else None), raw


def _bounds(value: Any, viewport: Viewport) -> Box | None:
    if not isinstance(value, dict) or not all(is_number(value.get(key)) for key in ("x", "y", "width", "height")):
        return None
    left, top = value["x"], value["y"]
    right, bottom = left + value["width"], top + value["height"]
    return Box(left=left, top=top, right=right, bottom=bottom, space="pixels", viewport=viewport)


def _corners(value: Any) -> Box | None:
    if isinstance(value, list) and len(value) == 4 and all(is_number(each) for each in value):
        return Box(left=value[0], top=value[1], right=value[2], bottom=value[3], space="normalised")
    return None


def flat_point(x: Any, y: Any) -> Point | None:
    """A point whose space is not stated: fractions within 0..1 are normalised, larger numbers are pixels, and a whole 0
    or 1 could be either."""
    if not is_number(x) or not is_number(y):
        return None
    # openadapt-evals guesses the same way, and then divides pixels by a screen of 1920x1200; here they stay pixels.
    if 0 <= x <= 1 and 0 <= y <= 1:
        return Point(x=x, y=y, space="unknown" if isinstance(x, int) and isinstance(y, int) else "normalised")
    return Point(x=x, y=y, space="pixels")


def action_to(action: Action) -> dict[str, Any]:
    """An action as the new schema writes it."""
    target = action.target or Target()
    raw: dict[str, Any] = {}
    # `raw` must be an object for OpenAdapt; anything else, or an object with its reserved keys, goes below `original`.
    if isinstance(action.raw, dict) and not {"bbox", "element_index"} & set(action.raw):
        raw |= action.raw
    elif action.raw is not None:
        raw["original"] = action.raw
    row: dict[str, Any] = {"type": _type(action.kind), **_place("coordinates", target.point), **_ending(action.end)}
    box = target.box
    if box is not None and box.space == "normalised":
        raw["bbox"] = [box.left, box.top, box.right, box.bottom]
    if isinstance(target.element, int):
        raw["element_index"] = target.element
    row |= present({"element": _element(target) or None, "raw": raw or None})
    row = {**_ACTION.dump(action), **row}
    # OpenAdapt refuses these types without their content, and with them the whole episode.
    for kind, needed in (("type", "text"), ("key", "key"), ("goto", "url")):
        if row["type"] == kind:
            row.setdefault(needed, "")
    return row


def _type(kind: str) -> str:
    """The nearest of OpenAdapt's types; an unknown one is `fail`, never `done`."""
    return kind if kind in ACTION_TYPES else "done" if kind == "answer" else "fail"


def _place(name: str, point: Point | None) -> dict[str, Any]:
    if point is None or point.axes != "xy":
        return {}
    if point.space == "normalised":
        return {f"normalized_{name}": [point.x, point.y]}
    # The schema refuses negative pixels; a point of unknown space has no honest field at all.
    if point.space == "pixels" and 0 <= point.x < 1e9 and 0 <= point.y < 1e9:
        return {name: {"x": int(point.x), "y": int(point.y)}}
    return {}


def _ending(point: Point | None) -> dict[str, Any]:
    found = _place("end", point)
    return {"end_coordinates": found["end"]} if "end" in found else found


def _element(target: Target) -> dict[str, Any]:
    named = target if isinstance(target.element, str) else msgspec.structs.replace(target, element=None)
    element = {**rest_in(target.extra, NAME), **_ELEMENT.dump(named)}
    box = target.box
    if box is not None and box.space == "pixels":
        corners = (box.left, box.top, box.right - box.left, box.bottom - box.top)
        # Bounds are whole pixels in the schema; rounding would move the box.
        if all(float(each).is_integer() for each in corners) and corners[2] >= 0 and corners[3] >= 0:
            element["bounds"] = dict(zip(("x", "y", "width", "height"), map(int, corners), strict=True))
    return element
