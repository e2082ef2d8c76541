"""Parts: what one step of a trajectory consists of."""

from __future__ import annotations

from typing import Any, Literal

from .action import Action
from .record import DatetimeView, Extra, PartRecord, Seconds


class Text(PartRecord, frozen=True, kw_only=True, tag="text"):
    """Text of a message."""

    text: str
    synthetic: bool = False
    """Inserted by the program (an attached file's content, a reminder), not said by the step's role."""
    extra: Extra = {}


class Thinking(PartRecord, frozen=True, kw_only=True, tag="thinking"):
    """Reasoning that was recorded; `text` is None when it exists but is hidden (redacted, encrypted)."""

    text: str | None = None
    summary: str | None = None
    signature: str | None = None
    """Opaque proof or ciphertext that the provider wants back."""
    redacted: bool = False
    started: Seconds | None = None
    ended: Seconds | None = None
    extra: Extra = {}

    started_datetime = DatetimeView("started")
    ended_datetime = DatetimeView("ended")


class ToolCall(PartRecord, frozen=True, kw_only=True, tag="call"):
    """A tool that the agent asked for."""

    id: str | None = None
    name: str
    arguments: Any = None
    """As in the source: usually an object; a string if the source has a string."""
    extra: Extra = {}


class Media(PartRecord, frozen=True, kw_only=True, tag="media"):
    """A file that was seen, sent or observed (a screenshot, an attachment, an accessibility tree)."""

    id: str | None = None
    """What `Action.before` and `Action.after` point at."""
    mime: str | None = None
    uri: str | None = None
    """Where it is; relative to the source's directory if it is a file next to the source."""
    data: str | None = None
    """Base64, when the source holds it inline."""
    size: tuple[int, int] | None = None
    """Width and height in pixels."""
    seconds: Seconds | None = None
    """How long a recording lasts."""
    name: str | None = None
    extra: Extra = {}


# Kept apart, because they have different causes: a bad tool, a bad model, a bad command, a person who said no.
Failure = Literal["error", "invalid_tool", "invalid_arguments", "exit_code", "denied", "cancelled", "timeout"]


class ToolResult(PartRecord, frozen=True, kw_only=True, tag="result"):
    """What a tool answered. It comes after its call, in the same step or in a later one."""

    call_id: str | None = None
    name: str | None = None
    output: Any = None
    """Text or any JSON value; None means that nothing was recorded."""
    error: str | None = None
    """The error's text, as recorded."""
    failure: Failure | None = None
    """How the call failed, hidden failures included (an unknown tool, a non-zero exit code); None: no failure seen."""
    exit_code: int | None = None
    truncated: bool = False
    """The recording has only a part of the output."""
    media: tuple[Media, ...] = ()
    started: Seconds | None = None
    ended: Seconds | None = None
    extra: Extra = {}

    started_datetime = DatetimeView("started")
    ended_datetime = DatetimeView("ended")


class Citation(PartRecord, frozen=True, kw_only=True, tag="citation"):
    """A source that an answer cites."""

    uri: str | None = None
    title: str | None = None
    text: str | None = None
    """The passage cited."""
    extra: Extra = {}


class Unknown(PartRecord, frozen=True, kw_only=True, tag="unknown"):
    """Something in the source format that has no place in the model, kept unchanged."""

    # With the format's name in front: two formats may use the same word for different things.
    kind: str
    """The source's own name for it, after the name of the format: "opencode:step-start"."""
    raw: Any = None


Part = Text | Thinking | ToolCall | ToolResult | Media | Action | Citation | Unknown
