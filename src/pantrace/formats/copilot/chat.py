"""Chats of Copilot in VS Code: one document, with the answer to each request in pieces."""

from __future__ import annotations

from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Agent, Part, Sample, Step, Text, Thinking, ToolCall, ToolResult, Trajectory, Unknown
from pantrace.wire.extra_keys import as_extra, rest_of
from pantrace.wire.optional import text_of
from pantrace.wire.times import from_milliseconds

NAME = "copilot"


def sample_of(document: dict[str, Any]) -> Sample:
    """A chat as a sample."""
    requests = document.get("requests")
    if not isinstance(requests, list):
        raise ReadError("a chat needs a list of requests")
    steps = [step for place, request in enumerate(requests) for step in _steps(request, place)]
    known = ("requests", "sessionId", "creationDate", "lastMessageDate", "customTitle")
    name = document.get("sessionId")
    whole = Trajectory(
        id=text_of(name),
        title=text_of(document.get("customTitle")),
        created=from_milliseconds(document.get("creationDate")),
        ended=from_milliseconds(document.get("lastMessageDate")),
        agents=(Agent(name=NAME),),
        steps=tuple(steps),
        extra=as_extra(NAME, rest_of(document, known)),
    )
    return Sample(id=whole.id or NAME, trajectory=whole)


def _steps(request: Any, place: int) -> list[Step]:
    if not isinstance(request, dict):
        raise ReadError("a request is an object", place=f"requests[{place}]")
    message = request.get("message")
    text = message.get("text") if isinstance(message, dict) else message
    at = from_milliseconds(request.get("timestamp"))
    prompt = (Text(text=text),) if isinstance(text, str) else ()
    kept = rest_of(request, ("response", "timestamp", "modelId"))
    steps = [Step(role="user", parts=prompt, at=at, extra=as_extra(NAME, kept))]
    model = request.get("modelId")
    answer: list[Part] = []
    response = request.get("response")
    for piece in response if isinstance(response, list) else ():
        answer += _parts(piece)
    if answer:
        steps.append(Step(role="agent", agent=NAME, parts=tuple(answer), model=text_of(model)))
    return steps


def _parts(piece: Any) -> list[Part]:
    """The parts of a piece of an answer; a call comes with what is known about its result."""
    if not isinstance(piece, dict):
        return [Unknown(kind=f"{NAME}:piece", raw=piece)]
    kind, value = piece.get("kind"), piece.get("value")
    # Text has no kind: it is Markdown with a value.
    if kind is None and isinstance(value, str):
        extra = as_extra(NAME, rest_of(piece, ("value",)))
        return [Text(text=value, extra=extra)] if value or extra else []
    if kind == "thinking" and isinstance(value, str):
        return [Thinking(text=value, extra=as_extra(NAME, rest_of(piece, ("kind", "value"))))]
    if kind == "toolInvocationSerialized" and isinstance(piece.get("toolId"), str):
        return _invocation(piece)
    return [Unknown(kind=f"{NAME}:{kind}", raw=piece)]


def _invocation(piece: dict[str, Any]) -> list[Part]:
    call = text_of(piece.get("toolCallId"))
    special = piece.get("toolSpecificData")
    asked = piece.get("invocationMessage")
    words = asked.get("value") if isinstance(asked, dict) else asked
    # A chat does not keep the arguments, only a sentence about them.
    arguments = special if isinstance(special, dict) else {"message": words} if words is not None else None
    known = ("kind", "toolId", "toolCallId", "toolSpecificData", "pastTenseMessage", "resultDetails", "isComplete")
    found: list[Part] = [
        ToolCall(id=call, name=piece["toolId"], arguments=arguments, extra=as_extra(NAME, rest_of(piece, known)))
    ]
    if piece.get("isComplete"):
        output = {key: piece[key] for key in ("pastTenseMessage", "resultDetails") if key in piece}
        # A boolean in older chats, an object in newer ones; type 0 means that the user refused.
        denied = piece.get("isConfirmed") is False or piece.get("isConfirmed") == {"type": 0}
        found.append(
            ToolResult(call_id=call, name=piece["toolId"], output=output or None, failure="denied" if denied else None)
        )
    return found
