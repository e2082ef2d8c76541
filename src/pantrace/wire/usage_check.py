"""Counts of tokens held against the total that stands beside them.

Libraries that speak to many providers pass on what each counts. Some leave reasoning out of the output, some leave
cached tokens out of the input; the total, where there is one, has all of it and so tells which."""

from __future__ import annotations

from msgspec.structs import replace

from pantrace.model import Usage


def settled(usage: Usage) -> Usage:
    """Usage in the model's convention: what the total has beyond input and output is added where it belongs. Counts
    that add up already, or in no known way, stay as they are."""
    if usage.total is None or usage.input is None or usage.output is None:
        return usage
    apart = usage.total - usage.input - usage.output
    thought, cached = usage.reasoning or 0, (usage.cache_read or 0) + (usage.cache_write or 0)
    if apart <= 0 or apart not in (thought, cached, thought + cached):
        return usage
    left_out = {
        "output": thought if apart != cached or apart == thought else 0,
        "input": cached if apart != thought else 0,
    }
    found = {name: getattr(usage, name) + count for name, count in left_out.items() if count}
    return replace(usage, **found, derived=(*usage.derived, *found))
