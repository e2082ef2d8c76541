"""What a sample's events say about its messages: which model call made them, which tool calls they answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from pantrace.wire.json import encode
from pantrace.wire.optional import object_of
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.times import from_iso

from .a2a_remarks import is_remark
from .attachments import resolve
from .info_calls import as_model_event


def notes_of(record: Any) -> dict[str, Any]:
    """pantrace's notes in the metadata of a sample, an event or an `eval` object."""
    metadata = record.get("metadata") if isinstance(record, dict) else None
    notes = metadata.get(CARRIER) if isinstance(metadata, dict) else None
    return object_of(notes)


def is_timed(event: dict[str, Any]) -> bool:
    """Whether an event's times were measured; pantrace marks those that it filled in."""
    return notes_of(event).get("timed") is not False


def times_of(event: dict[str, Any]) -> tuple[float | None, float | None]:
    """Begin and end of a model or tool call, if they were measured.

    If the call worked for longer than the time between them, both were taken when it was over (as the logger of Health
    Universe's A2A SDK does)."""
    if "metadata" in event and not is_timed(event):
        return None, None
    begin, end = from_iso(event.get("timestamp")), from_iso(event.get("completed"))
    worked = event.get("working_time")
    if (
        worked is not None
        and begin is not None
        and end is not None
        and isinstance(worked, (int, float))
        and end - begin + 0.001 < worked < end
    ):
        begin = end - worked
    return begin, end


class EventIndex:
    """An index of the events of one sample, which also notes those that belong to a message."""

    def __init__(self, events: list[Any], attachments: dict[str, Any], pool: list[Any], notes: dict[str, Any]):
        self.attachments = attachments
        self.notes = notes
        """What pantrace wrote about single messages, by their ids."""
        self.pool = pool
        self.models: list[dict[str, Any]] = []
        self.tools: list[dict[str, Any]] = []
        self.order: dict[int, int] = {}
        """Place of a model or tool event, by its Python id."""
        self.spans: dict[Any, dict[str, Any]] = {}
        self.ends: dict[Any, dict[str, Any]] = {}
        self.graded: dict[int, str] = {}
        """Model and tool events of a scorer in logs from before spans existed, and model calls that are not part of the
        conversation: Python id of the event -> name of its step or conversation, which is a key of `spans`."""
        self._grading: str | None = None
        self.infos: list[dict[str, Any]] = []
        """Info events that pantrace wrote."""
        self.remarks: list[dict[str, Any]] = []
        """Info events that the logger of the A2A SDK wrote beside its calls."""
        self.claimed: dict[int, str] = {}
        """Model events that made a message: Python id of the event -> id of the message, or ""."""
        self.renames = False
        """Whether the same message has another id in the events: then it is recognised by its text."""
        self.sure = True
        """Whether all ids and names that went into steps were texts."""
        self.called: set[Any] = set()
        """Ids of calls that messages make."""
        self.answered: set[Any] = set()
        """Ids of calls that messages answer."""
        self._by_output: dict[str, list[dict[str, Any]]] = {}
        self._by_call: dict[str, dict[str, Any]] = {}
        self._by_words: dict[bytes, list[dict[str, Any]]] | None = None
        self._agents: dict[Any, str | None] = {}
        self._has_models = any(isinstance(event, dict) and event.get("event") == "model" for event in events)
        self._index(events)

    def _index(self, events: list[Any]) -> None:
        for event in events:
            if not isinstance(event, dict):
                continue
            kind = event.get("event")
            # Only in logs without model events: there the info events are all that is known of the model calls.
            if kind == "info" and not self._has_models and (call := as_model_event(event)) is not None:
                event, kind = call, "model"
            # Logs from before spans existed mark a scorer's work only by steps around it.
            if self._grading is not None and (kind == "model" or kind == "tool"):
                self.graded[id(event)] = self._grading
            if kind == "model":
                self.order[id(event)] = len(self.order)
                self.models.append(event)
                message = output_message(event)
                if message is not None and message.get("id") is not None:
                    self._by_output.setdefault(message["id"], []).append(event)
            elif kind == "tool":
                self.order[id(event)] = len(self.order)
                self.tools.append(event)
                self._by_call.setdefault(event.get("id"), event)
            elif kind == "span_begin":
                self.spans[event.get("id")] = event
            elif kind == "info" and event.get("source") == "pantrace":
                self.infos.append(event)
            elif kind == "info" and not self._has_models and is_remark(event):
                self.order[id(event)] = len(self.order)
                self.remarks.append(event)
            elif kind == "span_end":
                self.ends[event.get("id")] = event
            elif kind == "step" and event.get("type") == "scorer":
                self._grade(event)
            # Logs before spans existed nest the events of a tool or subtask inside it.
            if (kind == "tool" or kind == "subtask") and event.get("events"):
                self._index(event["events"])

    def _grade(self, event: dict[str, Any]) -> None:
        """Note that a scorer begins or ends its work, in a log that has steps and no spans."""
        if event.get("action") == "begin":
            self._grading = f"scorer-{len(self.spans)}"
            self.spans[self._grading] = event
        elif self._grading is not None:
            self.ends[self._grading] = event
            self._grading = None

    def model_event(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The model call that made a message; each call makes one."""
        name = message.get("id")
        found = self._by_output.get(name) if name is not None else None
        for event in self._by_same_words(message) if found is None else found:
            if id(event) not in self.claimed:
                self.claimed[id(event)] = name or ""
                self.renames = self.renames or (found is None and name is not None)
                return event
        return None

    def _by_same_words(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Calls with the same answer: messages of early logs have no id, and some of 0.3.72 have another one in each
        event."""
        if self._by_words is None:
            self._by_words = {}
            for event in self.models:
                output = output_message(event)
                if output is not None:
                    self._by_words.setdefault(self.words(output), []).append(event)
        return self._by_words.get(self.words(message), [])

    def words(self, message: dict[str, Any]) -> bytes:
        """The content of a message without its id: events refer to long texts, `messages` have them in full."""
        calls = message.get("tool_calls")
        asked = [call.get("id") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        said = resolve(message.get("content"), self.attachments)
        return encode([message.get("role"), said, asked, message.get("tool_call_id")])

    def tool_event(self, call_id: Any) -> dict[str, Any] | None:
        """The event of a tool call."""
        self.answered.add(call_id)
        return self._by_call.get(call_id)

    def agent_of(self, span: Any) -> str | None:
        """The name of the agent in whose span something happened."""
        if span is None:
            return None
        if span not in self._agents:
            names = (
                self.spans[each].get("name") for each in self.chain(span) if self.spans[each].get("type") == "agent"
            )
            self._agents[span] = next(names, None)
        return self._agents[span]

    def notes_on(self, message: Any) -> dict[str, Any]:
        """pantrace's notes on a message."""
        found = self.notes.get(str(message.get("id"))) if self.notes and isinstance(message, dict) else None
        return object_of(found)

    @cached_property
    def messages_by_id(self) -> dict[Any, Any]:
        """Messages by id, from the pool or from the model calls of a log that Inspect wrote again."""
        found: dict[Any, Any] = {}
        for event in self.models:
            for message in (*(event.get("input") or ()), output_message(event)):
                if isinstance(message, dict):
                    found[message.get("id")] = message
        for message in self.pool:
            if isinstance(message, dict):
                found[message.get("id")] = message
        return found

    @cached_property
    def callers(self) -> dict[Any, Any]:
        """The first call that started the sub-agent of a span, by span."""
        found: dict[Any, Any] = {}
        for event in self.tools:
            if isinstance(span := event.get("agent_span_id"), str):
                found.setdefault(span, event.get("id"))
        return found

    def chain(self, span: Any) -> Iterator[Any]:
        """A span and those around it, from the inside out."""
        seen: set[Any] = set()
        # A damaged log may have spans that contain each other.
        while span is not None and span in self.spans and span not in seen:
            seen.add(span)
            yield span
            span = self.spans[span].get("parent_id")

    def inputs(self, event: dict[str, Any]) -> list[Any]:
        """The messages that a model call really got; those in the pool are filled in."""
        found = list(event.get("input") or ())
        for begin, end in event.get("input_refs") or ():
            found.extend(self.pool[begin:end])
        return found


def output_message(event: dict[str, Any]) -> dict[str, Any] | None:
    """The message that a model call made."""
    choices = (event.get("output") or {}).get("choices")
    if not choices or not isinstance(choices[0], dict):
        return None
    message = choices[0].get("message")
    return message if isinstance(message, dict) else None
