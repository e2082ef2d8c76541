"""One trial: gives a case to an agent, turn by turn; whatever happens becomes a sample."""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from msgspec.structs import replace

from pantrace.agents import Agent, AgentFailed, Answer, Read, Trial
from pantrace.errors import Unanswered, WriteError
from pantrace.model import Invocation, Outcome, Sample, Step, Text, Trajectory, Usage, add_usage, is_prompt
from pantrace.normalise.secrets import Redactor
from pantrace.recording.receiver import Receiver
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.file_names import name_of

from .collect import environment
from .inspect_dataset import NAME as INSPECT
from .run_cases import Asked
from .run_files import place_files
from .run_workspace import changes, contents, fill
from .simulated_user import SimulatedUser

NAME = "run"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
PAUSES = (0.5, 2.0, 5.0)
"""Seconds before a question that did not arrive is asked again."""


@dataclass(frozen=True)
class Conditions:
    """How trials are run."""

    folder: Path
    """Where workspaces are created."""
    read: Read
    environment: Mapping[str, str]
    agent: str = ""
    """Its name, if several agents take turns."""
    seconds: float = 600.0
    most_output: int = 50_000_000
    fixtures: Path | None = None
    retries: int = 2
    keep_workspaces: bool = False
    user: SimulatedUser | None = None
    collector: Receiver | None = None
    """Receives what agents send over OpenTelemetry."""
    stopped: Event = field(default_factory=Event)


def try_case(asked: Asked, number: int, agent: Agent, conditions: Conditions) -> Sample:
    """The sample of one trial, even if the agent hangs, crashes or says nothing."""
    # Absolute, because the agent runs in another directory and gets the paths of its files.
    place = conditions.folder.absolute() / name_of(f"{asked.id}-{number}")
    shutil.rmtree(place, ignore_errors=True)
    workspace, notes = place / "workspace", place / "notes"
    fill(workspace, conditions.fixtures, asked.id)
    unplaced = place_files(workspace, rest_in(asked.case.extra, INSPECT).get("files"), asked.beside)
    notes.mkdir()
    key = f"{conditions.agent}/{asked.id}-{number}" if conditions.agent else f"{asked.id}-{number}"
    collector = conditions.collector
    if collector is not None:
        shutil.rmtree(collector.folder_of(key), ignore_errors=True)
    trial = Trial(
        case=asked.case,
        number=number,
        workspace=workspace,
        notes=notes,
        seconds=conditions.seconds,
        most_output=conditions.most_output,
        environment={
            **conditions.environment,
            "PWD": str(workspace.resolve()),
            "PANTRACE_CASE": asked.id,
            "PANTRACE_TRIAL": str(number),
            **(environment(collector.url_of(key)) if collector else {}),
        },
        read=conditions.read,
        collected=collector.folder_of(key) if collector else None,
        stopped=conditions.stopped,
    )
    before = contents(workspace)
    created, began = time.time(), time.monotonic()
    recorded, outcome, remarks = _converse(asked, agent, trial, conditions)
    remarks = [*asked.remarks, *unplaced, *remarks]
    if (changed := changes(before, contents(workspace))) is not None:
        recorded = replace(recorded, steps=(*recorded.steps, replace(changed, at=time.time())))
    if not conditions.keep_workspaces:
        shutil.rmtree(place, ignore_errors=True)
    extra = {NAME: {"seconds": time.monotonic() - began, **({"remarks": remarks} if remarks else {})}}
    return Sample(
        id=asked.id,
        epoch=number,
        case=asked.case,
        trajectory=replace(recorded, outcome=outcome, created=recorded.created or created, source=None),
        expected=asked.expected,
        extra=extra,
    )


def _converse(
    asked: Asked, agent: Agent, trial: Trial, conditions: Conditions
) -> tuple[Trajectory, Outcome, list[str]]:
    """All turns of a trial, as far as it came."""
    so_far = Trajectory()
    remarks: list[str] = []
    # One limit for all turns of a trial, not one for each: a chatty agent must end, too.
    until = time.monotonic() + conditions.seconds
    prompts: list[Step] = [Step(role="user", parts=(Text(text=turn),)) for turn in asked.turns]
    while True:
        if not prompts and asked.is_scenario and conditions.user is not None:
            spoken = sum(1 for step in so_far.steps if is_prompt(step))
            if spoken >= conditions.user.most_turns:
                return so_far, Outcome(status="limit", reason=f"{spoken} turns, and the user had not finished"), remarks
            try:
                following = conditions.user.next(asked.case, trial.history)
            except Unanswered as error:
                why = f"the simulated user did not answer: {error.reason}"
                return so_far, Outcome(status="error", reason=why), remarks
            if following is None and not spoken:
                return so_far, Outcome(status="error", reason="the simulated user said nothing"), remarks
            prompts += [following] if following is not None else []
        if not prompts:
            return so_far, so_far.outcome or Outcome(status="unscored"), remarks
        prompt, began = replace(prompts.pop(0), at=time.time()), time.monotonic()
        trial.seconds = until - time.monotonic()
        failed: AgentFailed | None = None
        try:
            if trial.seconds <= 0:
                raise AgentFailed("limit", f"took longer than {conditions.seconds:g} s")
            answer = _patiently(agent, prompt, trial, conditions, until)
        except AgentFailed as error:
            failed, answer = error, error.answer
        if answer.note:
            remarks.append(answer.note)
        so_far = _joined(so_far, prompt, answer, trial.memory)
        so_far = _timed(so_far, prompt, time.monotonic() - began)
        if failed is not None:
            # A server may repeat the key from the request in its error.
            why = Redactor().text(failed.reason)[0]
            return so_far, Outcome(status=failed.status, reason=why), remarks  # type: ignore[arg-type]
        trial.history = list(so_far.steps)


def _patiently(agent: Agent, prompt: Step, trial: Trial, conditions: Conditions, until: float) -> Answer:
    """Ask, and ask again if the question cannot have arrived; otherwise a trial may have had effects."""
    text = prompt.parts[0]
    assert isinstance(text, Text)
    for attempt in range(conditions.retries + 1):
        try:
            return agent.ask(text.text, trial)
        except AgentFailed as failed:
            last = attempt == conditions.retries or not failed.again
            if last or conditions.stopped.wait(PAUSES[min(attempt, len(PAUSES) - 1)]):
                raise
            trial.seconds = until - time.monotonic()
        except OSError as error:
            if error.errno in NO_ROOM:
                # A full disk is not the agent's failure and must not appear in the results.
                where = error.filename or conditions.folder
                remedy = "free some space, then run the same command to continue"
                raise WriteError(f"{where} cannot be written: {error.strerror} ({remedy})") from None
            # The agent may have deleted, replaced or locked its files.
            why = f"{error.filename or 'its files'}: {error.strerror or error}"
            raise AgentFailed("error", f"the agent's answer could not be read: {why}") from None
    raise AssertionError


def _joined(so_far: Trajectory, prompt: Step, answer: Answer, memory: Mapping[str, Any]) -> Trajectory:
    """A conversation with one more turn. The agent's `memory` may say that its recording is `whole` (contains all turns
    so far), or that its token counts are a `running_total`."""
    found = answer.recording
    if found is None:
        return replace(so_far, steps=(*so_far.steps, prompt, *answer.steps))
    # Event streams often do not contain the prompt.
    steps = found.steps if any(map(is_prompt, found.steps)) else (prompt, *found.steps)
    if memory.get("whole") or not so_far.steps:
        return replace(found, steps=_as_asked(steps, prompt))
    # Adding running totals would count the first turns again and again.
    usage = found.usage if memory.get("running_total") else _sum(so_far, found)
    return replace(
        found,
        created=so_far.created,
        agents=found.agents or so_far.agents,
        steps=(*so_far.steps, *_as_asked(steps, prompt)),
        children=(*so_far.children, *found.children),
        # Steps with their own usage are summed from the steps; a total next to them would count twice.
        usage=None if any(step.usage for step in steps) else usage,
    )


def _timed(so_far: Trajectory, prompt: Step, seconds: float) -> Trajectory:
    """Adds how long the answer took, measured from outside, if the recording does not contain the turn itself."""
    if prompt not in so_far.steps:
        return so_far
    assert prompt.at is not None
    name = f"turn-{len(so_far.invocations) + 1}"
    place = so_far.steps.index(prompt)
    steps = (*so_far.steps[:place], *(replace(step, invocation=name) for step in so_far.steps[place:]))
    took = Invocation(id=name, at=prompt.at, seconds=seconds)
    return replace(so_far, steps=steps, invocations=(*so_far.invocations, took))


def _as_asked(steps: tuple[Step, ...], prompt: Step) -> tuple[Step, ...]:
    """Marks the prompt of a simulated user: the agent's own recording does not know that a model wrote it."""
    if prompt.purpose is None:
        return steps
    last = max((place for place, step in enumerate(steps) if is_prompt(step)), default=None)
    if last is None:
        return steps
    marked = replace(steps[last], purpose=prompt.purpose, usage=prompt.usage, model=prompt.model)
    return (*steps[:last], marked, *steps[last + 1 :])


def _sum(so_far: Trajectory, found: Trajectory) -> dict[str, Usage] | None:
    names = dict.fromkeys([*(so_far.usage or {}), *(found.usage or {})])
    sides = [so_far.usage or {}, found.usage or {}]
    sums = {name: add_usage([side[name] for side in sides if name in side]) for name in names}
    return {name: usage for name, usage in sums.items() if usage is not None} or None
