"""Reads content in events of a span, or in log records that belong to it.

Up to version 1.36 of the conventions each message is an event (`gen_ai.user.message`, `gen_ai.choice`); later one event
`gen_ai.client.inference.operation.details` has all of them. Scores are `gen_ai.evaluation.result`.
"""

from __future__ import annotations

from typing import Any

from pantrace.model import Score, Text, ToolResult

from ..attribute_values import unpacked
from ..messages import message_from, messages_from, part_from, plain_output
from ..observations import RESULT
from ..span import Event, Message, Span, SpanContent

_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
DETAILS = "gen_ai.client.inference.operation.details"
_LABELS = {"pass": True, "passed": True, "fail": False, "failed": False}


def with_events(told: SpanContent, span: Span) -> None:
    """Add the content of a span's events."""
    for event in span.events:
        if event.name in _ROLES:
            event.taken = True
            if told.kind == "tool":
                # Strands uses message events for a tool's input and output, too.
                _input_of_tool(told, event.body)
            elif (message := _message(event.body, _ROLES[event.name])) is not None:
                told.heard = [*(told.heard or ()), message]
        elif event.name == "gen_ai.choice":
            event.taken = True
            _choice(told, event.body)
        elif event.name == DETAILS:
            event.taken = True
            _details(told, event)


def _message(body: dict[str, Any], role: str) -> Message | None:
    """A message whose role follows from the event's name."""
    content = unpacked(body.get("content"))
    # A single content block instead of a list of them.
    if isinstance(content, dict) and "content" not in content and role != "tool":
        content = [content]
    return message_from({**body, "role": role, "content": content}, role)


def _choice(told: SpanContent, body: dict[str, Any]) -> None:
    said = unpacked(body.get("message", body.get("content")))
    if told.kind == "tool":
        told.output = plain_output(said) if said is not None else told.output
        return
    if isinstance(said, list):
        said = {"content": said}
    elif isinstance(said, str):
        # Strands adds a line break to the answer's text.
        said = {"content": said.removesuffix("\n")}
    if isinstance(said, dict):
        message = message_from({**said, "role": "assistant"})
        told.said = [*(told.said or ()), *([message] if message is not None else [])]
    reason = body.get("finish_reason")
    told.stop = reason if isinstance(reason, str) else told.stop


def _details(told: SpanContent, event: Event) -> None:
    given = event.attributes if event.attributes.values else None
    body = event.body
    heard, said = body.get("gen_ai.input.messages"), body.get("gen_ai.output.messages")
    if given is not None:
        given.taken.update(given.values)
    if told.kind == "tool":
        for message in messages_from(said or []):
            answers = [part for part in message.parts if isinstance(part, ToolResult)]
            told.output = answers[0].output if answers and told.output is None else told.output
        return
    if heard is not None:
        told.heard = [*(told.heard or ()), *messages_from(heard)]
    if said is not None:
        told.said = [*(told.said or ()), *messages_from(said)]
    if (instructions := body.get("gen_ai.system_instructions")) is not None:
        parts = [part_from(each) for each in unpacked(instructions)] if isinstance(unpacked(instructions), list) else []
        texts = [part.text for part in parts if isinstance(part, Text)]
        told.instructions = "\n\n".join(texts) or told.instructions


def _input_of_tool(told: SpanContent, body: dict[str, Any]) -> None:
    if told.arguments is None:
        told.arguments = unpacked(body.get("content"))
    if told.call_id is None and isinstance(name := body.get("id"), str):
        told.call_id = name


def scores_of(span: Span) -> list[Score]:
    """Scores in the events of a span."""
    found = []
    for event in span.events:
        given = event.attributes
        name = given.text("gen_ai.evaluation.name") if event.name == RESULT else None
        if name is None:
            continue
        event.taken = True
        value: Any = given.number("gen_ai.evaluation.score.value")
        label = given.text("gen_ai.evaluation.score.label")
        found.append(
            Score(
                name=name,
                value=value if value is not None else label,
                status="scored" if value is not None or label is not None else "unscored",
                explanation=given.text("gen_ai.evaluation.explanation"),
                # A label without a number is itself the value.
                passed=_LABELS.get(label) if label is not None and value is not None else None,
            )
        )
    return found
