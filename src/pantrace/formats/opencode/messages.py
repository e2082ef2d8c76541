"""Messages: one OpenCode message is one step.

An assistant message is one call of the model with the tools it called. `parentID` is the user message it answers, so
turns are counted by it; old versions do not have it, and there the order decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from pantrace.model import Agent, Media, Part, Step, StepError, Text, Thinking, ToolCall, ToolResult, Unknown
from pantrace.model.trajectory import Kind

from .parts import UNKNOWN, load_parts
from .taken_keys import NAME, UNREPORTED, Raw, take_text, take_times, without_invented
from .usage import output_holds_reasoning, take_usage

Message = tuple[Raw, list[Any]]
"""A message's own object and its parts, as `opencode export` writes them."""

BESIDE = "beside_info"
"""The key, among those of `info`, that keeps what an export has beside a message's `info` and `parts`."""
COMPACTION, AGENT = f"{UNKNOWN}compaction", f"{UNKNOWN}agent"
# OpenCode's own text before a command that the user ran.
SHELL = "The following tool was executed by the user"


def load_steps(messages: Iterable[Message], session: str | None, version: Any) -> tuple[list[Step], list[Agent]]:
    """The steps of a session in the order given, and its agents. The messages are consumed: their dicts are changed."""
    steps: list[Step] = []
    holds = output_holds_reasoning(version)
    turn = 0
    turn_of: dict[str, int | None] = {}
    place_of: dict[str, int] = {}
    agents: dict[str, Agent] = {}
    for info, raw_parts in messages:
        message = info.get("id")
        rest = without_invented(info) if UNREPORTED in info else info
        # Every message repeats it; only one that contradicts the session is worth keeping.
        if session is not None and rest.get("sessionID") == session:
            del rest["sessionID"]
        parts = load_parts(raw_parts, message, session)
        parent = take_text(rest, "parentID")
        role = rest.pop("role", None)
        number: int | None
        if role == "user":
            kind = _user_kind(parts)
            # Inserted text, compactions and shell commands are user messages, too, but nobody asked anything.
            turn += kind == "message"
            number = None if kind == "user_shell" else turn or None
            step = _step(rest, parts, "user", kind, parent, number, holds)
        elif role == "assistant":
            # Generation 1 has no `parentID`: there the order decides.
            number = turn_of.get(parent, turn or None) if parent is not None else turn or None
            asked = place_of.get(parent, -1) if parent is not None else len(steps) - 1
            # OpenCode stores the user's own shell command as an assistant's message, after a text that announces it.
            if _is_user_shell(rest, parts) and asked >= 0 and steps[asked].kind in ("synthetic", "user_shell"):
                if steps[asked].kind == "synthetic":
                    steps[asked] = msgspec.structs.replace(steps[asked], kind="user_shell", turn=None)
                step = _step(rest, parts, "agent", "user_shell", parent, None, holds)
            else:
                step = _step(rest, parts, "agent", _agent_kind(rest, parts), parent, number, holds)
                _meet(agents, step)
        else:
            rest["role"] = role
            step = _step(rest, parts, "system", "note", parent, None, holds)
        if step.id is not None:
            turn_of[step.id] = step.turn
            place_of[step.id] = len(steps)
        steps.append(step)
    return steps, list(agents.values())


def _step(
    rest: Raw, parts: list[Part], role: Any, kind: Kind, parent: str | None, turn: int | None, holds: bool | None
) -> Step:
    at, ended = take_times(rest, "created", "completed")
    agent = take_text(rest, "agent")
    if agent is None and type(rest.get("mode")) is str:
        agent = rest["mode"]  # until 0.5 the agent was called the mode
    return Step(
        id=take_text(rest, "id"),
        parent=parent,
        role=role,
        agent=agent,
        turn=turn,
        parts=tuple(parts),
        at=at,
        ended=ended,
        model=take_text(rest, "modelID"),
        usage=take_usage(rest, holds),
        stop=take_text(rest, "finish"),
        error=_take_error(rest),
        kind=kind,
        extra={NAME: rest},
    )


def _user_kind(parts: list[Part]) -> Kind:
    inserted = False
    given = False
    for part in parts:
        if type(part) is Text:
            if not part.synthetic:
                given = True
            elif part.text == SHELL:
                return "user_shell"
            else:
                inserted = True
        elif type(part) is Media:
            given = True
        elif type(part) is Unknown:
            if part.kind == COMPACTION:
                return "compaction"
            given = given or part.kind == AGENT
    return "synthetic" if inserted and not given else "message"


def _agent_kind(rest: Raw, parts: list[Part]) -> Kind:
    # A compaction's summary is not an answer.
    if rest.get("summary") is True:
        return "compaction"
    inserted = False
    for part in parts:
        if type(part) is Text and part.synthetic:
            inserted = True
        elif type(part) in (Text, Thinking, ToolCall, Media):
            return "message"
    return "synthetic" if inserted else "message"


def _is_user_shell(rest: Raw, parts: list[Part]) -> bool:
    """Whether a message is a command that the user ran: one bash call, no stop reason, no tokens."""
    if "finish" in rest or "error" in rest or not 1 <= len(parts) <= 2:
        return False
    call = parts[0]
    if type(call) is not ToolCall or call.name != "bash":
        return False
    if len(parts) == 2 and type(parts[1]) is not ToolResult:
        return False
    # On a copy, as `take_usage` removes what it reads.
    return take_usage(dict(rest)) is None


def _take_error(rest: Raw) -> StepError | None:
    raw = rest.pop("error", None)
    if raw is None:
        return None
    if type(raw) is not dict or type(raw.get("name")) is not str:
        return StepError(message=raw if type(raw) is str else None, extra={NAME: {"raw": raw}})
    left = dict(raw)
    kind = take_text(left, "name")
    message = None
    data = left.get("data")
    if type(data) is dict and type(data.get("message")) is str:
        message = data["message"]
        kept = {key: value for key, value in data.items() if key != "message"}
        if kept:
            left["data"] = kept
        else:
            del left["data"]
    return StepError(kind=kind, message=message, extra={NAME: left} if left else {})


def dump_error(error: StepError) -> Any:
    left = error.extra.get(NAME, {})
    if "raw" in left:
        return left["raw"]
    data = {} if error.message is None else {"message": error.message}
    # One of OpenCode's own names, which it demands.
    raw: Raw = {"name": "UnknownError" if error.kind is None else error.kind}
    kept = left.get("data", {})
    if data or "data" in left:
        raw["data"] = {**data, **kept} if type(kept) is dict else kept
    return {**raw, **{key: value for key, value in left.items() if key != "data"}}


def _meet(agents: dict[str, Agent], step: Step) -> None:
    if step.agent is None:
        return
    known = agents.get(step.agent)
    if known is None:
        agents[step.agent] = Agent(name=step.agent, model=step.model, instructions=_instructions(step))
    elif known.instructions is None and "system" in step.extra[NAME]:
        agents[step.agent] = msgspec.structs.replace(known, instructions=_instructions(step))


def _instructions(step: Step) -> str | None:
    """The system prompt, which old versions keep in every assistant message."""
    system = step.extra[NAME].get("system")
    if type(system) is not list or not system or not all(type(each) is str for each in system):
        return None
    return "\n\n".join(system)
