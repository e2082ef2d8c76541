"""Repairs: turn a sample or a header into one that inspect_ai reads.

A log of another program can contain what inspect_ai refuses: errors without a traceback, tool errors without a type,
results that are objects, times that are not times. A copy of it would be refused, too. Each repair is reported; the old
value is kept for pantrace if it says more than the new one.
"""

from __future__ import annotations

from typing import Any

from pantrace.wire.repairs import note_repair
from pantrace.wire.shape_repair import LEFT_OUT, repair_value
from pantrace.wire.times import from_iso

from .info_calls import as_info, is_known
from .leave_out import without_wrong
from .records import check, check_header
from .shapes import EVENT, EVENTS, HEADER, SAMPLE

NO_TIME = "1970-01-01T00:00:00+00:00"


def repaired_sample(row: dict[str, Any]) -> dict[str, Any]:
    """A sample that inspect_ai reads; the same object if nothing was wrong."""
    output = row.get("output")
    row = _with_named_usage(row, "model_usage", output.get("model") if isinstance(output, dict) else None)
    # Events are repaired one by one, because the shape of an event depends on its type.
    row = repair_value(row, SAMPLE)
    if isinstance(row.get("events"), list):
        row = {**row, "events": _events(row["events"])}
    return without_wrong(row, check)


def repaired_header(raw: dict[str, Any], first: str | None) -> dict[str, Any]:
    """A header that inspect_ai reads; `first` is when the first sample began."""
    spec: dict[str, Any] = stated if isinstance(stated := raw.get("eval"), dict) else {}
    if from_iso(spec.get("created")) is None:
        note_repair("eval.created", "is not a time: replaced by that of the first sample")
        spec = {**spec, "created": first or NO_TIME}
    raw = repair_value(raw if spec is stated else {**raw, "eval": spec}, HEADER)
    if isinstance(raw.get("stats"), dict):
        stats = _with_named_usage(raw["stats"], "stats.model_usage", spec.get("model"))
        raw = raw if stats is raw["stats"] else {**raw, "stats": stats}
    return without_wrong(raw, lambda record: check_header(record, ""))


def _with_named_usage(record: dict[str, Any], place: str, model: Any) -> dict[str, Any]:
    """Counts without a model's name, put under it."""
    usage = record.get("model_usage")
    if not isinstance(usage, dict) or not usage or any(isinstance(each, dict) for each in usage.values()):
        return record
    note_repair(place, "is keyed by the model's name now")
    return {**record, "model_usage": {model if isinstance(model, str) and model else "none/none": usage}}


def _events(events: list[Any]) -> list[Any]:
    """Events of known types only; one without a valid time gets that of the event before."""
    found = []
    clock = NO_TIME
    for number, event in enumerate(events):
        place = f"events[{number}]"
        if not is_known(event):
            note_repair(place, "is an info event now: Inspect does not have its type")
            # inspect_ai refuses a whole sample because of one event of an unknown type.
            event = as_info(event)
        if "timestamp" in event and from_iso(event["timestamp"]) is None:
            note_repair(f"{place}.timestamp", "is not a time: replaced by that of the previous event")
            event = {**event, "timestamp": clock}
        clock = event.get("timestamp", clock)
        event = repair_value(event, {**EVENT, **EVENTS[event["event"]]}, place)
        found.append(event)
    return [event for event in found if event is not LEFT_OUT]
