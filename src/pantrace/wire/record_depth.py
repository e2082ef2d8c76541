"""How deeply foreign values inside records of the model are nested.

Parts and usages are not tracked by the garbage collector (`gc=False`), so `depth.is_too_deep`, which asks it, stops at
them. The fields of steps are examined by name: a recording has thousands of steps, and most contain nothing nested.
"""

from __future__ import annotations

import gc
from typing import Any

import msgspec

from pantrace.model import Text, Thinking, ToolCall, ToolResult, Trajectory


def is_record_too_deep(record: Any, most: int) -> bool:
    """Whether lists, objects and structs are nested more than `most` levels deep; a few levels of the model itself may
    not be counted."""
    level = [record]
    for _ in range(most):
        below: list[Any] = []
        plain: list[Any] = []
        for each in level:
            kind = type(each)
            if kind is dict or kind is list:
                plain.append(each)
            elif kind is tuple:
                below += each
            elif kind is Trajectory:
                below += _inside(each)
            elif isinstance(each, msgspec.Struct):
                below += msgspec.structs.astuple(each)
        # What the collector does not track contains no lists or objects.
        below += filter(gc.is_tracked, gc.get_referents(*plain))
        if not below:
            return False
        # Level by level, without recursion, like `is_too_deep`.
        level = below
    return True


def _inside(trajectory: Trajectory) -> list[Any]:
    """The values of a trajectory that may contain lists and objects."""
    found: list[Any] = [
        trajectory.agents,
        trajectory.invocations,
        trajectory.children,
        trajectory.origin,
        trajectory.outcome,
        trajectory.state,
        trajectory.extra,
    ]
    if trajectory.usage:
        found += trajectory.usage.values()  # added here, because the collector does not track them
    for step in trajectory.steps:
        if step.extra:
            found.append(step.extra)
        usage = step.usage
        if usage is not None and usage.extra:
            found.append(usage.extra)
        if step.error is not None:
            found.append(step.error.extra)
        if step.settings is not None or step.state_delta is not None:
            found += (step.settings, step.state_delta)
        for part in step.parts:
            # By the class itself: `isinstance` would take a third of this function's time.
            kind = type(part)
            if kind is Text or kind is Thinking:
                if part.extra:  # type: ignore[union-attr]
                    found.append(part.extra)  # type: ignore[union-attr]
            elif kind is ToolCall:
                found.append(part.arguments)  # type: ignore[union-attr]
                if part.extra:  # type: ignore[union-attr]
                    found.append(part.extra)  # type: ignore[union-attr]
            elif kind is ToolResult and not part.media and not part.extra:  # type: ignore[union-attr]
                found.append(part.output)  # type: ignore[union-attr]
            else:
                found.append(part)
    return found
