"""Samples: one EvalSample object and one Sample, both ways.

Reading: `messages` are the steps; events add what they know (see `event_index`, `threads`) and are kept, with their
pools, under `trajectory.extra["inspect"]`. Writing uses them again; for a sample of another format they are made (see
`build_events`). Data that Inspect has no field for is kept in `metadata.pantrace` (see `wire.difference`).
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from pantrace.errors import ReadError, SampleRefused
from pantrace.model import Agent, Case, Sample, Step, Tool, Trajectory, Usage, is_prompt, reports, step_text
from pantrace.wire.difference import SAME, apply_difference, difference
from pantrace.wire.json import first_misfit, unknown_keys
from pantrace.wire.pantrace_key import CARRIER, without_notes
from pantrace.wire.times import from_iso, iso

from .a2a_remarks import ending_of
from .build_events import build_events
from .cases import CASE_KEYS, case_of
from .content import own_extra
from .deviation import EXACT, annotate, deviation, is_current, restore
from .event_index import EventIndex, notes_of, output_message
from .member_names import log_id
from .message_drafts import MessageDrafts, message_name
from .messages import from_step, is_note
from .migration import sample_today
from .outcomes import from_outcome, outcome_of
from .records import check
from .repair import repaired_sample
from .scores import from_scores, to_scores
from .summary import FLUSH, FLUSHED, SUMMARY
from .threads import add_threads, main_steps, with_notes
from .usage import by_model, from_usage, to_usage

_SAMPLE = ("invalidation",)
_MAPPED = frozenset(
    {
        *("id", "epoch", "input", "choices", "target", "metadata", "messages", "scores", "store", "model_usage"),
        *("started_at", "completed_at", "uuid", "error", "limit", *CASE_KEYS, *_SAMPLE),
    }
)
_AS_READ = frozenset({EXACT, SUMMARY, FLUSHED, FLUSH})
"""Notes on how a sample was written in its log; they are found again when the log is read."""


def load(row: Any) -> Sample:
    """One EvalSample object as a sample."""
    if not isinstance(row, dict) or "id" not in row or not ({"epoch", "messages", "input", "events"} & row.keys()):
        raise ReadError("not a sample of an Inspect log: it has no id, epoch, input, messages or events")
    as_read, row = row, sample_today(row)
    sample = _sample(row)
    notes = notes_of(row)
    if "sample" not in notes:
        return _exact(sample, as_read, row)
    meant = apply_difference(sample, notes["sample"])
    if notes.get("events") != len(row.get("events") or ()) and meant.trajectory and sample.trajectory:
        # Another program has added events since. Ours can be made again, theirs must be kept.
        kept = {
            **own_extra(sample.trajectory.extra),
            "attachments": row.get("attachments") or {},
            "uuid": row.get("uuid"),
        }
        extra = {**meant.trajectory.extra, "inspect": kept}
        meant = msgspec.structs.replace(meant, trajectory=msgspec.structs.replace(meant.trajectory, extra=extra))
    return meant


def _exact(sample: Sample, as_read: dict[str, Any], row: dict[str, Any]) -> Sample:
    """The sample with a note of how its row differs from what would be written."""
    try:
        if as_read is row and is_current(row):
            return sample
    except (AttributeError, KeyError, TypeError, ValueError):
        pass  # Inspect does not write such a row
    written = _row(sample)
    # Id and epoch are never restored to a deviating form: a log with ids that do not match shows a blank page.
    note = deviation(written, {**as_read, "id": written["id"], "epoch": written["epoch"]})
    return annotate(sample, note) if note else sample


def _sample(row: dict[str, Any]) -> Sample:
    extra: dict[str, Any] = {key: row[key] for key in _SAMPLE if row.get(key) is not None}
    if not isinstance(row["id"], str):
        extra["id"] = row["id"]
    # No scores and an empty object mean the same, but the log is written back as it was.
    if row.get("scores") is None:
        extra["scores"] = None
    epoch = row.get("epoch")
    return Sample(
        id=str(row["id"]),
        epoch=epoch if isinstance(epoch, int) else None,
        case=case_of(row),
        trajectory=_trajectory(row),
        scores=to_scores(row.get("scores")),
        extra={"inspect": extra} if extra else {},
    )


def _trajectory(row: dict[str, Any]) -> Trajectory:
    extra = {key: value for key, value in row.items() if key not in _MAPPED and value is not None}
    attachments = row.get("attachments") or {}
    events = row.get("events") or []
    extra["events"] = events
    if not attachments:
        extra.pop("attachments", None)
    pool = (row.get("events_data") or {}).get("messages") or []
    index = EventIndex(events, attachments, pool, notes_of(row).get("messages") or {})
    messages = row.get("messages") or []
    main = main_steps(messages, index)
    agents = _agents(index)
    name = row.get("uuid")
    children = add_threads(main, index, name)
    steps = with_notes(main.steps, index, None)
    if attachments and (used := _used_attachments(steps)):
        extra["attachments"] = {key: value for key, value in attachments.items() if key not in used}
    for key in ("started_at", "completed_at"):
        if row.get(key) is not None and from_iso(row[key]) is None:
            extra[key] = row[key]
    store = row.get("store")
    outcome = outcome_of(row, extra) or ending_of(events)
    found = Trajectory(
        id=name,
        created=from_iso(row.get("started_at")),
        ended=from_iso(row.get("completed_at")),
        agents=agents,
        steps=tuple(steps),
        state=store or None,
        usage=_usage(row.get("model_usage"), extra),
        outcome=outcome,
        response=_response(row, steps),
        children=children,
        extra={"inspect": extra} if extra else {},
    )
    if not index.sure and (why := first_misfit(found, Trajectory)) is not None:
        raise ReadError(f"trajectory.{why}", remedy="was the file edited by hand?")
    return found


def _response(row: dict[str, Any], steps: list[Step]) -> str | None:
    """The answer of a log that has it only as text, in no choice and no message."""
    output = row.get("output")
    if not isinstance(output, dict) or output.get("choices") or row.get("messages"):
        return None
    text = output.get("text")
    return text if isinstance(text, str) and text and not any(step_text(step) == text for step in steps) else None


def _usage(raw: Any, extra: dict[str, Any]) -> dict[str, Usage] | None:
    if not isinstance(raw, dict) or not raw:
        return None
    found = {model: usage for model, each in raw.items() if (usage := to_usage(each)) is not None}
    if len(found) == len(raw):
        return found
    # Counts without a model's name, which inspect_ai refuses; they are read all the same.
    if not found and (flat := to_usage(raw)) is not None and reports(flat):
        return {"": flat}
    extra["model_usage"] = raw
    return found or None


def _agents(index: EventIndex) -> tuple[Agent, ...]:
    """The agent of the main conversation, as its first model call shows it."""
    first = next((event for event in index.models if id(event) in index.claimed), None)
    if first is None:
        return ()
    name = index.agent_of(first.get("span_id"))
    tools = tuple(
        Tool(name=str(tool.get("name")), description=tool.get("description"), parameters=tool.get("parameters"))
        for tool in first.get("tools") or ()
        if isinstance(tool, dict)
    )
    if name is None and not tools:
        return ()
    return (Agent(name=name or "main", model=first.get("model"), tools=tools),)


def _used_attachments(steps: list[Step]) -> set[str]:
    """Attachments that the steps hold, so that they need not be kept a second time."""
    found: set[str] = set()
    for step in steps:
        if own_extra(step.extra).get("beside"):
            continue
        for part in step.parts:
            for each in (part, *getattr(part, "media", ())):
                key = own_extra(getattr(each, "extra", {})).get("attachment")
                if key is not None:
                    found.add(key)
    return found


def dump(sample: Sample, options: Any = None) -> dict[str, Any]:
    """One sample as an EvalSample object that Inspect reads."""
    try:
        row = _readable(restore(_row(sample), own_extra(sample.extra)))
        actual = _sample(sample_today(row))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError, ReadError) as error:
        raise SampleRefused(f"cannot be written as an Inspect sample: {error}") from None
    # Read back at once: what Inspect's shape cannot hold is kept in the metadata.
    change = difference(actual, _sourceless(sample))
    if change is not SAME:
        notes = {**notes_of(row), "sample": change, "events": len(row.get("events") or ())}
        row["metadata"] = {**(row.get("metadata") or {}), CARRIER: notes}
    return row


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    """A row that inspect_ai reads, repaired if needed."""
    if not any(each.level == "error" for each in check(row)):
        return row
    row = repaired_sample(row)
    for wrong in check(row):
        if wrong.level == "error":
            raise SampleRefused(f"inspect_ai would refuse it: {wrong.place}: {wrong.message}")
    return row


def _sourceless(sample: Sample) -> Sample:
    """A sample without its source and without notes on its file, neither of which is part of its content."""

    def bare(trajectory: Trajectory | None) -> Trajectory | None:
        if trajectory is None:
            return None
        children = tuple(child for each in trajectory.children if (child := bare(each)) is not None)
        return msgspec.structs.replace(trajectory, source=None, children=children)

    sample = without_notes(sample)
    if own_extra(sample.extra).keys() & _AS_READ:
        kept = {key: value for key, value in own_extra(sample.extra).items() if key not in _AS_READ}
        extra = unknown_keys(sample.extra, ("inspect",)) | ({"inspect": kept} if kept else {})
        sample = msgspec.structs.replace(sample, extra=extra)
    return msgspec.structs.replace(sample, trajectory=bare(sample.trajectory), expected=bare(sample.expected))


def _row(sample: Sample) -> dict[str, Any]:
    trajectory = sample.trajectory or Trajectory()
    kept = dict(own_extra(trajectory.extra))
    case = sample.case or Case()
    case_kept = own_extra(case.extra)
    name, epoch = own_extra(sample.extra).get("id"), sample.epoch or 1
    row: dict[str, Any] = {
        "id": name if name is not None and str(name) == sample.id else log_id(sample.id, epoch),
        "epoch": epoch,
        "input": case_kept.get("input", _question(sample)),
        "target": case_kept.get("target", case.reference or ""),
    }
    if case.choices is not None:
        row["choices"] = list(case.choices)
    row |= {key: value for key, value in case_kept.items() if key in CASE_KEYS}
    attachments: dict[str, str] = dict(kept.pop("attachments", None) or {})
    # A log from Inspect always has events, if only an empty list.
    foreign = "events" not in kept
    drafts = MessageDrafts(attachments, pooled=foreign)
    row["messages"] = _messages(trajectory, drafts, _identity(sample))
    row["scores"] = from_scores(sample.scores)
    if not sample.scores and "scores" in own_extra(sample.extra):
        del row["scores"]
    row["metadata"] = {**case.labels, **case_kept.get("metadata", {})}
    row["store"] = trajectory.state or {}
    row |= _times(trajectory)
    if foreign or trajectory.id is not None:
        # Two samples may share a trajectory's id; a uuid must be unique.
        row["uuid"] = _identity(sample) if foreign else trajectory.id
    row |= from_outcome(trajectory.outcome)
    row |= {key: value for key, value in own_extra(sample.extra).items() if key in _SAMPLE}
    usage = {model or _model(trajectory): from_usage(each) for model, each in (trajectory.usage or {}).items()}
    if foreign:
        row |= build_events(sample, row, drafts)
        usage = usage or _usage_by_model(trajectory)
    row["model_usage"] = kept.pop("model_usage", None) or usage
    row["attachments"] = attachments
    if drafts.notes:
        row["metadata"] = {**row["metadata"], CARRIER: {"messages": drafts.notes}}
    return row | kept


def _question(sample: Sample) -> str:
    if sample.case is not None and sample.case.question is not None:
        return sample.case.question
    steps = sample.trajectory.steps if sample.trajectory is not None else ()
    return next((words for step in steps if is_prompt(step) and (words := step_text(step))), "")


def _identity(sample: Sample) -> str:
    """A name that no other sample of the log has; two samples may share a trajectory's id."""
    return hashlib.sha256(f"{sample.id}\n{sample.epoch}".encode("utf-8", "surrogatepass")).hexdigest()[:22]


def _messages(trajectory: Trajectory, drafts: MessageDrafts, identity: str) -> list[Any]:
    """The conversation as messages; notes are not part of it and become events."""
    messages: list[Any] = []
    foreign = "events" not in own_extra(trajectory.extra)
    answers = set() if foreign else _answer_ids(own_extra(trajectory.extra)["events"])
    # A log that pantrace wrote before has prefixed ids already.
    prefixed = foreign or any(isinstance(each, str) and each.startswith(f"{identity[:12]}.") for each in answers)
    for place, step in enumerate(trajectory.steps):
        if is_note(step) or (own_extra(step.extra).get("beside") and not foreign):
            continue
        name = message_name(step, place, identity) if prefixed or step.id is None else step.id
        found = from_step(step, drafts.unique(name) if foreign else name, drafts)
        drafts.sizes.append(len(found))
        messages.extend(found)
    if not foreign:
        for message in messages:
            if drafts.notes.get(message.get("id")) == {"unnamed": True} and message["id"] not in answers:
                del drafts.notes[message.pop("id")]  # messages of early logs have no id
    return messages


def _answer_ids(events: Any) -> set[Any]:
    found = set()
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict) and event.get("event") == "model" and (message := output_message(event)):
            found.add(message.get("id"))
    return found


def _times(trajectory: Trajectory) -> dict[str, Any]:
    """When a sample began and ended, and how long it took and worked. If the source does not say, the first and last
    step count; a log from Inspect keeps its own numbers."""
    begin, end = trajectory.created, trajectory.ended
    found: dict[str, Any] = {}
    if "events" not in own_extra(trajectory.extra):
        moments = [moment for step in trajectory.steps for moment in (step.at, step.ended) if moment is not None]
        begin = begin if begin is not None else min(moments, default=None)
        end = end if end is not None else max(moments, default=None)
        if begin is not None and end is not None:
            total = max(end - begin, 0.0)
            worked = [
                max(step.ended - step.at, 0.0)
                for step in trajectory.steps
                if step.role != "user" and step.at is not None and step.ended is not None
            ]
            found["total_time"] = round(total, 6)
            found["working_time"] = round(min(sum(worked), total) if worked else total, 6)
    if begin is not None:
        found["started_at"] = iso(begin)
    if end is not None:
        found["completed_at"] = iso(end)
    return found


def _model(trajectory: Trajectory) -> str:
    """The model that did most of the work; Inspect's "none/none" if none is named."""
    names = [step.model for step in trajectory.steps if step.model] + [a.model for a in trajectory.agents if a.model]
    return max(names, key=names.count) if names else "none/none"


def _usage_by_model(trajectory: Trajectory) -> dict[str, Any]:
    pairs = []
    for step in trajectory.steps:
        if step.usage is not None and step.kind != "copied":
            pairs.append((step.model or _model(trajectory), step.usage))
    return by_model(pairs)
