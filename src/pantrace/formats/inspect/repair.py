"""Repairs: a sample or a header as inspect_ai reads it.

A log that another program wrote can hold what inspect_ai refuses: errors without a traceback, tool errors without a
type, results that are objects, times that are none. A copy of it would be refused, too. Each repair is told; the value
that stood there is kept for pantrace where it says more than the new one.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from pantrace.wire.json import NonFinite, encode
from pantrace.wire.mending import mended

from .info_calls import as_info, is_known
from .leave_out import without_wrong
from .records import check
from .shapes import LIMITS, STOPS, TOOL_ERRORS

NO_TIME = "1970-01-01T00:00:00+00:00"
_ROLES = ("system", "user", "assistant", "tool")
_PARTS = ("text", "reasoning", "image", "audio", "video", "data", "tool_use", "document")
_COUNTS = (
    *("input_tokens", "output_tokens", "total_tokens"),
    *("input_tokens_cache_write", "input_tokens_cache_read", "reasoning_tokens"),
)

Mend = Callable[[Any, str], Any]
"""A value and its place to the value as it must be; the same object where nothing is wrong."""


def repaired_sample(row: dict[str, Any]) -> dict[str, Any]:
    """A sample that inspect_ai reads; the same object where nothing had to be done."""
    row = filled(without_null(row, ""), "", input="", target="")
    row = with_mended(row, "", error=as_error, messages=_messages, output=_output, events=_events, scores=_scores)
    row = with_mended(
        row, "", input=_input, target=_target, choices=_choices, limit=_limit, metadata=as_object, store=as_object
    )
    row = with_mended(row, "", started_at=as_time, completed_at=as_time, total_time=_number, working_time=_number)
    row = with_mended(row, "", attachments=_attachments, events_data=_pools, uuid=as_text)
    model = (row.get("output") or {}).get("model") if isinstance(row.get("output"), dict) else None
    row = with_mended(row, "", model_usage=lambda value, place: usage_by_model(value, place, model))
    return without_wrong(row, check)


_NULLABLE = frozenset(
    {
        *("choices", "scores", "error", "limit", "uuid", "started_at", "completed_at", "total_time", "working_time"),
        *("tool_calls", "usage", "view", "truncated", "span_id", "events_data", "stop_reason", "results", "metadata"),
    }
)
"""Keys that may be null; any other null is left out."""


def without_null(record: dict[str, Any], place: str) -> dict[str, Any]:
    empty = [key for key, value in record.items() if value is None and key not in _NULLABLE]
    if not place and record.get("metadata", 0) is None:
        empty.append("metadata")  # of a message it may be null, of a sample it may not
    for key in empty:
        mended(f"{place}.{key}" if place else key, "is null, and left out")
    return {key: value for key, value in record.items() if key not in empty} if empty else record


def with_mended(record: dict[str, Any], place: str, **mends: Mend) -> dict[str, Any]:
    """A record with some of its keys mended, as far as they are there; None stands for nothing."""
    found = record
    for key, mend in mends.items():
        if (value := record.get(key)) is not None:
            new = mend(value, f"{place}.{key}" if place else key)
            if new is not value:
                found = {**found, key: new}
                if new is None:
                    del found[key]
    return found


def filled(record: dict[str, Any], place: str, **defaults: Any) -> dict[str, Any]:
    """A record with what it must have and lacks."""
    missing = {key: value for key, value in defaults.items() if record.get(key) is None}
    for key in missing:
        mended(f"{place}.{key}" if place else key, "was missing")
    return {**record, **missing} if missing else record


def each_item(value: Any, place: str, mend: Mend) -> Any:
    """A list with each item mended; an item that becomes None is left out."""
    if not isinstance(value, list):
        mended(place, "is no list")
        return []
    found = [mend(item, f"{place}[{number}]") for number, item in enumerate(value)]
    if all(new is old for new, old in zip(found, value, strict=True)):
        return value
    return [item for item in found if item is not None]


def as_text(value: Any, place: str) -> Any:
    if isinstance(value, str):
        return value
    mended(place, "is text now")
    return encode(value).decode("utf-8", "replace")


def as_object(value: Any, place: str) -> Any:
    if isinstance(value, dict):
        return value
    mended(place, "is no object, and left out")
    return {}


def each_value(value: Any, place: str, mend: Mend) -> Any:
    """An object of which each value is mended, whatever its name; null is none."""
    value = as_object(value, place)
    for key in [key for key, inner in value.items() if inner is None]:
        mended(f"{place}.{key}", "is null, and left out")
        value = {name: inner for name, inner in value.items() if name != key}
    return with_mended(value, place, **dict.fromkeys(value, mend))


def _number(value: Any, place: str) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    mended(place, "is no number, and left out")
    return None


def as_count(value: Any, place: str) -> Any:
    if type(value) is int:
        return value
    mended(place, "is no count, and left out")
    return None


def as_time(value: Any, place: str) -> Any:
    try:
        if isinstance(value, str) and datetime.fromisoformat(value):
            return value
    except ValueError:
        pass
    mended(place, "is no time, and left out")
    return None


def as_error(value: Any, place: str) -> Any:
    """An error has three texts."""
    if not isinstance(value, dict):
        mended(place, "is an object now")
        return {"message": _words(value), "traceback": "", "traceback_ansi": ""}
    value = filled(value, place, message="", traceback="", traceback_ansi="")
    return with_mended(value, place, message=as_text, traceback=as_text, traceback_ansi=as_text)


def _words(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode("utf-8", "replace")


def _tool_error(value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        mended(place, "is an object now")
        return {"type": "unknown", "message": _words(value)}
    if value.get("type") not in TOOL_ERRORS:
        mended(f"{place}.type", "is `unknown` now")
        value = {**value, "type": "unknown"}
    return with_mended(filled(value, place, message=""), place, message=as_text)


def _messages(value: Any, place: str) -> Any:
    return each_item(value, place, _message)


def _message(value: Any, place: str) -> Any:
    if not isinstance(value, dict) or value.get("role") not in _ROLES:
        mended(place, "is no message, and told as the user's words")
        return {"role": "user", "content": _words(value)}
    if value.get("content") is None:
        value = filled(value, place, content="")
    return with_mended(value, place, content=_content, tool_calls=_calls, error=_tool_error, id=as_text)


def _content(value: Any, place: str) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return each_item(value, place, _part)
    return as_text(value, place)


def _part(value: Any, place: str) -> Any:
    if isinstance(value, dict) and value.get("type") in _PARTS:
        return filled(value, place, text="") if value["type"] == "text" else value
    mended(place, "is text now")
    return {"type": "text", "text": _words(value)}


def _calls(value: Any, place: str) -> Any:
    return each_item(value, place, _call)


def _call(value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        mended(place, "is no call, and left out")
        return None
    value = filled(value, place, id=f"call_{place}", function="unknown", arguments={})
    return with_mended(value, place, id=as_text, function=as_text, arguments=_arguments)


def _arguments(value: Any, place: str) -> Any:
    if isinstance(value, dict):
        return value
    mended(place, "are an object now")
    return {"value": value}


def _output(value: Any, place: str) -> Any:
    value = without_null(as_object(value, place), place)
    value = with_mended(
        value, place, model=as_text, choices=lambda each, where: each_item(each, where, _choice), usage=_usage
    )
    return with_mended(value, place, error=as_text, completion=as_text, time=_number)


def _choice(value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        mended(place, "is no choice, and left out")
        return None
    value = filled(value, place, message={"role": "assistant", "content": ""})
    if isinstance(value["message"], dict) and value["message"].get("role") != "assistant":
        mended(f"{place}.message.role", "is `assistant` now")
        value = {**value, "message": {**value["message"], "role": "assistant"}}
    if value.get("stop_reason") not in (None, *STOPS):
        mended(f"{place}.stop_reason", "is `unknown` now")
        value = {**value, "stop_reason": "unknown"}
    return with_mended(value, place, message=_message)


def _usage(value: Any, place: str) -> Any:
    value = without_null(as_object(value, place), place)
    return with_mended(value, place, **dict.fromkeys(_COUNTS, as_count), total_cost=_number)


def usage_by_model(value: Any, place: str, model: Any) -> Any:
    """Counts that stand there without their model are given its name."""
    value = as_object(value, place)
    if value and not any(isinstance(each, dict) for each in value.values()):
        mended(place, "has the model's name now")
        value = {model if isinstance(model, str) and model else "none/none": value}
    return each_value(value, place, _usage)


def _events(value: Any, place: str) -> Any:
    clock = [NO_TIME]
    return each_item(value, place, lambda each, where: _event(each, where, clock))


def _event(value: Any, place: str, clock: list[str]) -> Any:
    if not is_known(value):
        mended(place, "is an info event now: its type is none of Inspect's")
        return as_info(value)
    if "timestamp" in value:
        if (kept := as_time(value["timestamp"], f"{place}.timestamp")) is None:
            value = {**value, "timestamp": clock[0]}
        else:
            clock[0] = kept
    value = with_mended(
        without_null(value, place),
        place,
        completed=as_time,
        working_time=_number,
        working_start=_number,
        metadata=as_object,
    )
    match value["event"]:
        case "tool":
            value = _tool_event(value, place)
        case "model":
            value = _model_event(value, place)
        case "error":
            value = with_mended(filled(value, place, error={}), place, error=as_error)
        case "span_begin":
            value = with_mended(filled(value, place, id=place, name="span"), place, id=as_text, name=as_text)
        case "span_end":
            value = with_mended(filled(value, place, id=place), place, id=as_text)
        case "info":
            value = value if "data" in value else {**value, "data": {}}
        case "score":
            value = with_mended(filled(value, place, score={}), place, score=_score)
    return with_mended(value, place, span_id=as_text, uuid=as_text)


def _tool_event(value: dict[str, Any], place: str) -> dict[str, Any]:
    value = filled(value, place, id=f"call_{place}", function="unknown", arguments={})
    value = with_mended(value, place, id=as_text, function=as_text, arguments=_arguments, error=_tool_error)
    return with_mended(value, place, view=_view, result=_result, truncated=_span, events=lambda each, _: each)


def _view(value: Any, place: str) -> Any:
    if (
        isinstance(value, dict)
        and isinstance(value.get("content"), str)
        and value.get("format") in ("text", "markdown")
    ):
        return value
    mended(place, "is no view, and left out")
    return None


def _result(value: Any, place: str) -> Any:
    if isinstance(value, (str, int, float)) or (isinstance(value, dict) and value.get("type") in _PARTS):
        return value
    if isinstance(value, list) and all(isinstance(each, dict) and each.get("type") in _PARTS for each in value):
        return value
    mended(place, "is JSON text now")
    return _words(value)


def _span(value: Any, place: str) -> Any:
    if isinstance(value, list) and len(value) == 2 and all(type(each) is int for each in value):
        return value
    mended(place, "is no pair of lengths, and left out")
    return None


def _model_event(value: dict[str, Any], place: str) -> dict[str, Any]:
    value = filled(value, place, model="none/none", input=[], tools=[], tool_choice="auto", config={}, output={})
    value = with_mended(value, place, model=as_text, input=_messages, config=as_object, output=_output, error=as_text)
    return with_mended(value, place, tools=lambda each, where: each_item(each, where, _tool))


def _tool(value: Any, place: str) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        mended(place, "is no tool, and left out")
        return None
    return filled(value, place, description="")


def _scores(value: Any, place: str) -> Any:
    return each_value(value, place, _score)


def _score(value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        mended(place, "is an object now")
        return {"value": value}
    if value.get("value") is None:
        mended(f"{place}.value", "is NaN now: Inspect's word for no score")
        value = {**value, "value": NonFinite("NaN")}
    return with_mended(value, place, answer=as_text, explanation=as_text, metadata=as_object)


def _input(value: Any, place: str) -> Any:
    return (
        value
        if isinstance(value, str)
        else _messages(value, place)
        if isinstance(value, list)
        else as_text(value, place)
    )


def _target(value: Any, place: str) -> Any:
    return each_item(value, place, as_text) if isinstance(value, list) else as_text(value, place)


def _choices(value: Any, place: str) -> Any:
    return each_item(value, place, as_text)


def _limit(value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        mended(place, "is an object now")
        value = {"reason": _words(value)}
    if value.get("type") not in LIMITS:
        mended(f"{place}.type", "is `custom` now")
        value = {**value, "type": "custom"}
    return with_mended(filled(value, place, limit=0), place, limit=lambda each, where: _number(each, where) or 0)


def _attachments(value: Any, place: str) -> Any:
    return each_value(value, place, as_text)


def _pools(value: Any, place: str) -> Any:
    value = filled(as_object(value, place), place, messages=[], calls=[])
    return with_mended(value, place, messages=_messages)
