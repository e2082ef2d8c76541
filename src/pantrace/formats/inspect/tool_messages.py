"""Tool messages: what a tool answered, and why it failed, both ways."""

from __future__ import annotations

from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Failure, Media, Step, ToolResult
from pantrace.wire.json import decode, encode
from pantrace.wire.optional import text_of

from .content import from_media, own_extra, put_back, text_part, to_parts
from .event_index import EventIndex, times_of
from .message_drafts import MessageDrafts

_FAILURES: dict[str, Failure] = {
    "parsing": "invalid_arguments",
    "timeout": "timeout",
    "permission": "denied",
    "approval": "denied",
    "cancelled": "cancelled",
}
_ERROR_TYPES = {
    "invalid_arguments": "parsing",
    "invalid_tool": "parsing",
    "timeout": "timeout",
    "denied": "approval",
    "cancelled": "cancelled",
}


def to_tool_step(message: dict[str, Any], name: str | None, extra: dict[str, Any], index: EventIndex) -> Step:
    """A tool message as a step, with the times of its event."""
    event = index.tool_event(message.get("tool_call_id"))
    result = _result(message, index.notes_on(message), index, event)
    return Step(id=name, role="tool", parts=(result,), at=result.started, ended=result.ended, extra=extra)


def _result(
    message: dict[str, Any], notes: dict[str, Any], index: EventIndex, event: dict[str, Any] | None
) -> ToolResult:
    output, media, extra = _output(message.get("content"), index.attachments)
    if notes.get("json") and isinstance(output, str):
        try:
            # Our own writer noted that this text was an object.
            output = decode(output.encode("utf-8", "surrogatepass"))
        except ReadError:
            pass
    text, failure, rest = error_of(message.get("error"))
    extra |= rest
    event = event or {}
    started, ended = times_of(event)
    call, name = message.get("tool_call_id"), message.get("function")
    for known in (call, name):
        if type(known) is not str and known is not None:
            index.sure = False
    return ToolResult(
        call_id=call,
        name=name,
        output=output,
        error=text,
        failure=failure or ("error" if event.get("failed") else None),
        truncated=event.get("truncated") is not None,
        media=media,
        started=started,
        ended=ended,
        extra={"inspect": extra} if extra else {},
    )


def _output(content: Any, attachments: dict[str, Any]) -> tuple[Any, tuple[Media, ...], dict[str, Any]]:
    """What a tool answered: text, pictures, or both mixed (then a list that refers to the pictures)."""
    if not isinstance(content, list):
        if isinstance(content, str):
            part = text_part(content, attachments, {})
            return part.text, (), dict(own_extra(part.extra))
        return content, (), {}
    media: list[Media] = []
    order: list[Any] = []
    for raw in content:
        found = to_parts(raw, attachments)
        if len(found) == 1 and isinstance(found[0], Media):
            order.append({"media": len(media)})
            media.append(found[0])
        else:
            order.append(raw)
    words = order[: len(order) - len(media)]
    # Text followed by pictures is the usual order, for which no note is needed.
    in_front = all("media" not in raw for raw in words if isinstance(raw, dict))
    if in_front and len(words) == 1 and isinstance(words[0], dict) and set(words[0]) == {"type", "text"}:
        return words[0]["text"], tuple(media), {} if media else {"content": "list"}
    if in_front and not words and media:
        return None, tuple(media), {}
    return order, tuple(media), {"content": "list"}


def error_of(error: Any) -> tuple[str | None, Failure | None, dict[str, Any]]:
    """Text, kind and rest of a tool's error."""
    if error is None:
        return None, None, {}
    if not isinstance(error, dict):
        return str(error), "error", {"error": error}
    kind = error.get("type")
    failure: Failure = _FAILURES.get(str(kind), "error")
    rest = {key: value for key, value in error.items() if key not in ("type", "message")}
    # Inspect has more types than the model has failures, so a type that would not come back is kept.
    if _ERROR_TYPES.get(failure, "unknown") != kind:
        rest["type"] = kind
    message = error.get("message")
    return text_of(message), failure, {"error": rest} if rest else {}


def from_result(
    result: ToolResult, name: str, step: Step, notes: dict[str, Any], drafts: MessageDrafts
) -> dict[str, Any]:
    """The tool message for one result; `step` is the one whose own keys it carries."""
    rest = dict(own_extra(result.extra))
    message: dict[str, Any] = {"id": name, "role": "tool"}
    content = output_text(result)
    notes = dict(notes)
    if not isinstance(result.output, (str, type(None))) and rest.get("content") != "list":
        # Inspect holds only text here: noted, so that the object is read back as an object.
        notes["json"] = True
    if notes:
        drafts.notes[name] = notes
    message["content"] = content
    if rest.get("content") == "list" and isinstance(result.output, list):
        message["content"] = [
            from_media(result.media[raw["media"]], drafts.attachments, drafts.pooled)
            if isinstance(raw, dict) and "media" in raw
            else raw
            for raw in result.output
        ]
    elif result.media or rest.get("content") == "list":
        words = [] if result.output is None else [{"type": "text", "text": content}]
        message["content"] = [
            *words,
            *(from_media(media, drafts.attachments, drafts.pooled) for media in result.media),
        ]
    elif (key := rest.get("attachment")) is not None:
        drafts.attachments[key] = content
        message["content"] = f"attachment://{key}"
    if result.call_id is not None:
        message["tool_call_id"] = result.call_id
    if result.name is not None:
        message["function"] = result.name
    if (error := from_error(result)) is not None:
        message["error"] = error
    return put_back(message, dict(own_extra(step.extra)))


def output_text(result: ToolResult) -> str:
    """A tool's answer as text; an object as JSON."""
    if result.output is None:
        return ""
    return result.output if isinstance(result.output, str) else encode(result.output).decode("utf-8", "replace")


def from_error(result: ToolResult) -> Any:
    """`{type, message}` of a failed call; None if it did not fail."""
    rest = own_extra(result.extra).get("error")
    if rest is not None and not isinstance(rest, dict):
        return rest
    if result.error is None and (result.failure is None or result.output not in (None, "")):
        # The viewer shows an error instead of the output, so an error without a message would hide the output.
        return None
    message = result.error
    if message is None:
        message = f"exit code {result.exit_code}" if result.exit_code else str(result.failure)
    return {"type": _ERROR_TYPES.get(result.failure or "error", "unknown"), "message": message, **(rest or {})}
