"""What the client refuses: it reads a file with pandas, and one value that pandas cannot take makes the whole file
fail."""

from __future__ import annotations

from typing import Any

from pantrace.model import Sample, ToolCall, ToolResult, Unknown


def sample_refusal(sample: Sample, format_name: str) -> str | None:
    """Why the client's reader would refuse a file with this sample; None if it would accept it.

    Only foreign data is examined: arguments, outputs, states, schemas and extras."""
    trajectory = sample.trajectory
    assert trajectory is not None
    values: list[Any] = [sample.extra.get(format_name), trajectory.extra.get(format_name)]
    for agent in trajectory.agents:
        values.append(agent.extra.get(format_name))
        for tool in agent.tools or ():
            values += (tool.parameters, tool.extra.get(format_name))
    for step in trajectory.steps:
        if step.state_delta:
            values.append(step.state_delta)
        if step.extra:
            values.append(step.extra.get(format_name))
        for part in step.parts:
            kind = type(part)
            if kind is ToolCall:
                values.append(part.arguments)  # type: ignore[union-attr]
            elif kind is ToolResult:
                if type(part.output) is not str:  # type: ignore[union-attr]
                    values.append(part.output)  # type: ignore[union-attr]
            elif kind is Unknown:
                values.append(part.raw)  # type: ignore[union-attr]
                continue
            if part.extra:  # type: ignore[union-attr]
                values.append(part.extra.get(format_name))  # type: ignore[union-attr]
    return refusal(values)


def refusal(row: Any) -> str | None:
    """Why the client's reader would refuse a file with these values; None if it would accept it."""
    waiting = [row]
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind is dict:
            waiting.extend(value.values())
        elif kind is list:
            waiting.extend(value)
        # pandas' JSON reader takes no larger integers, and fails for the whole file.
        elif kind is int and not -(2**63) <= value < 2**64:
            return f"the client cannot read the integer {value}: it does not fit into 64 bits"
    return None
