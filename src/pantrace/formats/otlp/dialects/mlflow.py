"""MLflow: inputs and outputs of functions and models as JSON text in `mlflow.*`, and assessments beside the spans."""

from __future__ import annotations

from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Maker, Score, Usage
from pantrace.wire.json import decode
from pantrace.wire.optional import list_of, object_of, text_of
from pantrace.wire.usage_check import settled

from ..messages import message_from, messages_from, tools_from
from ..span import Kind, Message, Span, SpanContent
from . import genai

_KINDS: dict[str, Kind] = {"CHAT_MODEL": "model", "LLM": "model", "TOOL": "tool", "AGENT": "agent"}
_TYPE, _INPUTS, _OUTPUTS = "mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs"
_COUNTS = {
    "input_tokens": "input",
    "output_tokens": "output",
    "total_tokens": "total",
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
}


def recognise(span: Span) -> bool:
    return _TYPE in span.attributes


def read(span: Span) -> SpanContent:
    told = SpanContent(kind=_KINDS.get(str(_value(span, _TYPE)), "other"))
    info = _info(span)
    metadata = object_of(info.get("trace_metadata", info.get("request_metadata")))
    # Without a session, each trace is a conversation.
    told.conversation = text_of(metadata.get("mlflow.trace.session")) or text_of(info.get("trace_id"))
    heard, said = _value(span, _INPUTS), _value(span, _OUTPUTS)
    if told.kind == "model":
        _read_model(told, span, heard, said)
    elif told.kind == "tool":
        told.name, told.arguments = _call(heard, span.name)
        told.output = said
    elif told.kind == "agent":
        told.name = span.name
        told.heard = _asked(heard)
        told.said = [genai.bare("assistant", said)] if isinstance(said, str) else None
    told.scores = [score for each in list_of(info.get("assessments")) if (score := _score(each)) is not None]
    return genai.with_failure(told, span)


def _value(span: Span, key: str) -> Any:
    """The value of an attribute: MLflow writes each as JSON, even a plain text."""
    value = span.attributes.get(key)
    try:
        return decode(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value
    except ReadError:
        return value


def _info(span: Span) -> dict[str, Any]:
    """The `info` beside the spans of a trace; it was attached to the first span (see `plain_spans`)."""
    return object_of(object_of(span.plain.get("request")).get("info"))


def _read_model(told: SpanContent, span: Span, heard: Any, said: Any) -> None:
    asked, answer = object_of(heard), object_of(said)
    told.model = (
        text_of(answer.get("model")) or text_of(_value(span, "mlflow.llm.model")) or text_of(asked.get("model"))
    )
    told.tools = tools_from(asked.get("tools") or _value(span, "mlflow.chat.tools"))
    # Inputs are the arguments of the traced function: `messages` for chat, `input` for OpenAI's Responses.
    given = asked.get("messages", asked.get("input", heard))
    told.heard = messages_from(given) if given is not None else None
    choice = object_of(next(iter(list_of(answer.get("choices"))), None))
    told.stop = text_of(choice.get("finish_reason")) or text_of(answer.get("stop_reason"))
    if isinstance(answer.get("output"), list):
        told.said = messages_from(answer["output"])
    elif said is not None:
        message = message_from(choice or said, "assistant")
        told.said = [message] if message is not None else []
    cost = object_of(_value(span, "mlflow.llm.cost")).get("total_cost")
    counts = _counts(_value(span, "mlflow.chat.tokenUsage"), answer)
    paid = cost if isinstance(cost, (int, float)) and not isinstance(cost, bool) else None
    told.usage = settled(Usage(**counts, cost_usd=paid)) if counts else None


def _counts(raw: Any, answer: dict[str, Any]) -> dict[str, Any]:
    """Token counts. MLflow's own do not have reasoning; the provider's answer may have it."""
    counts: dict[str, Any] = (
        {name: raw[key] for key, name in _COUNTS.items() if type(raw.get(key)) is int} if isinstance(raw, dict) else {}
    )
    usage = object_of(answer.get("usage"))
    for key in ("completion_tokens_details", "output_tokens_details"):
        if counts and type(thought := object_of(usage.get(key)).get("reasoning_tokens")) is int:
            counts["reasoning"] = thought
    return counts


def _call(heard: Any, name: str) -> tuple[str, Any]:
    """A tool's name and arguments. The traced function may take both, as a dispatcher does, or the arguments alone."""
    match heard:
        case {"name": str(tool), "args": dict(arguments), **others} if not others:
            return tool, arguments
    return name, heard


def _asked(heard: Any) -> list[Message] | None:
    """The input of an agent: messages, or a function's only text."""
    match heard:
        case {"messages": list(messages)} | {"input": list(messages)} | {"request": {"input": list(messages)}}:
            return messages_from(messages)
        # Of several texts, nothing says which one is the question.
        case dict() if len(texts := [each for each in heard.values() if isinstance(each, str)]) == 1:
            return [genai.bare("user", texts[0])]
    return messages_from(heard) if isinstance(heard, (str, list)) else None


def _score(raw: Any) -> Score | None:
    """An assessment by a person or a judge as a score. An expectation is not a score."""
    feedback = object_of(object_of(raw).get("feedback"))
    if not isinstance(raw, dict) or not isinstance(raw.get("assessment_name"), str) or not feedback:
        return None
    # `expectation` instead of `feedback` is what should be, not a judgement.
    value, source = feedback.get("value"), object_of(raw.get("source"))
    is_plain = isinstance(value, (bool, int, float, str))
    return Score(
        name=raw["assessment_name"],
        value=value if is_plain else None,
        status="scored" if is_plain else "failed" if feedback.get("error") else "unscored",
        explanation=text_of(raw.get("rationale")),
        maker=Maker(
            name=text_of(source.get("source_id")) or "mlflow",
            kind="human" if source.get("source_type") == "HUMAN" else "stored",
        ),
        passed=value if isinstance(value, bool) else None,
    )
