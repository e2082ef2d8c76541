"""Builds the steps of one trajectory from its spans, one after another.

Every model call repeats the conversation so far. Repeated parts are recognised one by one (a call by its id, a text by
its words) and kept once; new ones become steps. So it does not matter how a dialect splits messages, nor whether it
records the history at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pantrace.model import Kind, Media, Part, Role, Text, Thinking, ToolCall, ToolResult, Unknown
from pantrace.wire.json import encode

from .attribute_values import unpacked
from .span import Message, Span, SpanContent

_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "agent", "tool": "tool"}


@dataclass
class Draft:
    """A step that may still change."""

    role: Role
    parts: list[Part]
    span: Span | None = None
    agent: str | None = None
    kind: Kind = "message"
    invocation: str | None = None
    recorded: bool = True
    """Whether the text was recorded. Calls may be known from the spans of their tools even if it was not."""
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Item:
    draft: Draft
    place: int


def canonical(value: Any) -> bytes:
    """A value in a form that can be compared: JSON text is decoded, keys are sorted."""
    return encode(_sort_keys(unpacked(value)))


def _sort_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    return [_sort_keys(each) for each in value] if isinstance(value, list) else value


def keys_of(part: Part, role: str) -> list[tuple[Any, ...]]:
    """Keys by which a part is recognised when it is repeated, the surest first."""
    match part:
        case Text():
            # Libraries add or strip white space when they repeat a text.
            return [("text", role, part.text.strip())] if part.text.strip() else []
        case Thinking():
            return [("thinking", part.text)] if part.text else []
        case ToolCall():
            content = ("call", part.name, canonical(part.arguments if part.arguments is not None else {}))
            # Name and arguments as well: some libraries give a repeated call another id (`fc_...` for `call_...`).
            return [("call id", part.id), content] if part.id else [content]
        case ToolResult():
            output = ("result", canonical(part.output))
            return [("result id", part.call_id)] if part.call_id else [output]
        case Media():
            return [("media", part.uri, part.data)]
        case Unknown():
            return [("unknown", canonical(part.raw))]
    return []


class Thread:
    """Steps in order."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.invocation: str | None = None
        self.calls: dict[str, Draft] = {}
        """The step that made a call, by the call's id."""
        self._items: list[_Item] = []
        self._places: dict[tuple[Any, ...], list[int]] = {}
        self._executed: set[int] = set()
        """Python ids of the calls whose tools have spans."""

    def add(self, draft: Draft) -> Draft:
        draft.invocation = self.invocation
        self.drafts.append(draft)
        for place in range(len(draft.parts)):
            self._note(draft, place)
        return draft

    def _note(self, draft: Draft, place: int) -> None:
        part = draft.parts[place]
        for key in keys_of(part, draft.role):
            self._places.setdefault(key, []).append(len(self._items))
        self._items.append(_Item(draft, place))
        if isinstance(part, ToolCall) and part.id is not None:
            self.calls.setdefault(part.id, draft)

    def hear(self, messages: list[Message], span: Span, agent: str | None) -> list[str]:
        """Add the new part of a model's input; returns the system messages for the caller."""
        seen: set[int] = set()
        pointer = 0
        new: list[tuple[int, Message, list[Part]]] = []
        last = -1
        system: list[str] = []
        for number, message in enumerate(messages):
            if message.role == "system":
                system += [part.text for part in message.parts if isinstance(part, Text)]
                continue
            fresh: list[Part] = []
            for part in message.parts:
                place = self._find(part, message.role, seen, pointer)
                if place is None:
                    fresh.append(part)
                else:
                    seen.add(place)
                    pointer = max(pointer, place + 1)
                    last = number
                    self._complete(self._items[place], part)
            if fresh:
                new.append((number, message, fresh))
        for number, message, parts in new:
            self._hear_new(message, parts, span, agent, is_old=number < last)
        return system

    def _find(self, part: Part, role: str, seen: set[int], pointer: int) -> int | None:
        for key in keys_of(part, _ROLES[role]):
            places = [place for place in self._places.get(key, ()) if place not in seen]
            if places:
                # History is repeated in order, so a text that occurs twice is first looked for after the last match.
                return next((place for place in places if place >= pointer), places[0])
        return None

    def _complete(self, item: _Item, again: Part) -> None:
        """Complete a part that is repeated: a tool's span may lack its answer, a call its arguments."""
        part = item.draft.parts[item.place]
        if isinstance(part, ToolCall) and isinstance(again, ToolCall) and part.arguments is None:
            item.draft.parts[item.place] = msgspec.structs.replace(part, arguments=again.arguments)
        elif isinstance(part, ToolResult) and isinstance(again, ToolResult) and again.output is not None:
            # What the model saw counts; if the tool's span has another text, that is kept with the span.
            item.draft.parts[item.place] = msgspec.structs.replace(
                part,
                output=again.output,
                failure=part.failure or again.failure,
                error=part.error or again.error,
                name=part.name or again.name,
            )

    def _hear_new(self, message: Message, parts: list[Part], span: Span, agent: str | None, *, is_old: bool) -> None:
        role = _ROLES[message.role]
        if role == "agent":
            # The answer of a model call whose span has no text shows up in the input of the next call.
            silent = next((each for each in reversed(self.drafts) if each.role == "agent" and each.span), None)
            if silent is not None and not silent.recorded:
                self._fill(silent, parts)
                return
            known = any(each.role == "agent" and each.span is not None for each in self.drafts)
            # No span produced this answer. If other answers have spans, it was part of the prompt (an example).
            self.add(Draft(role, parts, agent=agent, kind="synthetic" if known else "message"))
            return
        if role == "tool" or all(isinstance(part, ToolResult) for part in parts):
            for part in parts:
                if isinstance(part, ToolResult) and part.call_id in self.calls and part.name is None:
                    part = msgspec.structs.replace(part, name=self._name_of(part.call_id))
                self.add(Draft("tool", [part], agent=agent))
            return
        # A user's message before parts that are already known was inserted by the framework.
        inserted = message.synthetic or (is_old and bool(self.drafts)) or self._is_busy()
        self.add(Draft(role, parts, kind="synthetic" if inserted else "message"))

    def _name_of(self, call_id: str | None) -> str | None:
        draft = self.calls.get(call_id or "")
        calls = [part for part in draft.parts if isinstance(part, ToolCall) and part.id == call_id] if draft else []
        return calls[0].name if calls else None

    def _is_busy(self) -> bool:
        """Whether the agent has called a tool and not yet answered: no user writes at that moment."""
        last = next((each for each in reversed(self.drafts) if each.kind == "message"), None)
        if last is None or last.role == "user":
            return False
        return last.role == "tool" or any(isinstance(part, ToolCall) for part in last.parts)

    def _fill(self, draft: Draft, parts: list[Part]) -> None:
        """Fill in the answer of a model call whose span lacks it, from the next call's input."""
        known = {part.name for part in draft.parts if isinstance(part, ToolCall)}
        for part in parts:
            # Already known from the span of its tool.
            if isinstance(part, ToolCall) and part.id is None and part.name in known:
                continue
            draft.parts.append(part)
            self._note(draft, len(draft.parts) - 1)
        draft.recorded = True

    def say(self, told: SpanContent, span: Span, agent: str | None, fields: dict[str, Any]) -> Draft:
        """Add a model's answer."""
        parts = [part for message in told.said or () for part in message.parts]
        return self.add(Draft("agent", parts, span, agent, recorded=told.said is not None, fields=fields))

    def conclude(self, told: SpanContent, agent: str | None) -> None:
        """Add an agent's final answer if its last model call was recorded without text, and tool results that have no
        span and were given to no model: Agent Framework records a handover only here."""
        said = [part for message in told.said or () for part in message.parts]
        for result in [part for part in said if isinstance(part, ToolResult)]:
            if result.call_id in self.calls and ("result id", result.call_id) not in self._places:
                name = result.name or self._name_of(result.call_id)
                self.add(Draft("tool", [msgspec.structs.replace(result, name=name)], agent=agent))
        last = next((each for each in reversed(self.drafts) if each.role == "agent"), None)
        words: list[Part] = [part for part in said if isinstance(part, Text)]
        if last is not None and not last.recorded and words:
            self._fill(last, words)

    def has_said(self, told: SpanContent) -> bool:
        """Whether all of this output is already known."""
        parts = [part for message in told.said or () for part in message.parts]
        return all(any(key in self._places for key in keys_of(part, "agent")) for part in parts)

    def execute(self, told: SpanContent, span: Span, agent: str | None) -> str | None:
        """Add a tool's execution; returns the id of its call, or None. The call is looked up or, if the model's answer
        was not recorded, made from the tool's span. KeyError if no model called the tool."""
        call = self._call(told, span, agent)
        self._executed.add(id(call))
        error = told.error
        result = ToolResult(
            call_id=call.id,
            name=call.name,
            output=told.output,
            error=error.message if error is not None else None,
            failure="error" if told.failed else None,
            started=span.at,
            ended=span.ended,
        )
        earlier = next((each for each in self._answers(call.id)), None) if call.id is not None else None
        if earlier is None:
            self.add(Draft("tool", [result], span, agent, fields={"at": span.at, "ended": span.ended}))
        else:
            place = next(n for n, part in enumerate(earlier.parts) if isinstance(part, ToolResult))
            heard = earlier.parts[place]
            assert isinstance(heard, ToolResult)
            earlier.parts[place] = msgspec.structs.replace(
                result, output=heard.output if heard.output is not None else result.output
            )
            earlier.span = earlier.span or span
            earlier.fields.update(at=span.at, ended=span.ended)
        return call.id

    def _answers(self, call_id: str) -> Iterator[Draft]:
        for place in self._places.get(("result id", call_id), ()):
            if self._items[place].draft.span is None:
                yield self._items[place].draft

    def _call(self, told: SpanContent, span: Span, agent: str | None) -> ToolCall:
        name = told.name or ""
        draft = self.calls.get(told.call_id or "")
        if draft is not None:
            return self._with_arguments(
                draft, next(n for n, p in enumerate(draft.parts) if _has_id(p, told.call_id)), told
            )
        open_ = [
            (each, place, part)
            for each in self.drafts
            for place, part in enumerate(each.parts)
            if isinstance(part, ToolCall) and id(part) not in self._executed and each.role == "agent"
        ]
        if told.call_id is None or not any(part.id for _, _, part in open_):
            wanted = canonical(told.arguments if told.arguments is not None else {})
            # Without ids: equal arguments first, as parallel calls of one tool differ in nothing else.
            alike = [each for each in open_ if each[2].name == name]
            for each, place, part in alike:
                if canonical(part.arguments if part.arguments is not None else {}) == wanted:
                    return self._with_arguments(each, place, told)
            if alike:
                return self._with_arguments(alike[0][0], alike[0][1], told)
        last = next((each for each in reversed(self.drafts) if each.role == "agent"), None)
        if last is not None and last.recorded and last.span is not None:
            # A handover has its own span, whose name is not that of the call.
            for each, place, part in open_:
                if each is last and not any(True for _ in self._answers(part.id or "")):
                    return self._with_arguments(each, place, told)
            if any(isinstance(part, ToolCall) for part in last.parts):
                # The model's calls are all recorded and this is none of them: the program ran the tool by itself.
                raise KeyError(name)
        call = ToolCall(id=told.call_id, name=name, arguments=told.arguments)
        if last is None or self.drafts[-1].role == "user" or (last.span is None and self._is_later(span)):
            last = self.add(Draft("agent", [], agent=agent, recorded=False))
        last.parts.append(call)
        self._note(last, len(last.parts) - 1)
        return call

    def _is_later(self, span: Span) -> bool:
        """Whether a tool began after the previous one had ended, so that a model must have answered in between."""
        ended = self.drafts[-1].fields.get("ended")
        return ended is not None and span.at is not None and ended <= span.at

    def _with_arguments(self, draft: Draft, place: int, told: SpanContent) -> ToolCall:
        """A call with the arguments from its tool's span, if it has none itself."""
        call = draft.parts[place]
        assert isinstance(call, ToolCall)
        if call.arguments is None and told.arguments is not None:
            call = msgspec.structs.replace(call, arguments=told.arguments)
            draft.parts[place] = call
        return call


def _has_id(part: Part, call_id: str | None) -> bool:
    return isinstance(part, ToolCall) and part.id == call_id
