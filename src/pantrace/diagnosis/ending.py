"""How a run ended: an error, a block, a cancellation, a limit, giving up, no answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pantrace.matching.recorded_data import Recording, recording_of
from pantrace.model import (
    Action,
    Outcome,
    Sample,
    Step,
    ToolCall,
    Trajectory,
    final_response,
    is_agents,
    is_prompt,
    step_text,
    turns,
)

from .finding import Finding
from .signature import error_line, shortened, signature

LIMITS = {
    "length",
    "max_tokens",
    "max_output_tokens",
    "model_length",
    "token_limit",
    "max_turns",
    "max_iterations",
    "max_steps",
    "model_context_window_exceeded",
}
BLOCKS = {
    "safety",
    "content_filter",
    "content-filter",
    "refusal",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
    "image_safety",
    "model_armor",
}
_LIMIT = re.compile(
    r"\b(?:time|step|token|turn|message|cost|output|iteration|recursion|context|working)[ _-]?"
    r"(?:limit|budget|window|length)"
    r"|\bmax(?:imum)?[ _](?:number of )?(?:steps|turns|tokens|iterations|messages|actions)",
    re.IGNORECASE,
)
_CAUSES = {"limit": "limit", "cancelled": "cancelled", "error": "run_error", "failed": "stated"}
_CANCELLED = re.compile(r"abort|cancel|interrupt", re.IGNORECASE)
_FINAL = re.compile(r"submit|finish|final|done|complete|answer|transfer|handoff|hand_off|terminate|exit|stop|end", re.I)
"""Names of tools that end a run, so that no text has to follow."""


def ending_findings(sample: Sample) -> Iterator[Finding]:
    """All findings of a sample whose steps are numbered."""
    trajectory = sample.trajectory
    if trajectory is None:
        return
    recording = recording_of(trajectory)
    last = next((step for step in reversed(trajectory.steps) if is_agents(step) and step.role == "agent"), None)
    if trajectory.outcome is not None:
        yield from _stated(trajectory.outcome, trajectory.steps[-1].id if trajectory.steps else None)
    yield from _broken_steps(recording, last)
    if last is not None:
        yield from _last_words(last, trajectory.outcome.status if trajectory.outcome is not None else None)
    yield from _silence(sample, recording, last)


def _stated(outcome: Outcome, address: str | None) -> Iterator[Finding]:
    """What the source itself says about the end."""
    reason = outcome.reason or ""
    cause = _CAUSES.get(outcome.status)
    # Some tools record a limit as an error; only the text distinguishes it.
    if outcome.status == "error" and _LIMIT.search(reason):
        cause = "limit"
    if cause is not None and (reason or cause != "stated"):
        yield Finding(
            cause=cause,
            what=signature(reason),
            detail=shortened(error_line(reason)),
            address=address,
            hard=cause != "stated",
            omission=True,
        )
    if outcome.status == "failed" and outcome.reward is not None and 0 < outcome.reward < 1:
        part = f"reward {outcome.reward:g}"
        yield Finding(cause="partly_done", what="a reward between 0 and 1", detail=part, address=address, omission=True)


def _broken_steps(recording: Recording, last: Step | None) -> Iterator[Finding]:
    """Steps that ended in an error; if the agent went on, the error was corrected."""
    own = {id(step) for step in recording.trajectory.steps}
    for step in recording.broken:
        assert step.error is not None
        # Failed calls are findings of their own (`calls`).
        if step.role == "tool":
            continue
        kind, message = step.error.kind or "", step.error.message or step.error.traceback or ""
        cause = "run_error"
        if _is_block(kind) or _is_block(step.stop or ""):
            cause = "blocked"
        elif _CANCELLED.search(kind) or _CANCELLED.fullmatch(message.strip()):
            cause = "cancelled"
        elif _LIMIT.search(kind) or _LIMIT.search(message) or re.search(r"Overflow|OutputLength", kind):
            cause = "limit"
        ended = id(step) in own and (last is None or step is last or step.role != "agent")
        words = ": ".join(each for each in (kind, error_line(message)) if each) or "no reason recorded"
        yield Finding(
            cause=cause,
            what=signature(words),
            detail=shortened(words),
            address=step.id,
            hard=ended,
            mended=not ended,
        )


def _last_words(last: Step, status: str | None) -> Iterator[Finding]:
    """Why the model stopped in its last reply, whether it gave up, and whether it wrongly believed it was done."""
    stop = (last.stop or "").lower()
    if last.error is None and (stop in LIMITS or stop in BLOCKS):
        cut = stop in LIMITS
        yield Finding(
            cause="limit" if cut else "blocked",
            what=f"the model stopped with {last.stop}",
            detail=f"the last reply stopped with {last.stop}" + (", so it is cut off" if cut else ""),
            address=last.id,
            hard=True,
            omission=cut,
        )
    for part in last.parts:
        if type(part) is Action and part.kind == "fail":
            why = shortened(part.text or step_text(last) or "the last action is fail")
            yield Finding(cause="gave_up", what="the action `fail`", detail=why, address=last.id, hard=True)
        elif type(part) is Action and part.kind == "done" and status == "failed":
            fact = "the last action is done, and the run failed"
            yield Finding(cause="claimed_done", what="the action done", detail=fact, address=last.id, omission=True)


def _silence(sample: Sample, recording: Recording, last: Step | None) -> Iterator[Finding]:
    """The last prompt without an answer. A recording without any step of the agent proves nothing."""
    trajectory = recording.trajectory
    if not recording.has_acted:
        if trajectory.steps:
            fact = "the recording has nothing that the agent did"
            yield Finding(cause="no_answer", what=fact, detail=fact, address=trajectory.steps[-1].id, omission=True)
        return
    # A GUI agent acts, and does not have to say anything.
    if Action in recording.part_types:
        return
    yield from _silent_turns(trajectory)
    if final_response(trajectory) is not None:
        return
    asked = next(
        (place for place in range(len(trajectory.steps) - 1, -1, -1) if is_prompt(trajectory.steps[place])), -1
    )
    behind = [step for step in trajectory.steps[asked + 1 :] if is_agents(step)]
    if not behind:
        if asked >= 0:
            fact = "the recording ends with a prompt"
            step = trajectory.steps[asked]
            yield Finding(cause="abandoned", what=fact, detail=fact, address=step.id, hard=True, omission=True)
        return
    late = {id(step) for step in behind}
    calls = [pair for pair in recording.pairs_by_trajectory[0] if id(pair.step) in late]
    # Tools such as `submit` end a run: no text has to follow.
    if calls and _FINAL.search(calls[-1].call.name):
        return
    empty = not calls or (last is not None and not any(type(part) is ToolCall for part in last.parts))
    yield Finding(
        cause="no_answer",
        what="an empty reply" if empty else "calls with no text after them",
        detail="the last reply is empty" if empty else f"the last call is {calls[-1].call.name}, and no text follows",
        address=last.id if last is not None else behind[-1].id,
        hard=not any(step.error is not None for step in behind),
        omission=True,
    )


def _silent_turns(trajectory: Trajectory) -> Iterator[Finding]:
    """Turns before the last one in which the agent worked but said nothing; errors are reported separately."""
    for turn in turns(trajectory)[:-1]:
        own = [step for step in turn.steps if is_agents(step)]
        if turn.number and own and not any(step_text(step) or step.error is not None for step in own):
            fact = f"turn {turn.number} ends without an answer"
            yield Finding(
                cause="no_answer", what="a turn before the last", detail=fact, address=own[-1].id, mended=True,
                omission=True,
            )  # fmt: skip


def _is_block(word: str) -> bool:
    return word.lower() in BLOCKS
