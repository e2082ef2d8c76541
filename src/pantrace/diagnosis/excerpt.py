"""Excerpts: what a judge sees of a failed sample: the task, and the steps around the one that went wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from pantrace.judges.cut import shortened_text
from pantrace.judges.fence import fence
from pantrace.judges.transcript import told, transcript
from pantrace.model import Sample, Trajectory

from .finding import Place
from .numbered import Numbered

AROUND = 8
"""Steps before and after the one that went wrong."""
ENDS = 2
"""First and last steps, which are always shown."""
_LENGTHS = (8_000, 4_000, 2_000, 1_000, 500, 200)


class Excerpt(msgspec.Struct, frozen=True):
    """A sample as a judge sees it."""

    entries: tuple[str, ...]
    steps: frozenset[int]
    """Numbers of the steps that are shown."""


def excerpt(sample: Sample, place: Place | None, detail: str, clean: Callable[[str], str]) -> Excerpt:
    """The task, what is expected, and the steps around the place, with secrets removed."""
    numbered = Numbered(sample)
    entries = [f"what pantrace found: {detail}" + (f" (step {place.step})" if place is not None else "")]
    case = sample.case
    for name in ("question", "goal", "reference"):
        if case is not None and (text := getattr(case, name)):
            entries.append(f"{name} of the case: {text}")
    if case is not None and case.expected_calls:
        calls = "; ".join(f"{call.name} {told(call.arguments)}" for call in case.expected_calls)
        entries.append(f"expected calls: {calls}")
    elif sample.expected is not None:
        calls = "; ".join(block.text for block in transcript(sample.expected))
        entries.append(f"expected run: {shortened_text(calls, _LENGTHS[0])}")
    shown = _window(sorted(numbered.order, key=numbered.order.__getitem__), place)
    last = 0
    for position, address in shown:
        if position > last + 1:
            entries.append(f"[{position - last - 1} steps are not shown]")
        last = position
        entries += _step_entries(numbered, address)
    total = len(numbered.order)
    if last < total:
        entries.append(f"[{total - last} steps are not shown]")
    cleaned = tuple(clean(each) for each in entries)
    return Excerpt(cleaned, frozenset(numbered.places[address].step for _, address in shown))


def _window(addresses: Sequence[str], place: Place | None) -> list[tuple[int, str]]:
    """The first and last steps, and those around the place; 1-based positions with their addresses."""
    middle = addresses.index(str(place.step)) if place is not None and str(place.step) in addresses else None
    wanted = {*range(ENDS), *range(len(addresses) - ENDS, len(addresses))}
    # If no step is known to be at fault, the end says most.
    centre = middle if middle is not None else len(addresses) - 1
    wanted |= set(range(centre - AROUND, centre + AROUND + 1))
    return [(position + 1, addresses[position]) for position in sorted(wanted) if 0 <= position < len(addresses)]


def _step_entries(numbered: Numbered, address: str) -> list[str]:
    step, place = numbered.steps[address], numbered.places[address]
    who = f"sub-agent {place.agent}" if place.agent else "agent"
    blocks = transcript(Trajectory(steps=(step,)), who=who)
    # Further lines are indented, so that text in a recording cannot pretend to be another step.
    return [f"[step {place.step}] " + "\n    ".join(block.text.splitlines()) for block in blocks]


def fenced(names: Sequence[str], texts: Sequence[Sequence[str]], word: str, budget: int) -> str:
    """Several lists of entries between fences, with every entry shortened until all of them fit."""
    length = _LENGTHS[0]
    # Shorter entries rather than fewer: a missing step could be the one that explains the failure.
    for length in _LENGTHS:
        size = sum(min(len(entry), length) for entries in texts for entry in entries)
        if size <= budget or length == _LENGTHS[-1]:
            break
    parts = [
        fence(name, "\n".join(shortened_text(entry, length) for entry in entries), word)
        for name, entries in zip(names, texts, strict=True)
    ]
    return "\n\n".join(parts)
