"""Trajectory: what an agent did, step by step."""

from __future__ import annotations

from typing import Any, Literal

from .parts import Part
from .record import DatetimeView, Extra, Number, Record, Seconds
from .usage import Usage

Role = Literal["system", "user", "agent", "tool"]
Kind = Literal["message", "compaction", "synthetic", "copied", "user_shell", "note"]
Purpose = Literal["agent", "grader", "simulated_user", "tool"]
"""For whom models were called. agent: the agent under test; tool: a tool of the agent that calls a model itself
(its tokens belong to the run, its texts are not the agent's); grader and simulated_user: part of the test, never
counted for the agent."""


class StepError(Record, frozen=True, kw_only=True):
    """Why a step ended badly."""

    kind: str | None = None
    """The source's name for it: "APIError", "MessageAbortedError"."""
    message: str | None = None
    traceback: str | None = None
    extra: Extra = {}


class Step(Record, frozen=True, kw_only=True):
    """One message, event or model call. Steps form a tree by `parent`; they are in the order of the recording."""

    id: str | None = None
    parent: str | None = None
    """Id of the step this one answers or continues."""
    role: Role
    agent: str | None = None
    """Name of the agent that speaks; for a user step, the one spoken to, where the source says so."""
    turn: int | None = None
    """1-based number of the user prompt this step belongs to, where the source knows it."""
    invocation: str | None = None
    parts: tuple[Part, ...] = ()
    at: Seconds | None = None
    """When it began: UTC epoch seconds, as measured by the source."""
    ended: Seconds | None = None
    model: str | None = None
    usage: Usage | None = None
    # Not normalised: providers distinguish more reasons than any common list has.
    stop: str | None = None
    """Why the model stopped, in the source's word."""
    error: StepError | None = None
    kind: Kind = "message"
    """compaction: a summary that replaced context; synthetic: inserted by the program; copied: repeated from another
    trajectory; user_shell: a command that the user ran; note: a record beside the conversation."""
    purpose: Purpose | None = None
    """Where it differs from that of the trajectory: a prompt that a model wrote in the user's place."""
    replaces: tuple[str, ...] = ()
    """Of a compaction: ids of the steps that the model no longer saw from here on."""
    settings: dict[str, Any] | None = None
    """Settings of the model call (temperature, max_tokens ...), with the source's names; None: not recorded."""
    first_token: Seconds | None = None
    """Seconds from `at` until the model's first token."""
    state_delta: dict[str, Any] | None = None
    extra: Extra = {}

    at_datetime = DatetimeView("at")
    ended_datetime = DatetimeView("ended")


class Tool(Record, frozen=True, kw_only=True):
    """A tool as it was declared to the model."""

    name: str
    description: str | None = None
    parameters: Any = None
    """JSON Schema of the arguments."""
    extra: Extra = {}


class Agent(Record, frozen=True, kw_only=True):
    """An agent that took part."""

    name: str
    model: str | None = None
    description: str | None = None
    instructions: str | None = None
    tools: tuple[Tool, ...] | None = None
    """None: the source does not say which tools it had."""
    parent: str | None = None
    extra: Extra = {}


class Source(Record, frozen=True, kw_only=True):
    """Where a trajectory was read from. It is not part of the content: never compared, never lost."""

    format: str
    version: str | None = None
    """Version or variant of the format."""
    producer: str | None = None
    """The program that recorded it, with its version."""
    path: str | None = None
    place: str | None = None
    """Line, member or row inside the file."""


class Outcome(Record, frozen=True, kw_only=True):
    """How it ended, as recorded. A missing outcome is not a failure."""

    status: Literal["passed", "failed", "error", "cancelled", "limit", "unscored"]
    reason: str | None = None
    reward: Number | None = None
    extra: Extra = {}


class Invocation(Record, frozen=True, kw_only=True):
    """Measured time of one invocation (a user prompt and all that followed), where the source measured it."""

    id: str
    at: Seconds | None = None
    seconds: Seconds | None = None
    model_seconds: Seconds | None = None
    tool_seconds: Seconds | None = None
    extra: Extra = {}

    at_datetime = DatetimeView("at")


class Origin(Record, frozen=True, kw_only=True):
    """The earlier trajectory that this one begins with or continues."""

    kind: Literal["forked", "resumed", "continues", "copied"]
    """forked: branched off at `step`; resumed: the same conversation, taken up again; continues: a new context that
    carries on (after a compaction, a handover); copied: begins with a copy of it."""
    trajectory: str | None = None
    """Its id."""
    step: str | None = None
    """Id of its last step that belongs to this one, too."""
    extra: Extra = {}


class Trajectory(Record, frozen=True, kw_only=True):
    """What was done: agents, steps, final state, outcome, and the trajectories of sub-agents."""

    id: str | None = None
    title: str | None = None
    created: Seconds | None = None
    ended: Seconds | None = None
    source: Source | None = None
    parent: str | None = None
    """Id of the trajectory that started this one."""
    caller: str | None = None
    """Id of the tool call in the parent that started this one."""
    purpose: Purpose = "agent"
    origin: Origin | None = None
    # A leaf instead of a flag on each step: a rewind changes one field and not thousands of steps.
    leaf: str | None = None
    """Id of the last step of the active path. Steps that are not on the path from it to the root belong to
    abandoned branches: kept, never counted. None: every step is active."""
    agents: tuple[Agent, ...] = ()
    steps: tuple[Step, ...] = ()
    invocations: tuple[Invocation, ...] = ()
    # SWE-agent's submission, OpenHands' finish message and Vertex' `response` are answers but not the last message.
    response: str | None = None
    """The final response, if the source states one that is not the last message; it is the one that counts."""
    state: dict[str, Any] | None = None
    """Final state; None: the source has none."""
    # By model, because a price belongs to a model; used only if no step has a usage, or tokens would count twice.
    usage: dict[str, Usage] | None = None
    """Totals as the source reports them, by model name ("" where it names none)."""
    outcome: Outcome | None = None
    children: tuple[Trajectory, ...] = ()
    extra: Extra = {}

    created_datetime = DatetimeView("created")
    ended_datetime = DatetimeView("ended")
