"""ADK events as steps. Who speaks is decided by the author and the kind of part, never by `content.role`."""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType
from typing import Any

import msgspec

from pantrace.model import Citation, Part, Step, StepError, ToolResult, Unknown, Usage
from pantrace.wire import gemini
from pantrace.wire.difference import with_places
from pantrace.wire.json import as_kind, to_plain, unknown_keys
from pantrace.wire.optional import present
from pantrace.wire.pantrace_key import CARRIER

from .contents import as_content
from .fast_events import Empty, note_empty, step_of, typed_event
from .field_types import mapping, text, wrong_type
from .parts import NAME, TOGETHER, is_answer, part_from, parts_from, unwrap
from .recase import DEEP, EVENT, is_camel, recase, snake, without_nulls
from .schema import Event

_SNAKE = frozenset(EVENT)
_SCHEMA_ONLY = frozenset(name for name, shape in EVENT.items() if shape is DEEP) | {"node_info"}
_FRAME = frozenset({"id", "invocation_id", "timestamp", "branch", "node_info", "isolation_scope"})
"""Keys that say where an event belongs, and nothing about what happened."""
_NAMES = ("id", "invocation_id", "model_version", "finish_reason")
_CHUNKS = ("web", "retrieved_context", "maps", "image")


def steps_from(events: Iterable[Any], *, camel: bool = False, usual: Empty = None) -> list[Step]:
    """The steps of a list of events; streamed pieces become notes next to the complete response, and usage counts once.

    With `camel`, all keys are those of a camelCase record; else each event is looked at. `usual` are the empty actions
    that need no note, see `usual_empty`."""
    told: list[tuple[Step, dict[str, Any] | None]] = []
    streamed = False
    for raw in events:
        if not isinstance(raw, (dict, Event)):
            raise wrong_type("an event", "an object", raw)
        event = typed_event(raw, camel=camel) if isinstance(raw, dict) else raw
        # The slow way below gives the same step, but takes several times as long; most events are ordinary.
        if event is not None and (quick := step_of(event, usual)) is not None:
            told.append((quick, None))
            continue
        step, note = _step(raw if isinstance(raw, dict) else msgspec.to_builtins(raw), camel, usual)
        # Our writer had to split one step into several events, because ADK keeps answers apart.
        if note is not None and note.get("joins") is True and told:
            whole, first_note = told[-1]
            told[-1] = (msgspec.structs.replace(whole, parts=(*whole.parts, *step.parts)), first_note)
            continue
        told.append((step, note))
        streamed = streamed or is_partial(step)
    steps = [step if note is None else _with_carried(step, note) for step, note in told]
    return _count_usage_once(steps) if streamed else steps


def is_partial(step: Step) -> bool:
    """Whether a step is a piece of a streamed response."""
    return NAME in step.extra and step.extra[NAME].get("partial") is True


def _step(raw: dict[str, Any], camel: bool, usual: Empty) -> tuple[Step, dict[str, Any] | None]:
    # google-adk writes every field it knows; null and absent mean the same to it.
    event = present(raw)
    if camel or (not event.keys() <= _SNAKE and is_camel(event)):
        event = recase(event, EVENT, snake)
    take = event.pop
    content, author = as_content(take("content", None)), take("author", None)
    parts = parts_from(content)
    actions = mapping(take("actions", None), "an event's actions")
    # google-adk writes an empty object for an action that did not happen; which fields have one is noted separately.
    acted = {key: value for key, value in (actions or {}).items() if value is not None and value != {}}
    empty = [key for key, value in actions.items() if value == {}] if actions is not None else None
    done = set(acted)
    delta, compaction = acted.pop("state_delta", None), acted.get("compaction")
    # A compaction's text is inside its action; as an empty step it would lose the summary.
    if isinstance(compaction, dict) and not parts:
        content = as_content(compaction.get("compacted_content"))
        parts = parts_from(content)
        acted["compaction"] = unknown_keys(compaction, {"compacted_content"} if parts else ())
    if acted:
        event["actions"] = acted
    if (grounding := take("grounding_metadata", None)) is not None:
        cited, grounding = _citations(without_nulls(grounding))
        parts = (*parts, *cited)
        if grounding or not cited:
            event["grounding_metadata"] = grounding
    told = event.keys() - _FRAME
    if not parts and not delta and told and told.isdisjoint(_SNAKE):
        # All of its content is under keys that ADK does not have: keep it as one unknown part instead of an empty step.
        parts = (Unknown(kind=f"{NAME}:event", raw={key: event.pop(key) for key in list(event) if key in told}),)
    note_empty(event, empty, done, usual)
    role, agent = _speaker(author, parts)
    # Usually an answer is a separate event; noted, so that the writer does not split this one.
    if role == "agent" and any(is_answer(part) for part in parts):
        event[TOGETHER] = True
    if isinstance(compaction, dict):
        role = "agent"
    if role != "user" and author is not None and agent is None:
        event["author"] = author
    if isinstance(content, dict):
        spoken = content.get("role")
        if not content.get("parts") or spoken != content_role(role):
            event["content_role"] = spoken or ""
        unheard = {key: value for key, value in content.items() if key not in ("parts", "role") and value is not None}
        if content.get("parts") is None:
            # ADK distinguishes null from an empty list.
            unheard["parts"] = None
        if unheard:
            event["content"] = unheard
    note = _tidy(event)
    code, message = take("error_code", None), take("error_message", None)
    # Anything but a number stays in `extra`, and the step has no time; True would count as 1.
    at = event.get("timestamp")
    if isinstance(at, (int, float)) and at is not True and at is not False:
        take("timestamp")
    else:
        at = None
    name, invocation, model, stop = (event.get(key) if event.get(key) == "" else take(key, None) for key in _NAMES)
    usage = usage_from(counted := take("usage_metadata", None))
    if usage is None and counted is not None:
        event["usage_metadata"] = without_nulls(counted)
    words = {"author": author, "id": name, "invocation_id": invocation, "model_version": model}
    for key, word in {**words, "finish_reason": stop, "error_code": code, "error_message": message}.items():
        text(word, f"an event's {key}")
    mapping(delta, "an event's state_delta")
    step = Step(
        id=name or None,
        role=role,  # type: ignore[arg-type]
        agent=agent,
        invocation=invocation or None,
        parts=parts,
        at=at,
        model=model or None,
        usage=usage,
        stop=stop or None,
        error=StepError(kind=code, message=message) if code is not None or message is not None else None,
        kind="compaction" if isinstance(compaction, dict) else "message",
        state_delta=delta,
        extra={NAME: event} if event else {},
    )
    return step, note


def _speaker(author: Any, parts: tuple[Part, ...]) -> tuple[str, str | None]:
    # The author of a tool's answer may be the user or the agent; only the parts show that it is an answer.
    answers = bool(parts) and all(type(part) is ToolResult for part in parts)
    if isinstance(author, str) and author.lower() == "user":
        return ("tool" if answers else "user"), None
    return ("tool" if answers else "agent"), author or None


def content_role(role: str) -> str:
    """The role that ADK gives to a step's content: "model" only for the model's own words."""
    return "model" if role == "agent" else "user"


def _tidy(event: dict[str, Any]) -> dict[str, Any] | None:
    """Drop nulls from the rest of an event; returns pantrace's own note if there is one."""
    note = None
    if isinstance(custom := event.get("custom_metadata"), dict) and isinstance(custom.get(CARRIER), dict):
        note = custom[CARRIER]
        event["custom_metadata"] = unknown_keys(custom, {CARRIER})
        if not event["custom_metadata"]:
            del event["custom_metadata"]
    for key in event.keys() & _SCHEMA_ONLY:
        event[key] = without_nulls(event[key])
    return note


def usage_from(raw: Any) -> Usage | None:
    """Usage metadata; None if nothing in it is reported."""
    if not isinstance(raw, dict) or all(value is None for value in raw.values()):
        return None
    odd = {key: value for key, value in raw.items() if key in gemini.COUNTS and type(value) not in (int, NoneType)}
    if not odd:
        return gemini.usage_from(raw, NAME)
    # A count that is not an integer is kept unchanged, and counts as not reported.
    usage = gemini.usage_from({key: value for key, value in raw.items() if key not in odd}, NAME) or Usage()
    return msgspec.structs.replace(usage, extra={NAME: {**usage.extra.get(NAME, {}), **odd}})


def _citations(grounding: Any) -> tuple[list[Part], Any]:
    """The sources of a grounded answer, and the rest of the grounding metadata."""
    chunks = grounding.get("grounding_chunks") if isinstance(grounding, dict) else None
    if not chunks or not isinstance(chunks, list):
        return [], grounding
    rest = {key: value for key, value in grounding.items() if key != "grounding_chunks"}
    return [_citation(chunk) for chunk in chunks], rest


def _citation(chunk: Any) -> Part:
    kind = next((kind for kind in _CHUNKS if isinstance(chunk, dict) and isinstance(chunk.get(kind), dict)), None)
    if kind is None or len(chunk) != 1:
        return Citation(extra={NAME: {"chunk": chunk}})
    source = dict(chunk[kind])
    uri, title, text = source.pop("uri", None), source.pop("title", None), source.pop("text", None)
    usual = "retrieved_context" if text is not None else "web"
    if kind != usual:
        source["kind"] = kind
    if any(type(each) not in (str, NoneType) for each in (uri, title, text)):
        return Citation(extra={NAME: {"chunk": chunk}})
    return Citation(uri=uri, title=title, text=text, extra={NAME: source} if source else {})


def _with_carried(step: Step, note: dict[str, Any]) -> Step:
    """A step with what our writer noted in the event."""
    parts = list(step.parts)
    for index in note.get("unwrap", ()):
        parts[index] = unwrap(parts[index])
    plain = to_plain(msgspec.structs.replace(step, parts=tuple(parts)))
    for index, part in note.get("insert", ()):
        plain.setdefault("parts", []).insert(index, part)
    return as_kind(with_places(plain, note.get("step", [])), Step)


def _count_usage_once(steps: list[Step]) -> list[Step]:
    """Count only the last report of a streamed response, because reports are cumulative; pieces of a complete response
    become notes."""
    following: Step | None = None
    # From the end: whether a piece counts depends on what follows it.
    for index in reversed(range(len(steps))):
        step = steps[index]
        if not is_partial(step):
            following = step
            continue
        after = steps[index + 1] if index + 1 < len(steps) else None
        told = following is not None and _same_response(step, following)
        repeated = told or (after is not None and is_partial(after) and _same_response(step, after))
        extra = step.extra
        if repeated and step.usage is not None:
            extra = {**extra, NAME: {**extra[NAME], "usage_metadata": gemini.usage_to(step.usage, NAME)}}
        steps[index] = msgspec.structs.replace(
            step,
            usage=None if repeated else step.usage,
            kind="note" if told and step.kind == "message" else step.kind,
            extra=extra,
        )
    return steps


def _same_response(step: Step, other: Step) -> bool:
    return step.agent == other.agent and step.invocation == other.invocation and other.role != "user"


__all__ = [
    "content_role",
    "is_partial",
    "part_from",
    "steps_from",
    "usage_from",
]
