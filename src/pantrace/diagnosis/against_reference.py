"""Calls and actions compared with the reference: made with other arguments, missing, or not expected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pantrace.matching.actions import (
    actions_of,
    distance,
    inside,
    normalised_box,
    normalised_place,
    same_content,
    within,
)
from pantrace.matching.arguments import ArgumentRule, arguments_of
from pantrace.matching.call import Call, Rules
from pantrace.matching.recorded_data import recording_of
from pantrace.matching.relation import Relation
from pantrace.matching.sides import side_of_calls, side_of_trajectory
from pantrace.matching.values import alike
from pantrace.model import Action, CallPair, Sample, is_agents

from .finding import NOTHING_EXPECTED, Finding
from .signature import shortened

_RULE = ArgumentRule(normalise=True)
_LIKENESS = _RULE.likeness
LOOKED_AT = 50
"""At most this many calls of a tool are compared with an expected one, to bound the time for long loops."""
_ABSENT = object()
"""Stands for a missing argument, because None is a value."""
_NEAR = 0.05
"""How far from the expected place a click may be, as a share of the screen."""


def reference_findings(sample: Sample) -> Iterator[Finding]:
    """All findings of a sample whose steps are numbered; none without a reference."""
    trajectory = sample.trajectory
    if trajectory is None:
        return
    expected = _expected_calls(sample)
    if expected is not None:
        recording = recording_of(trajectory)
        pairs = recording.pairs_by_trajectory[0]
        failed = {place for place, pair in enumerate(pairs) if id(pair.result) in recording.failed}
        last = next((step.id for step in reversed(trajectory.steps) if is_agents(step)), None)
        # Some formats record no tools at all; then a missing call proves nothing.
        if recording.no_tools_because is None:
            yield from _call_findings(pairs, failed, expected, last)
    if sample.expected is not None:
        yield from _action_findings(sample)


def _expected_calls(sample: Sample) -> Sequence[Call] | None:
    side = side_of_trajectory(sample.expected, {}, grouped=False) if sample.expected is not None else None
    if side is not None and side.calls:
        return side.calls
    if sample.case is not None and sample.case.expected_calls is not None:
        return side_of_calls(sample.case.expected_calls, {}).calls
    return None


def _call_findings(
    pairs: Sequence[CallPair], failed: set[int], expected: Sequence[Call], last: str | None
) -> Iterator[Finding]:
    made = [Call(pair.call.name, arguments_of(pair.call.arguments)) for pair in pairs]
    matched, _ = Relation(made, expected, Rules(_RULE)).any_order()
    ours, met = {left for left, _ in matched}, {right for _, right in matched}
    # A call that failed did nothing, so it is neither wrong nor unexpected; its failure is a finding of its own.
    stray = [place for place in range(len(made)) if place not in failed and place not in ours]
    by_tool: dict[str, list[int]] = {}
    for place in stray:
        by_tool.setdefault(made[place].name, []).append(place)
    for call in (call for place, call in enumerate(expected) if place not in met):
        same_tool = by_tool.get(call.name)
        if same_tool:
            # Of several calls, the one that differs least was most likely meant.
            place = min(same_tool[:LOOKED_AT], key=lambda each: len(_differing(made[each].arguments, call.arguments)))
            same_tool.remove(place)
            differing = _differing(made[place].arguments, call.arguments)
            yield Finding(
                cause="wrong_call",
                subject=call.name,
                what=f"other values of {', '.join(differing)}" if differing else "other arguments",
                detail=_difference_words(made[place].arguments, call.arguments, differing),
                address=pairs[place].step.id,
                hard=True,
            )
        else:
            yield Finding(
                cause="missing_call",
                subject=call.name,
                what="never called",
                detail=shortened(f"expected: {call.name} {_short(call.arguments)}"),
                address=last,
                hard=True,
                omission=True,
            )
    for name, places in by_tool.items():
        if not places:
            continue
        yield Finding(
            cause="extra_call",
            subject=name,
            what="the reference has no such call" if expected else NOTHING_EXPECTED,
            detail=shortened(f"{name} {_short(made[places[0]].arguments)}"),
            address=pairs[places[0]].step.id,
            times=len(places),
        )


def _differing(made: Any, expected: Any) -> list[str]:
    """Names of the arguments in which two calls differ."""
    if not isinstance(made, dict) or not isinstance(expected, dict):
        return []
    names = dict.fromkeys((*expected, *made))
    return [name for name in names if not alike(made.get(name, _ABSENT), expected.get(name, _ABSENT), _LIKENESS)]


def _difference_words(made: Any, expected: Any, names: Sequence[str]) -> str:
    if not names:
        return shortened(f"{_short(made)} where {_short(expected)} is expected")
    found = [difference for name in names for difference in _differences(name, made, expected, name)]
    texts = [f"{path} is {_short(ours)}, expected {_short(theirs)}" for path, ours, theirs in found]
    return shortened("; ".join(texts))


def _differences(path: str, made: Any, expected: Any, key: Any) -> Iterator[tuple[str, Any, Any]]:
    """The innermost places in which two values differ: for a long list, only the entry that is different."""
    ours, theirs = _at(made, key), _at(expected, key)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in dict.fromkeys((*theirs, *ours)):
            yield from _differences(f"{path}.{name}", ours, theirs, name)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for place in range(len(ours)):
            yield from _differences(f"{path}[{place}]", ours, theirs, place)
    elif not alike(ours, theirs, _LIKENESS):
        yield path, ours, theirs


def _at(value: Any, key: Any) -> Any:
    return value.get(key, _ABSENT) if isinstance(value, dict) else value[key]


def _short(value: Any) -> str:
    from pantrace.wire.json import encode

    if value is _ABSENT:
        return "not given"
    return shortened("" if value is None else encode(value).decode("utf-8", "replace"), 90)


def _action_findings(sample: Sample) -> Iterator[Finding]:
    """The first action that is not the expected one."""
    # Only the first: after it the screen is another one, so later differences follow from it.
    assert sample.trajectory is not None
    assert sample.expected is not None
    made, expected = actions_of(sample.trajectory), actions_of(sample.expected)
    if not expected or not made:
        return
    for place, (truth, _) in enumerate(expected):
        if place >= len(made):
            words = f"{len(made)} of {len(expected)} expected actions"
            yield Finding(
                cause="wrong_action", subject=truth.kind, what="the actions end early", detail=words,
                address=made[-1][1], hard=True, omission=True,
            )  # fmt: skip
            return
        action, step = made[place]
        if difference := _difference(truth, action):
            words = f"action {place + 1}: {difference}"
            yield Finding(
                cause="wrong_action", subject=truth.kind, what=difference, detail=words, address=step, hard=True
            )
            return


def _difference(truth: Action, action: Action) -> str | None:
    if truth.kind != action.kind:
        return f"{action.kind} instead of {truth.kind}"
    if not same_content(truth, action, _NEAR):
        return f"{truth.kind} with other content"
    aim = normalised_place(action.target.point) if action.target is not None else None
    goal = truth.target
    if goal is None or aim is None:
        return None
    # Any place on the element is right, so a box is a better measure than a distance from a point.
    if (box := normalised_box(goal.box)) is not None:
        return None if inside(aim, box) else f"{truth.kind} outside its target"
    point = normalised_place(goal.point)
    return None if point is None or within(distance(aim, point), _NEAR) else f"{truth.kind} far from its target"
