"""One trial: a case is put to an agent, turn by turn, and whatever happens becomes a sample."""

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
"""Seconds before asking again where a question did not arrive."""


@dataclass(frozen=True)
class Conditions:
    """How trials are run."""

    folder: Path
    """Where workspaces are made."""
    read: Read
    environment: Mapping[str, str]
    agent: str = ""
    """Its name, where several take turns."""
    seconds: float = 600.0
    most_output: int = 50_000_000
    fixtures: Path | None = None
    retries: int = 2
    keep_workspaces: bool = False
    user: SimulatedUser | None = None
    collector: Receiver | None = None
    """Takes what agents send over OpenTelemetry."""
    stopped: Event = field(default_factory=Event)


def try_case(asked: Asked, number: int, agent: Agent, conditions: Conditions) -> Sample:
    """The sample of one trial. An agent that hangs, crashes or says nothing gives one, too."""
    # Absolute: the agent works in another directory, and is told where its files lie.
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
    told, outcome, remarks = _converse(asked, agent, trial, conditions)
    remarks = [*asked.remarks, *unplaced, *remarks]
    if (changed := changes(before, contents(workspace))) is not None:
        told = replace(told, steps=(*told.steps, replace(changed, at=time.time())))
    if not conditions.keep_workspaces:
        shutil.rmtree(place, ignore_errors=True)
    extra = {NAME: {"seconds": time.monotonic() - began, **({"remarks": remarks} if remarks else {})}}
    return Sample(
        id=asked.id,
        epoch=number,
        case=asked.case,
        trajectory=replace(told, outcome=outcome, created=told.created or created, source=None),
        expected=asked.expected,
        extra=extra,
    )


def _converse(
    asked: Asked, agent: Agent, trial: Trial, conditions: Conditions
) -> tuple[Trajectory, Outcome, list[str]]:
    """All turns of a trial, as far as it came."""
    told = Trajectory()
    remarks: list[str] = []
    until = time.monotonic() + conditions.seconds
    prompts: list[Step] = [Step(role="user", parts=(Text(text=turn),)) for turn in asked.turns]
    while True:
        if not prompts and asked.is_scenario and conditions.user is not None:
            said = sum(1 for step in told.steps if is_prompt(step))
            if said >= conditions.user.most_turns:
                return told, Outcome(status="limit", reason=f"{said} turns, and the user had not finished"), remarks
            try:
                following = conditions.user.next(asked.case, trial.history)
            except Unanswered as error:
                why = f"the simulated user did not answer: {error.reason}"
                return told, Outcome(status="error", reason=why), remarks
            if following is None and not said:
                return told, Outcome(status="error", reason="the simulated user said nothing"), remarks
            prompts += [following] if following is not None else []
        if not prompts:
            return told, told.outcome or Outcome(status="unscored"), remarks
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
        told = _joined(told, prompt, answer, trial.memory)
        told = _timed(told, prompt, time.monotonic() - began)
        if failed is not None:
            # A server may echo the key that it was asked with.
            why = Redactor().text(failed.reason)[0]
            return told, Outcome(status=failed.status, reason=why), remarks  # type: ignore[arg-type]
        trial.history = list(told.steps)


def _patiently(agent: Agent, prompt: Step, trial: Trial, conditions: Conditions, until: float) -> Answer:
    """Ask, and ask again where the question cannot have arrived."""
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
                # Not the agent's failure: it must not stand in the results.
                where = error.filename or conditions.folder
                remedy = "free some space, then run the same command to continue"
                raise WriteError(f"{where} cannot be written: {error.strerror} ({remedy})") from None
            # It may have deleted, replaced or locked whatever it was given.
            why = f"{error.filename or 'its files'}: {error.strerror or error}"
            raise AgentFailed("error", f"the agent's answer could not be read: {why}") from None
    raise AssertionError


def _joined(told: Trajectory, prompt: Step, answer: Answer, memory: Mapping[str, Any]) -> Trajectory:
    """A conversation with one more turn. The agent's `memory` may say that its recording is `whole`, or that what it
    tells of tokens is a `running_total`."""
    found = answer.recording
    if found is None:
        return replace(told, steps=(*told.steps, prompt, *answer.steps))
    # Streams of events often leave out what was asked.
    steps = found.steps if any(map(is_prompt, found.steps)) else (prompt, *found.steps)
    if memory.get("whole") or not told.steps:
        return replace(found, steps=_as_asked(steps, prompt))
    usage = found.usage if memory.get("running_total") else _sum(told, found)
    return replace(
        found,
        created=told.created,
        agents=found.agents or told.agents,
        steps=(*told.steps, *_as_asked(steps, prompt)),
        children=(*told.children, *found.children),
        usage=None if any(step.usage for step in steps) else usage,
    )


def _timed(told: Trajectory, prompt: Step, seconds: float) -> Trajectory:
    """How long the answer took, from outside, where the recording has no times of its own."""
    if prompt not in told.steps:
        return told
    assert prompt.at is not None
    name = f"turn-{len(told.invocations) + 1}"
    place = told.steps.index(prompt)
    steps = (*told.steps[:place], *(replace(step, invocation=name) for step in told.steps[place:]))
    took = Invocation(id=name, at=prompt.at, seconds=seconds)
    return replace(told, steps=steps, invocations=(*told.invocations, took))


def _as_asked(steps: tuple[Step, ...], prompt: Step) -> tuple[Step, ...]:
    """The agent's own recording of a simulated user's words does not know that they were a model's."""
    if prompt.purpose is None:
        return steps
    last = max((place for place, step in enumerate(steps) if is_prompt(step)), default=None)
    if last is None:
        return steps
    marked = replace(steps[last], purpose=prompt.purpose, usage=prompt.usage, model=prompt.model)
    return (*steps[:last], marked, *steps[last + 1 :])


def _sum(told: Trajectory, found: Trajectory) -> dict[str, Usage] | None:
    names = dict.fromkeys([*(told.usage or {}), *(found.usage or {})])
    sides = [told.usage or {}, found.usage or {}]
    sums = {name: add_usage([side[name] for side in sides if name in side]) for name in names}
    return {name: usage for name, usage in sums.items() if usage is not None} or None
