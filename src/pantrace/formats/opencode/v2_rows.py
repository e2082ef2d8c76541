"""Rows of `session_message`, the table of OpenCode's V2 API: shown as they are, not interpreted further.

In 1.18.33 a prompt posted there leaves one row and no messages. A session that has only such rows must not look empty.
"""

from __future__ import annotations

from typing import Any

from pantrace.model import Step, Text, Unknown
from pantrace.model.trajectory import Role
from pantrace.wire.optional import text_of

from .parts import UNKNOWN
from .taken_keys import NAME, Raw

NOTE = (
    "This session has no messages, only rows of the V2 table session_message. User rows are read as prompts; "
    "all others are kept as notes, uninterpreted."
)

_ROLES: dict[str, Role] = {"user": "user", "synthetic": "user", "shell": "user", "assistant": "agent"}


def load_rows(rows: list[Any]) -> list[Step]:
    return [_step(row) if isinstance(row, dict) else _step({"type": "row", "data": row}) for row in rows]


def _step(row: Raw) -> Step:
    kind = row.get("type") if isinstance(row.get("type"), str) else "row"
    data = row.get("data")
    created = row.get("time_created")
    text = data.get("text") if isinstance(data, dict) else None
    name = row.get("id")
    # We have seen only user rows (1.18.33), so only these are read as what they seem to be.
    asked = kind == "user" and isinstance(text, str)
    return Step(
        id=text_of(name),
        role=_ROLES.get(str(kind), "system"),
        parts=(Text(text=str(text)) if asked else Unknown(kind=f"{UNKNOWN}session_message/{kind}", raw=data),),
        at=created / 1000 if type(created) is int else None,
        kind="message" if asked else "note",
        extra={NAME: {"row": row}},
    )
