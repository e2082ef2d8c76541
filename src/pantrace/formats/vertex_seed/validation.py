"""Checks what the document requires of a row, and where a reader would be misled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Violation
from pantrace.wire.shape import ANY, document, one_of, violations
from pantrace.wire.times import from_iso
from pantrace.wire.violation import error, unreadable, warning

from .conversation import conversation, is_model, places_of
from .read import COUNTS, KEYS, derive_fields, tool_uses

_CONTENT = {"role": one_of("user", "model"), "parts": [{"text": str}]}
_SHAPE = {
    "session_id": str,
    "title": document(str),
    "created": document(str),
    "request": {"contents": [_CONTENT]},
    "response": {"candidates": [{"content": _CONTENT}]},
    "intermediate_events": [
        {
            "function_call": {"name": str, "args": dict},
            "function_response": {"name": str, "response": {"output": ANY}},
            "turn": int,
        }
    ],
    "prompt": str,
    "prompt_concat": document(str),
    "response_concat": document(str),
    "conversation_history": document([_CONTENT]),
    "generated_trajectory": document([{"tool": str, "args": ANY, "output": ANY, "turn": int}]),
    "metadata": document(dict.fromkeys(sorted(COUNTS), int)),
}


def check(row: Any) -> Iterator[Violation]:
    """Every violation of one row."""
    if not isinstance(row, dict):
        yield error("must be an object")
        return
    if "request" not in row and isinstance(row.get("prompt"), str):
        yield warning("the old flat layout: the document has request, response and intermediate_events")
    else:
        found = list(violations(row, _SHAPE))
        yield from found
        # The checks below rely on the shape.
        if any(each.level == "error" for each in found):
            return
    try:
        parsed, uses = conversation(row), tool_uses(row)
    except ReadError as broken:
        yield unreadable(broken)
        return
    for key in sorted(row.keys() - KEYS):
        yield warning("is not a key of the document", key)
    if isinstance(row.get("created"), str) and not _has_zone(row["created"]):
        yield warning("is not an ISO 8601 time with a zone", "created")
    yield from _turns(row, parsed.contents, uses)
    # Only a warning: the original script writes all its rows like this.
    if parsed.cut and parsed.contents and is_model(parsed.contents[-1]) and "request" in row:
        yield warning("does not contain the final model turn", "request.contents")
    if parsed.older:
        # A judge would score the answer to another question.
        yield error("is not the answer to the last prompt of request.contents", "response")
    elif parsed.response is not None:
        yield warning("is not the last model turn of request.contents", "response")
    yield from _statements(row, parsed.contents, len(uses))


def _turns(row: dict[str, Any], contents: list[dict[str, Any]], uses: list[dict[str, Any]]) -> Iterator[Violation]:
    for place, (one, next_one) in enumerate(pairwise(contents), 1):
        if is_model(one) == is_model(next_one):
            yield warning("has the same role as the content before it", f"request.contents[{place}]")
    numbers = [use.get("turn") for use in uses]
    by_script = any("tool_raw" in use["item"] for use in uses)
    base, places = places_of(numbers, contents, by_script=by_script)
    # The original script counts from 0; the document says 1.
    if base == 0:
        yield warning("counts contents from 0; the document counts from 1", "intermediate_events[].turn")
    for index, (number, found) in enumerate(zip(numbers, places, strict=True)):
        where = f"intermediate_events[{index}].turn"
        if number is None:
            if "intermediate_events" in row:
                yield error("is missing", where)
        elif base is None:
            yield error(f"{number} is ambiguous: counted from 1 or from 0, some turns are not the model's", where)
        elif found != int(found):
            yield error(f"{number} is a turn of the user", where)


def _statements(row: dict[str, Any], contents: list[dict[str, Any]], tools: int) -> Iterator[Violation]:
    expected, counts = derive_fields(contents, tools)
    for key, value in expected.items():
        if key in row and row[key] != value:
            yield error("does not match the contents", key)
    metadata = row.get("metadata")
    for key, count in counts.items():
        if isinstance(metadata, dict) and key in metadata and metadata[key] != count:
            yield error(f"is {metadata[key]}, but there are {count}", f"metadata.{key}")


def _has_zone(text: str) -> bool:
    return from_iso(text) is not None and (text.endswith("Z") or "+" in text[10:] or "-" in text[10:])
