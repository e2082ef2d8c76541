"""Doubts: numbers of a recording that contradict each other. They are kept as they are, and reported as doubtful.

Every producer has its own idea of what `input` and `output` count. A reader converts them; if it gets a convention
wrong, or the producer its sums, the total reveals it: input plus output must be the total.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pantrace.model import Sample, Trajectory, Usage, all_trajectories
from pantrace.wire.pantrace_key import CARRIER

NOTES = "notes"


def doubts(sample: Sample) -> Iterator[tuple[str, str]]:
    """Place and nature of each contradiction in a sample."""
    for name, root in (("trajectory", sample.trajectory), ("expected", sample.expected)):
        for trajectory in all_trajectories(root) if root is not None else ():
            place = name if trajectory is root else f"{name} {trajectory.id}"
            for where, usage in _usages(trajectory):
                if (doubt := _doubt(usage)) is not None:
                    yield f"{place}, {where}", doubt


def _usages(trajectory: Trajectory) -> Iterator[tuple[str, Usage]]:
    for number, step in enumerate(trajectory.steps):
        if step.usage is not None:
            yield f"steps[{number}].usage", step.usage
    for model, usage in (trajectory.usage or {}).items():
        yield f"usage of {model}" if model else "usage", usage


def _doubt(usage: Usage) -> str | None:
    given, output, total = usage.input, usage.output, usage.total
    # Sums of which a part was not reported cannot be expected to add up.
    if given is None or output is None or total is None or given + output == total or usage.partial:
        return None
    if any("note" in kept for kept in usage.extra.values() if isinstance(kept, dict)):
        return None  # its reader has already explained the difference
    return f"input {given} plus output {output} is not the total {total}"


def with_notes(sample: Sample) -> Sample:
    """The sample with its doubts as notes under `extra.pantrace`; the same object if there are none."""
    if _is_clear(sample.trajectory) and _is_clear(sample.expected):
        return sample
    notes = [f"{place}: {doubt}" for place, doubt in doubts(sample)]
    if not notes:
        return sample
    return msgspec.structs.replace(sample, extra={**sample.extra, CARRIER: {NOTES: notes}})


def _is_clear(trajectory: Trajectory | None) -> bool:
    """Whether a trajectory certainly has no doubts. Called for every sample, and few have any, so this quick check
    does not build the names of places."""
    if trajectory is None:
        return True
    if trajectory.usage or trajectory.children:
        return False
    for step in trajectory.steps:
        usage = step.usage
        if usage is not None and usage.total is not None and _doubt(usage) is not None:
            return False
    return True
