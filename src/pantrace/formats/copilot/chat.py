"""Chats of Copilot in VS Code: one document, with the answer to each request in pieces."""

from __future__ import annotations

from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Agent, Part, Sample, Step, Text, Thinking, ToolCall, ToolResult, Trajectory, Unknown
from pantrace.wire.extra_keys import as_extra, rest_of, texts_in
from pantrace.wire.field_map import MILLISECONDS, TEXT, FieldMap
from pantrace.wire.optional import list_of, text_of

NAME = "copilot"
_CHAT = FieldMap(
    NAME,
    Trajectory,
    {
        "sessionId": ("id", TEXT),
        "customTitle": ("title", TEXT),
        "creationDate": ("created", MILLISECONDS),
        "lastMessageDate": ("ended", MILLISECONDS),
    },
)
_OUTPUT = ("pastTenseMessage", "resultDetails")
_REQUEST = FieldMap(NAME, Step, {"timestamp": ("at", MILLISECONDS)})


def sample_of(document: dict[str, Any]) -> Sample:
    """A chat as a sample."""
    requests = document.get("requests")
    if not isinstance(requests, list):
        raise ReadError("a chat needs a list of requests")
    steps = [step for place, request in enumerate(requests) for step in _steps(request, place)]
    whole = _CHAT.load(document, ("requests",), agents=(Agent(name=NAME),), steps=tuple(steps))
    return Sample(id=whole.id or NAME, trajectory=whole)


def _steps(request: Any, place: int) -> list[Step]:
    if not isinstance(request, dict):
        raise ReadError("a request is an object", place=f"requests[{place}]")
    message = request.get("message")
    text = message.get("text") if isinstance(message, dict) else message
    prompt = (Text(text=text),) if isinstance(text, str) else ()
    response = request.get("response")
    answer = [part for piece in list_of(response) for part in _parts(piece)]
    known = [*(texts_in(request, "modelId") if answer else ()), *(("response",) if isinstance(response, list) else ())]
    steps = [_REQUEST.load(request, known, role="user", parts=prompt)]
    if answer:
        model = text_of(request.get("modelId"))
        steps.append(Step(role="agent", agent=NAME, parts=tuple(answer), model=model))
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
    is_complete = piece.get("isComplete") is True
    output = {key: piece[key] for key in _OUTPUT if key in piece} if is_complete else {}
    known = ["kind", "toolId", *texts_in(piece, "toolCallId"), *output]
    known += ["isComplete"] if isinstance(piece.get("isComplete"), bool) else []
    known += ["toolSpecificData"] if arguments is special else []
    found: list[Part] = [
        ToolCall(id=call, name=piece["toolId"], arguments=arguments, extra=as_extra(NAME, rest_of(piece, known)))
    ]
    if is_complete:
        # A boolean in older chats, an object in newer ones; type 0 means that the user refused.
        denied = piece.get("isConfirmed") is False or piece.get("isConfirmed") == {"type": 0}
        found.append(
            ToolResult(call_id=call, name=piece["toolId"], output=output or None, failure="denied" if denied else None)
        )
    return found
