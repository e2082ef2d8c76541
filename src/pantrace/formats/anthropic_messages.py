"""Anthropic messages: bodies of requests to the Messages API, and requests logged with their responses.

Spec: docs.claude.com/en/api/messages
Detect: `messages` beside `system`, tools with `input_schema`, `metadata.pantrace`, or with Anthropic's blocks;
    logged requests whose response is a message of this API. Plain text alone fits other APIs too, and
    `openai-messages` reads it with the same content.
Lost: nothing for pantrace, which keeps the rest in `metadata.pantrace`; for others times, tokens, models, scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError, SampleRefused
from pantrace.model import Agent, Part, Role, Run, Sample, Source, Step, Text, ToolCall, ToolResult, Trajectory
from pantrace.wire.anthropic import content_from, part_to, usage_from, usage_to
from pantrace.wire.api_exchanges import UNNAMED, Exchange, is_exchange, run_of, turns_of
from pantrace.wire.call_ids import conversation_steps
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.extra_keys import as_extra, rest_in, rest_of, said_again
from pantrace.wire.field_map import TEXT, FieldMap
from pantrace.wire.head import Head
from pantrace.wire.openai_tools import tool_to, tools_from
from pantrace.wire.optional import list_of
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.rows import OnBroken

from .format import Format, NoOptions

NAME = "anthropic-messages"
_SYSTEM = "system"
_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking")
_WITH_SOURCE = ("image", "document")
_MESSAGE = FieldMap(NAME, Step, {"id": ("id", TEXT), "model": ("model", TEXT), "stop_reason": ("stop", TEXT)})
_NOTES = ("form", "exchange")
_CORNER = f"metadata.{CARRIER}"


def detect(head: Head) -> str | None:
    row = head.record
    if head.kind != "json":
        return None
    if is_exchange(row):
        return "exchanges" if row["response"].get("type") == "message" and "messages" in row["request"] else None
    # The last record may be cut off by the end of the head, so it is not required to be a message.
    if head.layout == "array" and head.records and all(is_message(each) for each in head.records[:-1] or head.records):
        return "messages" if _is_own(head.records) else None
    messages = row.get("messages")
    if not isinstance(messages, list) or not messages or not all(is_message(e) for e in messages[:-1] or messages):
        return None
    # A row with plain text only could be of any API; another row of the file may show more.
    return "" if any(_is_marked(each) for each in head.records if isinstance(each, dict)) else None


def _is_marked(row: dict[str, Any]) -> bool:
    """Whether a row has something that only this API has."""
    tools, messages = row.get("tools"), row.get("messages")
    schemas = isinstance(tools, list) and any(isinstance(tool, dict) and "input_schema" in tool for tool in tools)
    return _SYSTEM in row or schemas or _is_ours(row) or (isinstance(messages, list) and _is_own(messages))


def is_message(raw: Any) -> bool:
    """Whether a value is, or may be, a message of this API."""
    if not isinstance(raw, dict) or raw.get("role") not in ("user", "assistant"):
        return False
    # Keys of OpenAI, Claude Code, Gemini and Amp, whose messages otherwise look the same.
    return isinstance(raw.get("content"), (str, list)) and not raw.keys() & {"tool_calls", "uuid", "parts", "messageId"}


def _is_ours(row: dict[str, Any]) -> bool:
    """Whether a row has pantrace's key where this format keeps it; plain text looks the same in OpenAI's messages."""
    metadata = row.get("metadata")
    return isinstance(metadata, dict) and CARRIER in metadata


def _is_own(messages: list[Any]) -> bool:
    """Whether a block has a type that only Anthropic has."""
    contents = [each.get("content") for each in messages if isinstance(each, dict)]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return any(
        block.get("type") in _BLOCKS or (block.get("type") in _WITH_SOURCE and "source" in block)
        for block in blocks
        if isinstance(block, dict)
    )


def _history(exchange: Exchange) -> list[Any]:
    found = exchange["request"].get("messages")
    return list_of(found)


def load_row(row: Any) -> Sample:
    """A request's body, a bare list of messages, or the exchanges of one conversation."""
    steps: list[Step] = []
    form: dict[str, Any] = {}
    if isinstance(row, list) and row and is_exchange(row[0]):
        system = row[-1]["request"].get(_SYSTEM)
        for turn in turns_of(row, _history, lambda each: [each["response"]]):
            steps += [_step(message) for message in turn.said]
            kept = {"messages", "tools", *((_SYSTEM,) if turn.request.get(_SYSTEM) == system else ())}
            steps.append(_step(turn.response, rest_of(turn.request, kept), turn.rest))
        row = row[-1]["request"]
    else:
        row, form = ({"messages": row}, {"form": "list"}) if isinstance(row, list) else (row, {})
        if not isinstance(row, dict) or not isinstance(row.get("messages"), list):
            raise ReadError("has no list `messages`", remedy="is --from right?")
        steps = [_step(message) for message in row["messages"]]
    rest = rest_of(row, {"messages"})
    given: dict[str, Any] = {}
    if isinstance(row.get(_SYSTEM), str):
        given["instructions"] = rest.pop(_SYSTEM)
    # Blocks may carry cache marks, which instructions as a text would lose.
    elif isinstance(row.get(_SYSTEM), list):
        steps.insert(0, Step(role="system", parts=tuple(content_from(rest.pop(_SYSTEM), NAME))))
    if (tools := tools_from(row.get("tools"), NAME)) is not None:
        given["tools"] = tools
        del rest["tools"]
    if isinstance(row.get("model"), str):
        given["model"] = rest.pop("model")
    agents = (Agent(name="assistant", **given),) if given else ()
    return Sample(
        id=row["id"] if isinstance(row.get("id"), str) else UNNAMED,
        trajectory=Trajectory(agents=agents, steps=tuple(_name_results(steps))),
        extra=as_extra(NAME, {**rest, **form}),
    )


def _step(message: Any, settings: dict[str, Any] | None = None, rest: dict[str, Any] | None = None) -> Step:
    if not is_message(message):
        raise ReadError("a message needs a role (user or assistant) and content", place="messages")
    content, taken, given = message["content"], {"role", "content", "usage"}, dict[str, Any]()
    parts: list[Part] = content_from(content, NAME)
    role: Role = "agent" if message["role"] == "assistant" else "user"
    if role == "user" and parts and all(isinstance(part, ToolResult) for part in parts):
        # The API has no role for tools: their results come as messages of the user.
        role = "tool"
    if (usage := usage_from(message.get("usage"), NAME)) is not None:
        given["usage"] = usage
    if settings is not None:
        # The settings come from a logged request: temperature, max_tokens and the like.
        given["settings"], taken = settings or None, {*taken, *said_again(message, type="message")}
    # A text and a list with one text block mean the same; the form is noted, so that it is written back.
    form: dict[str, Any] = {} if isinstance(content, str) else {"form": "blocks"}
    form |= {"exchange": rest} if rest else {}
    return _MESSAGE.load(message, taken, role=role, parts=tuple(parts), extra=as_extra(NAME, form), **given)


def _name_results(steps: list[Step]) -> Iterator[Step]:
    """Steps with tool names on their results; the API only gives the call's id."""
    names = {part.id: part.name for step in steps for part in step.parts if isinstance(part, ToolCall)}
    for step in steps:
        if not any(isinstance(part, ToolResult) and part.call_id in names for part in step.parts):
            yield step
            continue
        parts = tuple(
            msgspec.structs.replace(part, name=names.get(part.call_id)) if isinstance(part, ToolResult) else part
            for part in step.parts
        )
        yield msgspec.structs.replace(step, parts=parts)


def dump_row(sample: Sample, options: NoOptions) -> dict[str, Any]:
    trajectory = sample.trajectory
    if trajectory is None:
        raise SampleRefused("a conversation is a recording; this sample has not been run")
    steps = conversation_steps(trajectory, NAME)
    own = rest_in(sample.extra, NAME)
    agent = trajectory.agents[0] if trajectory.agents else None
    # The body of a request has no id; one that was read without an id is written without.
    row: dict[str, Any] = {} if NAME in sample.extra and "id" not in own else {"id": sample.id}
    if agent is not None and agent.instructions is not None:
        row[_SYSTEM] = agent.instructions
    elif steps and steps[0].role == "system":
        row[_SYSTEM] = _blocks(steps.pop(0).parts)
    if agent is not None and agent.tools is not None:
        row["tools"] = [tool_to(tool, NAME, "schema") for tool in agent.tools]
    if agent is not None and agent.model is not None:
        row["model"] = agent.model
    row["messages"] = [message for step in steps for message in _messages(step)]
    if not row["messages"]:
        raise SampleRefused("nothing was said or done in it")
    return row | {key: value for key, value in own.items() if key not in _NOTES}


def _blocks(parts: tuple[Part, ...]) -> list[Any]:
    # The API refuses empty text blocks.
    return [block for part in parts if (block := part_to(part, NAME)) is not None and block.get("text") != ""]


def _messages(step: Step) -> Iterator[dict[str, Any]]:
    """A step as messages; results go into messages of the user."""
    own = rest_in(step.extra, NAME)
    before: list[Part] = []
    pieces: list[list[Part]] = []
    for part in step.parts:
        answered = isinstance(part, ToolResult)
        # In a message of the model, only results of the provider's own tools are allowed. Steps read from this format
        # (`own`) already are as the API had them.
        if before and step.role == "agent" and not own and answered != isinstance(before[-1], ToolResult):
            pieces.append(before)
            before = []
        before.append(part)
    for piece in [*pieces, before]:
        role = "assistant" if step.role == "agent" and not isinstance(next(iter(piece), None), ToolResult) else "user"
        head = _MESSAGE.dump(step, *_NOTES) if own else {}
        match piece:
            case [Text(text=text)] if own.get("form") is None:
                content: Any = text
            case _:
                content = _blocks(tuple(piece))
        if own and step.usage is not None:
            head["usage"] = usage_to(step.usage, NAME)
        if content or own:
            yield {"role": role, "content": content, **head}


load, dump = carry_rest(load_row, dump_row, _CORNER)


def open_run(path: Path, on_broken: OnBroken) -> Run:
    source = Source(format=NAME, version=detect(Head(path)) or None, path=str(path))
    return run_of(path, source, on_broken, load, is_message, _history)


FORMAT = Format(
    name=NAME,
    title="Anthropic messages: bodies of requests with tools, logged requests with their responses",
    spec="docs.claude.com/en/api/messages",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    corners=(_CORNER,),
    lost={"": "a conversation holds messages, calls, results and tools"},
)
