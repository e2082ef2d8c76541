"""Profile `strict`: measures a step as the document defines the metrics."""

from __future__ import annotations

from pantrace.matching.actions import (
    Place,
    distance,
    inside,
    normalised_box,
    normalised_place,
    on_screen,
    same_content,
    within,
)
from pantrace.model import Action

from .outcome import StepOutcome
from .pairing import Pair

_MARKED = {"click", "drag", "type"}


def measure_step(pair: Pair, *, marks: bool, radius: float) -> StepOutcome:
    """Measure type, click or mark of one step; a step without a prediction is wrong."""
    truth, predicted = pair.truth, pair.predicted
    # An answer that could not be parsed matches nothing, not even a true `fail`.
    type_match = predicted is not None and predicted.kind == truth.kind and predicted.kind != "unparsed"
    error = click_hit = box_hit = element_hit = None
    off_screen = False
    if marks:
        mark = _mark(truth) if truth.kind in _MARKED else None
        if mark is not None:
            element_hit = predicted is not None and _mark(predicted) == mark
    elif truth.kind == "click":
        # A drag to the right place is not a click: a wrong type gives no distance.
        aimed = _aimed(predicted) if type_match else None
        off_screen = aimed is not None and not on_screen(aimed)
        target = normalised_place(truth.target.point if truth.target else None)
        if target is not None and aimed is not None:
            if not off_screen:
                error = distance(aimed, target)
            click_hit = error is not None and within(error, radius)
        box = normalised_box(truth.target.box if truth.target else None)
        if box is not None:
            box_hit = aimed is not None and not off_screen and inside(aimed, box)
    correct = type_match and _right(pair, click_hit, element_hit, marks)
    return StepOutcome(
        place=pair.place,
        kind=truth.kind,
        step=pair.step,
        type_match=type_match,
        correct=correct,
        content=correct and predicted is not None and same_content(truth, predicted, radius),
        error=error,
        click_hit=click_hit,
        box_hit=box_hit,
        element_hit=element_hit,
        missing=predicted is None,
        unparsed=predicted is not None and predicted.kind == "unparsed",
        off_screen=off_screen,
        predicted=predicted,
    )


def is_reached(outcome: StepOutcome, threshold: float | None) -> bool:
    """Whether a step of the right type is close enough for a milestone; in som mode it must be the right element."""
    if threshold is None:
        return True
    if outcome.element_hit is not None:
        return outcome.element_hit
    return outcome.error is not None and within(outcome.error, threshold)


def _right(pair: Pair, click_hit: bool | None, element_hit: bool | None, marks: bool) -> bool:
    """Whether the place is right. If the true place is unknown, only the type counts."""
    if marks:
        return element_hit is not False
    target = pair.truth.target
    known = pair.truth.kind == "click" and target is not None and normalised_place(target.point) is not None
    return click_hit is True if known else True


def _aimed(action: Action | None) -> Place | None:
    """Where a click aimed, as shares of the screen, before the parser clamped it to 0..1."""
    target = action.target if action is not None else None
    if target is None:
        return None
    raw = target.extra.get("gui-dsl")
    if isinstance(raw, dict) and isinstance(raw.get("x"), int | float) and isinstance(raw.get("y"), int | float):
        return raw["x"], raw["y"]
    return normalised_place(target.point)


def _mark(action: Action) -> str | None:
    element = action.target.element if action.target else None
    if element is None and isinstance(action.raw, dict):
        element = action.raw.get("element_index")
    # As text: one side may have the mark as a number, the other as text.
    return None if element is None or element == "" else str(element)
