"""Flavours: which attributes a span gets, in the words of the GenAI conventions or of OpenInference."""

from __future__ import annotations

from typing import Any, Protocol

from pantrace.model import Agent, Part, Score, Step, ToolCall, ToolResult, Trajectory
from pantrace.wire.json import encode
from pantrace.wire.rest import rest_in

from .plain import Plain
from .span import NAME
from .write_messages import Told, flattened, messages_to, text_of, tool_to, words

CLIENT = 3
KEPT = ("gen_ai.provider.name", "gen_ai.response.id", "server.address", "server.port")
"""Attributes of a span that was read which belong to no dialect: they stand where they stood."""
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


class Flavour(Protocol):
    """Fills in spans."""

    def __init__(self, version: str) -> None: ...

    def agent(
        self, span: Plain, name: str | None, conversation: str, agent: Agent | None, trajectory: Trajectory
    ) -> None: ...

    def asked(self, span: Plain, given: list[Told], answer: list[Told]) -> None: ...

    def model(
        self,
        span: Plain,
        step: Step,
        given: list[Told],
        said: list[Part],
        conversation: str,
        agent: Agent | None,
        declared: Agent | None,
    ) -> None: ...

    def tool(self, span: Plain, call: ToolCall, result: ToolResult, conversation: str) -> None: ...

    def score(self, score: Score) -> Plain | None: ...


def _fill(span: Plain, name: str, values: dict[str, Any]) -> None:
    span["name"] = name
    span["attributes"] |= {key: value for key, value in values.items() if value is not None}


def _json(value: Any) -> str | None:
    return None if not value else encode(value).decode("utf-8", "surrogatepass")


def _failed(span: Plain, step: Step) -> None:
    error = step.error
    if error is None:
        return
    span["status"] = {"code": 2, **({"message": error.message} if error.message else {})}
    span["attributes"]["error.type"] = error.kind or "_OTHER"
    if error.traceback is not None:
        given = {"exception.type": error.kind, "exception.message": error.message}
        told = {key: value for key, value in given.items() if value is not None}
        told["exception.stacktrace"] = error.traceback
        span.setdefault("events", []).append({"name": "exception", "attributes": told})


def _answered(span: Plain, result: ToolResult) -> None:
    if result.failure is not None or result.error is not None:
        span["status"] = {"code": 2, **({"message": result.error} if result.error else {})}
        span["attributes"]["error.type"] = result.failure or "error"


def _event(score: Score) -> Plain | None:
    """A score as the conventions' event; one that was not made is none."""
    value = score.value
    given: dict[str, Any] = {"gen_ai.evaluation.name": score.name}
    if isinstance(value, bool):
        given |= {"gen_ai.evaluation.score.value": float(value), "gen_ai.evaluation.score.label": _verdict(value)}
    elif isinstance(value, (int, float)):
        given["gen_ai.evaluation.score.value"] = float(value)
        if score.passed is not None:
            given["gen_ai.evaluation.score.label"] = _verdict(score.passed)
    elif isinstance(value, str):
        given["gen_ai.evaluation.score.label"] = value
    else:
        return None
    if score.explanation is not None:
        given["gen_ai.evaluation.explanation"] = score.explanation
    return {"name": "gen_ai.evaluation.result", "attributes": given}


def _verdict(passed: bool) -> str:
    return "pass" if passed else "fail"


class GenAI:
    """The semantic conventions of OpenTelemetry."""

    def __init__(self, version: str) -> None:
        self.in_events = version == "1.36"

    def agent(
        self, span: Plain, name: str | None, conversation: str, agent: Agent | None, trajectory: Trajectory
    ) -> None:
        _fill(
            span,
            f"invoke_agent {name}" if name else "invoke_agent",
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": name,
                "gen_ai.agent.description": agent.description if agent else None,
                "gen_ai.conversation.id": conversation,
                "gen_ai.request.model": agent.model if agent else None,
                **self._declared(agent),
            },
        )

    def _declared(self, agent: Agent | None) -> dict[str, Any]:
        if agent is None or self.in_events:
            return {}
        instructions = [{"type": "text", "content": agent.instructions}] if agent.instructions else None
        return {
            "gen_ai.system_instructions": _json(instructions),
            "gen_ai.tool.definitions": _json([tool_to(tool) for tool in agent.tools or ()]),
        }

    def asked(self, span: Plain, given: list[Told], answer: list[Told]) -> None:
        if not self.in_events:
            span["attributes"] |= _some(
                {
                    "gen_ai.input.messages": _json(messages_to(given)),
                    "gen_ai.output.messages": _json(messages_to(answer)),
                }
            )
        else:
            self._events(span, given, None)

    def model(
        self,
        span: Plain,
        step: Step,
        given: list[Told],
        said: list[Part],
        conversation: str,
        agent: Agent | None,
        declared: Agent | None,
    ) -> None:
        span["kind"] = CLIENT
        usage = step.usage
        answer = [
            {**each, "finish_reason": step.stop or "unknown"} for each in messages_to([Told("assistant", said, step)])
        ]
        values: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.agent.name": step.agent,
            "gen_ai.conversation.id": conversation,
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
            self._events(span, given, (step, said), agent)
        else:
            if agent is not None and agent.instructions:
                values["gen_ai.system_instructions"] = _json([{"type": "text", "content": agent.instructions}])
            values |= {"gen_ai.input.messages": _json(messages_to(given)), "gen_ai.output.messages": _text(answer)}
        if declared is not None:
            values |= self._declared(declared)
        _fill(span, f"chat {step.model}" if step.model else "chat", {**_kept(step), **values})
        _failed(span, step)

    def _events(
        self, span: Plain, given: list[Told], said: tuple[Step, list[Part]] | None, agent: Agent | None = None
    ) -> None:
        """Messages as events, as conventions up to 1.36 have them; their content is JSON."""
        events = span.setdefault("events", [])
        if agent is not None and agent.instructions:
            content = [{"type": "text", "content": agent.instructions}]
            events.append({"name": "gen_ai.system.message", "attributes": {"content": _json(content)}})
        for message in messages_to(given):
            role = message["role"]
            events.append({"name": f"gen_ai.{role}.message", "attributes": {"content": _json(message["parts"])}})
        if said is not None:
            step, parts = said
            answer = messages_to([Told("assistant", parts, step)])
            values = {"message": _text(answer[0]["parts"] if answer else []), "finish_reason": step.stop or "unknown"}
            events.append({"name": "gen_ai.choice", "attributes": values})

    def tool(self, span: Plain, call: ToolCall, result: ToolResult, conversation: str) -> None:
        _fill(
            span,
            f"execute_tool {call.name}",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.conversation.id": conversation,
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.id": call.id,
                "gen_ai.tool.call.arguments": None if call.arguments is None else text_of(call.arguments),
                "gen_ai.tool.call.result": None if result.output is None else text_of(result.output),
            },
        )
        _answered(span, result)

    def score(self, score: Score) -> Plain | None:
        return _event(score)


def _text(value: Any) -> str:
    return encode(value).decode("utf-8", "surrogatepass")


def _some(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _kept(step: Step) -> dict[str, Any]:
    own = rest_in(step.extra, NAME).get("attributes")
    return {key: own[key] for key in KEPT if key in own} if isinstance(own, dict) else {}


class OpenInference:
    """The conventions of Arize Phoenix and others."""

    def __init__(self, version: str) -> None:
        pass

    def agent(
        self, span: Plain, name: str | None, conversation: str, agent: Agent | None, trajectory: Trajectory
    ) -> None:
        _fill(
            span,
            name or "agent",
            {"openinference.span.kind": "AGENT", "agent.name": name, "session.id": conversation},
        )

    def asked(self, span: Plain, given: list[Told], answer: list[Told]) -> None:
        span["attributes"] |= _some({"input.value": words(given) or None, "output.value": words(answer) or None})

    def model(
        self,
        span: Plain,
        step: Step,
        given: list[Told],
        said: list[Part],
        conversation: str,
        agent: Agent | None,
        declared: Agent | None,
    ) -> None:
        usage = step.usage
        told = [Told("assistant", said, step)]
        values: dict[str, Any] = {
            "openinference.span.kind": "LLM",
            "session.id": conversation,
            "agent.name": step.agent,
            "llm.model_name": step.model,
            "llm.finish_reason": step.stop,
            "llm.invocation_parameters": _json(step.settings),
        }
        if usage is not None:
            total = usage.total
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
        messages = flattened(given, "llm.input_messages")
        values |= {_moved(key): value for key, value in messages.items()} if system else messages
        values |= flattened(told, "llm.output_messages")
        for number, tool in enumerate(agent.tools or () if agent is not None else ()):
            values[f"llm.tools.{number}.tool.json_schema"] = _json({"type": "function", "function": tool_to(tool)})
        values |= {"input.value": words(given[-1:]) or None, "output.value": words(told) or None}
        _fill(span, step.model or "llm", values)
        _failed(span, step)

    def tool(self, span: Plain, call: ToolCall, result: ToolResult, conversation: str) -> None:
        given = None if call.arguments is None else text_of(call.arguments)
        _fill(
            span,
            call.name,
            {
                "openinference.span.kind": "TOOL",
                "session.id": conversation,
                "tool.name": call.name,
                "tool.id": call.id,
                "input.value": given,
                "input.mime_type": None if given is None else _mime(call.arguments),
                "output.value": None if result.output is None else text_of(result.output),
                "output.mime_type": None if result.output is None else _mime(result.output),
            },
        )
        _answered(span, result)

    def score(self, score: Score) -> Plain | None:
        return _event(score)


def _mime(value: Any) -> str:
    return "text/plain" if isinstance(value, str) else "application/json"


def _moved(key: str) -> str:
    """A message one place further back: the first is the system's."""
    number, dot, rest = key.removeprefix("llm.input_messages.").partition(".")
    return f"llm.input_messages.{int(number) + 1}{dot}{rest}"


FLAVOURS: dict[str, type[Flavour]] = {"genai": GenAI, "openinference": OpenInference}
