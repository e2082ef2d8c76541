"""Invocations: a user's turn with its answer, as eval sets state them and eval histories record them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Agent, ExpectedCall, Invocation, Step, Text, ToolCall, ToolResult, Trajectory

from .agents import agents_of, declared_agents
from .contents import as_content
from .event_writer import events_to
from .events import content_role, steps_from
from .expect import list_of, mapping, number, text
from .parts import NAME, part_from, part_to, parts_from, texts_in
from .recase import without_nulls
from .schema import Answer, Call, Content, Fields, Intermediate, Part, Schema, Unusual

_KNOWN = {
    "invocation_id",
    "user_content",
    "final_response",
    "intermediate_data",
    "creation_timestamp",
    "duration",
    "model_duration",
    "tool_duration",
    "app_details",
}
_SAID = ("user_content", "final_response", "intermediate_data")
_DATA = set(Intermediate.__struct_fields__)


def invocation_from(raw: Fields, name: str) -> Invocation:
    """The measured times of an invocation; a creation time of 0 is ADK's default and says nothing."""
    rest = {key: without_nulls(value) for key, value in raw.items() if key not in _KNOWN and value is not None}
    if isinstance(raw, dict) and (strange := _strange(raw.get("intermediate_data"))):
        rest["intermediate_data"] = strange
    return Invocation(
        id=name,
        at=number(raw.get("creation_timestamp"), "creation_timestamp") or None,
        seconds=number(raw.get("duration"), "duration"),
        model_seconds=number(raw.get("model_duration"), "model_duration"),
        tool_seconds=number(raw.get("tool_duration"), "tool_duration"),
        extra={NAME: rest} if rest else {},
    )


def names_of(invocations: Sequence[Fields]) -> list[str]:
    """A name for each invocation: its id, made unique where ids are empty or repeated."""
    names: dict[str, None] = {}
    for place, raw in enumerate(invocations, 1):
        name = text(raw.get("invocation_id"), "invocation_id") or f"invocation-{place}"
        while name in names:
            name = f"{name}#{place}"
        names[name] = None
    return list(names)


def steps_of(raw: Fields, name: str, agents: Sequence[Agent] = ()) -> list[Step]:
    """What an invocation says happened: the prompt, what stands between, the final response."""
    if isinstance(raw, dict):
        _must_be_known(raw)
    asked = _spoken(raw.get("user_content"), "user") if raw.get("user_content") is not None else []
    final = as_content(raw.get("final_response"))
    data: Fields = raw.get("intermediate_data") or {}
    events = list_of(data.get("invocation_events"), "invocation_events")
    apart = any(data.get(key) for key in ("tool_uses", "tool_responses", "intermediate_responses"))
    if events or (data.get("invocation_events") is not None and not apart):
        if isinstance(raw, Schema):
            raise Unusual
        steps = _with_final(events, final, agents)
    else:
        steps = _intermediate(data, final)
    asked = [step for step in asked if step.parts]
    return [msgspec.structs.replace(step, invocation=name) for step in (*asked, *steps)]


def _must_be_known(raw: dict[str, Any]) -> None:
    """Refuse an invocation of which nothing is understood: as an empty one it would be measured, and found idle."""
    data = mapping(raw.get("intermediate_data"), "intermediate_data") or {}
    known = any(data.get(key) is not None for key in _DATA)
    strange = list(_strange(data))
    if not any(raw.get(key) for key in _SAID):
        strange = [key for key, value in raw.items() if value and key not in _KNOWN and key != "rubrics"]
    elif known:
        return
    if strange:
        raise ReadError(
            f"what happened in an invocation is told under keys that are not ADK's: {', '.join(strange)[:80]}",
            remedy="the file may be of another program that looks like ADK",
        )


def _strange(data: Any) -> dict[str, Any]:
    """What intermediate data says beyond ADK's keys, or in both of ADK's ways at once: then the events count."""
    if not isinstance(data, dict):
        return {}
    known = {"invocation_events"} if data.get("invocation_events") else _DATA
    return {key: value for key, value in data.items() if key not in known and value is not None}


def _with_final(events: list[Any], final: Any, agents: Sequence[Agent]) -> list[Step]:
    """Events with the final response at its place: 2.13 leaves an empty event there, earlier versions none."""
    if isinstance(final, dict) and not any(event.get("content") == final for event in events):
        empty = [number for number, event in enumerate(events) if event.get("content") is None]
        if empty:
            events = list(events)
            events[empty[-1]] = {**events[empty[-1]], "content": final}
        else:
            events = [*events, {"author": _last_speaker(events, agents), "content": final}]
    return steps_from(events)


def _last_speaker(events: list[Any], agents: Sequence[Agent]) -> str | None:
    """Who most likely gave a final response whose author is not recorded: the last to speak or to be handed over to."""
    for event in reversed(events):
        for part in reversed(parts_from(event.get("content"))):
            if isinstance(part, ToolCall) and part.name == "transfer_to_agent" and isinstance(part.arguments, dict):
                target = part.arguments.get("agent_name")
                return target if isinstance(target, str) else event.get("author")
        if event.get("author"):
            author: str = event["author"]
            return author
    return agents[0].name if len(agents) == 1 else None


def _intermediate(data: Fields, final: Any) -> list[Step]:
    """IntermediateData: calls, answers and what sub-agents said on the way are told apart, without a common order."""
    steps: list[Step] = []
    calls = [
        part_from(Part(function_call=call) if isinstance(call, Call) else {"function_call": call})
        for call in list_of(data.get("tool_uses"), "tool_uses")
    ]
    if calls:
        steps.append(Step(role="agent", parts=tuple(calls)))
    answers = [
        part_from(Part(function_response=answer) if isinstance(answer, Answer) else {"function_response": answer})
        for answer in list_of(data.get("tool_responses"), "tool_responses")
    ]
    if answers:
        steps.append(Step(role="tool", parts=tuple(answers)))
    for author, parts in list_of(data.get("intermediate_responses"), "intermediate_responses"):
        told = tuple(part_from(part) for part in list_of(parts, "the parts of an intermediate response"))
        agent = text(author, "an author") or None
        steps.append(Step(role="agent", agent=agent, parts=told, extra={NAME: {"intermediate": True}}))
    if final is not None:
        steps.extend(_spoken(final, "agent"))
    return steps


def _spoken(content: Any, role: Literal["user", "agent"]) -> list[Step]:
    """The step of a content that nobody is named for; the quick way where it is nothing but parts of the usual role."""
    typed = isinstance(content, Content)
    if typed or (isinstance(content, dict) and content.get("parts") and content.keys() <= {"parts", "role"}):
        parts = parts_from(content)
        if content.get("role") in (content_role(role), None) and not all(type(part) is ToolResult for part in parts):
            return [Step(role=role, parts=parts)]
    if typed:
        content = msgspec.to_builtins(content)
    return steps_from([{"author": "user" if role == "user" else None, "content": content}])


def expected_from(invocations: Sequence[Fields]) -> Trajectory:
    """The reference trajectory that a list of invocations states."""
    names = names_of(invocations)
    declarations = [declared_agents(raw.get("app_details")) for raw in invocations]
    steps = [
        step
        for raw, name, agents in zip(invocations, names, declarations, strict=True)
        for step in steps_of(raw, name, agents)
    ]
    return Trajectory(
        agents=agents_of(declarations, steps),
        steps=tuple(steps),
        invocations=tuple(invocation_from(raw, name) for raw, name in zip(invocations, names, strict=True)),
    )


def prompts_in(invocations: Iterable[Fields]) -> str | None:
    """All that the user asks in a conversation, one prompt per line."""
    asked = [said for raw in invocations if (said := texts_in(raw.get("user_content")))]
    return "\n".join(asked) if asked else None


def expected_calls(trajectory: Trajectory) -> tuple[ExpectedCall, ...]:
    """The calls of a reference trajectory."""
    return tuple(
        [
            ExpectedCall(name=part.name, arguments=part.arguments)
            for step in trajectory.steps
            for part in step.parts
            if isinstance(part, ToolCall)
        ]
    )


def invocation_to(
    name: str, steps: Sequence[Step], invocation: Invocation | None, *, speaker: str, plain: bool = False
) -> dict[str, Any]:
    """One invocation of a trajectory, as ADK makes it of events; `plain`: as IntermediateData, where it fits."""
    row: dict[str, Any] = {"invocation_id": name}
    extra = dict(invocation.extra.get(NAME, {})) if invocation is not None else {}
    recorded = extra.pop("recorded", {})
    extra.pop("agents", None)
    extra.pop("app_details", None)
    extra.pop("block", None)
    if plain and _is_plain(steps):
        row.update(_plain(steps))
    else:
        row.update(_told(events_to(steps, [name] * len(steps), speaker)))
    row.update(recorded)
    if invocation is not None:
        times = {
            "creation_timestamp": invocation.at,
            "duration": invocation.seconds,
            "model_duration": invocation.model_seconds,
            "tool_duration": invocation.tool_seconds,
        }
        row.update({key: value for key, value in times.items() if value is not None})
    if rubrics := extra.pop("rubrics", None):
        row["rubrics"] = rubrics
    return row


def _is_plain(steps: Sequence[Step]) -> bool:
    """Whether steps have the shape that `_intermediate` makes: calls, answers, flagged replies, one final response."""
    shape = "".join(_shape(step) for step in steps)
    prompts = shape.count("u")
    rest = shape.lstrip("u")
    for letter in "ct":
        rest = rest.removeprefix(letter)
    return prompts <= 1 and "x" not in shape and rest.lstrip("i") in ("", "f")


def _shape(step: Step) -> str:
    flagged = step.extra.get(NAME, {}) == {"intermediate": True}
    others = any(part_to(part) is None for part in step.parts)
    if others or step.usage or step.at or step.model or step.error or step.stop or step.state_delta:
        return "x"
    if step.role == "user" and not step.agent:
        return "u"
    if flagged and step.role == "agent":
        return "i"
    if step.agent or step.extra:
        return "x"
    if step.role == "tool":
        return "t"
    if step.role == "agent" and step.parts and all(isinstance(part, ToolCall) for part in step.parts):
        return "c"
    return "f" if step.role == "agent" and not any(isinstance(p, (ToolCall, ToolResult)) for p in step.parts) else "x"


def _plain(steps: Sequence[Step]) -> dict[str, Any]:
    data: dict[str, Any] = {"tool_uses": [], "tool_responses": [], "intermediate_responses": []}
    row: dict[str, Any] = {"user_content": {"parts": [], "role": "user"}, "intermediate_data": data}
    for step in steps:
        raws = [raw for part in step.parts if (raw := part_to(part)) is not None]
        kind = _shape(step)
        if kind == "u":
            row["user_content"] = {"parts": raws, "role": "user"}
        elif kind == "c":
            data["tool_uses"] += [raw["function_call"] for raw in raws if "function_call" in raw]
        elif kind == "t":
            data["tool_responses"] += [raw["function_response"] for raw in raws if "function_response" in raw]
        elif kind == "i":
            data["intermediate_responses"].append([step.agent or "", raws])
        else:
            row["final_response"] = {"parts": raws, "role": "model"}
    return row


def _told(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Prompt, final response and the events between, chosen as ADK 2.13 chooses them."""
    row: dict[str, Any] = {"user_content": {"parts": [], "role": "user"}}
    chosen: list[dict[str, Any]] = []
    final: dict[str, Any] | None = None
    for event in events:
        content = event.get("content")
        if event["author"].lower() == "user":
            if content is not None:
                row["user_content"] = content
            continue
        parts = content.get("parts") if content else None
        if parts and is_final(event) and (final is None or not _has_text(final) or _has_text(event)):
            final = event
        if event.get("grounding_metadata") or any(_counts(part) for part in parts or ()):
            chosen.append(event)
    if final is not None:
        row["final_response"] = final["content"]
    row["intermediate_data"] = {
        "invocation_events": [_invocation_event(event, whole=event is not final) for event in chosen]
    }
    return row


_REPEATED = ("grounding_metadata", "usage_metadata", "model_version")


def _invocation_event(event: dict[str, Any], *, whole: bool) -> dict[str, Any]:
    kept: dict[str, Any] = {key: event[key] for key in _REPEATED if key in event}
    content = event.get("content")
    if content is not None and (whole or any("function_call" in part for part in content.get("parts") or ())):
        kept["content"] = content
    return {"author": event["author"], **kept}


def _counts(part: dict[str, Any]) -> bool:
    return any(part.get(key) for key in ("function_call", "function_response", "text", "inline_data"))


def _has_text(event: dict[str, Any]) -> bool:
    return any(part.get("text") for part in event["content"].get("parts") or ())


def is_final(event: dict[str, Any]) -> bool:
    """ADK's rule for the final response of an agent."""
    parts: list[dict[str, Any]] = (event.get("content") or {}).get("parts") or []
    calls = any(part.get("function_call") for part in parts)
    if (event.get("actions") or {}).get("skip_summarization") or event.get("long_running_tool_ids"):
        return True
    if event.get("error_code") and not event.get("partial") and not calls:
        return True
    answers = any(part.get("function_response") for part in parts)
    runs_code = bool(parts) and bool(parts[-1].get("code_execution_result"))
    return not calls and not answers and not event.get("partial") and not runs_code


def repeats(raw: Fields, events: Sequence[Fields]) -> bool:
    """Whether an invocation says nothing that the session's events of it do not say as well."""
    told = [event.get("content") for event in events if event.get("author") == "user"]
    if raw.get("user_content") not in told:
        return False
    others = [event for event in events if event.get("author") != "user"]
    if (final := raw.get("final_response")) is not None and all(event.get("content") != final for event in others):
        return False
    data = raw.get("intermediate_data") or {}
    if not isinstance(short := data.get("invocation_events"), list):
        return not any(value for _, value in data.items())
    rest = iter(others)
    return all(any(_same(each, event, final) for event in rest) for each in short)


def _same(short: Fields, event: Fields, final: Any) -> bool:
    empty = short.get("content") is None and (isinstance(short, Schema) or "content" in short)
    if empty and event.get("content") not in (None, final):
        return False
    return all(event.get(key) == value for key, value in short.items() if value is not None)


def final_text(trajectory: Trajectory) -> str | None:
    """The text of the last step that says something: the reference answer of an expected trajectory."""
    for step in reversed(trajectory.steps):
        if step.role == "agent" and not step.extra.get(NAME, {}).get("intermediate"):
            texts = [part.text for part in step.parts if isinstance(part, Text) and part.text]
            if texts:
                return "\n".join(texts)
    return None
