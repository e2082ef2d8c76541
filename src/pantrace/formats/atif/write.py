"""Writing ATIF: a trajectory of any format as a document that Harbor's models accept.

Each result goes into the step of its call, as ATIF requires. Only the active path is written: neither branches that
were abandoned nor notes beside the conversation have a place.
"""

from __future__ import annotations

from typing import Any

from pantrace.errors import SampleRefused
from pantrace.model import (
    Action,
    Media,
    Part,
    Sample,
    Step,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    Trajectory,
    Unknown,
    Usage,
    active_steps,
    call_pairs,
    usage_total,
)
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.gui_calls import TOOL as COMPUTER
from pantrace.wire.gui_calls import action_arguments
from pantrace.wire.json import encode, text_or_json
from pantrace.wire.mixed_output import join

from .read import AGENT, CALL, NAME, RESULT, RUN, SOURCE, STEP, TOOL, TOTALS, USAGE, references

VERSION = "ATIF-v1.7"
WITH_SOUND = "ATIF-v1.8"
_FORMS = ("message", "tool_calls", "observation", "content", "unnamed", "together")
"""Notes on the form of a record; they are not keys of it."""


def dump(sample: Sample, options: Any) -> dict[str, Any]:
    if sample.trajectory is None:
        raise SampleRefused("an ATIF document is a recording; this sample has not been run")
    return document(sample.trajectory, sample.id)


def document(trajectory: Trajectory, name: str, *, inside: bool = False) -> dict[str, Any]:
    """A trajectory as a document, sub-agents inside; `inside`: it is a sub-agent, and needs an id of its own."""
    own = rest_in(trajectory.extra, NAME)
    row = RUN.dump(trajectory)
    if "schema_version" not in own:
        row["session_id"] = name
    elif row.get("trajectory_id") == own.get("session_id") and "trajectory_id" not in own:
        row.pop("trajectory_id", None)  # the document had only a session_id
    if inside:
        row["trajectory_id"] = name
    if trajectory.agents or not own:
        row["agent"] = _agent(trajectory)
    steps = _Steps(trajectory)
    row["steps"] = steps.rows
    if not steps.rows:
        raise SampleRefused("nothing was said or done in it, and ATIF demands at least one step")
    if (totals := _totals(trajectory, own)) is not None:
        row["final_metrics"] = totals
    if trajectory.children:
        row["subagent_trajectories"] = [
            document(child, name, inside=True)
            for child, name in zip(trajectory.children, _child_names(trajectory), strict=True)
        ]
        if row.get("schema_version", VERSION) < VERSION:
            row["schema_version"] = VERSION  # older versions have no embedded sub-agents
    version = WITH_SOUND if b'"type":"audio"' in encode(steps.rows) else VERSION
    return {"schema_version": version, **row}


def _child_names(trajectory: Trajectory) -> list[str]:
    """Ids of sub-agents, made unique."""
    names: list[str] = []
    for place, child in enumerate(trajectory.children, 1):
        name = child.id or f"subagent-{place}"
        names.append(name if name not in names else f"{name}-{place}")
    return names


def _agent(trajectory: Trajectory) -> dict[str, Any]:
    if not trajectory.agents:
        # ATIF requires an agent with a name.
        names = (step.agent for step in trajectory.steps if step.role == "agent" and step.agent)
        return {"name": next(names, "agent"), "version": _version(trajectory)}
    agent = trajectory.agents[0]
    row = AGENT.dump(agent)
    if NAME not in agent.extra:
        row["version"] = _version(trajectory)
    if agent.tools is not None:
        row["tool_definitions"] = [_tool(tool) for tool in agent.tools]
    return row


def _version(trajectory: Trajectory) -> str:
    """The version of the program that recorded the run; ATIF requires one."""
    producer = trajectory.source.producer if trajectory.source is not None else None
    return (producer or "").rpartition(" ")[2] or "unknown"


def _tool(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "function": TOOL.dump(tool, "around"), **rest_in(tool.extra, NAME).get("around", {})}


def _totals(trajectory: Trajectory, own: dict[str, Any]) -> dict[str, Any] | None:
    if trajectory.usage is not None:
        stated = trajectory.usage.get("") or next(iter(trajectory.usage.values()), None)
        return TOTALS.dump(stated) if len(trajectory.usage) == 1 and stated is not None else _sum_of_steps(trajectory)
    # A document that was read without totals is written without them.
    return None if own else _sum_of_steps(trajectory)


def _sum_of_steps(trajectory: Trajectory) -> dict[str, Any] | None:
    total = usage_total(trajectory, children=False)
    return TOTALS.dump(_bare(total)) if total is not None else None


def _bare(usage: Usage) -> Usage:
    return Usage(input=usage.input, output=usage.output, cache_read=usage.cache_read, cost_usd=usage.cost_usd)


class _Steps:
    """Builds the rows of a trajectory's steps."""

    def __init__(self, trajectory: Trajectory):
        self.answers: dict[int, list[ToolResult]] = {}
        """Results by the Python id of the step that asked for them."""
        self.rows: list[dict[str, Any]] = []
        self.children = {child.caller: child.id for child in trajectory.children if child.caller is not None}
        steps = active_steps(trajectory)
        paired = {id(pair.result): pair for pair in call_pairs(trajectory, agent_only=False) if pair.result is not None}
        asked: Step | None = None
        for step in steps:
            asked = step if step.role == "agent" else asked
            for part in step.parts:
                # A document has one result for calls that were answered together.
                if isinstance(part, ToolResult) and "together" not in rest_in(part.extra, NAME):
                    pair = paired.get(id(part))
                    # A result whose call is not recorded goes to the last step that could have asked for it.
                    target = pair.step if pair is not None else step if step.role != "tool" else asked
                    self.answers.setdefault(id(target), []).append(part)
        for step in steps:
            if step.role != "tool" and step.kind != "note":
                self._add(step)

    def _add(self, step: Step) -> None:
        own = rest_in(step.extra, NAME)
        number = len(self.rows) + 1
        row: dict[str, Any] = {"step_id": own.get("step_id", number), "source": step.role}
        row |= STEP.dump(step, *_FORMS)
        # Harbor refuses model, metrics and calls in steps of the user or the system.
        if step.role != "agent" and not own:
            row.pop("model_name", None)
        row["message"] = _message(step, own)
        if step.role == "agent" or own:
            row |= self._agent_keys(step, number, own)
        if results := [self._result(each, step) for each in self.answers.get(id(step), ())]:
            row["observation"] = {"results": results, **own.get("observation", {})}
        elif "observation" in own:
            row["observation"] = {"results": [], **own["observation"]}
        if step.kind == "copied":
            row["is_copied_context"] = True
        self.rows.append(row)

    def _agent_keys(self, step: Step, number: int, own: dict[str, Any]) -> dict[str, Any]:
        """The keys that only an agent's step may have."""
        row: dict[str, Any] = {}
        thoughts = [part.text or part.summary for part in step.parts if isinstance(part, Thinking)]
        if texts := [each for each in thoughts if each is not None]:
            row["reasoning_content"] = "\n\n".join(texts)
        acts = [part for part in step.parts if isinstance(part, (ToolCall, Action))]
        if calls := [_call(each, f"call_{number}_{place}") for place, each in enumerate(acts, 1)]:
            row["tool_calls"] = calls
        elif "tool_calls" in own:
            row["tool_calls"] = own["tool_calls"]
        if step.usage is not None:
            row["metrics"] = USAGE.dump(step.usage if NAME in step.usage.extra else _bare(step.usage))
        if step.settings is not None and "reasoning_effort" in step.settings:
            row["reasoning_effort"] = step.settings["reasoning_effort"]
        return row

    def _result(self, result: ToolResult, step: Step) -> dict[str, Any]:
        row = RESULT.dump(result, *_FORMS)
        known = {part.id for part in step.parts if isinstance(part, ToolCall)}
        # Harbor refuses a result that names a call of another step.
        foreign = result.call_id not in known and NAME not in step.extra
        if foreign or "unnamed" in rest_in(result.extra, NAME):
            row.pop("source_call_id", None)
        content = _content(result)
        if content is not None:
            row["content"] = content
        child = self.children.get(result.call_id) if result.call_id is not None else None
        if child is not None and not references(result):
            row["subagent_trajectory_ref"] = [{"trajectory_id": child}]
        return row


def _message(step: Step, own: dict[str, Any]) -> Any:
    if "message" in own and own["message"] != "parts":
        return own["message"]
    parts = [content for part in step.parts if (content := _part(part)) is not None]
    if own.get("message") == "parts":
        return parts
    match parts:
        case []:
            return ""
        case [{"type": "text", "text": text, **others}] if not others:
            return text
    return parts


def _part(part: Part) -> dict[str, Any] | None:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text, **rest_in(part.extra, NAME)}
    if isinstance(part, Media):
        return _media(part)
    return part.raw if isinstance(part, Unknown) and part.kind == f"{NAME}:part" else None


def _media(part: Media) -> dict[str, Any] | None:
    kind = (part.mime or "").partition("/")[0]
    path = part.uri if part.data is None else f"data:{part.mime};base64,{part.data}"
    # ATIF has no other media.
    if kind not in ("image", "audio") or path is None:
        return None
    source = SOURCE.dump(part, "part") | {"path": path}
    return {"type": kind, "source": source, **rest_in(part.extra, NAME).get("part", {})}


def _call(call: ToolCall | Action, name: str) -> dict[str, Any]:
    if isinstance(call, Action):
        return {"tool_call_id": call.id or name, "function_name": COMPUTER, "arguments": action_arguments(call)}
    row = {"tool_call_id": name, **CALL.dump(call)}
    if NAME in call.extra or isinstance(call.arguments, dict):
        return row
    # ATIF requires an object.
    return {**row, "arguments": {} if call.arguments is None else {"input": call.arguments}}


def _content(result: ToolResult) -> Any:
    """A result's content; its error if there is no output."""
    output = result.output if result.output is not None else result.error
    media = [_media(each) for each in result.media]
    form = rest_in(result.extra, NAME).get("content")
    if form is not None and (form != "parts" or isinstance(output, list)):
        return join(output, media, form if isinstance(form, list) else None, _text)
    text = None if output is None else text_or_json(output)
    pictures = [each for each in media if each is not None]
    if not pictures:
        return text
    return [*([] if text is None else [_text(text)]), *pictures]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
