"""Spans: a trace derived from a trajectory, with measured times only, and durations read from a recorded trace."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, TypeGuard

from pantrace.model import CallPair, Invocation, Sample, Step, ToolCall, Trajectory, call_pairs
from pantrace.wire import gemini, time_spans
from pantrace.wire.adk.parts import NAME as ADK
from pantrace.wire.adk.parts import response_of
from pantrace.wire.adk.sessions import invocation_ids, main_agent
from pantrace.wire.json import encode
from pantrace.wire.optional import present
from pantrace.wire.time_spans import union, without

Span = dict[str, Any]

MADE = "pantrace.made_from"
"""Marks invocations in traces that we derived from events, to tell them from recorded ones."""


def _digits(text: str, count: int) -> str:
    """Decimal digits derived from a text, always the same, in the form of the original's span ids."""
    number = str(int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()))
    return number[:count]


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)


def trace_of(sample: Sample, app: str) -> list[Span]:
    """Spans as google-adk 1.x names them, for each invocation, agent, model call and tool call. A start or end that was
    not measured is null; an event's time counts as its start."""
    trajectory = sample.trajectory
    if trajectory is None:
        return []
    session = trajectory.id or sample.id
    measured = {each.id: each for each in trajectory.invocations}
    pairs: dict[int, list[CallPair]] = {}
    # By object identity: steps need not have ids, and ids may repeat.
    for pair in call_pairs(trajectory, agent_only=False):
        pairs.setdefault(id(pair.step), []).append(pair)
    spans: list[Span] = []
    groups: dict[str, list[Step]] = {}
    for step, name in zip(trajectory.steps, invocation_ids(trajectory.steps), strict=True):
        groups.setdefault(name, []).append(step)
    for name, steps in groups.items():
        spans += _invocation(session, name, steps, measured.get(name), pairs, main_agent(trajectory))
    return spans


def _invocation(
    session: str,
    name: str,
    steps: list[Step],
    measured: Invocation | None,
    pairs: dict[int, list[CallPair]],
    speaker: str,
) -> list[Span]:
    trace = _digits(f"{session}/{name}", 32)

    def span(title: str, key: str, parent: str | None, start: Any, end: Any, attributes: dict[str, Any]) -> Span:
        return {
            "name": title,
            "span_id": _digits(f"{session}/{name}/{key}", 16),
            "trace_id": trace,
            "parent_span_id": parent,
            "start_time": _nanoseconds(start),
            "end_time": _nanoseconds(end),
            "attributes": attributes,
        }

    began = next((step.at for step in steps if step.at is not None), measured.at if measured else None)
    seconds = measured.seconds if measured else None
    ended = began + seconds if began is not None and seconds is not None else None
    attributes = {
        "gcp.vertex.agent.invocation_id": name,
        "gcp.vertex.agent.session_id": session,
        MADE: "events",
    }
    root = span("invocation", "invocation", None, began, ended, attributes)
    found = [root]
    agents: dict[str, Span] = {}
    for number, step in enumerate(steps):
        if step.role != "agent":
            continue
        agent = step.agent or speaker
        if agent not in agents:
            about = {"gen_ai.agent.name": agent, "gen_ai.conversation.id": session}
            agents[agent] = span(f"invoke_agent {agent}", f"agent {agent}", root["span_id"], None, None, about)
            found.append(agents[agent])
        parent = agents[agent]["span_id"]
        if step.usage is not None or step.model is not None or step.stop is not None:
            found.append(span("call_llm", f"llm {number}", parent, step.at, step.ended, _model_call(step)))
        for index, pair in enumerate(pairs.get(id(step), ())):
            started = pair.result.started if pair.result is not None else None
            answered = pair.result.ended if pair.result is not None else None
            key = f"tool {number}.{index}"
            found.append(span(f"execute_tool {pair.call.name}", key, parent, started, answered, _tool_call(pair)))
    return found


def _model_call(step: Step) -> dict[str, Any]:
    usage = step.usage
    optional = {
        "gcp.vertex.agent.event_id": step.id,
        "gen_ai.response.finish_reason": step.stop,
        "gen_ai.usage.input_tokens": usage.input if usage else None,
        "gen_ai.usage.output_tokens": usage.output if usage else None,
        "gcp.vertex.agent.llm_response": _json({"usage_metadata": gemini.usage_to(usage, ADK)}) if usage else None,
        "error.type": (step.error.kind or "error") if step.error else None,
    }
    # The model's key is written even if it is null: google-adk's own spans always have it.
    return {"gen_ai.system": "gcp.vertex.agent", "gen_ai.request.model": step.model, **present(optional)}


def _tool_call(pair: CallPair) -> dict[str, Any]:
    attributes = {
        "gen_ai.system": "gcp.vertex.agent",
        "gen_ai.tool.name": pair.call.name,
        "gen_ai.tool.call.id": pair.call.id,
        "gcp.vertex.agent.tool_call_args": _json(pair.call.arguments),
        "gcp.vertex.agent.tool_response": _json(response_of(pair.result)) if pair.result else None,
    }
    return present(attributes)


def _json(value: Any) -> str:
    return encode(value).decode("utf-8", "replace")


def latency_of(spans: Iterable[Span]) -> list[dict[str, Any]]:
    """The tree of durations; null if a start or end was not measured."""
    nodes: dict[Any, dict[str, Any]] = {}
    roots: list[dict[str, Any]] = []
    ordered = list(spans)
    for span in ordered:
        start, end = span.get("start_time"), span.get("end_time")
        seconds = round((end - start) / 1e9, 4) if isinstance(start, int) and isinstance(end, int) else None
        nodes[span.get("span_id")] = {"name": span["name"], "type": _kind(span["name"]), "duration_seconds": seconds}
    for span in ordered:
        node = nodes[span.get("span_id")]
        parent = nodes.get(span.get("parent_span_id"))
        # A span that names itself as its parent would make the tree endless.
        if parent is None or parent is node:
            roots.append(node)
        else:
            parent.setdefault("children", []).append(node)
    return roots


def _kind(name: str) -> str:
    if name.startswith(("invoke_agent", "agent_run")):
        return "AGENT_RUN"
    if name.startswith("execute_tool"):
        return "TOOL_CALL"
    # `call_llm` in 1.x, `generate_content MODEL` in 2.13.
    return "LLM_CALL" if name.startswith(("call_llm", "generate_content")) else "OTHER"


def summary_of(trajectory: Trajectory) -> list[str]:
    """What happened, in order and with repeats: "agent:X" when X begins to speak, "tool:Z", and "sub-agent:Y" for a
    transfer to Y or a call to an agent."""
    agents = {agent.name for agent in trajectory.agents}
    found: list[str] = []
    speaking: str | None = None
    handed: str | None = None
    for step in trajectory.steps:
        if step.role == "user":
            speaking = handed = None
        if step.role != "agent":
            continue
        agent = step.agent or main_agent(trajectory)
        # After a handover, "sub-agent:X" has already announced the agent.
        if agent not in (speaking, handed):
            found.append(f"agent:{agent}")
        speaking = agent
        for part in step.parts:
            if not isinstance(part, ToolCall):
                continue
            name = part.name
            target = part.arguments.get("agent_name") if isinstance(part.arguments, dict) else None
            if name == "transfer_to_agent" and isinstance(target, str):
                handed = target
                found.append(f"sub-agent:{target}")
            # The original's own rule for agents that are called as tools.
            elif name in agents or name.endswith("Agent"):
                found.append(f"sub-agent:{name}")
            else:
                found.append(f"tool:{name}")
    return found


def is_measured(spans: Any) -> bool:
    """Whether a trace was recorded. The original converter invents spans of exactly one second; ours are marked."""
    if not isinstance(spans, list) or not all(isinstance(span, dict) for span in spans):
        return False
    if any(MADE in attributes for span in spans if isinstance(attributes := span.get("attributes"), dict)):
        return False
    # Invocations and agents last as long as their contents, so only the inner spans can give invented times away.
    inner = [span for span in spans if not _is_frame(span)]
    return bool(inner) and not all(_length(span) == 10**9 for span in inner)


def _is_frame(span: Span) -> bool:
    return str(span.get("name", "")).startswith(("invocation", "invoke_agent"))


def _length(span: Span) -> int | None:
    start, end = span.get("start_time"), span.get("end_time")
    return end - start if _is_moment(start) and _is_moment(end) else None


def _is_moment(nanoseconds: Any) -> TypeGuard[int]:
    """Whether a number is a usable time: one with hundreds of digits is not."""
    return isinstance(nanoseconds, int) and abs(nanoseconds) < 1 << 63


def invocations_in(spans: list[Span], known: set[str]) -> list[Invocation]:
    """Measured invocations of a real trace; `known` are the session's own, not those of agents run as tools.

    Model time is the union of model calls without the spans nested in them; tool time is the time in tool calls that is
    not model time."""
    by_id = {span.get("span_id"): span for span in spans}
    found: list[Invocation] = []
    roots = [span for span in spans if span.get("name") == "invocation" and span.get("parent_span_id") not in by_id]
    below: dict[int, list[Span]] = {}
    for span in spans:
        if (top := _top(span, by_id)) is not None and top is not span:
            below.setdefault(id(top), []).append(span)
    for root in sorted(roots, key=lambda span: span.get("start_time") or 0):
        if (length := _length(root)) is None:
            continue
        inside = below.get(id(root), [])
        children: dict[Any, list[Span]] = {}
        for span in inside:
            children.setdefault(span.get("parent_span_id"), []).append(span)
        models = [
            part
            for span in inside
            # In google-adk 1.x these spans nest: 446 s of model calls stood inside a turn of 232 s.
            if _kind(span["name"]) == "LLM_CALL"
            for part in _time_of_its_own(span, children.get(span.get("span_id"), []))
        ]
        tools = [_time(span) for span in inside if _kind(span["name"]) == "TOOL_CALL" and _length(span) is not None]
        model_time = union(models)
        # Agents called as tools run in nested sessions with invocations of their own.
        names = [name for span in inside if (name := _invocation_id(span)) in known]
        found.append(
            Invocation(
                id=names[0] if names else str(root.get("span_id")),
                at=root["start_time"] / 1e9,
                seconds=length / 1e9,
                model_seconds=time_spans.length(model_time) / 1e9,
                tool_seconds=time_spans.length(without(union(tools), model_time)) / 1e9,
            )
        )
    return found


def _invocation_id(span: Span) -> Any:
    attributes = span.get("attributes")
    return attributes.get("gcp.vertex.agent.invocation_id") if isinstance(attributes, dict) else None


def _top(span: Span, by_id: dict[Any, Span]) -> Span | None:
    """The outermost span around this one; None if the parents form a ring."""
    # A bound on a ring of parents; real traces nest far less.
    for _ in range(65):
        parent = by_id.get(span.get("parent_span_id"))
        if parent is None:
            return span
        span = parent
    return None


def _time(span: Span) -> time_spans.Span:
    return span["start_time"], span["end_time"]


def _time_of_its_own(span: Span, inner: list[Span]) -> list[time_spans.Span]:
    """A model call's time without its nested spans: in google-adk 1.x, the tools it asked for ran inside it."""
    if _length(span) is None:
        return []
    nested = [_time(each) for each in inner if _length(each)]
    return without([_time(span)], union(nested))
