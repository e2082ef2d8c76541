"""Writes one session as the document says, or in the original script's shape."""

from __future__ import annotations

from typing import Any, Literal

from pantrace.errors import SampleRefused
from pantrace.model import CallPair, MergedTurn, Record, Sample, Text, ToolCall, merged_turns
from pantrace.wire.json import encode
from pantrace.wire.times import time_text
from pantrace.wire.tool_map import tool_names
from pantrace.wire.vertex.parts import arguments_to, error_text

from .conversation import answer_text

NAME = "vertex-seed"
EPOCH, TEXT_FIRST = "epoch", "text_first"
"""Our own keys in `metadata`: the repetition of a session, and the numbers of turns whose text comes before their
calls. The document has texts and calls in separate lists, without an order between them."""


_STATEMENTS = ("prompt", "prompt_concat", "response_concat", "conversation_history")
"""Keys that follow from the contents; if a row that was read has other values, these are written back."""


class Options(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How rows are written. With turn_base=0, include_final=false, output_limit=2000 and tool_map=FILE they have the
    shape of the original script's rows."""

    turn_base: Literal[0, 1] = 1
    """The number of the first content, for `turn`: 1 as the document says, 0 as the original script counts."""
    include_final: bool = True
    """Whether request.contents ends with the final model turn."""
    output_limit: int | None = None
    """Cut tool outputs after this many characters; by default they are not cut."""
    tool_map: str | None = None
    """A JSON, TOML or YAML file of logical tool names with their physical ones; a name that is not in it becomes
    `raw.<name>`, and generated_trajectory keeps the physical one as `tool_raw`."""


def dump(sample: Sample, options: Options) -> dict[str, Any]:
    """One sample as one session."""
    trajectory = sample.trajectory
    if trajectory is None:
        raise SampleRefused("nothing was run: vertex-seed holds recorded sessions only")
    kept = trajectory.extra.get(NAME, {})
    names = None if options.tool_map is None else tool_names(options.tool_map)
    contents: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    items: list[dict[str, Any]] = []
    prompts: list[str] = []
    answers: list[str] = []
    text_first: list[int] = []
    last_prompt = -1
    for place, turn in enumerate(merged_turns(trajectory)):
        contents.append(_content(turn))
        if turn.role == "user":
            last_prompt = place
            prompts.append(turn.text)
            continue
        if turn.text:
            answers.append(turn.text)
        for pair in turn.pairs:
            event, item = _tool_use(pair, place + options.turn_base, names, options.output_limit)
            events.append(event)
            items.append(item)
        if turn.pairs and _speaks_first(turn):
            text_first.append(place + options.turn_base)
    # Never an answer from before the last prompt, which the original script would take.
    final = contents[-1]["parts"][0]["text"] if len(contents) > last_prompt + 1 else ""
    if trajectory.response is not None:
        final = trajectory.response
    metadata: dict[str, Any] = {
        "total_turns": len(contents),
        "total_tools": len(events),
        "user_turns": len(prompts),
        "model_turns": len(contents) - len(prompts),
    }
    if not final:
        # An empty text alone could also be an empty answer.
        metadata["response_absent"] = True
    if sample.epoch is not None:
        metadata[EPOCH] = sample.epoch
    if text_first:
        metadata[TEXT_FIRST] = text_first
    stated = kept.get("stated", {})
    row = {
        "session_id": sample.id,
        "title": trajectory.title,
        "created": kept.get("created") if trajectory.created is None else time_text(trajectory.created),
        "request": {
            "contents": contents if options.include_final else contents[: last_prompt + 1],
            **kept.get("request", {}),
        },
        "response": _response(final, kept),
        "intermediate_events": events,
        "prompt": prompts[-1] if prompts else "",
        "prompt_concat": "\n\n".join(prompts),
        "response_concat": "\n\n".join(answers),
        "conversation_history": contents[: max(last_prompt, 0)],
        "generated_trajectory": items,
        "metadata": {**metadata, **kept.get("metadata", {}), **stated.get("metadata", {})},
        **sample.extra.get(NAME, {}),
    }
    return row | {key: stated[key] for key in _STATEMENTS if key in stated}


def _content(turn: MergedTurn) -> dict[str, Any]:
    content: dict[str, Any] = {"role": "user" if turn.role == "user" else "model", "parts": [{"text": turn.text}]}
    for step in turn.steps:
        if NAME in step.extra:
            content.update(step.extra[NAME])
    return content


def _speaks_first(turn: MergedTurn) -> bool:
    """Whether a turn has text, and all of it comes before the calls."""
    kinds = [type(part) for step in turn.steps for part in step.parts if type(part) is Text or type(part) is ToolCall]
    return kinds[0] is Text and Text not in kinds[kinds.index(ToolCall) :]


def _response(final: str, kept: dict[str, Any]) -> Any:
    stated = kept.get("stated", {}).get("response")
    same = stated is not None and (answer_text({"response": stated, "request": {}}) or "") == final
    return stated if same else response_of(final)


def response_of(text: str) -> dict[str, Any]:
    """A response as the document has it."""
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]}


def _tool_use(
    pair: CallPair, turn: int, names: dict[str, str] | None, limit: int | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A call with its result, as an intermediate event and as an item of the generated trajectory."""
    call, result = pair.call, pair.result
    kept = call.extra.get(NAME, {})
    name, item_keys = _written_name(call, kept, names)
    args = arguments_to(call.arguments)
    output = None
    response: dict[str, Any] = {"output": output}
    answer: dict[str, Any] = {"name": name, "response": response}
    if result is not None:
        error = error_text(result)
        # A failed tool without output gets "": readers of `output` expect text next to an error.
        output = response["output"] = "" if result.output is None and error is not None else _cut(result.output, limit)
        if error is not None:
            response["error"] = error
        if read := result.extra.get(NAME):
            answer |= read.get("function_response", {})
            response |= read.get("response", {})
    event: dict[str, Any] = {
        "function_call": {"name": name, "args": args},
        "function_response": answer,
        "turn": turn,
    }
    item = {"tool": name, **item_keys, "args": args, "output": output, "turn": turn}
    if kept:
        event["function_call"] |= kept.get("function_call", {})
        event |= kept.get("event", {})
    return event, item


def _written_name(call: ToolCall, kept: dict[str, Any], names: dict[str, str] | None) -> tuple[str, dict[str, Any]]:
    """The name that a call is written under, and the keys that only the generated trajectory has."""
    keys: dict[str, Any] = kept.get("item", {})
    if names is None:
        return call.name, keys
    # Already mapped when it was read: mapping the logical name again would give `raw.fs.read`.
    physical = keys.get("tool_raw")
    physical = physical if isinstance(physical, str) else call.name
    return names.get(physical, f"raw.{physical}"), {**keys, "tool_raw": physical}


def _cut(output: Any, limit: int | None) -> Any:
    if limit is None or output is None:
        return output
    text = output if isinstance(output, str) else encode(output).decode("utf-8", "replace")
    return text[:limit] if len(text) > limit else output
