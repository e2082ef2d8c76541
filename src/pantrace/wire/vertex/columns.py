"""Columns next to the conversation, read and written: id, epoch, title, time, reference and context of a sample."""

from __future__ import annotations

import hashlib
from typing import Any

from pantrace.model import Case, Sample, Trajectory
from pantrace.wire.json import encode, unknown_keys
from pantrace.wire.times import from_iso, time_text


def text_or_content(text: str, role: str) -> str | dict[str, Any]:
    """A text for a column. One that looks like a number is wrapped as a content: pandas would make it a number, and the
    client then refuses the file."""
    # A quick look first: the only words that float() accepts are "nan" and "inf".
    if text[:1].isalpha() and text[:1] not in "nNiI":
        return text
    try:
        float(text)
    except ValueError:
        return text
    return {"role": role, "parts": [{"text": text}]}


def column_text(value: Any) -> str | None:
    """The text of a column that holds a text, or a content of one plain text; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(parts := value.get("parts"), list) and len(parts) == 1:
        part = parts[0]
        if isinstance(part, dict) and part.keys() == {"text"} and isinstance(part["text"], str):
            return part["text"]
    return None


def session_id(row: dict[str, Any]) -> str:
    """The row's own id; a fingerprint of the row if it has none."""
    # Numbers are accepted, because pandas turns ids of digits into integers.
    for key in ("session_id", "eval_case_id"):
        if isinstance(found := row.get(key), (str, int)) and found != "":
            return str(found)
    # The same row always gets the same id.
    return f"row_{hashlib.sha256(encode(row)).hexdigest()[:12]}"


def columns_of(sample: Sample, format_name: str) -> dict[str, Any]:
    """The columns of a sample that have a value, with unknown ones read by the same format."""
    case, trajectory = sample.case or Case(), sample.trajectory
    columns: dict[str, Any] = {"session_id": sample.id}
    if sample.epoch is not None:
        columns["epoch"] = sample.epoch
    if trajectory is not None and trajectory.title is not None:
        columns["title"] = trajectory.title
    if trajectory is not None and (created := time_text(trajectory.created)) is not None:
        columns["created"] = created
    if case.reference:
        columns["reference"] = text_or_content(case.reference, "model")
    if case.context:
        columns["context"] = text_or_content(case.context, "user")
    columns.update(sample.extra.get(format_name, {}))
    return columns


def columns_from(row: dict[str, Any], format_name: str, known: set[str]) -> dict[str, Any]:
    """The Sample fields in the columns, and under `title` and `created` those of its trajectory."""
    rest = unknown_keys(row, known | {"session_id"})
    fields: dict[str, Any] = {"id": session_id(row), "title": None, "created": None, "epoch": None}
    if isinstance(title := rest.get("title"), str):
        fields["title"] = title
        del rest["title"]
    if (created := from_iso(rest.get("created"))) is not None:
        fields["created"] = created
        del rest["created"]
    if type(epoch := rest.get("epoch")) is int:
        fields["epoch"] = epoch
        del rest["epoch"]
    stated = {key: text for key in ("reference", "context") if (text := column_text(rest.get(key)))}
    for key in stated:
        del rest[key]
    fields["case"] = Case(reference=stated.get("reference"), context=stated.get("context")) if stated else None
    fields["extra"] = {format_name: rest} if rest else {}
    return fields


def main_agent(trajectory: Trajectory) -> str:
    """The name for steps that name no agent."""
    if trajectory.agents:
        return trajectory.agents[0].name
    return next((step.agent for step in trajectory.steps if step.role == "agent" and step.agent), "agent")
