"""Finds which traces are one conversation.

Two turns of a conversation are two traces in every dialect. They belong together if they name the same conversation or
session. If none is named, they belong together if the input of a model call contains the output of the other trace
(a call's id, or a question with its answer). Traces that only declare agents belong to the conversation that follows.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from pantrace.model import Text, ToolCall

from .dialects import read_span
from .dialects.events import with_events
from .plain_spans import Plain
from .span import Message, Span, SpanContent
from .thread import canonical


class Groups:
    """Sees spans one by one, and keeps only a few numbers of each."""

    def __init__(self) -> None:
        self._traces: dict[str, _Trace] = {}

    def learn(self, plain: Plain, *, is_log: bool = False) -> None:
        key = trace_of(plain)
        trace = self._traces.setdefault(key, _Trace(key))
        if is_log and plain.get("spanId"):
            trace.learn_record(Span({"startTimeUnixNano": _time(plain)}, [plain]))
        else:
            trace.learn(Span(plain))

    def names(self) -> dict[str, str]:
        """The name of the conversation for each trace."""
        found: dict[str, str] = {}
        ends = _Ends()
        waiting: list[str] = []
        last: str | None = None
        # By time: a conversation can only continue what was said before.
        for trace in sorted(self._traces.values(), key=lambda each: each.start):
            if not trace.is_told:
                waiting.append(trace.key)
                continue
            name = trace.conversation or ends.of(trace.heard) or trace.key
            ends.move(name, trace)
            found[trace.key] = last = name
            # OpenLLMetry's `create_agent` of LangGraph is a trace of one span, before the conversation.
            found |= dict.fromkeys(waiting, name)
            waiting = []
        for key in waiting:
            found[key] = last if last is not None else key
        return found

    @property
    def is_told(self) -> bool:
        """Whether any span says something about an agent, a model or a tool."""
        return any(trace.is_told for trace in self._traces.values())


class _Ends:
    """The last trace of each conversation: only that can be continued. A trace that seems to continue an earlier one is
    a separate conversation, as many conversations have the same question and answer."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}
        self._said: dict[bytes, list[tuple[str, str]]] = {}
        """Mark of a message -> the conversations and traces that have it, in order."""

    def of(self, heard: dict[bytes, None]) -> str | None:
        """The conversation that a model call with this input continues; the latest messages decide."""
        for mark in reversed(heard):
            listed = self._said.get(mark, [])
            while listed and self._last[listed[-1][0]] != listed[-1][1]:
                listed.pop()
            if listed:
                return listed[-1][0]
        return None

    def move(self, name: str, trace: _Trace) -> None:
        self._last[name] = trace.key
        for mark in trace.said:
            self._said.setdefault(mark, []).append((name, trace.key))


def trace_of(plain: Plain) -> str:
    """The trace of a span or record; those without one are grouped by session."""
    trace = plain.get("traceId")
    if isinstance(trace, str) and trace.strip("0"):
        return trace
    attributes = plain.get("attributes") or {}
    session = attributes.get("session.id") or attributes.get("gen_ai.conversation.id")
    return session if isinstance(session, str) else "no trace"


class _Trace:
    def __init__(self, key: str):
        self.key = key
        self.start = 1 << 63
        self.is_told = False
        self.heard: dict[bytes, None] = {}
        """What its first model call was given, in that order."""
        self.said: dict[bytes, None] = {}
        self._first = 1 << 63
        self._top: tuple[tuple[bool, int], str] | None = None

    def learn_record(self, span: Span) -> None:
        """Learn from a log record of a span, which has one of its messages."""
        told = SpanContent(kind="model")
        with_events(told, span)
        self.start = min(self.start, span.start or 0)
        self.is_told = self.is_told or bool(told.heard or told.said)
        self.heard |= dict.fromkeys(_marks(told.heard or ()))
        self.said |= dict.fromkeys(_marks(told.said or ()))

    def learn(self, span: Span) -> None:
        at = span.start or 0
        self.start = min(self.start, at)
        read_span(span)
        told = span.told
        self.is_told = self.is_told or told.kind in ("model", "tool", "agent")
        # Sub-agents may name another conversation: the root's counts, else that of the first span.
        if told.conversation is not None and (self._top is None or (bool(span.parent), at) < self._top[0]):
            # A root has no parent: False sorts before True.
            self._top = ((bool(span.parent), at), told.conversation)
        if told.kind == "model":
            heard, said = told.heard or [], told.said or []
            if at < self._first and heard:
                self._first = at
                self.heard = dict.fromkeys(_marks(heard))
            # With the question, because an answer is marked together with it: "yes" alone would join strangers.
            self.said |= dict.fromkeys(_marks([*heard[-1:], *said]))

    @property
    def conversation(self) -> str | None:
        return self._top[1] if self._top is not None else None


def _time(plain: Plain) -> int:
    value = plain.get("timeUnixNano") or plain.get("observedTimeUnixNano") or 0
    return int(value) if isinstance(value, (int, str)) and str(value).isdecimal() else 0


def _marks(messages: Iterable[Message]) -> Iterable[bytes]:
    """Marks that identify a conversation: ids of calls, and answers with their questions."""
    before: str | None = None
    for message in messages:
        texts = [part.text for part in message.parts if isinstance(part, Text)]
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        for call in calls:
            if call.id is not None:
                yield _mark("call", call.id)
        if message.role == "assistant" and texts and before is not None:
            yield _mark("answer", before, texts[-1].strip())
        if message.role == "user" and texts:
            before = texts[-1].strip()


def _mark(*words: Any) -> bytes:
    # Hashes, because texts of all conversations at once would fill the memory.
    return blake2b(canonical(list(words)), digest_size=12).digest()
