"""Evidence: what tools and sources returned, each with its call. What the agent said is not evidence."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from pantrace.model import (
    Case,
    Citation,
    Part,
    Step,
    Text,
    ToolResult,
    Trajectory,
    active_steps,
    agent_trajectories,
    call_pairs,
)

from .cut import Block
from .numbering import Numbers
from .transcript import result_block, told


def evidence(case: Case | None, trajectory: Trajectory | None, numbers: Numbers) -> list[Block]:
    """Entries that a statement can rest on, in the order of the recording."""
    # A context in the case counts as evidence: the agent was given it.
    stated = (case.context, case.relevant_context) if case is not None else ()
    found = [Block(f"context: {text}", "output") for text in stated if text]
    for each in agent_trajectories(trajectory) if trajectory is not None else ():
        found += _returned(each, numbers)
    return found


def _returned(trajectory: Trajectory, numbers: Numbers) -> Iterator[Block]:
    asked = {id(pair.result): pair for pair in call_pairs(trajectory, agent_only=False) if pair.result is not None}
    for step in active_steps(trajectory):
        for part in step.parts if step.kind != "copied" else ():
            if (block := _source(part, step)) is None:
                continue
            if (pair := asked.get(id(part))) is not None:
                yield Block(f"calls {pair.call.name} {told(pair.call.arguments)}", **numbers.place(pair.step))
            yield replace(block, **numbers.place(step))
    # Named, so that the judge knows that something is missing and may answer "cannot_tell".
    for pair in call_pairs(trajectory):
        if pair.result is None:
            call = f"calls {pair.call.name} {told(pair.call.arguments)}"
            yield Block(f"{call}: no result was recorded", partial=True, **numbers.place(pair.step))


def _source(part: Part, step: Step) -> Block | None:
    match part:
        case ToolResult():
            return result_block(part)
        case Citation(text=text) if text:
            return Block(f"cited from {part.uri or part.title or 'a source'}: {text}", "output")
        case Text(text=text, synthetic=True) if text and step.role == "user":
            # A file that the program inserted is evidence; a compaction summary is not, because a model wrote it.
            return Block(f"inserted by the program: {text}", "output") if step.kind != "compaction" else None
        case _:
            return None
