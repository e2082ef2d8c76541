"""What an Inspect sample asks and expects, as a case: the same in a log and in a dataset."""

from __future__ import annotations

from typing import Any

from pantrace.model import Case
from pantrace.wire.optional import list_of
from pantrace.wire.pantrace_key import CARRIER

CASE_KEYS = ("sandbox", "files", "setup", "description")
"""Keys of a sample that belong to its case and have no field in the model."""
_LABEL = 100
"""Longest metadata text that counts as a label."""


def case_of(row: dict[str, Any]) -> Case:
    """What a sample asks and expects, from a log or a dataset."""
    extra: dict[str, Any] = {key: row[key] for key in CASE_KEYS if row.get(key) is not None}
    question, target, metadata = row.get("input"), row.get("target"), row.get("metadata")
    if not isinstance(question, str):
        if question is not None:
            extra["input"] = question
        # An input of several messages: the last prompt is the question, and the whole is kept.
        question = _last_prompt(question)
    if not isinstance(target, str):
        if target is not None:
            extra["target"] = target
        target = "\n".join(map(str, target)) if isinstance(target, list) else None
    labels: dict[str, str] = {}
    rest: dict[str, Any] = {}
    for key, value in metadata.items() if isinstance(metadata, dict) else ():
        # Short texts group samples (a level, a topic); long ones are data, such as a document or a patch.
        if isinstance(value, str) and len(value) <= _LABEL and "\n" not in value:
            labels[key] = value
        elif key != CARRIER:
            rest[key] = value
    if rest:
        extra["metadata"] = rest
    choices = row.get("choices")
    return Case(
        id=str(row["id"]),
        question=question,
        reference=target or None,
        choices=tuple(map(str, choices)) if isinstance(choices, list) else None,
        labels=labels,
        extra={"inspect": extra} if extra else {},
    )


def _last_prompt(messages: Any) -> str | None:
    for message in reversed(list_of(messages)):
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return content
            texts = [
                part.get("text") for part in content or () if isinstance(part, dict) and part.get("type") == "text"
            ]
            return "\n\n".join(text for text in texts if isinstance(text, str)) or None
    return None
