"""GenAI semantic conventions of OpenTelemetry: attributes `gen_ai.*`, of every version.

Content is in attributes (1.37 and later), in events of the span or in log records (see `events`). Usage: input includes
cached tokens, output includes reasoning.
Spec: github.com/open-telemetry/semantic-conventions-genai
"""

from __future__ import annotations

from typing import Any

from pantrace.model import StepError, Text, Usage
from pantrace.wire.optional import text_of

from ..attribute_values import unpacked
from ..messages import messages_from, tools_from
from ..span import Kind, Message, Span, SpanContent
from .events import scores_of, with_events

_KINDS: dict[str, Kind] = {
    "chat": "model",
    "generate_content": "model",
    "text_completion": "model",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "create_agent": "setup",
}
# The conventions' own name first; the others are names of single libraries for the same thing.
CONVERSATIONS = (
    "gen_ai.conversation.id",
    "session.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "gcp.vertex.agent.session_id",
    "langfuse.session.id",
)
_SETTINGS = "gen_ai.request."


def recognise(span: Span) -> bool:
    return any(key.startswith("gen_ai.") for key in span.attributes.values) or any(
        event.name.startswith("gen_ai.") for event in span.events
    )


def kind_of(span: Span) -> Kind:
    """The kind of a span, by its operation, or else by its attributes and events."""
    operation = span.attributes.text("gen_ai.operation.name")
    if operation is not None:
        return _KINDS.get(operation, "other")
    if any(key in span.attributes for key in ("gen_ai.tool.call.id", "gen_ai.tool.call.result")):
        return "tool"
    if "gen_ai.request.model" in span.attributes:
        return "model"
    events = {event.name for event in span.events}
    return "model" if events & {"gen_ai.choice", "gen_ai.user.message"} else "other"


def read(span: Span) -> SpanContent:
    return with_failure(read_attributes(span), span)


def read_attributes(span: Span) -> SpanContent:
    """The content in the conventions' attributes and events."""
    given = span.attributes
    told = SpanContent(kind=kind_of(span), conversation=conversation_of(span))
    told.model = given.text("gen_ai.response.model", "gen_ai.request.model")
    told.agent = given.text("gen_ai.agent.name")
    told.description = given.text("gen_ai.agent.description")
    told.instructions = instructions_from(given.json("gen_ai.system_instructions"))
    told.tools = tools_from(given.json("gen_ai.tool.definitions"))
    if (heard := given.json("gen_ai.input.messages")) is not None:
        told.heard = messages_from(heard)
    if (said := given.json("gen_ai.output.messages")) is not None:
        told.said = messages_from(said)
    if told.kind == "tool":
        # The conventions put the tool's name into the span's name, too.
        told.name = given.text("gen_ai.tool.name") or span.name.removeprefix("execute_tool ") or None
        told.description = given.text("gen_ai.tool.description")
        told.call_id = given.text("gen_ai.tool.call.id")
        told.arguments = given.json("gen_ai.tool.call.arguments")
        told.output = given.get("gen_ai.tool.call.result")
    elif told.kind in ("agent", "setup"):
        told.name = told.agent
    with_events(told, span)
    if told.kind in ("model", "agent"):
        # Agent spans repeat the tokens of their calls: in Strands' recording all spans add up to 39,291 input tokens,
        # but 17,833 were used.
        told.usage = usage_of(span) if told.kind == "model" else None
        told.settings = settings_of(span)
        told.stop = _stop(given.json("gen_ai.response.finish_reasons")) or told.stop
        told.first_token = _first_token(span)
    told.scores = scores_of(span)
    return told


def conversation_of(span: Span) -> str | None:
    return span.attributes.text(*CONVERSATIONS)


def instructions_from(value: Any) -> str | None:
    """System instructions as one text, from a list of text parts or a text."""
    if isinstance(value, str):
        return value or None
    parts = [part for message in messages_from(value or []) for part in message.parts]
    return "\n\n".join(part.text for part in parts if isinstance(part, Text)) or None


def usage_of(span: Span) -> Usage | None:
    """Tokens of one model call."""
    given = span.attributes
    found = Usage(
        # The other names are those of older conventions and of single libraries.
        input=given.count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        output=given.count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        cache_read=given.count("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
        cache_write=given.count(
            "gen_ai.usage.cache_creation.input_tokens",
            "gen_ai.usage.cache_creation_input_tokens",
            "gen_ai.usage.cache_write_input_tokens",
        ),
        reasoning=given.count(
            "gen_ai.usage.reasoning.output_tokens",
            "gen_ai.usage.reasoning_tokens",
            "gen_ai.usage.details.reasoning_tokens",
        ),
        total=given.count("gen_ai.usage.total_tokens", "llm.usage.total_tokens"),
        cost_usd=given.number("operation.cost", "gen_ai.usage.cost"),
    )
    return found if found != Usage() else None


def settings_of(span: Span) -> dict[str, Any] | None:
    """The settings of a model call."""
    found = {}
    for key, value in span.attributes.values.items():
        if key.startswith(_SETTINGS) and key != "gen_ai.request.model" and value is not None:
            found[key.removeprefix(_SETTINGS)] = span.attributes.get(key)
    return found or None


def _stop(value: Any) -> str | None:
    value = unpacked(value)
    if isinstance(value, list):
        reasons = [each for each in value if isinstance(each, str)]
        return reasons[-1] if reasons else None
    return text_of(value)


def _first_token(span: Span) -> float | None:
    """Seconds to the first token; Strands counts milliseconds."""
    seconds = span.attributes.number("gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token")
    if seconds is None:
        return None
    return seconds / 1000 if span.scope.startswith("strands") else seconds


def with_failure(told: SpanContent, span: Span) -> SpanContent:
    """The content, with the error if the span ended with one."""
    status = span.plain.get("status")
    code = status.get("code") if isinstance(status, dict) else span.plain.get("status_code")
    # A number in OTLP, a word in dumps of SDKs.
    is_error = code in (2, "2", "ERROR", "STATUS_CODE_ERROR", "Error")
    exception = next((event for event in span.events if event.name == "exception"), None)
    kind = span.attributes.text("error.type")
    if not is_error and kind is None:
        return told
    message = (status.get("message") or status.get("description")) if isinstance(status, dict) else None
    if exception is not None:
        exception.taken = True
        given = exception.attributes
        told.error = StepError(
            kind=kind or given.text("exception.type"),
            message=given.text("exception.message") or message,
            traceback=given.text("exception.stacktrace"),
        )
    else:
        told.error = StepError(kind=kind, message=message if isinstance(message, str) and message else None)
    told.failed = True
    return told


def bare(role: Any, text: str) -> Message:
    """A message of one text."""
    return Message(role, (Text(text=text),))
