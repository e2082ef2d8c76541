"""Token counts compared with the total that was reported with them.

Libraries that use many providers pass on the providers' counts. Some leave reasoning out of the output, some leave
cached tokens out of the input; the total, if there is one, includes everything and shows which."""

from __future__ import annotations

from msgspec.structs import replace

from pantrace.model import Usage


def settled(usage: Usage) -> Usage:
    """Usage in the model's convention: what the total has beyond input and output is added to one of them. Counts that
    add up already, or in no known way, stay unchanged."""
    if usage.total is None or usage.input is None or usage.output is None:
        return usage
    apart = usage.total - usage.input - usage.output
    thought, cached = usage.reasoning or 0, (usage.cache_read or 0) + (usage.cache_write or 0)
    # Only an exact match is a proof; anything else would be a guess about money.
    if apart <= 0 or apart not in (thought, cached, thought + cached):
        return usage
    left_out = {
        "output": thought if apart != cached or apart == thought else 0,
        "input": cached if apart != thought else 0,
    }
    found = {name: getattr(usage, name) + count for name, count in left_out.items() if count}
    return replace(usage, **found, derived=(*usage.derived, *found))
