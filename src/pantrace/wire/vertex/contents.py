"""Steps as Gemini contents, and back. There, a tool's answer is a separate content; in the model, it is part of its
call's step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import force_setattr

from pantrace.errors import ReadError
from pantrace.model import Part, Role, Step, Text, ToolCall, ToolResult
from pantrace.wire.json import unknown_keys

from .parts import must_be_text, part_in, part_out

CONTENT = "content"
"""The key under which a step keeps the other keys of its first content."""
_KNOWN = frozenset({"role", "parts"})
Content = tuple[str, list[dict[str, Any]], float | None]
"""Role of a content (model, or user for tools' answers), its parts, and when the tools answered."""

Said = tuple[Any, tuple[Part, ...], dict[str, Any] | None]
"""Role of a content, its parts, and its other keys."""


def contents_of(step: Step, format_name: str) -> Iterator[Content]:
    """What the agent said and called in a step, and what the tools answered, alternating.

    Calls of one step count as made together, unless text or thoughts follow an answer."""
    asked: list[dict[str, Any]] = []
    answered: list[Content] = []
    for part in step.parts:
        said = part_out(part, format_name)
        if said is None:
            continue
        if isinstance(part, ToolResult):
            if answered and answered[-1][2] == part.ended:
                answered[-1][1].append(said)
            else:
                answered.append(("user", [said], part.ended))
            continue
        # The model spoke again after an answer: what follows is a new content.
        if answered and not isinstance(part, ToolCall):
            if asked:
                yield "model", asked, None
            yield from answered
            asked, answered = [], []
        asked.append(said)
    if asked:
        yield "model", asked, None
    yield from answered


def content_to(step: Step, role: str, parts: list[dict[str, Any]], format_name: str) -> dict[str, Any]:
    """The first content of a step, with the other keys it was read with."""
    kept = step.extra.get(format_name)
    return {"role": role, "parts": parts, **(kept.get(CONTENT, {}) if kept else {})}


def content_in(content: Any, format_name: str) -> Said:
    """The role, parts and other keys of a content; empty if it is not a content."""
    if type(content) is not dict:
        return None, (), None
    raw, known = content.get("parts"), _KNOWN
    parts = tuple([part_in(part, format_name) for part in raw]) if type(raw) is list else ()
    if not parts and type(content.get("content")) is str:
        # As in the client's own examples: {"role": "user", "content": "words"}.
        parts, known = (Text(text=content["content"]),), _KNOWN | {"content"}
    return content.get("role"), parts, unknown_keys(content, known) or None


def append_content(
    steps: list[Step],
    content: Said,
    format_name: str,
    *,
    author: str | None = None,
    start: int = 0,
    id: str | None = None,  # noqa: A002
    at: float | None = None,
    turn: int | None = None,
    invocation: str | None = None,
    state_delta: Any = None,
    rest: dict[str, Any] | None = None,
) -> None:
    """Add a content to the steps: as a separate step, or, if it has only tool answers, inside the step that made the
    calls.

    An answer with an id, a state delta or a `rest` (for `extra`) stays a separate step. `start` is the first step that
    the content may join."""
    if type(author) is not str or id is not None:
        must_be_text(author=author, id=id)
    if state_delta is not None and type(state_delta) is not dict:
        raise ReadError("must be an object", place="state_delta")
    role, parts, beside = content
    if beside is not None:
        rest = {**(rest or {}), CONTENT: beside}
    speaker: Role = "system" if role == "system" else "user"
    if parts and role != "model" and type(parts[0]) is ToolResult and all(type(part) is ToolResult for part in parts):
        alone = rest or id is not None or state_delta is not None or len(steps) <= start
        if not alone and _answer(steps[-1], parts, author, at):
            return
        speaker = "tool"
    elif role in ("model", "assistant") or (author is not None and author != "user"):
        speaker = "agent"
    steps.append(
        Step(
            id=id,
            role=speaker,
            agent=author if speaker in ("tool", "agent") else None,
            turn=turn,
            invocation=invocation,
            parts=parts,
            at=at,
            state_delta=state_delta,
            extra={format_name: rest} if rest else {},
        )
    )


def _answer(step: Step, results: tuple[Part, ...], author: str | None, ended: float | None) -> bool:
    """Put results after their calls; returns False and changes nothing unless the step made a call for each."""
    if step.role != "agent" or step.agent != author:
        return False
    call = only_call(step.parts) if len(results) == 1 else None
    if call is not None and call.id == results[0].call_id is not None:  # type: ignore[union-attr]
        add_results(step, (*step.parts, *results), results, ended)
        return True
    parts = list(step.parts)
    answered = {part.call_id for part in parts if type(part) is ToolResult and part.call_id is not None}
    for result in results:
        assert type(result) is ToolResult
        if result.call_id in answered:
            return False
        for place, part in enumerate(parts):
            if type(part) is not ToolCall or part.id != result.call_id:
                continue
            follower = parts[place + 1] if place + 1 < len(parts) else None
            if part.id is not None or (
                result.name in (None, part.name) and not (isinstance(follower, ToolResult) and follower.call_id is None)
            ):
                # Text after the call was written before the answer came.
                spoken = any(type(later) not in (ToolCall, ToolResult) for later in parts[place + 1 :])
                # Otherwise directly after its call, because parallel calls are answered in any order.
                parts.insert(len(parts) if spoken else place + 1, result)
                break
        else:
            return False
        if result.call_id is not None:
            answered.add(result.call_id)
    add_results(step, tuple(parts), results, ended)
    return True


def only_call(parts: tuple[Part, ...]) -> ToolCall | None:
    """The call at the end of the parts, if they contain no other call and no answer, as in nearly all steps with a
    call."""
    last = parts[-1] if parts else None
    if type(last) is not ToolCall:
        return None
    for part in parts[:-1]:
        if type(part) is ToolCall or type(part) is ToolResult:
            return None
    return last


def add_results(step: Step, parts: tuple[Part, ...], results: tuple[Part, ...], ended: float | None) -> None:
    """Give a step new parts, with results that came at this time."""
    # In place, although structs are frozen: no other code has seen them yet, and copies took a tenth of reading time.
    force_setattr(step, "parts", parts)
    if ended is not None:
        for result in results:
            force_setattr(result, "ended", ended)
