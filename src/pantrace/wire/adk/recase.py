"""Keys of ADK records in snake_case and camelCase; data inside arguments, responses and state keeps its keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, get_args

import msgspec

from pantrace.wire.gemini import snake as snake

from . import schema

_SCALARS = frozenset({str, int, float, bool})

DEEP: dict[str, Any] = {"*": ...}
"""All keys below belong to the schema."""


class Known(dict[str, Any]):
    """The keys of a record that belong to the schema, with the shapes of their values; other keys keep their case."""


def shape_of(kind: Any) -> Any:
    """The shape of a type of `schema`; None for data."""
    if kind == schema.Keys:
        return DEEP
    if isinstance(kind, type) and issubclass(kind, schema.Schema):
        return Known({field.name: shape_of(field.type) for field in msgspec.structs.fields(kind)})
    inner = [shape_of(each) for each in get_args(kind)]
    return next((each for each in inner if each is not None), None)


EVENT, SESSION = shape_of(schema.Event), shape_of(schema.Session)
# Other programs add keys of their own to the shapes below, so all keys of a named object are converted.
CONTENT: dict[str, Any] = dict(shape_of(schema.Content))
SCHEMA: dict[str, Any] = {}
SCHEMA.update({"properties": {"*": SCHEMA}, "items": SCHEMA, "any_of": [SCHEMA]})
DECLARATIONS: dict[str, Any] = {"function_declarations": [{"parameters": SCHEMA, "response": SCHEMA}]}
APP_DETAILS: dict[str, Any] = {"agent_details": {"*": {"tool_declarations": [DECLARATIONS]}}}
INVOCATION: dict[str, Any] = {
    "user_content": CONTENT,
    "final_response": CONTENT,
    "intermediate_data": {
        "tool_uses": [{}],
        "tool_responses": [{}],
        "invocation_events": [EVENT],
    },
    "rubrics": DEEP,
    "app_details": APP_DETAILS,
}
METRIC: dict[str, Any] = {"criterion": DEEP, "details": DEEP}
CASE_RESULT: dict[str, Any] = {
    "eval_metric_results": DEEP,
    "overall_eval_metric_results": [METRIC],
    "eval_metric_result_per_invocation": [
        {"actual_invocation": INVOCATION, "expected_invocation": INVOCATION, "eval_metric_results": [METRIC]}
    ],
    "session_details": SESSION,
}
TRPC_RESULT: dict[str, Any] = {
    **CASE_RESULT,
    "overall_eval_metric_results": [{"details": DEEP}],
    "eval_metric_result_per_invocation": [
        {"actual_invocation": INVOCATION, "expected_invocation": INVOCATION, "eval_metric_results": [{"details": DEEP}]}
    ],
}
"""A criterion of trpc-agent-go has names of tools among its keys."""
EVAL_CASE: dict[str, Any] = {
    "conversation": [INVOCATION],
    "actual_conversation": [INVOCATION],
    "conversation_scenario": DEEP,
    "session_input": {},
    "rubrics": DEEP,
}


@lru_cache(4096)
def camel(name: str) -> str:
    """prompt_token_count -> promptTokenCount."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def recase(value: Any, shape: Any, convert: Callable[[str], str]) -> Any:
    """A record with its schema keys converted as far as the shape reaches; what the shape does not name is data."""
    # Names of tools and arguments are keys, too: only keys that the shape reaches may change their case.
    if isinstance(value, dict) and isinstance(shape, dict):
        if shape is DEEP:
            return {
                convert(key): item if item is None or type(item) in _SCALARS else recase(item, DEEP, convert)
                for key, item in value.items()
            }
        if "*" in shape:
            return {key: recase(item, shape["*"], convert) for key, item in value.items()}
        found = {}
        known = isinstance(shape, Known)
        for key, item in value.items():
            name = snake(key)
            # Nearly all values are null or text; only the others need a look at the shape.
            if item is not None and type(item) not in _SCALARS and (inner := shape.get(name)) is not None:
                item = recase(item, inner, convert)
            # A key outside the schema may be data. The original converter renamed those, too, and expected arguments
            # never matched again.
            found[convert(key) if not known or name in shape else key] = item
        return found
    if isinstance(value, list):
        inner = shape[0] if isinstance(shape, list) else shape
        return [recase(item, inner, convert) for item in value]
    return value


def is_camel(record: dict[str, Any]) -> bool:
    """Whether a record has a camelCase key at its top level."""
    return not all(key.islower() or key.isupper() for key in record if key)


def to_snake(value: Any, shape: Any) -> Any:
    """A record in snake_case; one without camelCase keys at its top level is returned as it is."""
    return value if isinstance(value, dict) and not is_camel(value) else recase(value, shape, snake)


def to_camel(value: Any, shape: Any) -> Any:
    """A record in camelCase."""
    return recase(value, shape, camel)


def without_nulls(value: Any) -> Any:
    """A schema object without null fields; ADK writes every field it knows."""
    if isinstance(value, dict):
        return {
            key: item if type(item) in _SCALARS else without_nulls(item)
            for key, item in value.items()
            if item is not None
        }
    return [without_nulls(item) for item in value] if isinstance(value, list) else value
