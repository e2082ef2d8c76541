"""What the logger of Health Universe's A2A SDK writes beside its calls: task states, progress, anything else."""

from __future__ import annotations

from typing import Any, Literal

from pantrace.model import Outcome, Step, Text
from pantrace.wire.json import encode
from pantrace.wire.optional import object_of
from pantrace.wire.times import from_iso

TASK, REMARKS = "a2a:task", "a2a:"
"""Sources of info events: the one for states of a task, and the prefix of all that the logger writes."""
_ENDINGS: dict[Any, Literal["error", "failed", "cancelled"]] = {
    "failed": "error",
    "rejected": "failed",
    "canceled": "cancelled",
    "cancelled": "cancelled",
}
"""States that mean that an A2A task ended badly. "completed" is not an outcome: nobody judged the result."""


def is_remark(event: dict[str, Any]) -> bool:
    """Whether this logger wrote an info event beside its calls."""
    source = event.get("source")
    # Two of its sources have no prefix.
    return isinstance(source, str) and (source.startswith(REMARKS) or source in ("agent", "lifecycle"))


def remark(event: dict[str, Any]) -> Step:
    """A state, a progress message or anything else that was logged, as a note between the steps."""
    data = event.get("data")
    fields = object_of(data)
    state, message = fields.get("state"), fields.get("message")
    head = f"task {state}" if isinstance(state, str) else ""
    if fields.get("type") == "progress_update" and isinstance(fields.get("progress"), (int, float)):
        head = f"{fields['progress']:.0%}"
    words = [each for each in (head, message) if isinstance(each, str) and each]
    text = ": ".join(words) or encode(data).decode("utf-8", "replace")
    delta = {"task_state": state} if isinstance(state, str) else None
    at = from_iso(event.get("timestamp"))
    return Step(role="system", kind="note", parts=(Text(text=text),), at=at, state_delta=delta)


def ending_of(events: list[Any]) -> Outcome | None:
    """How a task ended badly, by its last state; None if it did not, or if there is no state."""
    for event in reversed(events):
        if isinstance(event, dict) and event.get("event") == "info" and event.get("source") == TASK:
            data = event.get("data")
            fields = object_of(data)
            state = fields.get("state")
            if state not in _ENDINGS:
                return None
            reason = fields.get("message") or _last_message(events)
            # Marked, so that writing does not add an `error` that the log did not have.
            return Outcome(status=_ENDINGS[state], reason=reason, extra={"inspect": {"state": state}})
    return None


def _last_message(events: list[Any]) -> str | None:
    """The last message of a state. The logger repeats the last state without its message when it ends."""
    states = [
        each["data"] for each in events if isinstance(each, dict) and each.get("source") == TASK and each.get("data")
    ]
    return next((each["message"] for each in reversed(states) if isinstance(each.get("message"), str)), None)
