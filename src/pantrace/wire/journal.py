"""The recorder's journal: one line for each event, in the order in which it happened.

A recorder writes it while an agent works, so that everything before a crash is there. A line is one event; `sample_of`
puts the events together. A journal without an end belongs to a program that was killed or is still running.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Agent, Case, Extra, Outcome, Sample, Score, Step, Trajectory
from pantrace.model.record import Number

from .json import as_kind, decode

VERSION = 1
UNFINISHED = "the recording was not finished: its program was ended, or is still running"


class Begin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="begin", tag_field="event"):
    """The first line: what is being recorded."""

    recording: int = msgspec.field(name="pantrace_recording")
    """Version of the journal."""
    id: str
    epoch: int | None = None
    case: Case | None = None
    at: Number
    title: str | None = None
    agents: tuple[Agent, ...] = ()
    extra: Extra = {}


class Did(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="step", tag_field="event"):
    """A step, complete."""

    step: Step
    of: str | None = None
    """Id of the sub-agent that did it; None: the agent itself."""


class SubAgent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="agent", tag_field="event"):
    """A sub-agent begins, or ends."""

    id: str
    of: str | None = None
    agent: Agent | None = None
    caller: str | None = None
    """Id of the call that started it."""
    at: Number | None = None
    ended: Number | None = None
    outcome: Outcome | None = None


class State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="state", tag_field="event"):
    """New values for keys of the state."""

    state: dict[str, Any]
    of: str | None = None


class Scored(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="score", tag_field="event"):
    """A score that the recorded program gave itself."""

    score: Score


class End(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="end", tag_field="event"):
    """The last line."""

    at: Number
    outcome: Outcome | None = None
    response: str | None = None


Event = Begin | Did | SubAgent | State | Scored | End

NO_EVENT = "not an event of a recording: "

_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def event_in(line: bytes) -> Event:
    """One line as an event; ReadError if it is not one."""
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError as error:
        raise ReadError(f"{NO_EVENT}{error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        # Lone surrogates, and other things that the fast decoder refuses.
        return cast("Event", as_kind(decode(line), Event))
    except msgspec.ValidationError as error:
        raise ReadError(f"{NO_EVENT}{error}") from None


class _Actor:
    """The events of the agent or of one sub-agent while they are collected."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.state: dict[str, Any] | None = None
        self.begun: SubAgent | None = None
        self.ended: SubAgent | None = None
        self.children: list[str] = []


def sample_of(events: Iterable[Event]) -> Sample:
    """The sample that the events of a journal describe."""
    begin: Begin | None = None
    end: End | None = None
    actors: dict[str | None, _Actor] = {None: _Actor()}
    scores: list[Score] = []
    for event in events:
        match event:
            case Did():
                # `setdefault`: with several threads, a step may come before the line that starts its sub-agent.
                actors.setdefault(event.of, _Actor()).steps.append(event.step)
            case State():
                actor = actors.setdefault(event.of, _Actor())
                actor.state = {**(actor.state or {}), **event.state}
            case SubAgent():
                actor = actors.setdefault(event.id, _Actor())
                if event.agent is not None:
                    actor.begun = event
                    actors.setdefault(event.of, _Actor()).children.append(event.id)
                else:
                    actor.ended = event
            case Scored():
                scores.append(event.score)
            case Begin():
                begin = event
            case End():
                end = event
    if begin is None:
        raise ReadError("a recording begins with a line that says what is recorded")
    return Sample(
        id=begin.id,
        epoch=begin.epoch,
        case=begin.case,
        trajectory=_trajectory_of(begin, end, actors),
        scores=tuple(scores),
        extra=begin.extra,
    )


def _trajectory_of(begin: Begin, end: End | None, actors: dict[str | None, _Actor]) -> Trajectory:
    own = actors[None]
    # A journal without an end belongs to a program that was killed or is still running.
    # An error, not a missing outcome: a crashed agent must not look like one that was not scored.
    unfinished = Outcome(status="error", reason=UNFINISHED)
    return Trajectory(
        id=begin.id,
        title=begin.title,
        created=begin.at,
        ended=end.at if end else None,
        agents=begin.agents,
        steps=tuple(own.steps),
        state=own.state,
        response=end.response if end else None,
        outcome=end.outcome if end else unfinished,
        children=tuple(_child(each, actors) for each in own.children),
    )


def _child(name: str, actors: dict[str | None, _Actor]) -> Trajectory:
    actor = actors[name]
    begun, ended = actor.begun, actor.ended
    assert begun is not None and begun.agent is not None
    return Trajectory(
        id=name,
        parent=begun.of,
        caller=begun.caller,
        created=begun.at,
        ended=ended.ended if ended else None,
        agents=(begun.agent,),
        steps=tuple(actor.steps),
        state=actor.state,
        outcome=ended.outcome if ended else None,
        children=tuple(_child(each, actors) for each in actor.children),
    )
