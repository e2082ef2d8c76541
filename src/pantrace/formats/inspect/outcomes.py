"""How a sample ended, both ways: an error, a limit, or neither."""

from __future__ import annotations

from typing import Any

from pantrace.model import Outcome

from .content import own_extra


def outcome_of(row: dict[str, Any], extra: dict[str, Any]) -> Outcome | None:
    """The error or limit that ended a sample; data without a field goes to `extra`."""
    error, limit = row.get("error"), row.get("limit")
    if error is not None:
        if limit is not None:
            extra["limit"] = limit
        rest = {key: value for key, value in error.items() if key != "message"} if isinstance(error, dict) else {}
        message = error.get("message") if isinstance(error, dict) else str(error)
        if not isinstance(error, dict):
            rest = {"error": error}
        # A cancelled run leaves no status in the sample, only this exception's name.
        cancelled = isinstance(message, str) and message.startswith(("CancelledError", "Cancelled"))
        return Outcome(
            status="cancelled" if cancelled else "error", reason=message, extra={"inspect": rest} if rest else {}
        )
    if limit is not None:
        rest = dict(limit) if isinstance(limit, dict) else {"limit": limit}
        return Outcome(status="limit", reason=rest.get("type"), extra={"inspect": {"limit": rest}})
    return None


def from_outcome(outcome: Outcome | None) -> dict[str, Any]:
    """The fields of a sample that say how it ended."""
    if outcome is None:
        return {}
    kept = own_extra(outcome.extra)
    if "state" in kept:
        return {}  # an event of the log already says it
    if outcome.status in ("error", "cancelled"):
        if "error" in kept:
            return {"error": kept["error"]}
        message = outcome.reason or outcome.status
        # inspect_ai refuses an error without both tracebacks; empty texts are enough.
        return {"error": {"message": message, "traceback": "", "traceback_ansi": "", **kept}}
    if outcome.status == "limit":
        return {"limit": kept.get("limit") or {"type": "custom", "limit": 0, "reason": outcome.reason or ""}}
    return {}
