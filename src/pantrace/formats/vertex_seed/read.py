"""Reads rows in the document's shape, the original script's, and the flat shapes before it."""

from __future__ import annotations

from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Part, Sample, Step, Text, ToolCall, ToolResult, Trajectory
from pantrace.wire.json import unknown_keys
from pantrace.wire.times import from_iso
from pantrace.wire.vertex.columns import session_id
from pantrace.wire.vertex.parts import arguments_from, failure_from, part_in

from .conversation import AGENTS, Conversation, answer_text, conversation, is_model, places_of, text_of
from .write import EPOCH, NAME, TEXT_FIRST, response_of

KEYS = {
    "session_id",
    "title",
    "created",
    "request",
    "response",
    "intermediate_events",
    "prompt",
    "prompt_concat",
    "response_concat",
    "conversation_history",
    "generated_trajectory",
    "metadata",
}
_OLD_KEYS = {"tool_use", "_response_length", "_tool_count"}
COUNTS = {"total_turns", "total_tools", "user_turns", "model_turns"}
_OURS = {"response_absent", EPOCH, TEXT_FIRST}
"""Keys that our writer adds to the counts in `metadata`."""


def load(row: Any) -> Sample:
    """One session as one sample."""
    if not isinstance(row, dict) or not row.keys() & KEYS - {"title", "created", "metadata"}:
        raise ReadError("not a session: it has none of the keys of one", remedy="is --from right?")
    parsed = conversation(row)
    uses = tool_uses(row)
    numbers = [use.pop("turn", None) for use in uses]
    # Only the original script writes `tool_raw`, and it counts turns from 0.
    by_script = any("tool_raw" in use["item"] for use in uses)
    base, places = places_of(numbers, parsed.contents, by_script=by_script)
    calls: dict[int | float, list[Part]] = {}
    for number, (use, turn, place) in enumerate(zip(uses, numbers, places, strict=True), 1):
        # Both counts fit or neither does: the raw number is kept with the call.
        undecided = {"turn": turn} if base is None and turn is not None else {}
        calls.setdefault(place, []).extend(_parts(use, f"event_{number}", undecided))
    kept = _extra_of_row(row, parsed, uses, numbers)
    if base is None:
        kept["turn_base"] = "undecided"
    created = from_iso(row.get("created"))
    if created is None and row.get("created") is not None:
        kept["created"] = row["created"]
    title = row.get("title")
    rest = unknown_keys(row, KEYS | _OLD_KEYS)
    name = session_id(row)
    metadata = row["metadata"] if isinstance(row.get("metadata"), dict) else {}
    numbered = metadata.get(TEXT_FIRST)
    first = 1 if base is None else base
    leading = {each - first for each in numbered if type(each) is int} if isinstance(numbered, list) else set()
    return Sample(
        id=name,
        epoch=epoch if type(epoch := metadata.get(EPOCH)) is int else None,
        trajectory=Trajectory(
            id=name,
            title=title if isinstance(title, str) else None,
            created=created,
            steps=_steps(parsed.contents, calls, leading),
            response=parsed.response,
            extra={NAME: kept} if kept else {},
        ),
        extra={NAME: rest} if rest else {},
    )


def _steps(contents: list[dict[str, Any]], calls: dict[int | float, list[Part]], leading: set[int]) -> tuple[Step, ...]:
    """The steps of contents, each with its calls; in those of `leading` the text comes before the calls."""
    steps = []
    for place, content in enumerate(contents):
        # Calls between two prompts: the original script writes no content for a turn without text.
        if (silent := calls.get(place - 0.5)) is not None:
            steps.append(Step(role="agent", parts=tuple(silent)))
        raw = content.get("parts")
        parts = [part_in(part, NAME) for part in raw] if isinstance(raw, list) else []
        words = [part for part in parts if not isinstance(part, Text) or part.text]
        rest = unknown_keys(content, {"role", "parts"}) if len(content) > 2 else {}
        extra = {NAME: rest} if rest else {}
        if is_model(content):
            made = calls.get(place, ())
            steps.append(
                Step(role="agent", parts=(*words, *made) if place in leading else (*made, *words), extra=extra)
            )
        else:
            role = "system" if content.get("role") == "system" else "user"
            steps.append(Step(role=role, parts=tuple(words), extra=extra))  # type: ignore[arg-type]
    if (silent := calls.get(len(contents))) is not None:
        steps.append(Step(role="agent", parts=tuple(silent)))
    return tuple(steps)


def tool_uses(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Every tool call of a row: from intermediate_events, else generated_trajectory, else the old tool_use."""
    events, items = row.get("intermediate_events"), row.get("generated_trajectory")
    # The document's own list goes first; older rows have only the others.
    if isinstance(events, list) and (events or not items):
        beside = items if isinstance(items, list) and len(items) == len(events) else [None] * len(events)
        return [_use_of_event(event, item) for event, item in zip(events, beside, strict=True)]
    if isinstance(items, list):
        return [_use_of_item(item, ("tool", "args", "output")) for item in items]
    old = row.get("tool_use")
    return (
        [_use_of_item(item, ("tool_name", "tool_input", "tool_output")) for item in old]
        if isinstance(old, list)
        else []
    )


def _use_of_event(event: Any, item: Any) -> dict[str, Any]:
    if not isinstance(event, dict) or not isinstance(event.get("function_call"), dict):
        raise ReadError("an intermediate event has no function_call", place="intermediate_events")
    call = event["function_call"]
    answer = event.get("function_response")
    answer = answer if isinstance(answer, dict) else {}
    response = answer.get("response")
    response = response if isinstance(response, dict) else {} if response is None else {"output": response}
    same = isinstance(item, dict) and item.get("tool") == call.get("name")
    return {
        "name": call.get("name") or "",
        "arguments": call.get("args"),
        "id": call.get("id"),
        "output": response.get("output"),
        "error": response.get("error"),
        "turn": event.get("turn"),
        "item": unknown_keys(item, _ITEM_KEYS) if same and len(item) > 4 else {},
        "event": unknown_keys(event, {"function_call", "function_response", "turn"}) if len(event) > 3 else {},
        "function_call": unknown_keys(call, {"name", "args"}) if len(call) > 2 else {},
        "function_response": unknown_keys(answer, {"name", "response"}) if len(answer) > 2 else {},
        "response": unknown_keys(response, {"output", "error"}) if len(response) > 1 else {},
    }


_ITEM_KEYS = {"tool", "args", "output", "turn"}


def _use_of_item(item: Any, keys: tuple[str, str, str]) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise ReadError("an item of the trajectory is not an object", place="generated_trajectory")
    name, arguments, output = keys
    return {
        "name": item.get(name) or "",
        "arguments": item.get(arguments),
        "output": item.get(output),
        "turn": item.get("turn"),
        "item": unknown_keys(item, {*keys, "turn"}),
    }


def _parts(use: dict[str, Any], default_id: str, undecided: dict[str, Any]) -> list[Part]:
    """The call, and its result if one was recorded. Calls have no ids in the document: their place becomes the id."""
    found = use.get("id")
    name = found if isinstance(found, str) else default_id
    kept: dict[str, Any] = {key: use[key] for key in ("event", "item", "function_call") if use.get(key)}
    kept.update(undecided)
    arguments = arguments_from(use["arguments"])
    call = ToolCall(id=name, name=use["name"], arguments=arguments, extra={NAME: kept} if kept else {})
    output, error = use["output"], use.get("error")
    beside = {key: use[key] for key in ("function_response", "response") if use.get(key)}
    if output is None and error is None and not beside:
        return [call]
    result = ToolResult(
        call_id=name,
        name=use["name"],
        # Our writer puts "" beside an error; reading it back as an output would invent one.
        output=None if output == "" and error is not None else output,
        extra={NAME: beside} if beside else {},
        **failure_from(error),
    )
    return [call, result]


def _extra_of_row(
    row: dict[str, Any], parsed: Conversation, uses: list[dict[str, Any]], turns: list[Any]
) -> dict[str, Any]:
    """What the row has beyond its conversation: unknown keys, and values that do not follow from it."""
    kept: dict[str, Any] = {}
    request, response, metadata = row.get("request"), row.get("response"), row.get("metadata")
    if isinstance(request, dict) and (rest := unknown_keys(request, {"contents"})):
        kept["request"] = rest
    if isinstance(metadata, dict) and (rest := unknown_keys(metadata, COUNTS | _OURS)):
        kept["metadata"] = rest
    plain = isinstance(response, dict) and response == response_of(answer_text(row) or "")
    unlike = {} if plain and parsed.response is None and not parsed.older else {"response": response}
    if response is None:
        unlike = {}
    if stated := {**unlike, **_contradictions(row, parsed, len(uses)), **_other_calls(row, uses, turns)}:
        kept["stated"] = stated
    return kept


def _other_calls(row: dict[str, Any], uses: list[dict[str, Any]], turns: list[Any]) -> dict[str, Any]:
    """The row's other lists of calls, if they differ from the one that was read."""
    other = {}
    if row.get("tool_use") and (row.get("intermediate_events") or row.get("generated_trajectory")):
        other["tool_use"] = row["tool_use"]
    items = row.get("generated_trajectory")
    if isinstance(items, list) and row.get("intermediate_events"):
        read = [(use["name"], use["arguments"], use["output"], turn) for use, turn in zip(uses, turns, strict=True)]
        if read != [_essence(item) for item in items]:
            other["generated_trajectory"] = items
    return other


def _essence(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    return item.get("tool") or "", item.get("args"), item.get("output"), item.get("turn")


def _contradictions(row: dict[str, Any], parsed: Conversation, tools: int) -> dict[str, Any]:
    """Values of the row that its own contents contradict."""
    expected, counts = derive_fields(parsed.contents, tools)
    stated = {key: row[key] for key, value in expected.items() if key in row and row[key] != value}
    metadata = row.get("metadata")
    if isinstance(metadata, dict):
        # The document counts a last model turn without text; the script does not.
        silent = {"total_turns": counts["total_turns"] + 1, "model_turns": counts["model_turns"] + 1}
        wrong = {
            key: metadata[key]
            for key, value in counts.items()
            if key in metadata and metadata[key] != value and not (parsed.cut and metadata[key] == silent.get(key))
        }
        if wrong:
            stated["metadata"] = wrong
    return stated


def derive_fields(contents: list[dict[str, Any]], tools: int) -> tuple[dict[str, Any], dict[str, int]]:
    """The keys of a row that follow from its contents, and the counts in its metadata."""
    last, users = -1, 0
    prompts, answers = [], []
    for place, content in enumerate(contents):
        text = text_of(content)
        if content.get("role") in AGENTS:
            if text:
                answers.append(text)
        else:
            last = place
            users += 1
            # Unlike answers, prompts are kept even if empty: the last one must be the last user turn's.
            prompts.append(text)
    derived = {
        "prompt": prompts[-1] if prompts else "",
        "prompt_concat": "\n\n".join(prompts),
        "response_concat": "\n\n".join(answers),
        "conversation_history": contents[: max(last, 0)],
    }
    counts = {
        "total_turns": len(contents),
        "total_tools": tools,
        "user_turns": users,
        "model_turns": len(contents) - users,
    }
    return derived, counts
