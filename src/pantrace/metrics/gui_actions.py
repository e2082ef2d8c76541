"""What a GUI agent did, and how much of it repeatedly."""

from __future__ import annotations

from collections.abc import Sequence

from pantrace.matching.recorded_data import recording_of
from pantrace.matching.repetition import action_circles, action_key
from pantrace.matching.tally import tally_by_frequency
from pantrace.model import Action, Measure, Record, Sample, Step, active_steps, is_agents

from .metric import Found, Measurement, NotApplicable, metric

_Acted = tuple[Action, Step]


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings."""

    ignore: tuple[str, ...] = ("wait", "scroll")
    """Kinds of actions that may be repeated, because they wait or move on."""


@metric(
    settings=Settings,
    measures=(
        Measure(name="actions", unit="count", pooling="sum", headline=True, what="GUI actions"),
        Measure(name="kinds", unit="count", what="kinds of GUI actions"),
        Measure(
            name="repeated_actions", unit="count", better="lower", pooling="sum", headline=True, what="done before"
        ),
        Measure(name="longest_run", unit="count", better="lower", what="identical actions directly after each other"),
        Measure(
            name="wasted_share",
            unit="share",
            better="lower",
            high=1.0,
            pooling="ratio",
            over=("wasted_actions", "actions"),
            headline=True,
            what="actions of further rounds of a circle, and replies that are no action",
        ),
        Measure(name="wasted_actions", unit="count", better="lower", pooling="sum", what="the same, counted"),
    ),
)
def gui_actions(sample: Sample, settings: Settings) -> Found:
    """Number of GUI actions by kind, of repeated actions and of wasted actions.

    Formula: an action is repeated when the agent did the same before: kind, target, text and keys are equal.
    `longest_run` is the largest number of identical actions in a row. An action is wasted when it belongs to the second
    or a later round of a loop (the same one to three actions, at least three times in a row, not only waiting,
    scrolling and keys), or when the model's reply could not be read as an action.

    Not applicable when: no GUI action is recorded.

    Source: pantrace; the action distribution and loop detection of openadapt-evals' TraceAnalyzer.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    recording = recording_of(sample.trajectory)
    # Most recordings have none: this is known without a walk over all steps.
    if Action not in recording.part_types:
        return NotApplicable("no GUI action is recorded")
    acted = [
        (part, step)
        for trajectory in recording.trajectories
        for step in active_steps(trajectory)
        if is_agents(step)
        for part in step.parts
        if type(part) is Action
    ]
    if not acted:
        return NotApplicable("no GUI action is recorded")
    repeated, longest = _repetitions(acted, settings)
    wasted = _wasted([action for action, _ in acted])
    noticed = dict.fromkeys((*repeated, *wasted))
    return Measurement(
        value=len(acted),
        explanation=f"{len(acted)} actions, {len(repeated)} repeat an earlier one, {len(wasted)} were wasted",
        values={
            "kinds": len({action.kind for action, _ in acted}),
            "repeated_actions": len(repeated),
            "longest_run": longest,
            "wasted_share": len(wasted) / len(acted),
            "wasted_actions": len(wasted),
        },
        details={"action_counts": tally_by_frequency([action.kind for action, _ in acted])},
        evidence=tuple(dict.fromkeys(name for place in noticed if (name := acted[place][1].id) is not None)),
    )


def _repetitions(acted: Sequence[_Acted], settings: Settings) -> tuple[list[int], int]:
    """Places of actions that were done before, and the longest run of one action."""
    seen, found, longest, run, last = set(), [], 0, 0, None
    for place, (action, _) in enumerate(acted):
        # Left out before counting, so that a pause does not break a run of equal actions.
        if action.kind in settings.ignore:
            continue
        key = action_key(action)
        run = run + 1 if key == last else 1
        last, longest = key, max(longest, run)
        if key in seen:
            found.append(place)
        seen.add(key)
    return found, longest


def _wasted(actions: Sequence[Action]) -> list[int]:
    found = {place for place, action in enumerate(actions) if action.kind == "unparsed"}
    for start, period, times in action_circles(actions):
        # The first round is not wasted: it was new.
        found |= set(range(start + period, start + period * times))
    return sorted(found)
