"""Builds the two sides of a comparison from trajectories and expected calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pantrace.model import ExpectedCall, Step, ToolCall, ToolResult, Trajectory, call_pairs, has_failed, turns

from .arguments import arguments_of
from .call import Call
from .presets import Message, Side

_ROLES = {"agent": "assistant"}


def side_of_trajectory(
    trajectory: Trajectory, aliases: Mapping[str, str], *, failed: bool = True, grouped: bool = True
) -> Side:
    """The calls of a trajectory's own agent in one list; if `grouped`, also by invocation and message.

    `aliases` maps other names of a tool to one name. Without `failed`, calls whose result failed are left out."""
    kept = [pair for pair in call_pairs(trajectory) if failed or pair.result is None or not has_failed(pair.result)]
    calls = tuple([_call(pair.call, aliases) for pair in kept])
    ids = tuple([pair.step.id for pair in kept])
    if not grouped:
        return Side(calls=calls, steps=ids)
    by_step: dict[int, list[Call]] = {}
    for pair, call in zip(kept, calls, strict=True):
        by_step.setdefault(id(pair.step), []).append(call)
    return Side(
        calls=calls,
        steps=ids,
        invocations=tuple(
            tuple(call for step in steps for call in by_step.get(id(step), ())) for steps in _invocations(trajectory)
        ),
        messages=tuple(_messages(trajectory, by_step)),
    )


def side_of_calls(calls: Iterable[ExpectedCall], aliases: Mapping[str, str]) -> Side:
    """A bare list of expected calls; arguments that were not stated stay None."""
    return Side(
        calls=tuple(
            Call(
                aliases.get(call.name, call.name),
                None if call.arguments is None else arguments_of(call.arguments),
            )
            for call in calls
        )
    )


def with_objects(side: Side) -> Side:
    """The same side with all arguments as objects, as other libraries expect them."""
    return Side(
        calls=_objects(side.calls),
        steps=side.steps,
        invocations=None if side.invocations is None else tuple(map(_objects, side.invocations)),
        messages=None
        if side.messages is None
        else tuple(Message(message.role, _objects(message.calls)) for message in side.messages),
    )


def _objects(calls: Iterable[Call]) -> tuple[Call, ...]:
    return tuple(Call(call.name, _object(call.arguments)) for call in calls)


def _object(arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, dict):
        return arguments
    # A text in place of an object still has to be compared; no argument is called "".
    return {} if arguments is None else {"": arguments}


def _call(call: ToolCall, aliases: Mapping[str, str]) -> Call:
    return Call(aliases.get(call.name, call.name), arguments_of(call.arguments))


def _invocations(trajectory: Trajectory) -> list[tuple[Step, ...]]:
    """Steps by the source's invocation, or else by user prompt, including those without a call."""
    if any(step.invocation is not None for step in trajectory.steps):
        groups: dict[str | None, list[Step]] = {}
        for step in trajectory.steps:
            groups.setdefault(step.invocation, []).append(step)
        # Steps outside of any invocation are the program's own.
        return [tuple(steps) for name, steps in groups.items() if name is not None]
    return [turn.steps for turn in turns(trajectory)]


def _messages(trajectory: Trajectory, by_step: Mapping[int, list[Call]]) -> Iterable[Message]:
    """Messages as chat libraries count them: every tool result is a separate message."""
    for step in trajectory.steps:
        if step.kind != "message":
            continue
        results = sum(isinstance(part, ToolResult) for part in step.parts)
        if step.role != "tool":
            yield Message(_ROLES.get(step.role, step.role), tuple(by_step.get(id(step), ())))
        yield from [Message("tool")] * results
