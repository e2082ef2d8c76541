"""Tools that fail again and again."""

from __future__ import annotations

from typing import Any

from pantrace.matching.recorded_data import recording_of
from pantrace.model import CallPair, Measure, Record, Sample

from .metric import Found, Measurement, NotApplicable, metric


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings."""

    length: int = 3
    """How many failed attempts in a row are a storm."""


@metric(
    settings=Settings,
    measures=(
        Measure(
            name="retry_storms", unit="count", better="lower", pooling="sum", headline=True, what="series of failures"
        ),
        Measure(name="longest_failing_run", unit="count", better="lower", what="failures of one tool in a row"),
    ),
)
def retry_storms(sample: Sample, settings: Settings) -> Found:
    """Number of times that a tool failed and was tried again several times in a row.

    Formula: runs of at least `length` (3) failed attempts of one tool in consecutive steps that call tools. All calls
    of a tool in one step are one attempt, which failed when all of them failed. `recovered` says whether the tool
    succeeded in the next such step.

    Not applicable when: no tool call was answered.

    Source: pantrace; agents that retry blindly.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    storms: list[dict[str, Any]] = []
    recording = recording_of(sample.trajectory)
    if not recording.answered:
        return NotApplicable("no tool call was answered")
    longest = 0
    failures = recording.failed
    # By trajectory: a sub-agent that fails with the same tool does not continue its parent's run of failures.
    for each in recording.pairs_by_trajectory if failures else ():
        running: dict[str, list[CallPair]] = {}
        for attempts in _by_step(each):
            failing: dict[str, list[CallPair]] = {}
            for name, pairs in attempts.items():
                if id(pairs[0].result) in failures and all(id(pair.result) in failures for pair in pairs):
                    failing[name] = [*running.get(name, ()), pairs[0]]
                    longest = max(longest, len(failing[name]))
            if running:
                storms += _storm_ended(running, failing, set(attempts), settings.length)
            running = failing
        # A tool that still fails at the end of the run counts, too.
        storms += _storm_ended(running, {}, set(), settings.length)
    return Measurement(
        value=len(storms),
        explanation=f"{len(storms)} storms; at most {longest} failed attempts of one tool in a row",
        values={"longest_failing_run": longest},
        details={"storms": [{key: value for key, value in storm.items() if key != "steps"} for storm in storms]},
        evidence=tuple(dict.fromkeys([step for storm in storms for step in storm["steps"]])) if storms else (),
    )


def _by_step(pairs: list[CallPair]) -> list[dict[str, list[CallPair]]]:
    """The pairs of each tool, for each step with answered calls."""
    steps: dict[int, dict[str, list[CallPair]]] = {}
    for pair in pairs:
        if pair.result is not None:
            place, name = id(pair.step), pair.call.name
            if (tools := steps.get(place)) is None:
                steps[place] = {name: [pair]}
            else:
                tools.setdefault(name, []).append(pair)
    return list(steps.values())


def _storm_ended(
    running: dict[str, list[CallPair]], failing: dict[str, list[CallPair]], called: set[str], length: int
) -> list[dict[str, Any]]:
    return [
        {
            "tool": name,
            "failures": len(pairs),
            "recovered": name in called,
            "steps": [pair.step.id for pair in pairs if pair.step.id is not None],
        }
        for name, pairs in running.items()
        if name not in failing and len(pairs) >= length
    ]
