"""Profile `openadapt-v1`: measures a step as OpenAdapt's own code does, number for number."""

from __future__ import annotations

from typing import Any

from pantrace.matching.actions import Place, distance
from pantrace.model import Action

from .outcome import StepOutcome
from .pairing import Pair

_POINTED = {"click", "drag"}
_MARKED = {"click", "drag", "type"}


def measure_step(pair: Pair, *, marks: bool, radius: float) -> StepOutcome:
    """Type, distance, box or mark of one step; texts, keys and addresses are never compared."""
    assert pair.predicted is not None, "this profile only sees steps with a prediction"
    truth, predicted = pair.truth, pair.predicted
    type_match = _kind(truth) == _kind(predicted)
    error = click_hit = box_hit = element_hit = None
    right = True
    if marks and truth.kind in _MARKED:
        mark = _mark(truth)
        element_hit = None if mark is None else _mark(predicted) == mark
        right = element_hit is True
    elif truth.kind in _POINTED:
        ours, theirs = _place(predicted), _place(truth)
        if ours is not None and theirs is not None:
            error = distance(ours, theirs)
            # Below, not up to, and on binary floats: 0.30 - 0.25 hits, 0.55 - 0.50 misses.
            click_hit = error < radius
        box = truth.target.box if truth.target else None
        if box is not None:
            # Even a box in pixels: the original compares it with normalised coordinates, so every click misses.
            box_hit = ours is not None and box.left <= ours[0] <= box.right and box.top <= ours[1] <= box.bottom
        right = click_hit is True
    return StepOutcome(
        place=pair.place,
        kind=truth.kind,
        step=pair.step,
        type_match=type_match,
        correct=type_match and right,
        content=type_match and right,
        error=error,
        click_hit=click_hit,
        box_hit=box_hit,
        element_hit=element_hit,
        unparsed=predicted.kind == "unparsed",
        predicted=predicted,
    )


def is_reached(outcome: StepOutcome, threshold: float | None) -> bool:
    """Whether a step of the right type is close enough for a milestone; in som mode it never is."""
    return threshold is None or (outcome.error is not None and outcome.error < threshold)


def _kind(action: Action) -> str:
    """The kind of an action; for OpenAdapt an answer that could not be parsed is a `fail`, and matches one."""
    return "fail" if action.kind == "unparsed" else action.kind


def _place(action: Action) -> Place | None:
    """`normalized_coordinates`; a drag that has only a start has none."""
    point = action.target.point if action.target else None
    if point is None or point.space != "normalised":
        return None
    kept = action.extra.get("openadapt-episodes")
    start = kept.get("normalized_start") if isinstance(kept, dict) else None
    return None if start == [point.x, point.y] else (point.x, point.y)


def _mark(action: Action) -> Any:
    """The element's id if it is a number, else `raw["element_index"]` as it is, so that "2" does not equal 2."""
    element = action.target.element if action.target else None
    if element is not None and element != "":
        try:
            return int(element)
        except ValueError:
            pass
    return action.raw.get("element_index") if isinstance(action.raw, dict) else None
