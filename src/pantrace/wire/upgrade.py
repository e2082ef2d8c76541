"""Samples written by version 1 of the model, upgraded to version 2.

Version 1 had no field for two things, which it kept in `extra`: who called a model (Inspect's span), and the prompt
tokens that a provider's own tools wrote (Gemini's count). Its usages had one `provenance` for all numbers, which the
native reader now finds among the unknown keys. Files and run directories of version 1 are upgraded here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.model import NUMBERS, Extra, Sample, Step, Trajectory, Usage

_TOOL_PROMPT = "tool_use_prompt_token_count"
_GRADERS = ("scorer", "scorers")


def upgrade(sample: Sample) -> Sample:
    """A sample of version 1 as one of version 2; the same object if nothing changes."""
    found = {name: each for name in ("trajectory", "expected") if (each := getattr(sample, name)) is not None}
    new = {name: _trajectory(each) for name, each in found.items()}
    return sample if all(new[name] is found[name] for name in new) else msgspec.structs.replace(sample, **new)


def _trajectory(trajectory: Trajectory) -> Trajectory:
    changes: dict[str, Any] = {}
    # Version 1 kept the purpose as the type of Inspect's span.
    kinds = [kept.get("span") for kept in trajectory.extra.values() if isinstance(kept, dict)]
    # Only if the purpose is still the default.
    if trajectory.purpose == "agent" and any(kind in _GRADERS for kind in kinds):
        changes["purpose"] = "grader"
    elif trajectory.purpose == "agent" and "tool" in kinds:
        changes["purpose"] = "tool"
    if trajectory.usage is not None:
        totals = {name: _usage(usage) for name, usage in trajectory.usage.items()}
        if any(totals[name] is not usage for name, usage in trajectory.usage.items()):
            changes["usage"] = totals
    steps = tuple([_step(step) for step in trajectory.steps])
    if any(new is not old for new, old in zip(steps, trajectory.steps, strict=True)):
        changes["steps"] = steps
    children = tuple([_trajectory(child) for child in trajectory.children])
    if any(new is not old for new, old in zip(children, trajectory.children, strict=True)):
        changes["children"] = children
    return msgspec.structs.replace(trajectory, **changes) if changes else trajectory


def _step(step: Step) -> Step:
    usage = step.usage and _usage(step.usage)
    return step if usage is step.usage else msgspec.structs.replace(step, usage=usage)


def _usage(usage: Usage) -> Usage:
    """A usage with tool prompt and provenance as fields, which version 1 kept under `extra`."""
    changes: dict[str, Any] = {}
    extra = usage.extra
    for name, kept in usage.extra.items():
        if not isinstance(kept, dict):
            continue
        if isinstance(count := kept.get(_TOOL_PROMPT), int):
            changes["tool_prompt"] = count
            extra = _without(extra, name, _TOOL_PROMPT)
        if name == "native" and "provenance" in kept:
            if kept["provenance"] == "derived":
                changes["derived"] = tuple([each for each in NUMBERS if getattr(usage, each) is not None])
            extra = _without(extra, name, "provenance")
    return usage if extra is usage.extra else msgspec.structs.replace(usage, **changes, extra=extra)


def _without(extra: Extra, name: str, key: str) -> Extra:
    rest = {each: value for each, value in extra[name].items() if each != key}
    return {each: rest if each == name else value for each, value in extra.items() if each != name or rest}
