"""Content parts of messages, both ways."""

from __future__ import annotations

from typing import Any

from pantrace.model import Citation, Media, Part, Text, Thinking, ToolCall, ToolResult, Unknown
from pantrace.wire.json import as_kind, to_plain, unknown_keys
from pantrace.wire.optional import object_of, text_of
from pantrace.wire.pantrace_key import CARRIER, may_carry

from .attachments import key_of, reference, split_data_uri

_MEDIA = ("image", "audio", "video", "document")
_TEXT = frozenset({"type", "text", "citations"})
_REASONING = frozenset({"type", "reasoning", "summary", "signature", "redacted"})
_CITATION = frozenset({"url", "title", "cited_text"})
_TOOL_USE = frozenset({"type", "id", "name", "arguments", "result", "error"})
_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3", "video/mp4": "mp4", "video/mpeg": "mpeg", "video/quicktime": "mov"}


def extra_of(raw: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """`extra` for keys that the model has no field for, without empty ones."""
    if raw.keys() <= known:
        return {}
    found = {key: value for key, value in raw.items() if key not in known and value is not None}
    return {"inspect": found} if found else {}


def own_extra(extra: dict[str, Any]) -> dict[str, Any]:
    """What `extra` keeps for this format."""
    found = extra.get("inspect")
    return object_of(found)


def put_back(message: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """The message with the keys that `extra` kept; None removes a key. Changes the message in place."""
    for key, value in rest.items():
        if value is None:
            message.pop(key, None)
        elif key != "beside":
            message[key] = value
    return message


def to_parts(raw: Any, attachments: dict[str, Any]) -> list[Part]:
    """The parts that one content part stands for."""
    kind = raw.get("type") if isinstance(raw, dict) else None
    if kind == "text" and isinstance(raw.get("text"), str):
        text = text_part(raw["text"], attachments, extra_of(raw, _TEXT))
        cited = raw.get("citations")
        return [text, *map(_citation, cited)] if cited else [text]
    if kind == "reasoning" and _are_texts(raw, "reasoning", "summary", "signature"):
        return [_thinking(raw)]
    if kind in _MEDIA and isinstance(raw.get(kind), str):
        return [_media(raw, kind, attachments)]
    if kind == "tool_use" and _are_texts(raw, "id"):
        return _tool_use(raw)
    # Our writer wraps parts that Inspect has no type for.
    if kind == "data" and isinstance(raw.get("data"), dict) and "pantrace" in raw["data"]:
        return [as_kind(raw["data"]["pantrace"], Part)]
    return [Unknown(kind=f"inspect:{kind}", raw=raw)]


def _are_texts(raw: dict[str, Any], *keys: str) -> bool:
    """Whether these keys hold text or nothing; other values are kept as they are."""
    for key in keys:
        value = raw.get(key)
        if value is not None and type(value) is not str:
            return False
    return True


def text_part(text: str, attachments: dict[str, Any], extra: dict[str, Any]) -> Text:
    """A text, or the text that it refers to."""
    key = reference(text) if attachments else None
    if key is not None and isinstance(attachments.get(key), str):
        return Text(text=attachments[key], extra={"inspect": {**own_extra(extra), "attachment": key}})
    return Text(text=text, extra=extra)


def _citation(raw: Any) -> Part:
    if not isinstance(raw, dict) or not _are_texts(raw, "url", "title", "cited_text"):
        return Unknown(kind="inspect:citation", raw=raw)
    extra = extra_of(raw, _CITATION)
    # Our writer derives the type from the URL; only another type needs a note.
    natural = "url" if raw.get("url") is not None else "content"
    if raw.get("type") == natural:
        extra = extra_of(raw, _CITATION | {"type"})
    return Citation(uri=raw.get("url"), title=raw.get("title"), text=raw.get("cited_text"), extra=extra)


def _thinking(raw: dict[str, Any]) -> Thinking:
    text = raw.get("reasoning")
    if raw.get("redacted"):
        # The text is encrypted; only the provider can read it.
        extra = extra_of(raw, _REASONING - {"reasoning"})
        return Thinking(summary=raw.get("summary"), signature=raw.get("signature"), redacted=True, extra=extra)
    return Thinking(
        text=text, summary=raw.get("summary"), signature=raw.get("signature"), extra=extra_of(raw, _REASONING)
    )


def _kind_of(mime: str | None) -> str:
    family = (mime or "").partition("/")[0]
    return family if family in ("image", "audio", "video") else "document"


def _media(raw: dict[str, Any], kind: str, attachments: dict[str, Any]) -> Media:
    value: str = raw[kind]
    extra = unknown_keys(raw, {"type", kind, "filename", "mime_type"})
    extra = {key: item for key, item in extra.items() if item is not None}
    key = reference(value)
    if key is not None and isinstance(attachments.get(key), str):
        value = attachments[key]
        extra["attachment"] = key
    mime = raw.get("mime_type") if isinstance(raw.get("mime_type"), str) else None
    name = raw.get("filename") if isinstance(raw.get("filename"), str) and raw["filename"] else None
    parts = split_data_uri(value)
    if parts is not None:
        # The URI says what the bytes are; a different claim beside it is kept for the way back.
        if mime is not None and mime != parts[0]:
            extra["mime_type"] = mime
        mime = parts[0]
    # Only a kind that the MIME type does not give needs a note.
    if _kind_of(mime) != kind:
        extra["type"] = kind
    if _FORMATS.get(mime or "") == extra.get("format"):
        extra.pop("format", None)
    return Media(
        mime=mime,
        uri=None if parts else value,
        data=parts[1] if parts else None,
        name=name,
        extra={"inspect": extra} if extra else {},
    )


def _tool_use(raw: dict[str, Any]) -> list[Part]:
    """A tool that the provider ran itself: call and result from one content part."""
    rest = {key: value for key, value in raw.items() if key not in _TOOL_USE}
    call = ToolCall(
        id=raw.get("id"),
        name=str(raw.get("name")),
        arguments=raw.get("arguments"),
        extra={"inspect": {"tool_use": rest}},
    )
    error = raw.get("error")
    result = ToolResult(
        call_id=call.id,
        name=call.name,
        output=raw.get("result"),
        error=text_of(error),
        failure="error" if error else None,
        extra={"inspect": {"tool_use": True}},
    )
    return [call, result]


def from_parts(parts: list[Part], attachments: dict[str, str], pooled: bool) -> list[dict[str, Any]]:
    """Content parts for a message's parts; `pooled`: inline pictures go to the attachments."""
    content: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Text):
            rest = dict(own_extra(part.extra))
            key = rest.pop("attachment", None)
            if key is not None:
                attachments[key] = part.text
            content.append({"type": "text", "text": part.text if key is None else f"attachment://{key}", **rest})
        elif isinstance(part, Thinking):
            content.append(_from_thinking(part))
        elif isinstance(part, Media):
            content.append(from_media(part, attachments, pooled))
        # Inspect keeps citations inside the text they belong to.
        elif isinstance(part, Citation) and content and content[-1]["type"] == "text":
            content[-1].setdefault("citations", []).append(_from_citation(part))
        elif isinstance(part, Unknown) and part.kind == "inspect:citation" and content:
            content[-1].setdefault("citations", []).append(part.raw)
        elif isinstance(part, Unknown) and part.kind.startswith("inspect:") and isinstance(part.raw, dict):
            content.append(part.raw)
        elif isinstance(part, ToolCall):
            content.append(_from_tool_use(part))
        elif isinstance(part, ToolResult):
            # Call and result were read from one content part, so they go back into one.
            content[-1].update(result="" if part.output is None else part.output)
            if part.error is not None:
                content[-1]["error"] = part.error
        elif may_carry():
            content.append({"type": "data", "data": {CARRIER: to_plain(part)}})
    return content


def _from_thinking(part: Thinking) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "reasoning", "reasoning": part.text or ""}
    if part.summary is not None:
        found["summary"] = part.summary
    if part.signature is not None:
        found["signature"] = part.signature
    if part.redacted:
        found["redacted"] = True
    return found | own_extra(part.extra)


def _from_citation(part: Citation) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "content"} if part.uri is None else {"type": "url", "url": part.uri}
    if part.title is not None:
        found["title"] = part.title
    if part.text is not None:
        found["cited_text"] = part.text
    return found | own_extra(part.extra)


def from_media(part: Media, attachments: dict[str, str], pooled: bool) -> dict[str, Any]:
    """A content part for a picture, a sound, a film or a document."""
    rest = dict(own_extra(part.extra))
    kind = rest.pop("type", None) or _kind_of(part.mime)
    key = rest.pop("attachment", None)
    value = part.uri or ""
    if part.data is not None:
        # A data URI needs a type.
        value = f"data:{part.mime or 'application/octet-stream'};base64,{part.data}"
        key = key or (key_of(value) if pooled else None)
    if key is not None:
        attachments[key] = value
        value = f"attachment://{key}"
    found: dict[str, Any] = {"type": kind, kind: value}
    if kind == "document":
        found["filename"] = part.name or ""
        if part.mime is not None:
            found["mime_type"] = part.mime
    elif kind in ("audio", "video"):
        found["format"] = _FORMATS.get(part.mime or "", "wav" if kind == "audio" else "mp4")
    return found | rest


def _from_tool_use(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        **(own_extra(call.extra).get("tool_use") or {}),
    }
