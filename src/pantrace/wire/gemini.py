"""Gemini's Content, Part and usage metadata, as ADK and Vertex AI write them.

Keys come in snake_case and in camelCase; the data inside arguments and responses keeps its own keys.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pantrace.model import (
    Media,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    answer_tokens,
    prompt_tokens,
)
from pantrace.wire.optional import present

from .json import encode, unknown_keys

CAMEL = {
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "inlineData": "inline_data",
    "fileData": "file_data",
    "executableCode": "executable_code",
    "codeExecutionResult": "code_execution_result",
    "thoughtSignature": "thought_signature",
    "videoMetadata": "video_metadata",
}


@lru_cache(4096)
def snake(name: str) -> str:
    """promptTokenCount -> prompt_token_count; a snake_case name stays as it is."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


_CALL, _ANSWER = {"id", "name", "args"}, {"id", "name", "response"}


def _plain(part: dict[str, Any]) -> Part | None:
    """A part that is only a text, a thought, a call or an answer: a fast path that fits nearly all parts."""
    # Two keys are only a fast case as text with `thought`.
    if len(part) == 2:
        text = part.get("text")
        return Thinking(text=text) if type(text) is str and part.get("thought") is True else None
    ((key, value),) = part.items()
    if key == "text" and type(value) is str:
        return Text(text=value)
    if key == "function_call" and type(value) is dict and value.keys() <= _CALL:
        return ToolCall(id=value.get("id"), name=value.get("name") or "", arguments=value.get("args"))
    if key == "function_response" and type(value) is dict and value.keys() <= _ANSWER:
        response = value.get("response")
        # Tools report a failure as `error` inside their response; that is read by the slow code below.
        if type(response) is not dict or not response.get("error"):
            return ToolResult(call_id=value.get("id"), name=value.get("name"), output=response)
    return None


def part_from(raw: Any, format_name: str) -> Part:
    """One Gemini part as a part of the model; unknown keys go to `extra[format_name]`."""
    if not isinstance(raw, dict):
        return Unknown(kind=f"{format_name}:part", raw=raw)
    # google-adk writes all fields of a part, nearly all of them null.
    part = {CAMEL.get(str(key), str(key)): value for key, value in raw.items() if value is not None}
    if 1 <= len(part) <= 2 and (plain := _plain(part)) is not None:
        return plain

    def extra(*known: str) -> dict[str, Any]:
        rest = unknown_keys(part, known)
        return {format_name: rest} if rest else {}

    if isinstance(call := part.get("function_call"), dict):
        inner = {key: value for key, value in call.items() if value is not None and key not in _CALL}
        kept = extra("function_call")
        if inner:
            kept = {format_name: {**kept.get(format_name, {}), "function_call": inner}}
        return ToolCall(id=call.get("id"), name=call.get("name") or "", arguments=call.get("args"), extra=kept)
    if isinstance(answer := part.get("function_response"), dict):
        response = answer.get("response")
        error = response.get("error") if isinstance(response, dict) else None
        inner = {key: value for key, value in answer.items() if value is not None and key not in _ANSWER}
        kept = extra("function_response")
        if inner:
            kept = {format_name: {**kept.get(format_name, {}), "function_response": inner}}
        return ToolResult(
            call_id=answer.get("id"),
            name=answer.get("name"),
            output=response,
            error=error if isinstance(error, str) else encode(error).decode() if error else None,
            failure="error" if error else None,
            extra=kept,
        )
    if isinstance(blob := part.get("inline_data") or part.get("file_data"), dict):
        known = {"mime_type", "mimeType", "data", "file_uri", "fileUri", "display_name", "displayName"}
        rest = unknown_keys(blob, known)
        kept = extra("inline_data", "file_data")
        if rest:
            kept = {format_name: {**kept.get(format_name, {}), "blob": rest}}
        return Media(
            mime=blob.get("mime_type") or blob.get("mimeType"),
            data=blob.get("data"),
            uri=blob.get("file_uri") or blob.get("fileUri"),
            name=blob.get("display_name") or blob.get("displayName"),
            extra=kept,
        )
    if part.get("thought") is True and isinstance(part.get("text"), str):
        return Thinking(
            text=part["text"],
            signature=part.get("thought_signature"),
            extra=extra("thought", "text", "thought_signature"),
        )
    if isinstance(part.get("text"), str):
        return Text(text=part["text"], extra=extra("text"))
    kind = next((key for key in ("executable_code", "code_execution_result") if key in part), "part")
    return Unknown(kind=f"{format_name}:{kind}", raw=part)


def parts_from(content: Any, format_name: str) -> tuple[Part, ...]:
    """The parts of a Content object; none for anything else."""
    parts = content.get("parts") if isinstance(content, dict) else None
    return tuple(part_from(part, format_name) for part in parts) if isinstance(parts, list) else ()


def part_to(part: Part, format_name: str) -> dict[str, Any] | None:
    """A part as a Gemini part in snake_case; None if Gemini has no such part."""
    if isinstance(part, Unknown):
        mine = part.kind.startswith(f"{format_name}:") and isinstance(part.raw, dict)
        return part.raw if mine else None
    extra = dict(part.extra.get(format_name, {}))
    if isinstance(part, Text):
        return {"text": part.text, **extra}
    if isinstance(part, Thinking):
        # Without text there is nothing to write here; `wire/adk` writes the signature alone.
        if part.text is None:
            return None
        signature = {"thought_signature": part.signature} if part.signature is not None else {}
        return {"text": part.text, "thought": True, **signature, **extra}
    if isinstance(part, ToolCall):
        inner = extra.pop("function_call", {})
        call = {"id": part.id, "name": part.name, "args": part.arguments, **inner}
        return {"function_call": present(call), **extra}
    if isinstance(part, ToolResult):
        inner = extra.pop("function_response", {})
        answer = {"id": part.call_id, "name": part.name, "response": response_of(part), **inner}
        return {"function_response": present(answer), **extra}
    if isinstance(part, Media):
        blob = extra.pop("blob", {})
        if part.data is not None:
            data = {"mime_type": part.mime, "data": part.data, "display_name": part.name, **blob}
            return {"inline_data": present(data), **extra}
        if part.uri is not None:
            data = {"mime_type": part.mime, "file_uri": part.uri, "display_name": part.name, **blob}
            return {"file_data": present(data), **extra}
    return None


_CAMEL_KEYS = {value: key for key, value in CAMEL.items()}
_CAMEL_BLOB = {"mime_type": "mimeType", "file_uri": "fileUri", "display_name": "displayName"}


def camel_part_to(part: Part, format_name: str) -> Any:
    """A part as a Gemini part with the keys of the JavaScript tools; None if Gemini has no such part."""
    if isinstance(part, Unknown) and not isinstance(part.raw, dict):
        return part.raw if part.kind.startswith(f"{format_name}:") else None
    raw = part_to(part, format_name)
    return _in_camel_case(raw) if raw is not None else None


def _in_camel_case(part: dict[str, Any]) -> dict[str, Any]:
    """A Gemini part with its keys as the JavaScript tools write them."""
    renamed = {_CAMEL_KEYS.get(key, key): value for key, value in part.items()}
    for key in ("inlineData", "fileData"):
        if isinstance(blob := renamed.get(key), dict):
            renamed[key] = {_CAMEL_BLOB.get(name, name): value for name, value in blob.items()}
    return renamed


def response_of(result: ToolResult) -> dict[str, Any]:
    """A tool's answer as an object, which `function_response.response` must be."""
    if isinstance(result.output, dict):
        if result.error is not None and "error" not in result.output:
            return {**result.output, "error": result.error}
        return result.output
    # Gemini's API accepts only an object here; Google documents `output` and `error` as its keys.
    output = {} if result.output is None else {"output": result.output}
    return {**output, "error": result.error} if result.error is not None else output


COUNTS = {
    "prompt_token_count",
    "candidates_token_count",
    "thoughts_token_count",
    "cached_content_token_count",
    "tool_use_prompt_token_count",
    "total_token_count",
}


def usage_from(raw: Any, format_name: str) -> Usage | None:
    """Usage metadata in pantrace's convention: Gemini's prompt count includes the cache, but neither tool prompts nor
    thoughts."""
    if not isinstance(raw, dict):
        return None
    counts = {snake(key): value for key, value in raw.items() if value is not None}
    prompt, tools = counts.get("prompt_token_count"), counts.get("tool_use_prompt_token_count")
    answer, thoughts = counts.get("candidates_token_count"), counts.get("thoughts_token_count")
    rest = unknown_keys(counts, COUNTS)
    return Usage(
        input=_sum(prompt, tools),
        output=_sum(answer, thoughts),
        cache_read=counts.get("cached_content_token_count"),
        reasoning=thoughts,
        tool_prompt=tools,
        total=counts.get("total_token_count"),
        extra={format_name: rest} if rest else {},
    )


def usage_to(usage: Usage, format_name: str) -> dict[str, Any]:
    """Usage as Gemini's usage metadata, in snake_case; what was not reported is left out."""
    extra = dict(usage.extra.get(format_name, {}))
    return present(
        {
            "prompt_token_count": prompt_tokens(usage),
            "candidates_token_count": answer_tokens(usage),
            "thoughts_token_count": usage.reasoning,
            "cached_content_token_count": usage.cache_read,
            "tool_use_prompt_token_count": usage.tool_prompt,
            "total_token_count": usage.total,
            **extra,
        }
    )


def _sum(*counts: int | None) -> int | None:
    reported = [count for count in counts if count is not None]
    return sum(reported) if reported else None
