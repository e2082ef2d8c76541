"""Writes the OpenInference flavour: the conventions of Arize Phoenix and others.

Spec: github.com/Arize-ai/openinference/tree/main/spec
"""

from __future__ import annotations

from typing import Any

from pantrace.model import Agent, Score, ToolCall, ToolResult
from pantrace.wire.json import text_or_json
from pantrace.wire.optional import present

from .flavour import ModelCall, as_json, event_of, fill, put_answer, put_error
from .plain_spans import Plain
from .write_messages import Message, flatten, tool_to, words


class OpenInference:
    """The conventions of Arize Phoenix and others."""

    def __init__(self, version: str) -> None:
        pass

    def agent(self, span: Plain, name: str | None, conversation: str, agent: Agent | None) -> None:
        fill(
            span,
            name or "agent",
            {"openinference.span.kind": "AGENT", "agent.name": name, "session.id": conversation},
        )

    def asked(self, span: Plain, given: list[Message], answer: list[Message]) -> None:
        span["attributes"] |= present({"input.value": words(given) or None, "output.value": words(answer) or None})

    def model(self, span: Plain, call: ModelCall) -> None:
        step, agent = call.step, call.agent
        usage = step.usage
        answer = [Message("assistant", call.said, step)]
        values: dict[str, Any] = {
            "openinference.span.kind": "LLM",
            "session.id": call.conversation,
            "agent.name": step.agent,
            "llm.model_name": step.model,
            "llm.finish_reason": step.stop,
            "llm.invocation_parameters": as_json(step.settings),
        }
        if usage is not None:
            total = usage.total
            # OpenInference has an attribute for the total, and most sources do not state it.
            if total is None and usage.input is not None and usage.output is not None:
                total = usage.input + usage.output
            values |= {
                "llm.token_count.prompt": usage.input,
                "llm.token_count.completion": usage.output,
                "llm.token_count.total": total,
                "llm.token_count.prompt_details.cache_read": usage.cache_read,
                "llm.token_count.prompt_details.cache_write": usage.cache_write,
                "llm.token_count.completion_details.reasoning": usage.reasoning,
                "llm.cost.total": usage.cost_usd,
            }
        system = agent.instructions if agent is not None else None
        if system:
            values |= {"llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": system}
        messages = flatten(call.given, "llm.input_messages")
        # OpenInference has no attribute for instructions: the system message is their place.
        values |= {_shift_place(key): value for key, value in messages.items()} if system else messages
        values |= flatten(answer, "llm.output_messages")
        for number, tool in enumerate(agent.tools or () if agent is not None else ()):
            values[f"llm.tools.{number}.tool.json_schema"] = as_json({"type": "function", "function": tool_to(tool)})
        values |= {"input.value": words(call.given[-1:]) or None, "output.value": words(answer) or None}
        fill(span, step.model or "llm", values)
        put_error(span, step)

    def tool(self, span: Plain, call: ToolCall, result: ToolResult, conversation: str) -> None:
        given = None if call.arguments is None else text_or_json(call.arguments)
        fill(
            span,
            call.name,
            {
                "openinference.span.kind": "TOOL",
                "session.id": conversation,
                "tool.name": call.name,
                "tool.id": call.id,
                "input.value": given,
                "input.mime_type": None if given is None else _mime(call.arguments),
                "output.value": None if result.output is None else text_or_json(result.output),
                "output.mime_type": None if result.output is None else _mime(result.output),
            },
        )
        put_answer(span, result)

    def score(self, score: Score) -> Plain | None:
        return event_of(score)


def _mime(value: Any) -> str:
    return "text/plain" if isinstance(value, str) else "application/json"


def _shift_place(key: str) -> str:
    """The key of a message, moved one place on: the first place is taken by the system message."""
    number, dot, rest = key.removeprefix("llm.input_messages.").partition(".")
    return f"llm.input_messages.{int(number) + 1}{dot}{rest}"
