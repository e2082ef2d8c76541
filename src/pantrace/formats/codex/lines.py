"""Lines: the records of a rollout as steps.

All items of one response of the model are one step; a `token_usage_record` ends it and reports its tokens. The other
fields of a line are kept in `extra` of the step, and every record beside the conversation becomes a note, so that each
line can be written as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pantrace.model import Kind, Part, Role, Step, StepError, Text, ToolCall, ToolResult, Unknown, Usage
from pantrace.wire.extra_keys import as_extra, rest_of
from pantrace.wire.openai_responses import item_from, role_of
from pantrace.wire.openai_usage import usage_from
from pantrace.wire.optional import text_of
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.times import from_iso

from .events import NAME, SCRIPT, Record, command_of, items_of, nested_call, script_of, with_ending

MADE = "made"
"""Marks a record that pantrace wrote for other readers; it only repeats what other records say."""
_INSERTED = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<subagent_notification>",
    "<skill>",
    "<permissions instructions>",
    "<INSTRUCTIONS>",
)
"""Beginnings of texts that the program wrote in the user's name."""
_SHELL = "<user_shell_command>"
_ENDS = ("task_started", "task_complete", "turn_aborted", "turn_started", "turn_complete")
_ERRORS = ("turn_aborted", "error", "stream_error")


def _note_name(record: Any) -> str:
    """A note's kind: the type of its event, else of its record."""
    match record:
        case {"type": "event_msg" | "response_item", "payload": {"type": str(kind)}} | {"type": str(kind)}:
            return f"{NAME}:{kind}"
    return f"{NAME}:line"


class Draft:
    """A step while its lines are read."""

    def __init__(self, number: int, role: Role, kind: Kind = "message"):
        self.first = number
        self.role = role
        self.kind = kind
        self.parts: list[Part] = []
        self.lines: list[Record] = []
        self.times: list[float | None] = []
        self.usage: Usage | None = None
        self.fields: Record = {}
        self.ids: list[str] = []
        """Ids of its items."""
        self.raw: Any = None

    def add(self, number: int, record: Record, item: Record, parts: list[Part]) -> None:
        line = rest_of(record, {"payload", "type"})
        line |= {"type": record["type"]} if record["type"] != "response_item" else {}
        between = {"n": number - self.first} if number - self.first != len(self.lines) else {}
        self.lines.append({"line": line, "item": item, "parts": len(parts), **between})
        self.parts += parts
        self.times.append(from_iso(record.get("timestamp")))
        self.ids += [name for name in (record["payload"].get("id"),) if isinstance(name, str)]

    @property
    def name(self) -> str | None:
        """The id of the step."""
        own = self.ids[0] if self.ids else f"line-{self.first}" if self.lines else None
        return self.fields.get("id", own)

    def step(self) -> Step:
        if self.raw is not None:
            return Step(
                role=self.role, kind="note", parts=(Unknown(kind=_note_name(self.raw), raw=self.raw),), **self.fields
            )
        return Step(
            role=self.role,
            kind=self.kind,
            parts=tuple(self.parts),
            at=self.times[0] if self.times else None,
            ended=self.times[-1] if len(self.times) > 1 else None,
            usage=self.usage,
            extra=as_extra(NAME, {"lines": self.lines}),
            **{**self.fields, "id": self.name},
        )


class Reader:
    """Reads the records of a rollout into steps."""

    def __init__(self, records: list[Any]):
        self.drafts: list[Draft] = []
        self.model: str | None = None
        self.effort: str | None = None
        self.turn: str | None = None
        self.tools: list[Any] = []
        self.items = items_of(records)
        # `token_count` repeats without a new response (11 events for 8 responses in 0.166); `token_usage_record` does
        # not.
        self.counted = any(isinstance(each, dict) and each.get("type") == "token_usage_record" for each in records)
        self.total: Any = None
        self._open: Draft | None = None
        self._names: dict[str, str] = {}
        self._scripts: dict[str, str] = {}
        self._callers: dict[str, Draft] = {}
        self._answers: dict[str, Draft] = {}
        self._replaced: set[str] = set()
        self._nested: dict[str, list[str]] = {}
        self._prompting = True
        number = 0
        for record in records:
            made = isinstance(record, dict) and record.get(CARRIER) == MADE
            self._read(number, record, made)
            number += not made

    def _read(self, number: int, record: Any, made: bool) -> None:
        payload = record.get("payload") if isinstance(record, dict) else None
        if not isinstance(payload, dict):
            self._note(number, record, {})
            return
        if "type" not in payload and payload.keys() >= {"role", "content"}:
            # Other tools leave out what the keys of a message say anyway.
            payload = {"type": "message", **payload}
        match record.get("type"), payload.get("type"):
            case "response_item", str(kind) if kind != "additional_tools":
                self._item(number, record, payload)
                return
            case "token_usage_record", _:
                self._usage(number, record, payload)
                return
            case "compacted", _:
                self._compact(number, record, payload)
                return
            # In code mode, tools are declared in an item instead of the first record.
            case "response_item", "additional_tools":
                self.tools += payload["tools"] if isinstance(payload.get("tools"), list) else []
            case "turn_context", _:
                self._context(payload)
            case "inter_agent_communication_metadata", _:
                # A message from another agent is a prompt only if it starts a turn.
                self._prompting = payload.get("trigger_turn") is True
            case "event_msg", "token_count" if not made:
                self._count(payload.get("info"))
            case "event_msg", str(kind):
                if kind in _ENDS:
                    self._open = None
                    self.turn = payload["turn_id"] if isinstance(payload.get("turn_id"), str) else self.turn
                self._nest(payload)
        if not made:
            self._note(number, record, payload)

    def _note(self, number: int, record: Any, payload: Record) -> None:
        draft = Draft(number, "system", "note")
        draft.raw = record
        if isinstance(record, dict):
            draft.fields["at"] = from_iso(record.get("timestamp"))
        if record is not None and payload.get("type") in _ERRORS and record.get("type") == "event_msg":
            words = payload.get("message") or payload.get("reason")
            message = text_of(words)
            draft.fields["error"] = StepError(kind=payload["type"], message=message)
        self.drafts.append(draft)

    def _context(self, payload: Mapping[str, Any]) -> None:
        self.model = payload["model"] if isinstance(payload.get("model"), str) else self.model
        self.effort = payload["effort"] if isinstance(payload.get("effort"), str) else None
        self.turn = payload["turn_id"] if isinstance(payload.get("turn_id"), str) else self.turn

    def _item(self, number: int, record: Record, payload: Record) -> None:
        parts, rest = item_from(payload, NAME)
        role = role_of(payload)
        if payload["type"] == "agent_message":
            # A message from another agent is to its receiver what a user's message would be.
            role = "user"
        # Nothing marks the items of one response; they simply follow each other.
        draft = self._open if role == "agent" else None
        if draft is None:
            draft = Draft(number, role)
            self.drafts.append(draft)
            draft.fields |= {"invocation": self.turn, "model": self.model if role == "agent" else None}
            if role == "agent" and self.effort is not None:
                draft.fields["settings"] = {"reasoning_effort": self.effort}
        self._open = draft if role == "agent" else None
        match record.get("metadata"):
            # Newer versions mark the answer that is a summary; otherwise it looks like any other answer.
            case {"compaction_output": True}:
                draft.kind = "compaction"
        if role == "user":
            draft.kind = self._kind_of_prompt(payload, parts)
        draft.add(number, record, rest, [self._complete_part(part, draft) for part in parts])

    def _kind_of_prompt(self, payload: Record, parts: list[Part]) -> Kind:
        if payload["type"] == "agent_message":
            return "message" if self._prompting else "synthetic"
        text = next((part.text for part in parts if isinstance(part, Text)), "").lstrip()
        if text.startswith(_SHELL):
            return "user_shell"
        return "synthetic" if text.startswith(_INSERTED) else "message"

    def _complete_part(self, part: Part, draft: Draft) -> Part:
        """A call, which is remembered, or a result with its call's name and how it ended."""
        if isinstance(part, ToolCall) and part.id is not None:
            self._names[part.id] = part.name
            self._callers[part.id] = draft
            if part.name == SCRIPT and isinstance(part.arguments, str):
                self._scripts[part.id] = part.arguments
        if not isinstance(part, ToolResult) or part.call_id is None:
            return part
        self._answers.setdefault(part.call_id, draft)
        text = part.output if isinstance(part.output, str) else ""
        name = self._names.get(part.call_id, part.name)
        found = with_ending(msgspec.structs.replace(part, name=name), self.items.get(part.call_id), text)
        # A script that is still running answers more than once.
        if part.call_id in self._scripts and not text.startswith("Script running"):
            del self._scripts[part.call_id]
        return found

    def _nest(self, payload: Record) -> None:
        """Remember that a script called a tool."""
        match payload:
            case {"type": "item_completed", "item": {"id": str(name)}} if name in self.items and self._scripts:
                if name not in self._names and (script := script_of(self.items[name], self._scripts)):
                    self._nested.setdefault(script, []).append(name)

    def _usage(self, number: int, record: Record, payload: Record) -> None:
        draft = self._open
        if draft is None:
            # A tool's result may come before the tokens of the response that called the tool.
            draft = self.drafts[-1] if self.drafts else None
            for each in reversed(self.drafts):
                if each.role in ("agent", "user"):
                    draft = each
                    break
        # The tokens belong to a response that left no items.
        if draft is None or draft.role != "agent" or draft.usage is not None:
            draft = Draft(number, "agent")
            draft.fields |= {"invocation": self.turn, "model": self.model}
            self.drafts.append(draft)
        draft.usage = usage_from(payload.get("usage"), NAME, "flat")
        draft.add(number, record, rest_of(payload, {"usage"} if draft.usage is not None else ()), [])
        if isinstance(name := payload.get("response_id"), str):
            draft.fields["id"] = name
        if isinstance(whole := payload.get("thread_token_usage"), dict):
            self.total = whole
        self._open = None

    def _count(self, info: Any) -> None:
        """Take the tokens from an event, because older rollouts have them nowhere else; an event that repeats the total
        adds nothing."""
        if not isinstance(info, dict) or self.counted or info.get("total_token_usage") == self.total:
            return
        self.total = info.get("total_token_usage")
        self.model = info["model"] if isinstance(info.get("model"), str) else self.model
        usage = usage_from(info.get("last_token_usage"), NAME, "flat")
        draft = next((each for each in reversed(self.drafts) if each.role in ("agent", "user")), None)
        if draft is not None and draft.role == "agent" and draft.usage is None and draft.raw is None:
            draft.usage = usage
        elif usage is not None:
            draft = Draft(-1, "agent")
            draft.usage, draft.fields = usage, {"model": self.model, "invocation": self.turn}
            self.drafts.append(draft)
        self._open = None

    def _compact(self, number: int, record: Record, payload: Record) -> None:
        """Note what the model no longer saw from here on. In newer rollouts, the summary is an answer before this
        record."""
        self._open = None
        kept = payload.get("replacement_history")
        items = [each for each in kept if isinstance(each, dict)] if isinstance(kept, list) else None
        names = {each.get("id") for each in items or ()}
        before = [each for each in self.drafts if each.raw is None and each.lines]
        summary = next((each for each in reversed(before) if each.role in ("agent", "user")), None)
        if summary is not None and summary.kind == "compaction" and "replaces" not in summary.fields:
            before.remove(summary)
            self._note(number, record, payload)
        elif isinstance(payload.get("message"), str):
            summary = Draft(number, "user", "compaction")
            summary.fields["invocation"] = self.turn
            summary.add(number, record, rest_of(payload, {"message"}), [Text(text=payload["message"])])
            self.drafts.append(summary)
        else:
            self._note(number, record, payload)
            return
        # Without a replacement history, Codex keeps the user's messages.
        gone = [each for each in before if each.role not in ("user", "system")] if items is None else before
        replaced = [each.name for each in gone if not names.intersection(each.ids)]
        new = [name for name in replaced if name is not None and name not in self._replaced]
        summary.fields["replaces"] = tuple(new)
        self._replaced.update(new)

    def steps(self) -> list[Step]:
        """All steps, with scripts replaced by the calls they made."""
        failed = {
            part.call_id
            for draft in self.drafts
            for part in draft.parts
            if isinstance(part, ToolResult) and part.failure is not None
        }
        for script, names in self._nested.items():
            self._unfold(script, names, keep=script in failed)
        return [draft.step() for draft in self.drafts]

    def _unfold(self, script: str, names: list[str], *, keep: bool) -> None:
        asked = self._callers[script]
        answer = self._answers.get(script)
        parts = answer.parts if answer is not None else []
        result = next((p for p in parts if isinstance(p, ToolResult) and p.call_id == script), None)
        text = str(getattr(call_of(asked, script), "arguments", ""))
        # Events come in the order in which calls ended; the script shows the order in which they were made.
        # `find` gives -1 for a command that is not there: the modulo sends it to the end.
        names = sorted(names, key=lambda name: text.find(command_of(self.items[name]) or "") % (len(text) + 1))
        seen = [name for name in names if self.items[name]["type"] == "ImageView"]
        pairs = []
        for name in names:
            # Pictures come in the script's result; only if one tool viewed an image is it clear whose they are.
            images = result.media if result is not None and seen == [name] else ()
            pairs.append(nested_call(self.items[name], images))
        call = call_of(asked, script)
        place = asked.parts.index(call)
        # A failed script stays a call, because the failure is its own and not that of a tool.
        if not keep:
            asked.parts[place] = Unknown(kind=f"{NAME}:script", raw={"call": msgspec.to_builtins(call)})
            if answer is not None and result is not None:
                raw = {"result": msgspec.to_builtins(result)}
                answer.parts = [Unknown(kind=f"{NAME}:script", raw=raw) if p is result else p for p in answer.parts]
        asked.parts[place + 1 : place + 1] = [one for one, _ in pairs]
        # The results go into the same step: no line of the rollout answers these calls.
        asked.parts += [other for _, other in pairs]


def call_of(draft: Draft, name: str) -> Part:
    """The call of that id."""
    return next(part for part in draft.parts if isinstance(part, ToolCall) and part.id == name)
