"""Calls that were made before."""

from __future__ import annotations

import msgspec

from pantrace.matching.recorded_data import recording_of, step_ids
from pantrace.matching.tally import tally_by_frequency
from pantrace.model import CallPair, Measure, Record, Sample, ToolCall

from .metric import Found, Measurement, NotApplicable, metric

_encode = msgspec.json.Encoder(order="deterministic").encode


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings."""

    ignore: tuple[str, ...] = ()
    """Tools that may be called again with the same arguments, because they wait or poll."""


@metric(
    settings=Settings,
    measures=(
        Measure(
            name="repeated_calls", unit="count", better="lower", pooling="sum", headline=True, what="calls made before"
        ),
        Measure(name="total_tool_calls", unit="count", pooling="sum", what="tool calls"),
        Measure(name="longest_run", unit="count", better="lower", what="identical calls directly after each other"),
    ),
)
def repeated_calls(sample: Sample, settings: Settings) -> Found:
    """Number of tool calls that repeat an earlier call with the same arguments.

    Formula: calls - distinct calls, per agent run (a sub-agent has its own count); the order of keys in the arguments
    does not matter. `longest_run` is the largest number of identical calls in a row.

    Not applicable when: no tool was called, or only ignored ones.

    Source: pantrace; agents that loop.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    total = longest = 0
    repeated: list[CallPair] = []
    recording, ignored = recording_of(sample.trajectory), settings.ignore
    several = {name for name, count in recording.calls_by_tool.items() if count > 1}
    for pairs in recording.pairs_by_trajectory:
        seen: set[tuple[str, bytes]] = set()
        last, run = None, 0
        for pair in pairs:
            name = pair.call.name
            if name in ignored:
                continue
            # A tool that was called once repeats nothing, so its arguments need not be encoded.
            key = (name, _arguments(pair.call) if name in several else b"")
            total += 1
            run = run + 1 if key == last else 1
            last = key
            if run > longest:
                longest = run
            if key in seen:
                repeated.append(pair)
            else:
                seen.add(key)
    if not total:
        return NotApplicable("no tool was called")
    return Measurement(
        value=len(repeated),
        explanation=f"{len(repeated)} of {total} calls repeat an earlier one",
        values={"total_tool_calls": total, "longest_run": longest},
        details={"repeated_tools": tally_by_frequency([pair.call.name for pair in repeated])},
        evidence=step_ids(repeated) if repeated else (),
    )


def _arguments(call: ToolCall) -> bytes:
    try:
        return _encode(call.arguments)
    except (TypeError, ValueError, RecursionError):
        # JSON cannot express numbers beyond a float or lone surrogates, but such arguments can still be compared.
        return repr(call.arguments).encode("utf-8", "surrogatepass")
