"""Writes the GenAI flavour: the semantic conventions of OpenTelemetry.

Spec: github.com/open-telemetry/semantic-conventions-genai
"""

from __future__ import annotations

from typing import Any

from pantrace.model import Agent, Part, Score, Step, ToolCall, ToolResult
from pantrace.wire.json import text_or_json
from pantrace.wire.optional import present

from .flavour import ModelCall, as_json, as_text, event_of, fill, kept_attributes, put_answer, put_error
from .plain_spans import Plain
from .write_messages import Message, messages_to, tool_to

CLIENT = 3
"""The kind of a span that calls another service."""
# Only these are attributes of the conventions; other settings are kept under `pantrace`.
_REQUEST = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "seed",
    "choice.count",
    "stop_sequences",
    "frequency_penalty",
    "presence_penalty",
    "stream",
    "encoding_formats",
)


class GenAI:
    """The semantic conventions of OpenTelemetry."""

    def __init__(self, version: str) -> None:
        self.in_events = version == "1.36"

    def agent(self, span: Plain, name: str | None, conversation: str, agent: Agent | None) -> None:
        fill(
            span,
            f"invoke_agent {name}" if name else "invoke_agent",
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": name,
                "gen_ai.agent.description": agent.description if agent else None,
                "gen_ai.conversation.id": conversation,
                "gen_ai.request.model": agent.model if agent else None,
                **self._agent_attributes(agent),
            },
        )

    def _agent_attributes(self, agent: Agent | None) -> dict[str, Any]:
        if agent is None or self.in_events:
            return {}
        instructions = [{"type": "text", "content": agent.instructions}] if agent.instructions else None
        return {
            "gen_ai.system_instructions": as_json(instructions),
            "gen_ai.tool.definitions": as_json([tool_to(tool) for tool in agent.tools or ()]),
        }

    def asked(self, span: Plain, given: list[Message], answer: list[Message]) -> None:
        if not self.in_events:
            span["attributes"] |= present(
                {
                    "gen_ai.input.messages": as_json(messages_to(given)),
                    "gen_ai.output.messages": as_json(messages_to(answer)),
                }
            )
        else:
            self._events(span, given, None)

    def model(self, span: Plain, call: ModelCall) -> None:
        step, agent = call.step, call.agent
        span["kind"] = CLIENT
        usage = step.usage
        answer = [
            # The conventions require a reason on every output message.
            {**each, "finish_reason": step.stop or "unknown"}
            for each in messages_to([Message("assistant", call.said, step)])
        ]
        values: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.agent.name": step.agent,
            "gen_ai.conversation.id": call.conversation,
            # The model has one name, whether it was requested or stated by the response.
            "gen_ai.request.model": step.model,
            "gen_ai.response.model": step.model,
            "gen_ai.response.finish_reasons": [step.stop] if step.stop else None,
            "gen_ai.response.time_to_first_chunk": step.first_token,
        }
        for key, value in (step.settings or {}).items():
            if key in _REQUEST and isinstance(value, (str, int, float, bool, list)):
                values[f"gen_ai.request.{key}"] = value
        if usage is not None:
            values |= {
                "gen_ai.usage.input_tokens": usage.input,
                "gen_ai.usage.output_tokens": usage.output,
                "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
                "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
                "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
            }
        if self.in_events:
            self._events(span, call.given, (step, call.said), agent)
        else:
            if agent is not None and agent.instructions:
                values["gen_ai.system_instructions"] = as_json([{"type": "text", "content": agent.instructions}])
            values |= {
                "gen_ai.input.messages": as_json(messages_to(call.given)),
                "gen_ai.output.messages": as_text(answer),
            }
        # Tools can be long: they are written once for each agent, not with every call.
        if call.is_new:
            values |= self._agent_attributes(agent)
        fill(span, f"chat {step.model}" if step.model else "chat", {**kept_attributes(step), **values})
        put_error(span, step)

    def _events(
        self, span: Plain, given: list[Message], said: tuple[Step, list[Part]] | None, agent: Agent | None = None
    ) -> None:
        """Messages as events, as in the conventions up to 1.36. Content is JSON text: attributes cannot be objects."""
        events = span.setdefault("events", [])
        if agent is not None and agent.instructions:
            content = [{"type": "text", "content": agent.instructions}]
            events.append({"name": "gen_ai.system.message", "attributes": {"content": as_json(content)}})
        for message in messages_to(given):
            role = message["role"]
            events.append({"name": f"gen_ai.{role}.message", "attributes": {"content": as_json(message["parts"])}})
        if said is not None:
            step, parts = said
            answer = messages_to([Message("assistant", parts, step)])
            values = {"message": as_text(answer[0]["parts"] if answer else []), "finish_reason": step.stop or "unknown"}
            events.append({"name": "gen_ai.choice", "attributes": values})

    def tool(self, span: Plain, call: ToolCall, result: ToolResult, conversation: str) -> None:
        fill(
            span,
            f"execute_tool {call.name}",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.conversation.id": conversation,
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.id": call.id,
                "gen_ai.tool.call.arguments": None if call.arguments is None else text_or_json(call.arguments),
                "gen_ai.tool.call.result": None if result.output is None else text_or_json(result.output),
            },
        )
        put_answer(span, result)

    def score(self, score: Score) -> Plain | None:
        return event_of(score)
