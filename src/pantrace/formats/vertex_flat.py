"""Rows with prompt and response for Vertex AI's Gen AI evaluation client, including tool calls.

Spec: the FLATTEN schema of google-cloud-aiplatform 2.6.0 (vertexai/_genai/_evals_data_converters.py). The calls of the
    last turn are `intermediate_events`; those of earlier turns are in `conversation_history`.
Detect: `prompt` and `response` beside `conversation_history`, `history`, `intermediate_events` or `rubric_groups`.
Lost: models, tokens, costs; times and names of agents before the last turn; compaction summaries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from pantrace.errors import ReadError, SampleRefused
from pantrace.model import Agent, Sample, Step, Thinking, Trajectory, Violation, is_agents, is_prompt, step_text
from pantrace.wire.head import Head
from pantrace.wire.json import decode, unknown_keys
from pantrace.wire.optional import present
from pantrace.wire.shape import document, violations
from pantrace.wire.times import from_iso, time_text
from pantrace.wire.vertex.columns import column_text, columns_from, columns_of, main_agent, text_or_content
from pantrace.wire.vertex.contents import CONTENT, append_content, content_in, content_to, contents_of
from pantrace.wire.vertex.parts import part_out
from pantrace.wire.vertex.refusal import refusal, sample_refusal
from pantrace.wire.violation import error, warning

from .format import Format, NoOptions

NAME = "vertex-flat"
STATED = "response_stated"
"""A column of ours: the response does not follow the events, which have everything that was said."""
_KEYS = {"prompt", "response", "conversation_history", "intermediate_events", "instruction", STATED}
_MARKS = {"conversation_history", "history", "intermediate_events", "rubric_groups"}
# With one of these the row belongs to another of Vertex's layouts; the client, too, looks for `request` first.
_OTHERS = {"request", "agent_data", "generated_trajectory", "tool_use", "prompt_concat"}


def detect(head: Head) -> str | None:
    row = head.record
    if not row.keys() >= {"prompt", "response"} or not row.keys() & _MARKS or row.keys() & _OTHERS:
        return None
    return "" if all(_is_content(row[key]) for key in ("prompt", "response")) else None


def _is_content(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and isinstance(value.get("parts"), list))


def load(row: Any) -> Sample:
    if not isinstance(row, dict) or not row.keys() & {"prompt", "source"} or "response" not in row:
        raise ReadError("has no prompt and response", remedy="is --from right?")
    # The client accepts `source` and `history` for the same columns.
    keys = {old for new, old in (("prompt", "source"), ("conversation_history", "history")) if row.get(new) is None}
    fields = columns_from(row, NAME, _KEYS | keys)
    steps: list[Step] = []
    history = _first(row, "conversation_history", "history")
    # The client accepts JSON text, as tables hold it.
    if isinstance(history, str) and history.strip():
        history = decode(history.encode())
    for content in history if isinstance(history, list) else ():
        append_content(steps, content_in(content, NAME), NAME)
    asked = _first(row, "prompt", "source")
    prompt = content_in(_content(asked, "user"), NAME)
    append_content(steps, prompt, NAME, rest={CONTENT: {}} if _is_needless(asked, "user") else None)
    start = len(steps)
    events = row.get("intermediate_events")
    for event in events if isinstance(events, list) else ():
        _append_event(steps, event, start)
    stated = _append_response(steps, row, start)
    agents: tuple[Agent, ...] = ()
    if row.get("instruction") is not None:
        name = next((step.agent for step in steps[start:] if step.agent), "agent")
        text = column_text(row["instruction"])
        kept = {NAME: {"instruction": row["instruction"]}} if text is None else {}
        agents = (Agent(name=name, instructions=text, extra=kept),)
    trajectory = Trajectory(
        id=fields["id"],
        title=fields.pop("title"),
        created=fields.pop("created"),
        agents=agents,
        steps=tuple(steps),
        response=stated,
    )
    return Sample(trajectory=trajectory, **fields)


def _first(row: dict[str, Any], *keys: str) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _content(value: Any, role: str) -> dict[str, Any]:
    """A column as a content of that role."""
    if isinstance(value, dict):
        return {**value, "role": role}
    if value is not None and not isinstance(value, str):
        raise ReadError(f"must be a text or a content, not {str(value)[:40]!r}", place=role)
    return {"role": role, "parts": [{"text": value}] if value else []}


def _is_needless(column: Any, role: str) -> bool:
    """Whether a column is a content object where our writer would write plain text."""
    return (
        isinstance(column, dict) and (text := column_text(column)) is not None and text_or_content(text, role) == text
    )


def _append_event(steps: list[Step], event: Any, start: int) -> None:
    if not isinstance(event, dict):
        raise ReadError("an intermediate event is not an object", place="intermediate_events")
    known = {"author", "content", "event_id", "creation_timestamp"}
    rest = unknown_keys(present(event), known)
    at = from_iso(event.get("creation_timestamp"))
    if at is None and event.get("creation_timestamp") is not None:
        rest["creation_timestamp"] = event["creation_timestamp"]
    append_content(
        steps,
        content_in(event.get("content"), NAME),
        NAME,
        author=event.get("author"),
        start=start,
        id=event.get("event_id"),
        at=at,
        rest=rest,
    )


def _append_response(steps: list[Step], row: dict[str, Any], start: int) -> str | None:
    """Add the answer to the step whose thoughts led to it, or as a step of its own. A response that is in the events,
    or was only stated, is not a step: it is returned if it is not the last thing said."""
    response = row["response"]
    content = _content(response, "model")
    # Our own column: without it, the response would be read as one more step.
    if row.get(STATED) is True and (text := column_text(response)) is not None:
        last = next((words for step in reversed(steps[start:]) if (words := step_text(step))), None)
        return text if text != last else None
    beside = unknown_keys(content, ("role", "parts"))
    kept = {NAME: {"response": beside}} if beside or _is_needless(response, "model") else {}
    append_content(steps, content_in({"role": "model", "parts": content.get("parts")}, NAME), NAME)
    steps[-1] = answer = msgspec.structs.replace(steps[-1], extra=kept)
    thought = steps[-2] if len(steps) > start + 1 else None
    if thought is None or thought.role != "agent" or not thought.parts:
        return None
    # The writer moves the answer's text into its own column; the thoughts before it stay behind as an event.
    if all(isinstance(part, Thinking) for part in thought.parts):
        extra = {NAME: thought.extra.get(NAME, {}) | kept[NAME]} if kept else thought.extra
        steps[-2:] = [msgspec.structs.replace(thought, parts=(*thought.parts, *answer.parts), extra=extra)]
    return None


def dump(sample: Sample, options: NoOptions) -> dict[str, Any]:
    trajectory = sample.trajectory
    if trajectory is None:
        raise SampleRefused("nothing was run: a row needs a prompt and a response")
    if (why := sample_refusal(sample, NAME)) is not None:
        raise SampleRefused(why)
    steps = trajectory.steps
    asked = next((place for place in range(len(steps) - 1, -1, -1) if is_prompt(steps[place])), None)
    prompt = (
        None if asked is None else _column(_parts(steps[asked]), "user", steps[asked].extra.get(NAME, {}).get(CONTENT))
    )
    if asked is None or not prompt:
        # Refused here: the client would refuse the whole file, and not only this row.
        raise SampleRefused("it has no prompt: the client refuses all rows of a file for one without")
    main = main_agent(trajectory)
    events, response, repeated = _events_and_response(steps[asked + 1 :], main, trajectory.response)
    if not response:
        raise SampleRefused(
            "the agent said nothing after the last prompt: the client refuses all rows for one without a response"
        )
    row: dict[str, Any] = {
        "session_id": sample.id,
        "prompt": prompt,
        "response": response,
        "conversation_history": list(_history(steps[:asked])),
        "intermediate_events": events,
    }
    if repeated:
        row[STATED] = True
    if (instruction := _instruction(trajectory)) is not None:
        row["instruction"] = instruction
    row.update(columns_of(sample, NAME))
    return row


def _parts(step: Step) -> list[dict[str, Any]]:
    return [out for part in step.parts if (out := part_out(part, NAME)) is not None]


def _column(parts: list[dict[str, Any]], role: str, kept: dict[str, Any] | None) -> str | dict[str, Any] | None:
    """Parts as a column: text joined by blank lines if they are plain, else a content object, with its own keys if it
    was read as one."""
    if not parts:
        return None
    if kept is None and all(part.keys() == {"text"} and isinstance(part["text"], str) for part in parts):
        return text_or_content("\n\n".join(part["text"] for part in parts), role)
    return {"role": role, "parts": parts, **(kept or {})}


def _history(steps: tuple[Step, ...]) -> Iterator[dict[str, Any]]:
    for step in steps:
        if is_prompt(step) and (parts := _parts(step)):
            yield content_to(step, "user", parts, NAME)
        elif is_agents(step):
            for number, (role, said_parts, _) in enumerate(contents_of(step, NAME)):
                content = {"role": role, "parts": said_parts}
                yield content if number else content_to(step, role, said_parts, NAME)


def _events_and_response(
    steps: tuple[Step, ...], main: str, stated: str | None
) -> tuple[list[dict[str, Any]], str | dict[str, Any] | None, bool]:
    """The last turn: the events, the answer (as stated, or the last thing said), and whether the answer is in the
    events or was only stated, instead of following them."""
    entries = [(step, content) for step in steps if is_agents(step) for content in contents_of(step, NAME)]
    spoken = [place for place, (_, content) in enumerate(entries) if any(_is_said(part) for part in content[1])]
    response, closing = None, False
    said = [part["text"] for part in entries[spoken[-1]][1][1] if _is_said(part)] if spoken else []
    # A statement of what was said last says nothing new, and is not read back as one.
    if stated is not None and said != [stated]:
        response = text_or_content(stated, "model") if stated else None
    elif spoken:
        step, (_, parts, _) = entries[spoken[-1]]
        # A text before a call must not look as if it came after it.
        closing = spoken[-1] == len(entries) - 1 and _is_said(parts[-1])
        kept = step.extra.get(NAME, {}).get("response")
        response = _column([part for part in parts if _is_said(part)], "model", kept)
    events = []
    seen: set[int] = set()
    for place, (step, (role, parts, ended)) in enumerate(entries):
        if closing and place == spoken[-1]:
            parts = [part for part in parts if not _is_said(part)]
            if not parts:
                continue
        events.append(_event(step, role, parts, ended, main, first=id(step) not in seen))
        seen.add(id(step))
    return events, response, not closing


def _is_said(part: dict[str, Any]) -> bool:
    return "text" in part and not part.get("thought")


def _event(
    step: Step, role: str, parts: list[dict[str, Any]], ended: float | None, main: str, *, first: bool
) -> dict[str, Any]:
    content = content_to(step, role, parts, NAME) if first else {"role": role, "parts": parts}
    event: dict[str, Any] = {"author": step.agent or main, "content": content}
    if first and step.id is not None:
        event["event_id"] = step.id
    time = time_text(step.at if first and ended is None else ended)
    if time is not None:
        event["creation_timestamp"] = time
    return {**event, **unknown_keys(step.extra.get(NAME, {}), {CONTENT, "response"})} if first else event


def _instruction(trajectory: Trajectory) -> Any:
    """The first instructions of an agent, or else the system message."""
    for agent in trajectory.agents:
        if NAME in agent.extra and "instruction" in agent.extra[NAME]:
            return agent.extra[NAME]["instruction"]
        if agent.instructions:
            return text_or_content(agent.instructions, "system")
    system = [text for step in trajectory.steps if step.role == "system" and (text := step_text(step))]
    return text_or_content("\n\n".join(system), "system") if system else None


_CONTENT = {"role?": str, "parts": [dict]}
_SHAPE = {
    "prompt": (str, _CONTENT),
    "response": (str, _CONTENT),
    "conversation_history?": [_CONTENT],
    "intermediate_events?": [{"content": _CONTENT, "author?": str, "event_id?": str, "creation_timestamp?": str}],
    "instruction?": (str, _CONTENT),
    "reference?": (str, _CONTENT),
    "session_id": document(str),
}
_EVENT_KEYS = {"content", "author", "event_id", "creation_timestamp"}


def check(row: Any) -> Iterator[Violation]:
    """Violations of the client's shape, and of what makes it refuse a whole file."""
    found = list(violations(row, _SHAPE))
    yield from found
    if not isinstance(row, dict):
        return
    for key in ("prompt", "response"):
        if key in row and not row[key]:
            yield error("is empty: the client refuses the whole file", key)
        elif isinstance(row.get(key), str) and isinstance(text_or_content(row[key], "user"), dict):
            # The client reads files with pandas, which turns a column of such texts into numbers.
            message = "looks like a number: if all rows do, the client refuses the whole file"
            yield warning(message, key)
    if "request" in row:
        yield error("makes the client read GEMINI rows and drop the events", "request")
    events = row.get("intermediate_events")
    for index, event in enumerate(events if isinstance(events, list) else ()):
        for key in sorted(event.keys() - _EVENT_KEYS) if isinstance(event, dict) else ():
            place = f"intermediate_events[{index}].{key}"
            yield error("is no key of an event: the client drops the event", place)
    if (why := refusal(row)) is not None:
        yield error(why)


FORMAT = Format(
    name=NAME,
    title="Prompt and response rows for Vertex AI's Gen AI evaluation client, including tool calls",
    spec="the FLATTEN schema in google-cloud-aiplatform 2.6.0, vertexai/_genai/_evals_data_converters.py",
    detect=detect,
    load=load,
    dump=dump,
    check=check,
    lost={
        "trajectory.children": "sub-agents with their own trajectory are separate rows",
        "trajectory.agents[]": "a row has one instruction and no agents",
        "trajectory.steps[].at": "only events of the last turn have a time",
        "trajectory.steps[].agent": "only events of the last turn name the speaker",
        "trajectory.steps[].id": "only events of the last turn have ids",
        "trajectory.steps[]": "contents have only text, thoughts, files, calls and results",
        "trajectory.response": "the response is a column, and the last step when it is read",
        "case": "only reference and context are columns",
        "scores": "the client computes its own",
    },
    note="checked with client 2.6.0; the server itself was not used",
    reencoded={
        "*function_response.response.error": "`exit code 1` is a number in the model",
    },
)
