"""Types for rows. They fit nearly every row and decode fast; other rows are read as plain JSON."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from pantrace.wire.typed_rows import row_decoder
from pantrace.wire.vertex.typed import Content, RowType

NAME = "vertex-agent"


class Event(RowType):
    author: str | None = None
    content: Content | None = None
    event_time: str | None = None
    state_delta: dict[str, Any] | None = None


class Turn(RowType, kw_only=True):
    turn_index: int | None = None
    turn_id: str | None = None
    events: list[Event]


class AgentData(RowType):
    agents: dict[str, Any]
    turns: list[Turn]


class Row(RowType):
    """A row. Its fields are in the order in which rows are written."""

    agent_data: AgentData
    session_id: Annotated[str, msgspec.Meta(min_length=1)]
    epoch: Any = msgspec.UNSET
    title: Any = msgspec.UNSET
    created: Any = msgspec.UNSET
    reference: Any = msgspec.UNSET
    context: Any = msgspec.UNSET
    response: Any = msgspec.UNSET


_COLUMNS = Row.__struct_fields__[1:]
decode = row_decoder(Row)


def as_typed_row(row: Any) -> Row | None:
    """The row as its type; None if it does not fit."""
    if type(row) is Row:
        return row
    try:
        return msgspec.convert(row, Row)
    # A lone surrogate in a text cannot be encoded; the plain path keeps it.
    except (msgspec.ValidationError, UnicodeEncodeError):
        return None


def plain_columns(row: Row) -> dict[str, Any]:
    """The columns beside the run."""
    return {name: value for name in _COLUMNS if (value := getattr(row, name)) is not msgspec.UNSET}
