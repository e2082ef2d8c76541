"""The same call made again."""

from __future__ import annotations

from collections import Counter

import msgspec

from pantrace.matching.recorded import recorded
from pantrace.model import Record, Sample, ToolCall

from .check import Found, Measured, NotApplicable, check


_encode = msgspec.json.Encoder(order="deterministic").encode


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set."""

    ignore: tuple[str, ...] = ()
    """Tools that may be called again with the same arguments (those that wait or poll)."""


@check(settings=Settings, low=0, better="lower")
def repeated_calls(sample: Sample, settings: Settings) -> Found:
    """Number of tool calls that were made before with the same tool and the same arguments.

    Formula: calls - distinct calls, per agent run (a sub-agent has its own count); the order of keys in the arguments
    does not matter. `longest_run` is the largest number of identical calls directly after each other.

    Not applicable when: no tool was called, or only ignored ones.

    Source: pantrace; agents that loop.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    counts: Counter[tuple[str, bytes]] = Counter()
    total = repeats = longest = 0
    evidence: list[str] = []
    for pairs in recorded(sample.trajectory).pairs_by_trajectory:
        seen: set[tuple[str, bytes]] = set()
        last, run = None, 0
        for pair in pairs:
            if pair.call.name in settings.ignore:
                continue
            key = (pair.call.name, _arguments(pair.call))
            total += 1
            run = run + 1 if key == last else 1
            last = key
            if run > longest:
                longest = run
            if key in seen:
                repeats += 1
                counts[key] += 1
                if pair.step.id is not None:
                    evidence.append(pair.step.id)
            seen.add(key)
    if not total:
        return NotApplicable("no tool was called")
    tools: Counter[str] = Counter()
    for (name, _), count in counts.items():
        tools[name] += count
    return Measured(
        value=repeats,
        explanation=f"{repeats} of {total} calls repeat an earlier one",
        details={
            "repeated_calls": repeats,
            "total_tool_calls": total,
            "longest_run": longest,
            "repeated_tools": dict(tools.most_common()),
        },
        evidence=tuple(dict.fromkeys(evidence)),
    )


def _arguments(call: ToolCall) -> bytes:
    try:
        return _encode(call.arguments)
    except (TypeError, ValueError, RecursionError):
        # Values that JSON has no plain word for (a number beyond a float, half of a surrogate pair) still compare.
        return repr(call.arguments).encode("utf-8", "surrogatepass")
