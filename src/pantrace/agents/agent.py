"""Agent: anything that can be asked a question. It has one method; each module has one adapter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from pantrace.model import Case, Sample, Step, Trajectory

Read = Callable[[Path, str | None], list[Sample]]
"""Reads a recording, by the named format or by whichever claims it; ReadError when none does."""


@dataclass
class Trial:
    """One run of one case. An agent may keep what it needs between turns in `memory`."""

    case: Case
    number: int
    """1-based: which of several trials of the case."""
    workspace: Path
    """A separate directory: the agent's working directory, if it has one."""
    notes: Path
    """A directory beside the workspace, for files of ours that the agent should not find."""
    seconds: float
    """How long it may take from now on."""
    most_output: int
    """Bytes that it may print."""
    environment: dict[str, str]
    read: Read
    stopped: Event
    """Set when the user wants everything to end."""
    collected: Path | None = None
    """Where the agent's OpenTelemetry data is stored, if a receiver is running."""
    history: list[Step] = field(default_factory=list)
    """The conversation so far."""
    memory: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """The result of one question: steps, or the recording that the agent made itself."""

    steps: tuple[Step, ...] = ()
    """What happened after the question."""
    recording: Trajectory | None = None
    """The recording of this turn, the question included."""
    note: str | None = None
    """Something the user should know about it: that no recording was found, what was printed on stderr."""


class AgentFailed(Exception):
    """The agent did not answer. What it did before, and why it stopped, become the sample."""

    def __init__(self, status: str, reason: str, answer: Answer | None = None, *, again: bool = False):
        super().__init__(reason)
        self.status = status
        """error, limit or cancelled, as in `Outcome.status`."""
        self.reason = reason
        self.answer = answer or Answer()
        self.again = again
        """Whether the question may not even have arrived, so that asking again does no harm."""


class Agent(Protocol):
    """Anything that answers: a command, a server, a function."""

    def ask(self, question: str, trial: Trial) -> Answer:
        """Answer the next question of a trial; AgentFailed when there is no answer."""
        ...


def wanted_session(case: Case) -> dict[str, Any]:
    """What an ADK eval set says about the session of a case: app_name, user_id, state."""
    adk = case.extra.get("adk")
    found = adk.get("session_input") if isinstance(adk, dict) else None
    return found if isinstance(found, dict) else {}
