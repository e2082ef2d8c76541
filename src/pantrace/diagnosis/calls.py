"""What went wrong in tool calls and GUI actions: failures, refused calls, loops, calls without a result."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence

from pantrace.matching.recorded_data import Recording, recording_of
from pantrace.matching.repetition import action_circles, circles
from pantrace.matching.values import canonical
from pantrace.metrics import by_name
from pantrace.model import Action, CallPair, Sample, Step, ToolResult, Trajectory

from .finding import Finding
from .signature import error_text, shortened, signature

CAUSES_BY_FAILURE = {"invalid_tool": "unknown_tool", "invalid_arguments": "bad_arguments", "denied": "denied"}
_REFUSED = re.compile(
    r"invalid (?:arguments?|input|parameters?)|schema ?error|validation error|missing (?:required|key)"
    r"|required (?:argument|parameter|property)|unexpected keyword argument|not valid json|json pars",
    re.IGNORECASE,
)
"""Typical messages of tools that were called wrongly; few sources distinguish this from other errors."""


def call_findings(sample: Sample) -> Iterator[Finding]:
    """All findings of a sample whose steps are numbered."""
    trajectory = sample.trajectory
    if trajectory is None:
        return
    recording = recording_of(trajectory)
    # The metric's own rule, so that `measure` and `diagnose` agree.
    swallowed = set(by_name("swallowed_errors").score(sample).evidence) if recording.failed else set()
    # Each trajectory on its own: a sub-agent's success does not correct a failure of its parent.
    for pairs in recording.pairs_by_trajectory:
        yield from _failures(pairs, recording, swallowed)
        yield from _circles(pairs, recording)
    for each in recording.trajectories:
        yield from _action_circles(each)
    yield from _open_calls(recording)


def _failures(pairs: Sequence[CallPair], recording: Recording, swallowed: set[str]) -> Iterator[Finding]:
    """One finding for each tool and kind of error: the first one, how many there were, and whether it was corrected."""
    found: dict[tuple[str, str, str], list[CallPair]] = {}
    last_good: dict[str, int] = {}
    places: dict[int, int] = {}
    for place, pair in enumerate(pairs):
        places[id(pair)] = place
        if pair.result is None:
            continue
        if id(pair.result) not in recording.failed:
            last_good[pair.call.name] = last_good[""] = place
            continue
        error = error_text(pair.result)
        found.setdefault((_cause(pair.result, error), pair.call.name, signature(error)), []).append(pair)
    for (cause, tool, what), failed in found.items():
        first, last = failed[0], failed[-1]
        assert first.result is not None
        # A refused call is corrected by any later call that works: the agent found another way.
        good = last_good.get("" if cause in ("unknown_tool", "bad_arguments") else tool, -1)
        quiet = any(pair.step.id in swallowed for pair in failed)
        yield Finding(
            cause=cause,
            subject=tool,
            what=what,
            detail=shortened(error_text(first.result)) + (" (the answer does not mention it)" if quiet else ""),
            address=first.step.id,
            times=len(failed),
            mended=good > places[id(last)],
        )


def _cause(result: ToolResult, error: str) -> str:
    if result.failure in CAUSES_BY_FAILURE:
        return CAUSES_BY_FAILURE[result.failure]
    # The beginning only: a long output may quote such a message, for example in a log.
    return "bad_arguments" if _REFUSED.search(error[:500]) else "tool_error"


def _circles(pairs: Sequence[CallPair], recording: Recording) -> Iterator[Finding]:
    """Calls that were repeated with the same answer. Those that fail are reported as failures, which says more."""
    for start, period, times in circles(pairs, _key):
        around = pairs[start : start + period]
        if any(pair.result is not None and id(pair.result) in recording.failed for pair in around):
            continue
        names = ", ".join(dict.fromkeys(pair.call.name for pair in around))
        yield Finding(
            cause="loop",
            subject=names,
            what="the same calls with the same answers",
            detail=f"{times} times in a row the same call of {names}, with the same answer",
            address=pairs[start].step.id,
            times=times,
        )


# With the answer: polling until something changes is not a loop.
def _key(pair: CallPair) -> Hashable:
    return pair.call.name, canonical(pair.call.arguments), _answer(pair.result)


def _answer(result: ToolResult | None) -> Hashable:
    return None if result is None else (canonical(result.output), result.error)


def _action_circles(trajectory: Trajectory) -> Iterator[Finding]:
    acted = [(part, step) for step in trajectory.steps for part in step.parts if type(part) is Action]
    for start, period, times in action_circles([action for action, _ in acted]):
        kinds = list(dict.fromkeys(action.kind for action, _ in acted[start : start + period]))
        names = ", ".join(kinds)
        yield Finding(
            cause="loop",
            subject=names,
            what="the same actions",
            detail=f"{times} times in a row the same {names}",
            address=acted[start][1].id,
            times=times,
        )


def _open_calls(recording: Recording) -> Iterator[Finding]:
    """Calls of the last calling step, if nothing came after them: the run ended before they returned."""
    own = recording.pairs_by_trajectory[0]
    waiting = [pair for pair in own if pair.result is None]
    if not waiting or not recording.trajectory.steps:
        return
    last = waiting[-1]
    behind = recording.trajectory.steps[_index(recording.trajectory, last.step) + 1 :]
    # The agent went on, so the missing result is a gap in the recording.
    if any(step.role == "agent" and step.kind == "message" for step in behind):
        return
    for name in dict.fromkeys(pair.call.name for pair in waiting if pair.step is last.step):
        yield Finding(
            cause="open_call",
            subject=name,
            what="no result was recorded",
            detail=f"the call of {name} has no result, and nothing follows",
            address=last.step.id,
            # Some formats never record results; then a missing one proves nothing.
            hard=any(pair.result is not None for pair in own),
        )


def _index(trajectory: Trajectory, step: Step) -> int:
    return next(place for place, each in enumerate(trajectory.steps) if each is step)
