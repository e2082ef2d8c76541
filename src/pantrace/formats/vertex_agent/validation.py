"""Checks what the client requires of a row with `agent_data`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pantrace.model import Violation
from pantrace.wire.shape import ANY, document, violations
from pantrace.wire.vertex.refusal import refusal
from pantrace.wire.violation import error, warning

_EVENT = {"author?": str, "content?": {"role?": str, "parts": [dict]}, "event_time?": str, "state_delta?": dict}
_SHAPE = {
    "agent_data": {
        "agents?": dict,
        "turns": [{"turn_index": document(int), "turn_id?": str, "events": [_EVENT]}],
    },
    "session_id": document(ANY),
}


def check(row: Any) -> Iterator[Violation]:
    """Violations of the client's shape, wrong turn numbers, and answers without a call."""
    found = list(violations(row, _SHAPE))
    yield from found
    # The checks below rely on the shape.
    if any(each.level == "error" for each in found):
        return
    # The client chooses the schema by the keys of the first row, and looks for `request` first.
    if "request" in row:
        yield error("a row with `request` is read as GEMINI: agent_data is lost")
    data = row["agent_data"]
    asked: set[Any] = set()
    authors: set[Any] = set()
    for place, turn in enumerate(data["turns"]):
        if turn.get("turn_index", place) != place:
            message = f"is {turn['turn_index']}, but it is turn {place} counted from 0"
            yield error(message, f"agent_data.turns[{place}].turn_index")
        for number, event in enumerate(turn["events"]):
            authors.add(event.get("author"))
            where = f"agent_data.turns[{place}].events[{number}]"
            for part in (event.get("content") or {}).get("parts", ()):
                yield from _part_violations(part, asked, where)
    for author in sorted(authors - {None, "user"} - set(data.get("agents") or ())):
        message = f"{author} speaks but is not in the map"
        yield warning(message, "agent_data.agents")
    # One such row makes the client refuse the whole file.
    if (why := refusal(row)) is not None:
        yield error(why)


def _part_violations(part: dict[str, Any], asked: set[Any], where: str) -> Iterator[Violation]:
    call = part.get("function_call") or part.get("functionCall")
    answer = part.get("function_response") or part.get("functionResponse")
    if isinstance(call, dict):
        asked.add(str(call.get("id")))
        if not isinstance(call.get("args", {}), (dict, type(None))):
            yield error("args must be an object", f"{where}.function_call")
    if isinstance(answer, dict):
        if not isinstance(answer.get("response"), dict):
            yield error("response must be an object", f"{where}.function_response")
        if str(answer.get("id")) not in asked:
            message = f"answers a call {answer.get('id')!r} that was not made"
            yield warning(message, f"{where}.function_response.id")
