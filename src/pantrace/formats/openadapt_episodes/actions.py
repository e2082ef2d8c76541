"""One action of an episode, read and written.

Pixels and normalised coordinates never mix: a point has the space of the field it stood in. Where a source gives both,
the normalised point is the target and the pixels stay beside it.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from pantrace.model import Action, Box, Point, Target
from pantrace.wire.carried import CARRIER
from pantrace.wire.rest import as_extra, rest_of

from .words import ACTION_TYPES, NAME, differing_fields, is_number, odd, present, text_of, with_fields

Viewport = tuple[int, int] | None

_READ = {
    "type",
    "normalized_coordinates",
    "coordinates",
    "normalized_end",
    "end_coordinates",
    "scroll_direction",
    "scroll_amount",
    "text",
    "key",
    "modifiers",
    "element",
    "url",
    "app_name",
    "duration",
    "raw",
    CARRIER,
}
_ELEMENT = {"role", "name", "bounds", "element_id"}


def action_from(row: Any, viewport: Viewport, before: str | None, after: str | None) -> Action:
    """An action of the new schema; `before` and `after` are the ids of what was seen."""
    action = _natural(row, viewport, before, after)
    return with_fields(action, row.get(CARRIER))


def _natural(row: dict[str, Any], viewport: Viewport, before: str | None, after: str | None) -> Action:
    kept = rest_of(row, _READ)
    point = share = _pair(row.get("normalized_coordinates"))
    pixels = _pixels(row.get("coordinates"), viewport)
    if point is not None and row.get("coordinates") is not None:
        kept["coordinates"] = row["coordinates"]
    point = point or pixels or _pair(row.get("normalized_start")) or _pixels(row.get("start_coordinates"), viewport)
    end = end_share = _pair(row.get("normalized_end"))
    end_pixels = _pixels(row.get("end_coordinates"), viewport)
    if end is not None and row.get("end_coordinates") is not None:
        kept["end_coordinates"] = row["end_coordinates"]
    end = end or end_pixels
    target, raw = _target(row.get("element"), row.get("raw"), point, viewport)
    modifiers = row.get("modifiers")
    said = {name: text_of(row.get(name)) for name in ("text", "key", "url", "app_name", "scroll_direction")}
    counted = {name: row.get(name) if is_number(row.get(name)) else None for name in ("scroll_amount", "duration")}
    placed = {
        "normalized_coordinates": share,
        "coordinates": pixels,
        "normalized_end": end_share,
        "end_coordinates": end_pixels,
        "modifiers": modifiers if isinstance(modifiers, list) else None,
        "element": row.get("element") if isinstance(row.get("element"), dict) else None,
    }
    kept |= odd(row, said) | odd(row, counted) | odd(row, placed)
    return Action(
        kind=str(row.get("type") or "unknown").lower(),
        target=target,
        end=end,
        text=said["text"],
        key=said["key"],
        modifiers=tuple(str(each) for each in modifiers) if isinstance(modifiers, list) else (),
        direction=said["scroll_direction"],
        amount=counted["scroll_amount"],
        url=said["url"],
        app=said["app_name"],
        seconds=counted["duration"],
        before=before,
        after=after,
        raw=raw,
        extra=as_extra(NAME, kept),
    )


def _pair(value: Any) -> Point | None:
    if isinstance(value, list) and len(value) == 2 and all(is_number(each) for each in value):
        return Point(x=value[0], y=value[1], space="normalised")
    return None


def _pixels(value: Any, viewport: Viewport) -> Point | None:
    if isinstance(value, dict) and is_number(value.get("x")) and is_number(value.get("y")):
        return Point(x=value["x"], y=value["y"], space="pixels", viewport=viewport)
    return None


def _target(element: Any, raw: Any, point: Point | None, viewport: Viewport) -> tuple[Target | None, Any]:
    """What is aimed at, and what of `raw` is left: a normalised box and a mark number stand there too."""
    fields: dict[str, Any] = {"point": point}
    if isinstance(element, dict):
        box = _bounds(element.get("bounds"), viewport)
        said = {name: text_of(element.get(name)) for name in ("role", "name", "element_id")}
        fields |= {"role": said["role"], "description": said["name"], "element": said["element_id"], "box": box}
        kept = rest_of(element, _ELEMENT)
        kept |= odd(element, {**said, "bounds": box})
        if kept:
            fields["extra"] = {NAME: kept}
    if isinstance(raw, dict):
        raw = dict(raw)
        if fields.get("box") is None and (corners := _corners(raw.get("bbox"))) is not None:
            fields["box"] = corners
            del raw["bbox"]
        mark = raw.get("element_index")
        if fields.get("element") is None and isinstance(mark, int) and not isinstance(mark, bool):
            fields["element"] = mark
            del raw["element_index"]
        raw = raw["original"] if set(raw) == {"original"} else raw or None
    target = Target(**present(fields))
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
    """A point whose source does not say its space: fractions within 0..1 are normalised, anything above is pixels,
    and whole 0 or 1 could be either."""
    if not is_number(x) or not is_number(y):
        return None
    if 0 <= x <= 1 and 0 <= y <= 1:
        return Point(x=x, y=y, space="unknown" if isinstance(x, int) and isinstance(y, int) else "normalised")
    return Point(x=x, y=y, space="pixels")


def action_to(action: Action, viewport: Viewport = None, before: str | None = None, after: str | None = None) -> Any:
    """An action as the new schema writes it; what the schema cannot say stands under `pantrace`."""
    target = action.target or Target()
    raw: dict[str, Any] = {}
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
    element = _element(target)
    row |= present(
        {
            "scroll_direction": action.direction if action.direction in ("up", "down", "left", "right") else None,
            "scroll_amount": int(action.amount) if action.amount is not None and isfinite(action.amount) else None,
            "text": action.text,
            "key": action.key,
            "modifiers": list(action.modifiers) or None,
            "element": element or None,
            "url": action.url,
            "app_name": action.app,
            "duration": action.seconds,
            "raw": raw or None,
        }
    )
    mine = action.extra.get(NAME)
    if isinstance(mine, dict):
        row |= {key: value for key, value in mine.items() if key not in row and key != CARRIER}
    # OpenAdapt refuses these types without their content.
    for kind, needed in (("type", "text"), ("key", "key"), ("goto", "url")):
        if row["type"] == kind:
            row.setdefault(needed, "")
    rest = differing_fields(action, _natural(row, viewport, before, after))
    if rest:
        row[CARRIER] = rest
    return row


def _type(kind: str) -> str:
    """The nearest of OpenAdapt's words; one it does not know is a failure, never a success."""
    return kind if kind in ACTION_TYPES else "done" if kind == "answer" else "fail"


def _place(name: str, point: Point | None) -> dict[str, Any]:
    if point is None or point.axes != "xy":
        return {}
    if point.space == "normalised":
        return {f"normalized_{name}": [point.x, point.y]}
    if point.space == "pixels" and 0 <= point.x < 1e9 and 0 <= point.y < 1e9:
        return {name: {"x": int(point.x), "y": int(point.y)}}
    return {}


def _ending(point: Point | None) -> dict[str, Any]:
    found = _place("end", point)
    return {"end_coordinates": found["end"]} if "end" in found else found


def _element(target: Target) -> dict[str, Any]:
    kept = target.extra.get(NAME)
    element: dict[str, Any] = dict(kept) if isinstance(kept, dict) else {}
    element |= present({"role": target.role, "name": target.description})
    if isinstance(target.element, str):
        element["element_id"] = target.element
    box = target.box
    if box is not None and box.space == "pixels":
        corners = (box.left, box.top, box.right - box.left, box.bottom - box.top)
        if all(float(each).is_integer() for each in corners) and corners[2] >= 0 and corners[3] >= 0:
            element["bounds"] = dict(zip(("x", "y", "width", "height"), map(int, corners), strict=True))
    return element
