"""Sessions: recordings grouped by their working directory and split at pauses, and the tools they used."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor

import msgspec

from pantrace.model import Sample, call_pairs, has_failed

from .fields import SHORT, values_at

_PATHS = [path.split(".") for path in SHORT["directory"]]


class Batch(msgspec.Struct, frozen=True):
    """Sessions of one directory without a long pause between them."""

    directory: str | None
    samples: list[Sample]
    since: int | None = None
    """`since` to `until`, in whole seconds, contains the start of each session; None if none has a time, or if batches
    were not split by time."""
    until: int | None = None


class ToolUse(msgspec.Struct, frozen=True):
    """A tool and how often it was called."""

    tool: str
    calls: int
    failed: int
    samples: int
    logical: str | None = None
    """What a tool map calls it; None if the map does not know it, or if there is none."""


def directory_of(sample: Sample) -> str | None:
    """The working directory of the session, if the source states it."""
    return next((str(value) for path in _PATHS for value in values_at(sample, path)), None)


def batches(samples: Iterable[Sample], gap: float | None = None) -> list[Batch]:
    """Samples by directory, in the order of their first sessions. With `gap`, those of a directory are sorted by time
    and split where nothing happened for longer than that many seconds; those without a time come last."""
    by_directory: dict[str | None, list[Sample]] = {}
    for sample in samples:
        by_directory.setdefault(directory_of(sample), []).append(sample)
    if gap is None:
        return [Batch(directory, found) for directory, found in by_directory.items()]
    return [batch for directory, found in by_directory.items() for batch in _parted(directory, found, gap)]


def _parted(directory: str | None, samples: list[Sample], gap: float) -> list[Batch]:
    # Sorted by time only: samples cannot be compared if two sessions start at the same moment.
    dated = sorted(((at, each) for each in samples if (at := _begin(each)) is not None), key=lambda pair: pair[0])
    groups: list[list[tuple[float, Sample]]] = []
    end = 0.0
    for at, sample in dated:
        if not groups or at - end > gap:
            groups.append([])
            end = at
        groups[-1].append((at, sample))
        # The latest end so far: a long session may still run while later ones come and go.
        end = max(end, _end(sample, at))
    found = [
        Batch(directory, [sample for _, sample in group], floor(group[0][0]), ceil(group[-1][0])) for group in groups
    ]
    undated = [each for each in samples if _begin(each) is None]
    return [*found, Batch(directory, undated)] if undated else found


def _begin(sample: Sample) -> float | None:
    return sample.trajectory.created if sample.trajectory is not None else None


def _end(sample: Sample, begin: float) -> float:
    """When the last step with a time ended."""
    steps = sample.trajectory.steps if sample.trajectory is not None else ()
    return max([begin, *(at for step in steps for at in (step.at, step.ended) if at is not None)])


def tool_uses(samples: Iterable[Sample], names: dict[str, str] | None = None) -> list[ToolUse]:
    """Every tool that was called, also by sub-agents, the most used first; `names` come from a tool map."""
    counts: dict[str, list[int]] = {}
    for sample in samples:
        pairs = call_pairs(sample.trajectory, children=True) if sample.trajectory is not None else []
        for pair in pairs:
            count = counts.setdefault(pair.call.name, [0, 0, 0])
            count[0] += 1
            count[1] += pair.result is not None and has_failed(pair.result)
        for name in {pair.call.name for pair in pairs}:
            counts[name][2] += 1
    ranked = sorted(counts.items(), key=lambda item: (-item[1][0], item[0]))
    known = names or {}
    return [ToolUse(name, calls, failed, used, known.get(name)) for name, (calls, failed, used) in ranked]
