"""OpenAI's token usage: of responses, of chats, and as Codex writes it. As in the model, input includes cached
tokens and output includes reasoning."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import msgspec

from pantrace.model import Usage

from .extra_keys import as_extra, rest_in
from .field_map import INTEGER, FieldMap

Shape = Literal["responses", "chat", "flat"]
_COUNTS = {
    "responses": {"input_tokens": "input", "output_tokens": "output", "total_tokens": "total"},
    "chat": {"prompt_tokens": "input", "completion_tokens": "output", "total_tokens": "total"},
    "flat": {
        "input_tokens": "input",
        "cached_input_tokens": "cache_read",
        "cache_write_input_tokens": "cache_write",
        "output_tokens": "output",
        "reasoning_output_tokens": "reasoning",
        "total_tokens": "total",
    },
}
_CACHE = {"cached_tokens": "cache_read", "cache_write_tokens": "cache_write"}
_DETAILS: dict[str, dict[str, dict[str, str]]] = {
    "responses": {"input_tokens_details": _CACHE, "output_tokens_details": {"reasoning_tokens": "reasoning"}},
    "chat": {"prompt_tokens_details": _CACHE, "completion_tokens_details": {"reasoning_tokens": "reasoning"}},
    "flat": {},
}


@cache
def _map(owner: str, shape: Shape) -> FieldMap[Usage]:
    return FieldMap(owner, Usage, {key: (name, INTEGER) for key, name in _COUNTS[shape].items()})


def usage_from(raw: Any, owner: str, shape: Shape) -> Usage | None:
    """The usage of a response; None if nothing is reported."""
    if not isinstance(raw, dict):
        return None
    rest: dict[str, Any] = {}
    given: dict[str, Any] = {}
    for key, names in _DETAILS[shape].items():
        inner = raw.get(key)
        if isinstance(inner, dict):
            # `type` and not isinstance: `true` is no count.
            given |= {name: inner[each] for each, name in names.items() if type(inner.get(each)) is int}
            others = {k: v for k, v in inner.items() if v is not None and not (k in names and type(v) is int)}
            rest |= {key: others} if others else {}
    return _map(owner, shape).load(raw, _DETAILS[shape], extra=as_extra(owner, rest), **given)


def usage_to(usage: Usage, owner: str, shape: Shape) -> dict[str, Any]:
    """Usage in this shape."""
    details = _DETAILS[shape]
    row = _map(owner, shape).dump(usage, *details)
    for key, names in details.items():
        known = {each: value for each, name in names.items() if (value := getattr(usage, name)) is not None}
        if told := {**known, **rest_in(usage.extra, owner).get(key, {})}:
            row[key] = told
    return row


def bare(usage: Usage) -> Usage:
    """The counts without `extra`."""
    return msgspec.structs.replace(usage, extra={})
