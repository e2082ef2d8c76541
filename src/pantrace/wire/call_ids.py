"""Call ids: APIs require an id for every call and in every answer; many recordings have none."""

from __future__ import annotations

import msgspec

from pantrace.model import Part, Step, ToolCall, ToolResult, Trajectory, active_steps, call_pairs

from .extra_keys import rest_in


def conversation_steps(trajectory: Trajectory, owner: str) -> list[Step]:
    """The steps of the active path as a conversation: without notes of other formats, and with an id for every call."""
    names: dict[int, str] = {}
    for number, pair in enumerate(call_pairs(trajectory, agent_only=False), 1):
        # OpenAI's old `function_call` has no id, and must come back without one.
        if pair.call.id is None and rest_in(pair.call.extra, owner).get("key") != "function_call":
            names[id(pair.call)] = f"call_{number}"
            if pair.result is not None and pair.result.call_id is None:
                names[id(pair.result)] = f"call_{number}"
    # Notes of other formats are no messages, and an API would refuse them.
    steps = [step for step in active_steps(trajectory) if step.kind != "note" or owner in step.extra]
    return steps if not names else [_with_ids(step, names) for step in steps]


def _with_ids(step: Step, names: dict[int, str]) -> Step:
    def named(part: Part) -> Part:
        if isinstance(part, ToolCall) and id(part) in names:
            return msgspec.structs.replace(part, id=names[id(part)])
        if isinstance(part, ToolResult) and id(part) in names:
            return msgspec.structs.replace(part, call_id=names[id(part)])
        return part

    if not any(id(part) in names for part in step.parts):
        return step
    return msgspec.structs.replace(step, parts=tuple(named(part) for part in step.parts))
