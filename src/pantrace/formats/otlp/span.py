"""A span while it is read, and the content that its dialect finds in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from pantrace.model import Part, Score, StepError, Tool, Usage

from .attribute_values import unpacked
from .plain_spans import Plain

NAME = "otlp"
Kind = Literal["model", "tool", "agent", "setup", "other"]
"""model: one call of a model; tool: one execution of a tool; agent: a run of an agent; setup: an agent was declared."""


@dataclass
class Message:
    """One message of a model call, in any dialect."""

    role: Literal["system", "user", "assistant", "tool"]
    parts: tuple[Part, ...]
    synthetic: bool = False
    """Put there by the framework."""


@dataclass
class SpanContent:
    """The content of one span. None means that it is not recorded; an empty list, that there was nothing."""

    kind: Kind = "other"
    name: str | None = None
    """The name of the agent or the tool."""
    agent: str | None = None
    """The agent that called the model."""
    description: str | None = None
    conversation: str | None = None
    heard: list[Message] | None = None
    """The input of the model or agent, including earlier turns."""
    said: list[Message] | None = None
    instructions: str | None = None
    tools: tuple[Tool, ...] | None = None
    model: str | None = None
    settings: dict[str, Any] | None = None
    usage: Usage | None = None
    stop: str | None = None
    first_token: float | None = None
    """Seconds."""
    call_id: str | None = None
    arguments: Any = None
    output: Any = None
    schema: Any = None
    """The schema of a tool's arguments, if its own span has it."""
    error: StepError | None = None
    failed: bool = False
    scores: list[Score] = field(default_factory=list)


_INDEX = re.compile(r"\.(\d+)(?:\.|$)")


class Attributes:
    """The attributes of a span or event, remembering which of them were read."""

    def __init__(self, values: dict[str, Any]):
        self.values = values
        # What no dialect asked for is kept in `extra` (see `leftover_attributes`).
        self.taken: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def get(self, key: str) -> Any:
        """A value as it is; None if there is none."""
        if (value := self.values.get(key)) is not None:
            self.taken.add(key)
        return value

    def text(self, *keys: str) -> str | None:
        """The first of these that is a non-empty text."""
        for key in keys:
            if isinstance(value := self.values.get(key), str) and value:
                self.taken.add(key)
                return value
        return None

    def number(self, *keys: str) -> int | float | None:
        for key in keys:
            if isinstance(value := self.values.get(key), (int, float)) and not isinstance(value, bool):
                self.taken.add(key)
                return value
        return None

    def count(self, *keys: str) -> int | None:
        """The first of these that is a number of tokens: whole, and not negative."""
        for key in keys:
            value = self.values.get(key)
            # Some exporters write whole numbers as doubles.
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                self.taken.add(key)
                return value
        return None

    def json(self, *keys: str) -> Any:
        """The first of these that is there, decoded if it is JSON text."""
        for key in keys:
            if (value := self.get(key)) is not None:
                return unpacked(value)
        return None

    def nested(self, prefix: str) -> list[dict[str, Any]]:
        """Flattened lists (`prefix.0.role`, `prefix.0.tool_calls.1.id`) as lists again."""
        found: dict[str, Any] = {}
        for key, value in self.values.items():
            if key.startswith(prefix + ".") and value is not None:
                self.taken.add(key)
                inner = found
                *path, last = key[len(prefix) + 1 :].split(".")
                for step in path:
                    below = inner.setdefault(step, {})
                    # A broken export may use one key both for a value and for a level.
                    inner = below if isinstance(below, dict) else inner
                inner[last] = value
        lists = _lists(found)
        return [each for each in lists if isinstance(each, dict)] if isinstance(lists, list) else []


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_lists(value[key]) for key in sorted(value, key=int)]
    return {key: _lists(inner) for key, inner in value.items()}


class Event:
    """An event of a span, or a log record that belongs to it."""

    def __init__(self, plain: Plain, *, is_log: bool = False):
        self.plain = plain
        self.is_log = is_log
        self.attributes = Attributes(plain.get("attributes") or {})
        self.taken = False
        name = plain.get("name") or self.attributes.values.get("event.name")
        self.name = name if isinstance(name, str) else ""

    @property
    def body(self) -> dict[str, Any]:
        """The content: a log record's body, or an event's attributes."""
        body = self.plain.get("body")
        return body if isinstance(body, dict) else self.attributes.values


class Span:
    """A span with its place in the tree."""

    def __init__(self, plain: Plain, logs: Iterable[Plain] = ()):
        self.plain = plain
        self.attributes = Attributes(plain.get("attributes") or {})
        self.trace = _text(plain.get("traceId"))
        self.id = _text(plain.get("spanId"))
        self.parent = _text(plain.get("parentSpanId"))
        self.name = _text(plain.get("name"))
        self.start = nanoseconds(plain.get("startTimeUnixNano", plain.get("timeUnixNano")))
        self.end = nanoseconds(plain.get("endTimeUnixNano"))
        events = plain.get("events")
        self.events = [Event(each) for each in events] if isinstance(events, list) else []
        self.events += [Event(each, is_log=True) for each in logs]
        self.children: list[Span] = []
        self.told = SpanContent()

    @property
    def scope(self) -> str:
        """The name of the library that made the span."""
        scope = self.plain.get("scope")
        return _text(scope.get("name")) if isinstance(scope, dict) else ""

    @property
    def at(self) -> float | None:
        return None if self.start is None else self.start / 1_000_000_000

    @property
    def ended(self) -> float | None:
        return None if self.end is None else self.end / 1_000_000_000

    def below(self) -> Iterable[Span]:
        """All spans below it."""
        for child in self.children:
            yield child
            yield from child.below()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def nanoseconds(value: Any) -> int | None:
    """A time in nanoseconds; None for 0, which means that there is none."""
    if isinstance(value, str) and value.isdecimal() and len(value) <= 20:
        value = int(value)
    # OTLP's times have 64 bits: a larger number is not a time.
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**64 else None
