"""Input and output messages of models, in the form of every vendor whose content is found in spans.

They are recognised by their shape: parts of the GenAI conventions, messages of OpenAI (chat and Responses), blocks of
Anthropic and Bedrock, parts of Gemini, messages of LangChain. Anything else is kept as it is.
"""

from __future__ import annotations

from typing import Any

from pantrace.model import Media, Part, Text, Thinking, Tool, ToolCall, ToolResult, Unknown
from pantrace.wire.optional import object_of, text_of

from .attribute_values import unpacked
from .span import NAME, Message

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}


def messages_from(value: Any) -> list[Message]:
    """A list of messages, or one; a bare text is the user's."""
    value = unpacked(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        # LangChain's callbacks get batches of conversations, even for a single one.
        value = value[0]
    listed = value if isinstance(value, list) else [value]
    return [message for each in listed if (message := message_from(each)) is not None]


def message_from(raw: Any, role: str = "user") -> Message | None:
    """One message; None if it is empty."""
    if isinstance(raw, str):
        return Message(role_of(role), (Text(text=raw),)) if raw else None
    if not isinstance(raw, dict):
        return None
    # LangChain's `dumpd` and `messages_to_dict`.
    if isinstance(inner := raw.get("kwargs", raw.get("data")), dict) and "content" in inner:
        raw = {"role": inner.get("type") or raw.get("type"), **inner}
    elif isinstance(raw.get("message"), dict):
        raw = raw["message"]
    kind = raw.get("type")
    if kind in ("function_call", "custom_tool_call", "reasoning", "function_call_output") and "role" not in raw:
        part = _response_item(raw)
        return Message("tool" if isinstance(part, ToolResult) else "assistant", (part,)) if part is not None else None
    named = raw.get("role") or (kind if kind in _ROLES else None)
    whose = role_of(named if isinstance(named, str) else role)
    parts = _parts(raw, whose)
    if parts and all(isinstance(part, ToolResult) for part in parts):
        # Anthropic and Bedrock put tool results into messages of the user.
        whose = "tool"
    return Message(whose, tuple(parts)) if parts else None


def role_of(name: str) -> Any:
    return _ROLES.get(name.lower(), "user")


def _parts(raw: dict[str, Any], role: str) -> list[Part]:
    """The parts of a message, wherever it keeps them."""
    content = raw.get("parts", raw.get("contents", raw.get("content")))
    call_id = raw.get("tool_call_id")
    if role == "tool" and "parts" not in raw:
        return _answer(raw, content, call_id if isinstance(call_id, str) else raw.get("id"))
    parts: list[Part] = []
    # DeepSeek and others put thoughts beside the content.
    for key in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(thought := raw.get(key), str) and thought:
            parts.append(Thinking(text=thought))
    blocks = content if isinstance(content, list) else [content]
    parts += [part for each in blocks if (part := part_from(each)) is not None]
    # LangChain keeps the calls of some models as the model wrote them.
    calls = raw.get("tool_calls") or object_of(raw.get("additional_kwargs")).get("tool_calls")
    known = {part.id for part in parts if isinstance(part, ToolCall)}
    for each in calls if isinstance(calls, list) else ():
        call = call_from(each)
        # Some libraries write a call both as a block and in `tool_calls`.
        if call is not None and (call.id is None or call.id not in known):
            parts.append(call)
    if isinstance(single := raw.get("function_call"), dict) and (call := call_from(single)) is not None:
        parts.append(call)
    return parts


def _answer(raw: dict[str, Any], content: Any, call_id: Any) -> list[Part]:
    blocks = content if isinstance(content, list) else None
    if blocks is not None and blocks and all(_is_result(each) for each in blocks):
        return [part for each in blocks if (part := part_from(each)) is not None]
    name = raw.get("name")
    failed = raw.get("status") == "error"
    output = plain_output(content)
    return [
        ToolResult(
            call_id=text_of(call_id),
            name=text_of(name),
            output=output,
            failure="error" if failed else None,
            error=output if failed and isinstance(output, str) else None,
        )
    ]


def _is_result(raw: Any) -> bool:
    return isinstance(raw, dict) and ("toolResult" in raw or raw.get("type") in ("tool_call_response", "tool_result"))


def part_from(raw: Any) -> Part | None:
    """One block of content; None if it is empty."""
    if raw is None or raw == "":
        return None
    if isinstance(raw, str):
        return Text(text=raw)
    if not isinstance(raw, dict):
        return Unknown(kind=f"{NAME}:part", raw=raw)
    if isinstance(inner := raw.get("message_content"), dict):
        return part_from(inner)
    match raw:
        case {"type": "text" | "input_text" | "output_text" | "refusal" | "summary_text"}:
            text = raw.get("text", raw.get("content", raw.get("refusal")))
            return Text(text=text) if isinstance(text, str) and text else None
        case {"type": "reasoning" | "thinking" | "reasoningContent", **rest}:
            return _thinking(rest)
        case {"type": "tool_call" | "tool_use" | "server_tool_call"}:
            return call_from(raw)
        case {"type": "tool_call_response" | "tool_result" | "server_tool_call_response"}:
            return _result(raw)
        case {"toolUse": dict(use)}:
            return call_from({"id": use.get("toolUseId"), "name": use.get("name"), "arguments": use.get("input")})
        case {"toolResult": dict(answer)}:
            return _result(
                {
                    "id": answer.get("toolUseId"),
                    "response": answer.get("content"),
                    "is_error": answer.get("status") == "error",
                }
            )
        case {"reasoningContent": inner}:
            return _thinking({"content": inner})
        case {"functionCall": dict(call)} | {"function_call": dict(call)}:
            return call_from({"id": call.get("id"), "name": call.get("name"), "arguments": call.get("args")})
        case {"functionResponse": dict(answer)} | {"function_response": dict(answer)}:
            return _result({"id": answer.get("id"), "name": answer.get("name"), "response": answer.get("response")})
        # Blocks of Bedrock and Gemini have no type. Keys are checked, as any tool's data may have a `text`.
        case {"text": str(text)} if raw.keys() <= {"text", "type", "thought", "thought_signature", "citations"}:
            if raw.get("thought") is True:
                return Thinking(text=text)
            return Text(text=text) if text else None
        case {"type": "blob" | "file" | "uri" | "image" | "image_url" | "audio" | "video" | "document"}:
            return _media(raw)
        case {"type": "function_call" | "custom_tool_call" | "function_call_output"}:
            return _response_item(raw)
    return Unknown(kind=f"{NAME}:part", raw=raw)


def _thinking(raw: dict[str, Any]) -> Thinking:
    inner = raw.get("content", raw.get("thinking", raw.get("text", raw.get("summary"))))
    if isinstance(inner, dict):
        inner = inner.get("reasoningText", inner)
    if isinstance(inner, list):
        inner = "\n\n".join(
            each["text"] for each in inner if isinstance(each, dict) and isinstance(each.get("text"), str)
        )
    if isinstance(inner, dict):
        signature = inner.get("signature")
        inner = inner.get("text")
        return Thinking(text=text_of(inner), signature=text_of(signature))
    signature = raw.get("signature", raw.get("encrypted_content"))
    return Thinking(
        text=inner if isinstance(inner, str) and inner else None,
        signature=text_of(signature),
    )


def call_from(raw: Any) -> ToolCall | None:
    """A tool call in the shape of OpenAI, LangChain, OpenInference or the conventions."""
    if not isinstance(raw, dict):
        return None
    raw = raw.get("tool_call", raw) if isinstance(raw.get("tool_call"), dict) else raw
    function = raw.get("function") if isinstance(raw.get("function"), dict) else raw
    name = function.get("name")
    if not isinstance(name, str):
        return None
    arguments = next((function[key] for key in ("arguments", "args", "input") if function.get(key) is not None), None)
    call_id = raw.get("id", raw.get("call_id"))
    return ToolCall(id=text_of(call_id), name=name, arguments=unpacked(arguments))


def _result(raw: dict[str, Any]) -> ToolResult:
    call_id = next((raw[key] for key in ("id", "tool_use_id", "call_id") if isinstance(raw.get(key), str)), None)
    # The conventions say `response`, the examples in their documentation `result`.
    given = next((raw[key] for key in ("response", "result", "content", "output") if raw.get(key) is not None), None)
    output = plain_output(given)
    failed = raw.get("is_error") is True or raw.get("outcome") in ("failed", "denied")
    name = raw.get("name")
    return ToolResult(
        call_id=call_id,
        name=text_of(name),
        output=output,
        failure="error" if failed else None,
        error=output if failed and isinstance(output, str) else None,
    )


def plain_output(value: Any) -> Any:
    """A tool's answer; a list of one text is reduced to that text."""
    match value:
        case [{"text": str(text), **others}] if others.keys() <= {"type"}:
            return text
        case [{"type": "text", "content": str(text)}]:
            return text
    return value


def _response_item(raw: dict[str, Any]) -> Part | None:
    """An item of OpenAI's Responses."""
    if raw.get("type") == "reasoning":
        return _thinking(raw)
    if raw.get("type") == "function_call_output":
        return _result({"id": raw.get("call_id"), "response": raw.get("output")})
    return call_from({**raw, "id": raw.get("call_id", raw.get("id"))})


def _media(raw: dict[str, Any]) -> Part:
    image = raw.get("image_url", raw.get("image"))
    source = given if isinstance(given := raw.get("source"), dict) else {}
    where = image.get("url", image) if isinstance(image, dict) else image
    if isinstance(where, dict):
        where = where.get("url")
    where = raw.get("uri") or raw.get("file_id") or source.get("url") or where
    data = raw.get("content", raw.get("data", source.get("data")))
    mime = raw.get("mime_type", raw.get("media_type", source.get("media_type")))
    if isinstance(where, str) and where.startswith("data:") and ";base64," in where:
        head, _, data = where.partition(";base64,")
        where, mime = None, head.removeprefix("data:")
    if not isinstance(where, str) and not isinstance(data, str):
        return Unknown(kind=f"{NAME}:part", raw=raw)
    return Media(
        mime=text_of(mime),
        uri=text_of(where),
        data=data if isinstance(data, str) and not isinstance(where, str) else None,
    )


def tools_from(value: Any) -> tuple[Tool, ...] | None:
    """Declared tools, in the shape of OpenAI, Anthropic, Gemini or the conventions; None if there are none."""
    value = unpacked(value)
    if isinstance(value, dict):
        value = list(value.values())
    found = [tool for each in value if (tool := _tool(unpacked(each))) is not None] if isinstance(value, list) else []
    return tuple(found) or None


def _tool(raw: Any) -> Tool | None:
    if isinstance(raw, dict) and isinstance(inner := raw.get("function", raw.get("toolSpec")), dict):
        raw = inner
    if not isinstance(raw, dict) or not isinstance(name := raw.get("name"), str):
        return None
    keys = (
        "parameters",
        "input_schema",
        "inputSchema",
        "parameters_json_schema",
        "json_schema",
        "parametersJsonSchema",
    )
    schema = next((raw[key] for key in keys if raw.get(key) is not None), None)
    description = raw.get("description")
    return Tool(name=name, description=text_of(description), parameters=unpacked(schema))
