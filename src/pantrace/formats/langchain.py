"""Messages of LangChain and states of LangGraph.

Spec: https://docs.langchain.com/oss/python/langchain/messages (langchain_core/messages; `messages_to_dict`, `dumpd`)
Detect: messages with a LangChain type and `additional_kwargs` or `response_metadata`, as a list, on lines, or inside a
    state, a snapshot of a thread or a checkpoint.
Lost: nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import Agent, Run, Sample, Source, Step, ToolCall, ToolResult, Trajectory
from pantrace.wire.api_exchanges import UNNAMED, run_of
from pantrace.wire.extra_keys import as_extra, rest_of
from pantrace.wire.head import Head
from pantrace.wire.langchain_message import CHUNK, NAME, is_message, opened, step_of
from pantrace.wire.optional import object_of, text_of
from pantrace.wire.rows import OnBroken
from pantrace.wire.times import from_iso

from .format import Format

_AROUND = ("values", "channel_values", "checkpoint", "state", "output", "kwargs")
"""Keys that states, snapshots and checkpoints put around `messages`."""


def detect(head: Head) -> str | None:
    if head.kind != "json" or not head.records:
        return None
    first = head.records[0]
    if is_message(first):
        # The head of a long file may end in the middle of a record, so the last one is not asked to be complete.
        return "messages" if all(is_message(each) for each in head.records[:-1]) else None
    messages, _ = _list_in(first)
    return "state" if messages and all(is_message(each) for each in messages[:-1] or messages) else None


def _list_in(row: Any) -> tuple[list[Any], tuple[str, ...]]:
    """The messages of a state, and the keys that lead to them."""
    if not isinstance(row, dict):
        return (row, ()) if isinstance(row, list) else ([], ())
    found = row.get("messages")
    # Many formats have a key `messages`: look into it before taking it for ours.
    if isinstance(found, list) and found and is_message(found[0]):
        return found, ("messages",)
    for key in _AROUND:
        inner, path = _list_in(row[key]) if isinstance(row.get(key), dict) else ([], ())
        if inner:
            return inner, (key, *path)
    return [], ()


def _without(row: Any, path: tuple[str, ...]) -> dict[str, Any]:
    """A state without its messages."""
    if not isinstance(row, dict) or not path:
        return {}
    rest = rest_of(row, path[:1])
    inner = _without(row[path[0]], path[1:])
    return {**rest, path[0]: inner} if inner else rest


def load(row: Any) -> Sample:
    messages, path = ([row], ()) if is_message(row) else _list_in(row)
    if not any(is_message(each) for each in messages):
        raise ReadError("there are no LangChain messages in it", remedy="is --from right?")
    rest = _without(row, path)
    config = object_of(object_of(rest.get("config")).get("configurable"))
    # Only snapshots have a thread id. A bare list of messages does not name its conversation.
    thread = text_of(config.get("thread_id"))
    steps = tuple(_steps(messages))
    model = next((step.model for step in steps if step.model is not None), None)
    names = dict.fromkeys(step.agent for step in steps if step.agent is not None)
    agents = [Agent(name=name, model=_model_of(name, steps)) for name in names]
    trajectory = Trajectory(
        id=thread,
        ended=from_iso(rest.get("created_at")) or from_iso(rest.get("ts")),
        # An agent without a name still has a model, and the model needs an agent to belong to.
        agents=tuple(agents) or ((Agent(name="assistant", model=model),) if model else ()),
        steps=steps,
        extra=as_extra(NAME, rest),
    )
    return Sample(id=thread or UNNAMED, trajectory=trajectory)


def _model_of(agent: str, steps: tuple[Step, ...]) -> str | None:
    return next((step.model for step in steps if step.agent == agent and step.model is not None), None)


def _steps(messages: list[Any]) -> Iterator[Step]:
    names: dict[str | None, str] = {}
    for place, raw in enumerate(messages):
        kind, fields, form = opened(raw)
        if not fields:
            raise ReadError("a message needs a type and content", place=f"messages[{place}]")
        step = step_of(kind, fields)
        around = rest_of(raw, ("lc", "type", "kwargs", "data")) if form else {}
        # A streamed chunk counts as a message; its type is kept so that the two can be distinguished.
        written = {text for each in (raw, fields) if isinstance(text := each.get("type"), str) and CHUNK in text}
        around |= {"type": written.pop()} if written else {}
        if around:
            step = replace(step, extra=as_extra(NAME, {**step.extra.get(NAME, {}), "message": around}))
        names |= {part.id: part.name for part in step.parts if isinstance(part, ToolCall)}
        # A `tool` message often has only the id of its call; the tool's name is in the call.
        parts = tuple(
            replace(part, name=names.get(part.call_id)) if isinstance(part, ToolResult) and part.name is None else part
            for part in step.parts
        )
        yield replace(step, parts=parts)


def open_run(path: Path, on_broken: OnBroken) -> Run:
    source = Source(format=NAME, version=detect(Head(path)) or None, path=str(path))
    return run_of(path, source, on_broken, load, is_message, lambda _: [])


FORMAT = Format(
    name=NAME,
    title="LangChain messages, and states, snapshots and checkpoints of LangGraph as JSON",
    spec="https://docs.langchain.com/oss/python/langchain/messages",
    detect=detect,
    load=load,
    open=open_run,
    layout="document",
    suffix=".json",
)
