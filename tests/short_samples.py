"""Short samples, spelled in few words."""

from __future__ import annotations

from typing import Any

from pantrace.model import Case, Part, Sample, Step, Text, ToolCall, ToolResult, Trajectory, Usage


def _parts(parts: tuple[Part | str, ...]) -> tuple[Part, ...]:
    return tuple(Text(text=part) if isinstance(part, str) else part for part in parts)


def user(*parts: Part | str, **fields: Any) -> Step:
    return Step(role="user", parts=_parts(parts), **fields)


def agent(*parts: Part | str, **fields: Any) -> Step:
    return Step(role="agent", parts=_parts(parts), **fields)


def call(name: str, id: str | None = None, **arguments: Any) -> ToolCall:  # noqa: A002
    return ToolCall(id=id, name=name, arguments=arguments)


def result(name: str, output: Any = "ok", **fields: Any) -> ToolResult:
    return ToolResult(name=name, output=output, **fields)


def did(name: str, output: Any = "ok", **fields: Any) -> tuple[ToolCall, ToolResult]:
    """A call without arguments, and its result."""
    return call(name), result(name, output, **fields)


def usage(input: int | None, output: int | None, **fields: Any) -> Usage:  # noqa: A002
    return Usage(input=input, output=output, **fields)


def run(*steps: Step, case: Case | None = None, **fields: Any) -> Sample:
    """A sample of these steps; further fields are the trajectory's."""
    return Sample(id="s", case=case, trajectory=Trajectory(steps=steps, **fields))
