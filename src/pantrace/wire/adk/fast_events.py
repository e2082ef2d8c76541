"""Steps of ordinary events: a fast path for nearly all of them.

An event with something rare (grounding, compaction, errors, streamed pieces, media) is read by `events.py`, which knows
everything; both give the same step.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec

from pantrace.model import Step, StepError, ToolResult, Usage
from pantrace.wire.depth import must_be_shallow

from .field_types import mapping
from .parts import NAME, TOGETHER, usual_parts
from .recase import snake
from .schema import Actions, CamelEvent, Counts, Event

_COMMON = {"id", "invocation_id", "author", "content", "actions", "timestamp", "model_version", "usage_metadata"}
_COMMON |= {"finish_reason", "custom_metadata", "long_running_tool_ids", "branch", "node_info"}
_COMMON |= {"error_code", "error_message"}
_RARE = attrgetter(*(name for name in Event.__struct_fields__ if name not in _COMMON))
_DETAILS = tuple(name for name in Counts.__struct_fields__ if name.endswith("_details"))
_NONE = _RARE(Event())
_ACTED = tuple(name for name in Actions.__struct_fields__ if name not in ("compaction", "state_delta"))
_DID = attrgetter(*_ACTED)


def typed_event(raw: dict[str, Any], *, camel: bool) -> Event | None:
    """A decoded event as a typed record; None if it is not exactly as google-adk writes it."""
    try:
        # An unknown key or an unusual type fails here, and the event is read by the slow code, which keeps everything.
        return msgspec.convert(raw, CamelEvent if camel else Event)
    except (msgspec.ValidationError, UnicodeEncodeError):
        return None


Empty = frozenset[str] | None
"""The actions of an event that are empty objects; None: it has no actions at all."""


def usual_empty(event: Any) -> Empty:
    """The empty actions of a session's events, taken from the first: depending on its version, google-adk writes some
    or all fields without a value."""
    actions = mapping(event.get("actions"), "an event's actions") if isinstance(event, dict) else event.actions
    if actions is None:
        return None
    return frozenset([snake(key) for key, value in actions.items() if value == {}] + ["state_delta"])


@lru_cache(64)
def _nothing_done(usual: Empty) -> tuple[Any, ...]:
    """The actions of an event that only changed the state, in a session with these empty ones."""
    known = usual is not None and usual.issubset((*_ACTED, "state_delta"))
    return tuple({} if name in usual else None for name in _ACTED) if known else ()  # type: ignore[operator]


def note_empty(extra: dict[str, Any], empty: list[str] | None, done: Collection[str], usual: Empty) -> None:
    """Note an event's empty actions if they are not the usual ones."""
    if empty is None:
        if usual is not None:
            extra["empty_actions"] = None
        return
    expected = usual.difference(done) if usual is not None and done else usual
    if expected is None:
        # In a session where other events have no actions, an event that did something has them.
        expected = frozenset() if done else _NEVER
    if len(empty) != len(expected) or not expected.issuperset(empty):
        extra["empty_actions"] = empty


_NEVER = frozenset({""})


def step_of(event: Event, usual: Empty = None) -> Step | None:
    """The step of an ordinary event; None if it says something rare."""
    if _RARE(event) != _NONE:
        return None
    content, author = event.content, event.author
    parts = usual_parts(content) if content is not None and content.parts is not None else ()
    # Our own note changes its step, and must be read together with those of the neighbouring events.
    custom, at, actions = event.custom_metadata, event.timestamp, event.actions
    if parts is None or (custom is not None and (type(custom) is not dict or "pantrace" in custom)):
        return None
    if content is not None and content.parts is None:
        return None
    # An empty name means none, but must be written back as it was: the slow reader keeps it.
    if event.id == "" or event.invocation_id == "" or event.model_version == "" or event.finish_reason == "":
        return None
    extra: dict[str, Any] = {}
    if custom is not None:
        extra["custom_metadata"] = must_be_shallow(custom, "custom_metadata")
    if event.long_running_tool_ids is not None:
        extra["long_running_tool_ids"] = must_be_shallow(event.long_running_tool_ids, "long_running_tool_ids")
    if event.branch is not None:
        extra["branch"] = event.branch
    delta = None
    if actions is None:
        note_empty(extra, None, (), usual)
    else:
        if actions.compaction is not None:
            return None
        delta, done = actions.state_delta, _DID(actions)
        # Nearly all events only change the state, which one comparison shows.
        if delta is None or done != _nothing_done(usual):
            _note_actions(extra, {"state_delta": delta, **dict(zip(_ACTED, done, strict=True))}, usual)
    # `content.role` does not say who speaks: tools answer as "user".
    answered = 0
    for part in parts:
        if type(part) is ToolResult:
            answered += 1
    role = "tool" if answered and answered == len(parts) else "agent"
    agent = author or None
    if author is not None and author.lower() == "user":
        role, agent = "user" if role == "agent" else role, None
    if role == "agent" and answered:
        extra[TOGETHER] = True
    if role != "user" and author is not None and agent is None:
        extra["author"] = author
    if content is not None:
        spoken = content.role
        if not parts or spoken != ("model" if role == "agent" else "user"):
            extra["content_role"] = spoken or ""
    if (node := event.node_info) is not None:
        # Nearly every event of 2.x has only the path.
        plain = node.output_for is None and node.message_as_output is None and node.path is not None
        extra["node_info"] = {"path": node.path} if plain else dict(node.items())
    code, message = event.error_code, event.error_message
    usage = None
    # Usage that consists of nulls is no usage; noted, so that it can be written back.
    if event.usage_metadata is not None and (usage := _usage(event.usage_metadata)) is None:
        extra["usage_metadata"] = {}
    return Step(
        id=event.id or None,
        role=role,  # type: ignore[arg-type]
        agent=agent,
        invocation=event.invocation_id or None,
        parts=parts,
        at=at,
        model=event.model_version,
        usage=usage,
        stop=event.finish_reason,
        error=StepError(kind=code, message=message) if code is not None or message is not None else None,
        state_delta=must_be_shallow(delta, "state_delta") or None,
        extra={NAME: extra} if extra else {},
    )


def _note_actions(extra: dict[str, Any], actions: dict[str, Any], usual: Empty) -> None:
    """Note what an event did besides changing the state, and which of its actions are empty."""
    empty = [name for name, did in actions.items() if did == {}]
    acted = {name: did for name, did in actions.items() if did is not None and did != {}}
    note_empty(extra, empty, acted, usual)
    acted.pop("state_delta", None)
    if acted:
        extra["actions"] = must_be_shallow(acted, "actions")


def _usage(counts: Counts) -> Usage | None:
    """Usage in pantrace's convention: ADK's prompt count includes the cache, but neither tool prompts nor thoughts."""
    prompt, tools = counts.prompt_token_count, counts.tool_use_prompt_token_count
    answer, thoughts = counts.candidates_token_count, counts.thoughts_token_count
    rest: dict[str, Any] = {}
    for name in _DETAILS:
        if (details := getattr(counts, name)) is not None:
            rest[name] = [{"modality": each.modality, "token_count": each.token_count} for each in details]
    if counts.traffic_type is not None:
        rest["traffic_type"] = counts.traffic_type
    usage = Usage(
        input=prompt if tools is None else tools if prompt is None else prompt + tools,
        output=answer if thoughts is None else thoughts if answer is None else answer + thoughts,
        cache_read=counts.cached_content_token_count,
        reasoning=thoughts,
        tool_prompt=tools,
        total=counts.total_token_count,
        extra={NAME: rest} if rest else {},
    )
    return usage if usage != _UNREPORTED else None


_UNREPORTED = Usage()
