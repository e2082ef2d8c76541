"""OpenAI's chat messages: roles, content parts, tool calls and tool answers.

`steps_from(messages)` reads them and `messages_to(steps)` writes them. Unknown data of a message is kept under
`extra[format_name]`, and is written back from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Extra, Media, Part, Role, Step, Text, Thinking, ToolCall, ToolResult, Unknown

from .data_uri import split_data_uri
from .json import decode_document, encode, unknown_keys
from .optional import present

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "agent",
    "tool": "tool",
    "function": "tool",
}
_NAMES = {"system": "system", "user": "user", "agent": "assistant", "tool": "tool"}
_CALL = {"id?": (str, None), "type?": str, "function": {"name": str, "arguments?": (str, dict, None)}}
MESSAGE = {
    "role": str,
    "content?": (str, list, None),
    "tool_calls?": ([_CALL], None),
    "tool_call_id?": (str, None),
    "name?": (str, None),
}
"""What a message must look like, for validation."""
# OpenAI's own API has no such key.
_REASONING = ("reasoning_content", "reasoning")
"""Keys in which compatible servers put a model's reasoning."""


def is_role(value: Any) -> bool:
    """Whether OpenAI has this role."""
    return isinstance(value, str) and value in ROLES


def steps_from(messages: Any, format_name: str) -> tuple[Step, ...]:
    """A conversation as steps, one per message."""
    if not isinstance(messages, list):
        raise ReadError("messages must be an array")
    return tuple(step_from(message, format_name) for message in messages)


def step_from(message: Any, format_name: str, *, exact: bool = False) -> Step:
    """One message as one step; a message with an unknown role becomes a note. `exact`: keep the spacing of
    arguments."""
    if not isinstance(message, dict):
        raise ReadError("a message must be an object")
    role = message.get("role")
    if not isinstance(role, str):
        raise ReadError("a message needs a role")
    # An unknown role (a UI notice, a checkpoint) is kept as a note: neither the user nor the agent said it.
    ours = ROLES.get(role, "system")
    # A key counts as known only if its value has the right type: `refusal: null` is kept unchanged.
    known = {"role", "content"}
    if ours == "tool":
        parts, taken = _answer(message, format_name), {"tool_call_id", "name"}
    else:
        parts, taken = _parts_of_message(message, format_name, exact)
    rest = unknown_keys(message, known | taken)
    # OpenAI allows a name on every message; only an assistant's names an agent.
    agent = rest.pop("name") if ours == "agent" and isinstance(rest.get("name"), str) else None
    if role != _NAMES[ours]:
        rest["role"] = role
    if "content" not in message:
        # Noted so that the message is written back without the key: APIs treat null and absent differently.
        rest["content"] = "absent"
    # A list of one text would otherwise be written back as a bare string.
    elif isinstance(message["content"], list) and len(message["content"]) <= 1:
        rest["content"] = "array"
    return Step(
        role=ours,
        agent=agent,
        parts=parts,
        kind="message" if role in ROLES else "note",
        extra={format_name: rest} if rest else {},
    )


def _answer(message: dict[str, Any], format_name: str) -> tuple[Part, ...]:
    content = message.get("content")
    match content:
        case [{"type": "text", "text": str(text), **others}] if not others:
            content = text
    return (ToolResult(call_id=_text(message, "tool_call_id"), name=_text(message, "name"), output=content),)


def _text(message: dict[str, Any], key: str) -> str | None:
    value = message.get(key)
    if value is not None and not isinstance(value, str):
        raise ReadError("must be text", place=key)
    return value


def _parts_of_message(message: dict[str, Any], format_name: str, exact: bool) -> tuple[tuple[Part, ...], set[str]]:
    """The parts of a message that is not a tool's, and the keys they come from."""
    parts: list[Part] = []
    taken: set[str] = set()
    for key in _REASONING:
        if isinstance(thought := message.get(key), str):
            taken.add(key)
            parts.append(Thinking(text=thought, extra={} if key == _REASONING[0] else {format_name: {"key": key}}))
    content = message.get("content")
    if isinstance(content, str):
        parts.append(Text(text=content))
    elif isinstance(content, list):
        parts += [part_from(part, format_name) for part in content]
    elif content is not None:
        parts.append(Unknown(kind=f"{format_name}:content", raw=content))
    if isinstance(refusal := message.get("refusal"), str):
        taken.add("refusal")
        parts.append(Text(text=refusal, extra={format_name: {"type": "refusal", "key": "refusal"}}))
    if isinstance(calls := message.get("tool_calls"), list) and calls:
        taken.add("tool_calls")
        parts += [call_from(call, format_name, exact=exact) for call in calls]
    if isinstance(call := message.get("function_call"), dict):
        taken.add("function_call")
        parts.append(call_from({"function": call}, format_name, legacy=True, exact=exact))
    return tuple(parts), taken


def part_from(part: Any, format_name: str) -> Part:
    """One content part."""

    def extra(*known: str, **more: Any) -> Extra:
        rest = {**more, **unknown_keys(part, {"type", *known})}
        return {format_name: rest} if rest else {}

    match part:
        case {"type": "text", "text": str(text)}:
            return Text(text=text, extra=extra("text"))
        case {"type": "refusal", "refusal": str(text)}:
            return Text(text=text, extra=extra("refusal", type="refusal"))
        case {"type": "image_url", "image_url": {"url": str(url), **others}}:
            kept = extra("image_url", **({"image_url": others} if others else {}))
            if (inline := split_data_uri(url)) is not None:
                return Media(mime=inline[0], data=inline[1], extra=kept)
            return Media(uri=url, extra=kept)
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind), **others}}:
            return Media(
                mime=f"audio/{kind}", data=data, extra=extra("input_audio", type="input_audio", input_audio=others)
            )
    return Unknown(kind=f"{format_name}:part", raw=part)


def call_from(call: Any, format_name: str, *, legacy: bool = False, exact: bool = False) -> ToolCall:
    """One tool call. Its arguments become an object if their text holds one; any other text is kept."""
    if not isinstance(call, dict):
        raise ReadError("a tool call must be an object")
    kind = call.get("type", "function")
    inner = call.get(kind) if kind in ("function", "custom") else None
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        raise ReadError("a tool call needs a function with a name", place="tool_calls")
    key = "arguments" if kind == "function" else "input"
    rest = unknown_keys(call, {"id", "type", kind})
    if unknown := unknown_keys(inner, {"name", key}):
        rest[kind] = unknown
    # `function_call` is OpenAI's form from before calls had ids (until November 2023).
    if legacy:
        rest["key"] = "function_call"
    elif kind != "function" or "type" not in call:
        rest["type"] = call.get("type")
    written = inner.get(key)
    arguments = arguments_of(written) if kind == "function" else written
    # OpenAI requires JSON text, but some servers and datasets write the object itself.
    if isinstance(written, dict):
        rest[key] = "object"
    elif exact and isinstance(arguments, dict) and encode(arguments).decode("utf-8", "surrogatepass") != written:
        rest[key] = written
    return ToolCall(
        id=_text(call, "id"),
        name=inner["name"],
        arguments=arguments,
        extra={format_name: rest} if rest else {},
    )


def arguments_of(written: Any) -> Any:
    """Arguments as an object if they are JSON text of one, otherwise unchanged."""
    if not isinstance(written, str):
        return written
    try:
        value = decode_document(written.encode())
    except (ReadError, UnicodeEncodeError):
        return written
    return value if isinstance(value, dict) else written


def messages_to(steps: Iterable[Step], format_name: str) -> list[dict[str, Any]]:
    """Steps as messages; each tool result becomes a separate message, in its place."""
    return [message for step in steps for message in _messages(step, format_name)]


def _messages(step: Step, format_name: str) -> Iterator[dict[str, Any]]:
    rest = dict(step.extra.get(format_name, {}))
    role, form = rest.pop("role", None), rest.pop("content", None)
    spoken: list[Part] = []
    sent = False
    for part in step.parts:
        if not isinstance(part, ToolResult):
            spoken.append(part)
            continue
        # What was said before the result comes first: a tool's message must follow the message with its call.
        if spoken:
            yield {"role": role or _NAMES[step.role], **_own_message(spoken, step, form, format_name), **rest}
        mine = rest if step.role == "tool" else {}
        yield {
            "role": (role if step.role == "tool" else None) or "tool",
            **_tool_message(part, form if step.role == "tool" else None),
            **mine,
        }
        spoken, sent, rest = [], True, {}
    if spoken or not sent:
        yield {"role": role or _NAMES[step.role], **_own_message(spoken, step, form, format_name), **rest}


def _is_content(output: Any) -> bool:
    """Whether a list can be content, in which every item has a type. Other lists are data and are written as text."""
    return isinstance(output, list) and all(isinstance(each, dict) and "type" in each for each in output)


def _tool_message(result: ToolResult, form: Any) -> dict[str, Any]:
    output = result.output if result.output is not None else result.error
    text = output if output is None or isinstance(output, str) or _is_content(output) else encode(output).decode()
    content = {} if form == "absent" else {"content": text}
    if form == "array" and isinstance(text, str):
        content = {"content": [{"type": "text", "text": text}]}
    names = {"tool_call_id": result.call_id, "name": result.name}
    return {**present(names), **content}


def _own_message(parts: list[Part], step: Step, form: Any, format_name: str) -> dict[str, Any]:
    content: list[Any] = []
    calls: list[Any] = []
    beside: dict[str, Any] = {}
    for part in parts:
        mine = dict(part.extra.get(format_name, {})) if not isinstance(part, Unknown) else {}
        if isinstance(part, ToolCall):
            if mine.pop("key", None) == "function_call":
                beside["function_call"] = call_to(part, format_name)["function"]
            else:
                calls.append(call_to(part, format_name))
        elif isinstance(part, Thinking):
            if part.text is not None:
                key = mine.get("key", _REASONING[0])
                beside[key] = f"{beside[key]}\n\n{part.text}" if key in beside else part.text
        elif isinstance(part, Text) and mine.get("key") == "refusal":
            beside["refusal"] = part.text
        elif isinstance(part, Unknown) and part.kind == f"{format_name}:content":
            beside["content"] = part.raw
        elif (written := part_to(part, format_name)) is not None:
            content.append(written)
    found: dict[str, Any] = {"content": _content(content, form)} if form != "absent" or content else {}
    name = {"name": step.agent} if step.agent is not None and step.role == "agent" else {}
    return {**name, **found, **beside, **({"tool_calls": calls} if calls else {})}


def _content(content: list[Any], form: Any) -> Any:
    if form == "array":
        return content
    match content:
        case []:
            return None
        case [{"type": "text", "text": text, **others}] if not others:
            return text
    return content


def part_to(part: Part, format_name: str) -> dict[str, Any] | None:
    """A part as a content part; None if there is no such content part."""
    if isinstance(part, Unknown):
        return part.raw if part.kind == f"{format_name}:part" else None
    mine = dict(part.extra.get(format_name, {}))
    kind = mine.pop("type", None)
    if isinstance(part, Text):
        return (
            {"type": "refusal", "refusal": part.text, **mine} if kind else {"type": "text", "text": part.text, **mine}
        )
    if isinstance(part, Media):
        if kind == "input_audio" or (part.data is not None and (part.mime or "").startswith("audio/")):
            sound = {"data": part.data, "format": (part.mime or "").removeprefix("audio/")}
            return {"type": "input_audio", "input_audio": {**sound, **mine.pop("input_audio", {})}, **mine}
        url = part.uri if part.data is None else f"data:{part.mime};base64,{part.data}"
        return {"type": "image_url", "image_url": {"url": url, **mine.pop("image_url", {})}, **mine} if url else None
    return None


def call_to(call: ToolCall, format_name: str) -> dict[str, Any]:
    """A tool call, with its arguments as JSON text or in the form in which they were read."""
    mine = dict(call.extra.get(format_name, {}))
    mine.pop("key", None)
    kind = mine.pop("type", "function")
    custom = kind == "custom"
    key, inner_key = ("input", "custom") if custom else ("arguments", "function")
    written = call.arguments
    form = mine.pop(key, None)
    if form != "object" and not custom and not isinstance(written, str):
        # The original spacing is used only if the arguments are still the same.
        same = form is not None and arguments_of(form) == written
        written = form if same else encode({} if written is None else written).decode("utf-8", "surrogatepass")
    inner = {"name": call.name, key: written, **mine.pop(inner_key, {})}
    identity = {"id": call.id} if call.id is not None else {}
    return {**identity, **({"type": kind} if kind is not None else {}), inner_key: inner, **mine}
