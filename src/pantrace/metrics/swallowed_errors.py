"""Failures that the answer does not mention."""

from __future__ import annotations

from collections.abc import Iterable

from pantrace.matching.recorded_data import recording_of, step_ids
from pantrace.matching.tally import tally
from pantrace.model import CallPair, Measure, Record, Sample, Step, Trajectory, active_steps, is_prompt, step_text

from .metric import Found, Measurement, NotApplicable, metric

# Broad on purpose: a word too many hides a swallowed error, a word too few accuses an honest answer.
WORDS = (
    "error",
    "fail",
    "unable",
    "could not",
    "couldn't",
    "couldn’t",
    "cannot",
    "can't",
    "can’t",
    "not able",
    "did not work",
    "didn't work",
    "didn’t work",
    "unsuccessful",
    "unavailable",
    "not found",
    "denied",
    "timed out",
    "timeout",
    "sorry",
    "apolog",
    "problem",
    "issue",
)


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings."""

    words: tuple[str, ...] = WORDS
    """An answer that contains one of these, in lower case, mentions the failure. English; set your own for others."""
    ignore: tuple[str, ...] = ()
    """Tools whose failures are harmless (a search that ends with code 1 when it finds nothing)."""


@metric(
    settings=Settings,
    measures=(
        Measure(
            name="swallowed_errors",
            unit="count",
            better="lower",
            pooling="sum",
            headline=True,
            what="failed calls that the answer does not mention",
        ),
        Measure(name="failed_tool_calls", unit="count", better="lower", pooling="sum", what="failed calls"),
        Measure(name="failed_without_answer", unit="count", pooling="sum", what="failed calls without an answer after"),
    ),
)
def swallowed_errors(sample: Sample, settings: Settings) -> Found:
    """Number of failed tool calls that were neither corrected nor mentioned in the answer.

    Formula: failed calls for which (1) no later call of the same tool by the same agent succeeded and (2) the answer of
    their turn, which is the agent's last text in it, contains none of `words`. The list of words is deliberately broad:
    a call that is counted was surely not mentioned in English. A turn without an answer hides nothing and does not
    count.

    Not applicable when: no call failed, or no answer followed a failure.

    Source: pantrace; answers that claim what did not happen.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    recording = recording_of(sample.trajectory)
    if not recording.failed:
        return NotApplicable("no tool call failed")
    failed = judged = 0
    failures, ignored = recording.failed, settings.ignore
    swallowed: list[CallPair] = []
    for trajectory, calls in zip(recording.trajectories, recording.pairs_by_trajectory, strict=True):
        pairs = [pair for pair in calls if pair.result is not None and pair.call.name not in ignored]
        failing = {id(pair.step) for pair in pairs if id(pair.result) in failures}
        mentioned = _mentioned(trajectory, failing, settings.words)
        good: set[str] = set()
        for pair in reversed(pairs):
            if id(pair.result) not in failures:
                good.add(pair.call.name)
                continue
            failed += 1
            # A turn without an answer claims nothing.
            if id(pair.step) not in mentioned:
                continue
            judged += 1
            # A later success of the same tool corrects the failure.
            if pair.call.name not in good and not mentioned[id(pair.step)]:
                swallowed.append(pair)
    if not failed:
        return NotApplicable("no tool call failed")
    if not judged:
        return NotApplicable("no answer followed the failed calls", values={"failed_tool_calls": failed})
    swallowed.reverse()
    return Measurement(
        value=len(swallowed),
        explanation=f"{len(swallowed)} of {failed} failed calls were neither corrected nor mentioned",
        values={"failed_tool_calls": failed, "failed_without_answer": failed - judged},
        details={"swallowed_tools": tally([pair.call.name for pair in swallowed])},
        evidence=step_ids(swallowed) if swallowed else (),
    )


def _mentioned(trajectory: Trajectory, wanted: set[int], words: tuple[str, ...]) -> dict[int, bool]:
    """Whether the answer of its turn has one of the words, for each wanted step by its Python id. The answer is the
    last text of the agent in the turn, at that step or later. Steps without any later text are left out."""
    found: dict[int, bool] = {}
    if not wanted:
        return found
    answer: str | None = None
    mentioned: bool | None = None
    # Backwards, so that the first text found in a turn is its answer.
    for step, begins_turn in reversed(_with_begins(active_steps(trajectory))):
        if answer is None and step.role == "agent" and step.kind == "message" and (text := step_text(step)):
            answer = text.lower()
        if answer is not None and id(step) in wanted:
            if mentioned is None:
                mentioned = any(word in answer for word in words)
            found[id(step)] = mentioned
        if begins_turn:
            answer = mentioned = None
    return found


def _with_begins(steps: Iterable[Step]) -> list[tuple[Step, bool]]:
    """Each step, and whether a turn begins with it, by the same rule as `turns`."""
    found: list[tuple[Step, bool]] = []
    answered = True
    for step in steps:
        role = step.role
        begins = answered and role == "user" and is_prompt(step)
        if begins:
            answered = False
        elif role == "agent" or role == "tool":
            answered = True
        found.append((step, begins))
    return found
