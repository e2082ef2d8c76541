"""Inputs: what a rubric may ask for, taken from a sample of any format."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from pantrace.model import (
    Citation,
    Sample,
    ToolResult,
    active_steps,
    agent_trajectories,
    call_pairs,
    final_response,
    merged_turns,
)
from pantrace.wire.digest import Digest, digest_of, plain_call, stated_inputs

from .cut import Absent, Block, Material
from .defined import Defined, RowOf, row_material
from .rubric import Rubric, chosen
from .transcript import outcome, told, transcript


class _View(msgspec.Struct, frozen=True):
    sample: Sample
    told: Digest


def _text(text: str | None) -> list[Block] | None:
    return None if text is None else [Block(text or "(empty)")]


def _available_tools(view: _View) -> list[Block] | None:
    trajectory = view.sample.trajectory
    declared = {
        tool.name: tool.description for agent in (trajectory.agents if trajectory else ()) for tool in agent.tools or ()
    }
    names = view.told.available_tools
    if names is None:
        return None
    return [Block(f"{name}: {declared[name]}" if declared.get(name) else name) for name in names] or [Block("(none)")]


def _invoked_tools(view: _View) -> list[Block] | None:
    """Each call with its outcome; the calls of sub-agents are part of the trajectory, not of this."""
    trajectory = view.sample.trajectory
    if trajectory is None:
        return None
    found = []
    for pair in call_pairs(trajectory):
        found.append(Block(f"calls {pair.call.name} {told(pair.call.arguments)}"))
        found.append(Block(outcome(pair.result), "output") if pair.result else Block("no result was recorded"))
    return found or None


def _conversation(view: _View) -> list[Block] | None:
    trajectory = view.sample.trajectory
    if trajectory is None:
        return None
    return [Block(f"{turn.role}: {turn.text}") for turn in merged_turns(trajectory) if turn.text] or None


def _trajectory(view: _View) -> list[Block] | None:
    return (transcript(view.sample.trajectory) or None) if view.sample.trajectory is not None else None


def _evidence(view: _View) -> list[Block] | None:
    found = [Block(f"context: {view.told.context}", "output")] if view.told.context else []
    if view.told.relevant_context:
        found.append(Block(f"context: {view.told.relevant_context}", "output"))
    for trajectory in agent_trajectories(view.sample.trajectory) if view.sample.trajectory else ():
        for step in active_steps(trajectory):
            for part in step.parts:
                if isinstance(part, ToolResult) and step.kind != "copied":
                    found.append(Block(outcome(part), "output"))
                elif isinstance(part, Citation) and part.text:
                    found.append(Block(f"cited from {part.uri or part.title or 'a source'}: {part.text}", "output"))
    return found or None


def _instructions(view: _View) -> list[Block] | None:
    trajectory = view.sample.trajectory
    agents = trajectory.agents if trajectory else ()
    found = [Block(f"{agent.name}: {agent.instructions}") for agent in agents if agent.instructions]
    for step in trajectory.steps if trajectory else ():
        if step.role == "system" and step.kind == "message":
            found += transcript_of_system(step.parts)
    return found or None


def transcript_of_system(parts: Iterable[object]) -> list[Block]:
    """The words of a system message."""
    from pantrace.model import Text

    return [Block(part.text) for part in parts if isinstance(part, Text) and part.text]


def _reference(view: _View) -> list[Block] | None:
    case = view.sample.case
    if case is not None and case.reference is not None:
        return _text(case.reference)
    return _text(final_response(view.sample.expected)) if view.sample.expected is not None else None


def _expected(view: _View) -> list[Block] | None:
    case, expected = view.sample.case, view.sample.expected
    if case is not None and case.expected_calls is not None:
        return [
            Block(f"calls {call.name} {told(call.arguments)}" + (f" because {call.reason}" if call.reason else ""))
            for call in case.expected_calls
        ] or [Block("(no calls)")]
    if expected is None:
        return None
    return transcript(expected) or [Block(told(plain_call(pair))) for pair in call_pairs(expected)] or None


def _state(view: _View) -> list[Block] | None:
    trajectory = view.sample.trajectory
    if trajectory is None or trajectory.state is None:
        return None
    return [Block(f"{name} = {told(value)}", "output") for name, value in trajectory.state.items()] or [
        Block("(no variables)")
    ]


def _expected_state(view: _View) -> list[Block] | None:
    case = view.sample.case
    wanted = case.expected_state if case is not None else None
    if wanted is None and view.sample.expected is not None:
        wanted = view.sample.expected.state
    return None if wanted is None else [Block(f"{name} = {told(value)}") for name, value in wanted.items()]


INPUTS: dict[str, tuple[Callable[[_View], list[Block] | None], str]] = {
    "question": (lambda view: _text(view.told.question), "it has no question and no prompt"),
    "answer": (lambda view: _text(view.told.answer), "the agent gave no answer after the last prompt"),
    "context": (lambda view: _text(view.told.context), "it has no context"),
    "relevant_context": (lambda view: _text(view.told.relevant_context), "its case has no relevant context"),
    "goal": (lambda view: _text(view.told.goal), "its case has no goal"),
    "reference": (_reference, "it has no reference answer"),
    "instructions": (_instructions, "the recording has no instructions of the agent"),
    "available_tools": (_available_tools, "the recording does not say which tools there were"),
    "invoked_tools": (_invoked_tools, "no tool was called"),
    "conversation": (_conversation, "nothing was said in it"),
    "trajectory": (_trajectory, "it has no steps"),
    "evidence": (_evidence, "it has no context, tool output or citation"),
    "expected": (_expected, "it has no expected calls and no reference trajectory"),
    "state": (_state, "the recording keeps no state"),
    "expected_state": (_expected_state, "it has no expected state"),
}
"""What a rubric may ask for: how it is taken from a sample, and what its absence means."""


def _stated(name: str, value: Any) -> list[Block] | None:
    """An input as the case states it for one eval."""
    if value is None:
        return None
    if not isinstance(value, list):
        return _text(told(value))
    if name != "invoked_tools":
        return [Block(told(each)) for each in value] or [Block("(none)")]
    return [block for each in value for block in _stated_call(each)] or None


def _stated_call(call: Any) -> list[Block]:
    """A call in the words that calls of a recording are told in; one of another shape as it is."""
    if (
        not isinstance(call, dict)
        or not isinstance(call.get("tool"), str)
        or call.keys() - {"tool", "arguments", "outcome"}
    ):
        return [Block(told(call))]
    found = [Block(f"calls {call['tool']} {told(call.get('arguments'))}")]
    if "outcome" not in call:
        return [*found, Block("no result was recorded")]
    said = call["outcome"]
    if isinstance(said, dict) and isinstance(said.get("error"), str) and not said.keys() - {"output", "error"}:
        result = ToolResult(name=call["tool"], output=said.get("output"), error=said["error"], failure="error")
    else:
        failed = isinstance(said, str) and said.lower() == "error"
        result = ToolResult(name=call["tool"], output=said, failure="error" if failed else None)
    return [*found, Block(outcome(result), "output")]


def asked_as(sample: Sample, rubric: Rubric) -> Rubric:
    """The rubric in the variant that the case asks for (`rag_mode`), unless a variant was named."""
    if isinstance(rubric, Defined) or ":" in rubric.name:
        return rubric
    mode = stated_inputs(sample.case, rubric.name).get("rag_mode")
    if not isinstance(mode, str) or mode not in rubric.variants:
        return rubric
    return msgspec.structs.replace(chosen(rubric, mode), name=rubric.name)


def gather(sample: Sample, rubric: Rubric, row_of: RowOf | None = None) -> Material | Absent:
    """The inputs that a rubric asks for, or why the sample cannot be judged by it; `row_of` serves defined rubrics.

    What the case states for this very eval is taken as it is; the rest follows from the sample."""
    if isinstance(rubric, Defined):
        assert row_of is not None, "a defined rubric takes its inputs from a row"
        return row_material(sample, rubric, row_of)
    stated = stated_inputs(sample.case, rubric.name.partition(":")[0])
    missing = set(rubric.inputs) - {"question", "context", "goal", "reference", "expected"} - stated.keys()
    if sample.trajectory is None and missing:
        return Absent("it has not been run: there is no trajectory")
    view = _View(sample, digest_of(sample))
    found: Material = {}
    for name in rubric.inputs:
        blocks = _stated(name, stated[name]) if name in stated else INPUTS[name][0](view)
        if blocks is not None:
            found[name] = blocks
        elif rubric.inputs[name] == "required":
            return Absent(_why_not(name, stated))
    either = [name for name, need in rubric.inputs.items() if need == "one_of"]
    if either and not any(name in found for name in either):
        return Absent(" and ".join(_why_not(name, stated) for name in either))
    return found


def _why_not(name: str, stated: dict[str, Any]) -> str:
    return f"its inputs for this eval say that there is no {name}" if name in stated else INPUTS[name][1]
