"""Inputs of rubrics, taken from a sample of any format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pantrace.model import (
    Sample,
    Text,
    Tool,
    ToolResult,
    active_steps,
    call_pairs,
    final_response,
    has_failed,
    is_agents,
    is_prompt,
    step_text,
)
from pantrace.wire.judge_inputs import JudgeInputs, judge_inputs_of, plain_call, stated_inputs

from .cut import Absent, Block, Material
from .defined import Defined, RowOf, row_material
from .evidence import evidence
from .numbering import Numbers
from .rubric import Rubric, Scope, chosen
from .transcript import result_block, told, transcript


class _View(msgspec.Struct, frozen=True):
    sample: Sample
    told: JudgeInputs
    numbers: Numbers
    scope: Scope = "last_answer"


def _text(text: str | None) -> list[Block] | None:
    return None if text is None else [Block(text or "(empty)")]


def _question(view: _View) -> list[Block] | None:
    """The case's question, otherwise the last prompt; all prompts if more than the last answer is judged."""
    trajectory, case = view.sample.trajectory, view.sample.case
    if view.scope == "last_answer" or trajectory is None:
        return _text(view.told.question)
    prompts = [(step, text) for step in active_steps(trajectory) if is_prompt(step) and (text := step_text(step))]
    # With one prompt, the case's own wording of the question is better than the recorded one.
    if len(prompts) < 2:
        return _text(view.told.question)
    stated = case.question if case is not None else None
    # A case may have a question that the recording does not begin with; the judge sees both.
    before = [Block(stated)] if stated and stated not in (text for _, text in prompts) else []
    return [*before, *(Block(text, **view.numbers.place(step)) for step, text in prompts)]


def _answer(view: _View) -> list[Block] | None:
    answer, trajectory = view.told.answer, view.sample.trajectory
    # An answer that exists only in the case (an Explain dataset) belongs to no step.
    if answer is None or trajectory is None:
        return _text(answer)
    # From the end: the agent may have given the same answer before.
    step = next(
        (each for each in reversed(active_steps(trajectory)) if is_agents(each) and step_text(each) == answer), None
    )
    # The id is kept for evidence, but no step number is shown: the answer must be exactly the agent's words.
    return [Block(answer or "(empty)", id=view.numbers.place(step).get("id"))]


def _context(view: _View) -> list[Block] | None:
    """The case's context; otherwise what was said before the last prompt, if that is not judged itself."""
    if view.scope == "last_answer":
        return _text(view.told.context)
    return _text(view.sample.case.context) if view.sample.case is not None else None


def _available_tools(view: _View) -> list[Block] | None:
    """Each tool with its description and the schema of its arguments, as far as they were recorded."""
    trajectory, names = view.sample.trajectory, view.told.available_tools
    if names is None:
        return None
    declared = {tool.name: tool for agent in (trajectory.agents if trajectory else ()) for tool in agent.tools or ()}
    return [Block(_tool(name, declared.get(name))) for name in names] or [Block("(none)")]


def _tool(name: str, tool: Tool | None) -> str:
    head = f"{name}: {tool.description}" if tool is not None and tool.description else name
    return f"{head}\n  arguments: {told(tool.parameters)}" if tool is not None and tool.parameters else head


def _invoked_tools(view: _View) -> list[Block] | None:
    """Each call with its outcome; the calls of sub-agents are part of the trajectory, not of this."""
    trajectory = view.sample.trajectory
    if trajectory is None:
        return None
    found = []
    for pair in call_pairs(trajectory):
        place = view.numbers.place(pair.step) if view.scope != "last_answer" else {}
        found.append(Block(f"calls {pair.call.name} {told(pair.call.arguments)}", **place))
        block = result_block(pair.result) if pair.result else Block("no result was recorded")
        found.append(msgspec.structs.replace(block, **place))
    return found or None


def _calls_made(view: _View) -> list[Block] | None:
    """How often each tool was called, and how often it failed, sub-agents included."""
    trajectory = view.sample.trajectory
    counts: dict[str, list[int]] = {}
    for pair in call_pairs(trajectory, children=True) if trajectory is not None else ():
        count = counts.setdefault(pair.call.name, [0, 0])
        count[0] += 1
        count[1] += pair.result is not None and has_failed(pair.result)
    lines = [f"{name}: {made}" + (f", {failed} failed" if failed else "") for name, (made, failed) in counts.items()]
    return [Block(line, tight=True) for line in lines] or None


def _conversation(view: _View) -> list[Block] | None:
    trajectory = view.sample.trajectory
    if trajectory is None:
        return None
    found, answered = [], False
    for step in active_steps(trajectory):
        asks = is_prompt(step)
        text = step_text(step) if asks or (is_agents(step) and step.role == "agent") else None
        if text:
            answered |= not asks
            found.append(Block(f"{'user' if asks else 'agent'}: {text}", **view.numbers.place(step)))
    if trajectory.response:
        answered = True
        found.append(Block(f"agent's final response, as recorded: {trajectory.response}"))
    return found if answered else None


def _trajectory(view: _View) -> list[Block] | None:
    trajectory = view.sample.trajectory
    if trajectory is None or not (trajectory.response or trajectory.children or any(map(is_agents, trajectory.steps))):
        return None
    return transcript(trajectory, view.numbers) or None


def _evidence(view: _View) -> list[Block] | None:
    return evidence(view.sample.case, view.sample.trajectory, view.numbers) or None


def _instructions(view: _View) -> list[Block] | None:
    trajectory = view.sample.trajectory
    agents = trajectory.agents if trajectory else ()
    found = [Block(f"{agent.name}: {agent.instructions}") for agent in agents if agent.instructions]
    for step in trajectory.steps if trajectory else ():
        if step.role == "system" and step.kind == "message":
            found += [Block(part.text) for part in step.parts if isinstance(part, Text) and part.text]
    return found or None


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


def _one_of_two(view: _View, place: int) -> list[Block] | None:
    """One answer of a pair, without saying whose it is: a judge must not prefer a name."""
    children = view.sample.trajectory.children if view.sample.trajectory is not None else ()
    return _text(final_response(children[place])) if len(children) == 2 else None


_PAIR_ONLY = "it compares two answers: use it with `pantrace compare A B --rubric`"

INPUTS: dict[str, tuple[Callable[[_View], list[Block] | None], str]] = {
    "question": (_question, "it has no question and no prompt"),
    "answer": (_answer, "the agent gave no answer after the last prompt"),
    "first_answer": (
        lambda view: _one_of_two(view, 0),
        _PAIR_ONLY,
    ),
    "second_answer": (
        lambda view: _one_of_two(view, 1),
        _PAIR_ONLY,
    ),
    "context": (_context, "it has no context"),
    "relevant_context": (lambda view: _text(view.told.relevant_context), "its case has no relevant context"),
    "goal": (lambda view: _text(view.told.goal), "its case has no goal"),
    "reference": (_reference, "it has no reference answer"),
    "instructions": (_instructions, "the recording has no instructions of the agent"),
    "available_tools": (_available_tools, "the recording does not say which tools there were"),
    "invoked_tools": (_invoked_tools, "no tool was called"),
    "calls_made": (_calls_made, "no tool was called"),
    "conversation": (_conversation, "the agent gave no answer in it"),
    "trajectory": (_trajectory, "the agent did nothing in it"),
    "evidence": (_evidence, "it has no context, tool output or citation"),
    "expected": (_expected, "it has no expected calls and no reference trajectory"),
    "state": (_state, "the recording keeps no state"),
    "expected_state": (_expected_state, "it has no expected state"),
}
"""The inputs of rubrics: how each is taken from a sample, and what its absence means."""


def _stated(name: str, value: Any) -> list[Block] | None:
    """An input that the case gives for one eval."""
    if value is None:
        return None
    if not isinstance(value, list):
        return _text(told(value))
    if name != "invoked_tools":
        return [Block(told(each)) for each in value] or [Block("(none)")]
    return [block for each in value for block in _stated_call(each)] or None


def _stated_call(call: Any) -> list[Block]:
    """A call shown like a recorded call; one of another shape is shown unchanged."""
    if (
        not isinstance(call, dict)
        or not isinstance(call.get("tool"), str)
        or call.keys() - {"tool", "arguments", "outcome"}
    ):
        return [Block(told(call))]
    found = [Block(f"calls {call['tool']} {told(call.get('arguments'))}")]
    if "outcome" not in call:
        return [*found, Block("no result was recorded")]
    stated = call["outcome"]
    if isinstance(stated, dict) and isinstance(stated.get("error"), str) and not stated.keys() - {"output", "error"}:
        result = ToolResult(name=call["tool"], output=stated.get("output"), error=stated["error"], failure="error")
    else:
        failed = isinstance(stated, str) and stated.lower() == "error"
        result = ToolResult(name=call["tool"], output=stated, failure="error" if failed else None)
    return [*found, result_block(result)]


def asked_as(sample: Sample, rubric: Rubric) -> Rubric:
    """The rubric in the variant that the case asks for (`rag_mode`), otherwise in that of its scope. A variant that the
    user named stays."""
    # The user named a variant (NAME:VARIANT): the case must not override it.
    if isinstance(rubric, Defined) or ":" in rubric.name:
        return rubric
    mode = stated_inputs(sample.case, rubric.name).get("rag_mode")
    if not isinstance(mode, str) or mode not in rubric.variants:
        mode = "" if keeps_bundle(sample, rubric) or rubric.scope not in rubric.variants else rubric.scope
    return msgspec.structs.replace(chosen(rubric, mode), name=rubric.name) if mode else rubric


def keeps_bundle(sample: Sample, rubric: Rubric) -> bool:
    """Whether a sample has its own question and answer and is judged by these alone: an explain case, or one that gives
    the inputs of this eval."""
    trajectory = sample.trajectory
    if trajectory is None or stated_inputs(sample.case, rubric.name):
        return True
    return trajectory.source is not None and trajectory.source.format == "explain"


def gather(sample: Sample, rubric: Rubric, row_of: RowOf | None = None) -> Material | Absent:
    """The inputs that a rubric needs, or why the sample cannot be judged by it; `row_of` is for defined rubrics.

    Inputs that the case gives for this eval are used unchanged; the others come from the sample."""
    if isinstance(rubric, Defined):
        assert row_of is not None, "a defined rubric takes its inputs from a row"
        return row_material(sample, rubric, row_of)
    stated = stated_inputs(sample.case, rubric.name.partition(":")[0])
    missing = set(rubric.inputs) - {"question", "context", "goal", "reference", "expected"} - stated.keys()
    # A rubric about the reference or the goal needs only the case; one about the answer needs a run.
    if sample.trajectory is None and missing:
        return Absent("it has not been run: there is no trajectory")
    view = _View(sample, judge_inputs_of(sample), Numbers(sample.trajectory), rubric.judges)
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
