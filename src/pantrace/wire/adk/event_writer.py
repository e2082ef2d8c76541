"""Steps as ADK events that ADK's own models accept; data without a field goes to `custom_metadata`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from pantrace.model import Citation, Part, Step, ToolResult
from pantrace.wire import gemini
from pantrace.wire.json import to_plain, unknown_keys
from pantrace.wire.optional import present
from pantrace.wire.pantrace_key import CARRIER

from .events import content_role, is_partial, steps_from
from .fast_events import Empty
from .parts import NAME, TOGETHER, is_answer, is_wrapped, part_to
from .residual import residual

_FINISH = {
    "stop": "STOP",
    "end_turn": "STOP",
    "tool-calls": "STOP",
    "tool_calls": "STOP",
    "tool_use": "STOP",
    "length": "MAX_TOKENS",
    "max_tokens": "MAX_TOKENS",
    "content-filter": "SAFETY",
    "content_filter": "SAFETY",
}
"""Other providers' words for why a model stopped; Gemini's own are in capitals."""


def events_to(
    steps: Sequence[Step], invocations: Sequence[str], agent: str, usual: Empty = None
) -> list[dict[str, Any]]:
    """The events of steps, each in its named invocation. `agent` is the author if a step names nobody; an event gets
    the `usual` empty actions unless its step notes others."""
    events: list[dict[str, Any]] = []
    # A tool's answer names nobody in most formats: it belongs to the agent that spoke last.
    speaker = agent
    for step, invocation in zip(steps, invocations, strict=True):
        if step.role in ("agent", "tool"):
            speaker = step.agent or speaker
        events.extend(_events(step, invocation, speaker, usual))
    return events


def _events(step: Step, invocation: str, speaker: str, usual: Empty) -> list[dict[str, Any]]:
    groups = _groups(step)
    # Grounding belongs to a whole event: citations between other parts cannot be written as such.
    trailing = len(groups) == 1 and step.role == "agent"
    cited = _trailing_citations(step.parts) if trailing else ()
    said = step.parts[: len(step.parts) - len(cited)]
    # Parts that ADK's models refuse are kept in our note, with their places.
    inserted = [[index, to_plain(part)] for index, part in enumerate(said) if part_to(part) is None]
    sayable = [part for part in said if part_to(part) is not None]
    events = [_event(step, groups[0], invocation, speaker, usual)]
    at = step.at
    for group in groups[1:]:
        at = _moment(at, group)
        events.append(_further_event(step, group, events[0], at))
    if cited:
        grounding = {"grounding_chunks": [chunk_of(each) for each in cited], **events[0].get("grounding_metadata", {})}
        events[0]["grounding_metadata"] = grounding
    note: dict[str, Any] = {}
    if unwrap := [index for index, part in enumerate(sayable) if is_wrapped(part)]:
        note["unwrap"] = unwrap
    if inserted:
        note["insert"] = inserted
    for number, event in enumerate(events[1:], 2):
        if step.id:
            event["id"] = f"{step.id}-{number}"
        # Our reader joins these events to one step again.
        event["custom_metadata"] = {CARRIER: {"joins": True}}
    # Read back at once, so that only what ADK's shape really loses is noted.
    back = steps_from([_with_note(events[0], note), *events[1:]], usual=usual)[0]
    if is_partial(step):
        # Whether a complete response repeats a streamed piece depends on the following events, which are not here.
        back = msgspec.structs.replace(back, kind=step.kind, usage=step.usage, extra=step.extra)
    if rest := residual(back, step):
        note["step"] = rest
    return [_with_note(events[0], note), *events[1:]]


def _groups(step: Step) -> list[list[Part]]:
    """The parts of a step by event. ADK writes a tool's answer as an event of its own after the call, but keeps the
    output of code that ran on the model's side, and everything that was read from one event, in one event."""
    # Read from one event: written as one, so that a copy of an ADK file has the same events.
    if step.role != "agent" or step.extra.get(NAME, {}).get(TOGETHER):
        return [list(step.parts)]
    groups: list[list[Part]] = []
    for part in step.parts:
        if part_to(part) is None:
            continue
        if groups and is_answer(groups[-1][-1]) == is_answer(part):
            groups[-1].append(part)
        else:
            groups.append([part])
    # An answer alone would be read back as a tool's step; the empty event in front keeps it the agent's.
    if groups and is_answer(groups[0][0]):
        groups.insert(0, [])
    return groups or [[]]


def _trailing_citations(parts: tuple[Part, ...]) -> tuple[Citation, ...]:
    found: list[Citation] = []
    for part in reversed(parts):
        if not isinstance(part, Citation):
            break
        found.append(part)
    return tuple(reversed(found))


def chunk_of(citation: Citation) -> dict[str, Any]:
    """A citation as a grounding chunk."""
    extra = dict(citation.extra.get(NAME, {}))
    if isinstance(chunk := extra.get("chunk"), dict):
        return chunk
    kind = extra.pop("kind", "retrieved_context" if citation.text is not None else "web")
    source = {"uri": citation.uri, "title": citation.title, "text": citation.text, **extra}
    return {kind: present(source)}


def _further_event(step: Step, parts: list[Part], first: dict[str, Any], at: float | None) -> dict[str, Any]:
    """An event after the first one of a step, which carries its usage and so on."""
    role = "user" if all(is_answer(part) for part in parts) else content_role(step.role)
    event = {key: first[key] for key in ("invocation_id", "author")}
    event["content"] = {"parts": [raw for part in parts if (raw := part_to(part)) is not None], "role": role}
    return event if at is None else {**event, "timestamp": at}


def _moment(at: float | None, parts: list[Part]) -> float | None:
    """The time of an event: when the last of its tools ended, but not before the event in front. Without a time,
    google-adk would use that of loading."""
    times = [part.ended for part in parts if isinstance(part, ToolResult) and part.ended is not None]
    return max(times if at is None else [at, *times], default=None)


def _event(step: Step, parts: list[Part], invocation: str, speaker: str, usual: Empty) -> dict[str, Any]:
    """The first event of a step, without pantrace's note."""
    extra = dict(step.extra.get(NAME, {}))
    extra.pop(TOGETHER, None)
    event: dict[str, Any] = {"invocation_id": invocation, "author": extra.pop("author", None) or _author(step, speaker)}
    role, content = extra.get("content_role"), extra.get("content", {})
    said = [raw for part in parts if (raw := part_to(part)) is not None]
    actions: dict[str, Any] = dict(extra.pop("actions", {}))
    if step.state_delta:
        actions["state_delta"] = step.state_delta
    empty = extra.pop("empty_actions", usual)
    # As in the source: whether google-adk writes empty fields depends on its version.
    actions = {key: {} for key in sorted(empty or ())} | actions
    compaction = actions.get("compaction")
    if isinstance(compaction, dict) and "compacted_content" not in compaction and step.kind == "compaction":
        actions["compaction"] = {**compaction, "compacted_content": content_of(said, step.role, extra)}
    elif said or content or role is not None:
        event["content"] = content_of(said, step.role, extra)
    if actions or empty is not None:
        event["actions"] = actions
    event.update(_step_fields(step))
    event.update(unknown_keys(extra, ("content_role", "content")))
    return event


def content_of(parts: list[dict[str, Any]], role: str, kept: dict[str, Any]) -> dict[str, Any]:
    """A content of parts, with the role and other keys that a step has `kept` of it."""
    other = kept.get("content", {})
    content = {
        "parts": parts or other.get("parts", parts),
        "role": kept.get("content_role", content_role(role)) or None,
    }
    return present(content | unknown_keys(other, content))


def _step_fields(step: Step) -> dict[str, Any]:
    error = step.error
    fields = {
        "id": step.id,
        "timestamp": step.at,
        "model_version": step.model,
        "usage_metadata": gemini.usage_to(step.usage, NAME) or None if step.usage is not None else None,
        "finish_reason": _FINISH.get(step.stop.lower(), _capitals(step.stop)) if step.stop is not None else None,
        "error_code": error.kind if error is not None else None,
        "error_message": error.message if error is not None else None,
    }
    return present(fields)


def _capitals(stop: str) -> str:
    # In google-adk this is an enumeration of Gemini's words, and others make it refuse the file.
    return stop if stop.isascii() and stop.isupper() and stop.replace("_", "").isalpha() else "OTHER"


def _author(step: Step, speaker: str) -> str:
    if step.role == "user":
        return "user"
    return "system" if step.role == "system" else step.agent or speaker


def _with_note(event: dict[str, Any], note: dict[str, Any]) -> dict[str, Any]:
    if not note:
        return event
    return {**event, "custom_metadata": {**event.get("custom_metadata", {}), CARRIER: note}}
