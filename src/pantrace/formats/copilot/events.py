"""Events of Copilot's command line; those of sub-agents are identified by the call that started them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import (
    Agent,
    Outcome,
    Part,
    Sample,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
)
from pantrace.wire.extra_keys import as_extra, rest_of, texts_in
from pantrace.wire.optional import object_of, text_of
from pantrace.wire.times import from_iso

NAME = "copilot"
_COUNTS = {
    "input": "inputTokens",
    "output": "outputTokens",
    "cache_read": "cacheReadTokens",
    "cache_write": "cacheWriteTokens",
}


class _Actor:
    """The events of the agent or of one sub-agent while they are collected."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.name: str | None = None
        self.outcome: Outcome | None = None
        self.extra: dict[str, Any] = {}
        self.owner: str | None = None


class _Session:
    """Collects the events of a session."""

    def __init__(self) -> None:
        self.actors: dict[str | None, _Actor] = {None: _Actor()}
        self.calls: dict[str | None, tuple[str | None, str]] = {}
        """Which actor made a call, and its name."""
        self.started: dict[str, tuple[float | None, Any]] = {}
        """When a tool began, and its arguments, which the request may lack."""
        self.head: dict[str, Any] = {}
        self.usage: dict[str, Usage] | None = None

    def take(self, event: dict[str, Any]) -> None:
        data = event.get("data")
        data = object_of(data)
        match event.get("type"):
            case "session.start" if not self.head:
                self.head = event
            case "user.message":
                text = data.get("content")
                parts = (Text(text=text),) if isinstance(text, str) else ()
                self._add(None, event, Step(role="user", parts=parts), *texts_in(data, "content"))
            case "assistant.message":
                self._message(event, data)
            case "tool.execution_start" if isinstance(data.get("toolCallId"), str):
                self.started[data["toolCallId"]] = (from_iso(event.get("timestamp")), data.get("arguments"))
                self._note(event)
            case "tool.execution_complete" if isinstance(data.get("toolCallId"), str):
                self._tool_result(event, data)
            case "subagent.started" | "subagent.completed" | "subagent.failed" if isinstance(
                data.get("toolCallId"), str
            ):
                self._sub_agent(event, data)
            case "session.shutdown":
                self._shut_down(data)
                self._note(event)
            case _:
                self._note(event)

    def _add(self, actor: str | None, event: dict[str, Any], step: Step, *known: str) -> None:
        data = event.get("data")
        inner = rest_of(data, known) if isinstance(data, dict) else {"data": data}
        at = from_iso(event.get("timestamp"))
        timed = ("timestamp",) if at is not None else ()
        outer = rest_of(event, ("type", "data", *timed, *texts_in(event, "id", "parentId")))
        rest = {**outer, **({"data": inner} if inner else {})}
        if step.kind == "note":
            rest["type"] = event.get("type")
        found = replace(
            step,
            id=text_of(event.get("id")),
            parent=text_of(event.get("parentId")),
            at=step.at if step.at is not None else at,
            extra=as_extra(NAME, rest),
        )
        self.actors[actor].steps.append(found)

    def _note(self, event: dict[str, Any]) -> None:
        # Unknown types of events are normal. They are kept, but are not part of the conversation.
        self._add(None, event, Step(role="system", kind="note"))

    def _message(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        # A sub-agent writes into the same file; the call that started it is its only name.
        actor = self._actor(data.get("parentToolCallId"))
        parts: list[Part] = []
        if isinstance(thought := data.get("reasoningText"), str):
            parts.append(Thinking(text=thought))
        if isinstance(text := data.get("content"), str) and text:
            parts.append(Text(text=text))
        asked = data.get("toolRequests")
        for request in asked if isinstance(asked, list) else ():
            if not _is_request(request):
                continue
            call = text_of(request.get("toolCallId"))
            self.calls[call] = (actor, request["name"])
            rest = rest_of(request, ("name", "arguments", *texts_in(request, "toolCallId")))
            parts.append(
                ToolCall(id=call, name=request["name"], arguments=request.get("arguments"), extra=as_extra(NAME, rest))
            )
        step = Step(role="agent", agent=self.actors[actor].name, parts=tuple(parts), model=text_of(data.get("model")))
        # A list with anything else in it is kept whole, because its requests were only partly read.
        read = ("toolRequests",) if isinstance(asked, list) and all(map(_is_request, asked)) else ()
        self._add(actor, event, step, *texts_in(data, "content", "reasoningText", "model"), *read)

    def _tool_result(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        call = data["toolCallId"]
        actor, name = self.calls.get(call, (None, None))
        result = data.get("result")
        # `content` is the text for the model; a result in any other form is kept as it is.
        output = (
            result.get("content") if isinstance(result, dict) and isinstance(result.get("content"), str) else result
        )
        failed = data.get("success") is False
        error = data.get("error")
        words = error.get("message") if isinstance(error, dict) else error
        began, _ = self.started.get(call, (None, None))
        ended = from_iso(event.get("timestamp"))
        answer = ToolResult(
            call_id=call,
            name=text_of(data.get("toolName")) or name,
            output=output,
            error=text_of(words),
            failure="error" if failed else None,
            started=began,
            ended=ended,
        )
        step = Step(role="tool", parts=(answer,), at=began, ended=ended)
        self._add(actor, event, step, *texts_in(data, "toolCallId", "toolName"))

    def _sub_agent(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        call = data["toolCallId"]
        actor = self._actor(call)
        found = self.actors[actor]
        # Sub-agents may start others, so the owner is whoever made the call, not always the main agent.
        found.owner = self.calls.get(call, (None, ""))[0]
        found.name = text_of(data.get("agentName")) or found.name
        if event["type"] == "subagent.failed":
            found.outcome = Outcome(status="error", reason=text_of(data.get("error")))
        found.extra.setdefault("events", []).append(event)

    def _actor(self, call: Any) -> str | None:
        if not isinstance(call, str):
            return None
        self.actors.setdefault(call, _Actor())
        return call

    def _shut_down(self, data: dict[str, Any]) -> None:
        metrics = data.get("modelMetrics")
        found: dict[str, Usage] = {}
        for model, metric in metrics.items() if isinstance(metrics, dict) else ():
            counts = metric.get("usage") if isinstance(metric, dict) else None
            if isinstance(counts, dict):
                # Not isinstance: true is an int in Python, but no count.
                known = {name: counts[key] for name, key in _COUNTS.items() if type(counts.get(key)) is int}
                found |= {model: Usage(**known)} if known else {}
        self.usage = found or None

    def trajectory(self, call: str | None = None) -> Trajectory:
        actor = self.actors[call]
        own = [name for name in self.actors if name is not None and self._owner(name) == call]
        return Trajectory(
            id=call,
            caller=call,
            agents=(Agent(name=actor.name),) if actor.name else (),
            steps=tuple(self._with_arguments(step) for step in actor.steps),
            outcome=actor.outcome,
            children=tuple(self.trajectory(name) for name in own),
            extra=as_extra(NAME, actor.extra),
        )

    def _owner(self, name: str | None) -> str | None:
        """The actor whose call started a sub-agent. Repeated ids can make it its own ancestor; it then belongs to the
        main agent, because otherwise it would be in no trajectory."""
        seen: set[str | None] = set()
        at = name
        while at is not None and at not in seen:
            seen.add(at)
            at = self.actors[at].owner if at in self.actors else None
        return None if at is not None else self.actors[name].owner

    def _with_arguments(self, step: Step) -> Step:
        """A step with arguments that its requests left out, taken from the start of the tool."""
        if not any(isinstance(part, ToolCall) and part.arguments is None for part in step.parts):
            return step
        parts = tuple(
            replace(part, arguments=self.started[part.id][1])
            if isinstance(part, ToolCall) and part.arguments is None and part.id in self.started
            else part
            for part in step.parts
        )
        return replace(step, parts=parts)


def _is_request(raw: Any) -> bool:
    return isinstance(raw, dict) and isinstance(raw.get("name"), str)


def sample_of(events: list[Any]) -> Sample:
    """A session's events as a sample."""
    session = _Session()
    for event in events:
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            raise ReadError("an event is an object with a type")
        session.take(event)
    main = session.trajectory()
    data = object_of(session.head.get("data"))
    name = text_of(data.get("sessionId"))
    extra = {**main.extra.get(NAME, {}), **({"start": session.head} if session.head else {})}
    model = text_of(data.get("selectedModel"))
    whole = replace(
        main,
        id=name,
        caller=None,
        created=from_iso(data.get("startTime")),
        agents=(Agent(name=NAME, model=model),) if model else (),
        usage=session.usage,
        extra=as_extra(NAME, extra),
    )
    return Sample(id=name or NAME, trajectory=whole)
