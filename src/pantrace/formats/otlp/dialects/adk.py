"""Google's Agent Development Kit: spans of scope `gcp.vertex.agent`.

Older versions keep whole requests and responses in their own attributes; newer ones follow the conventions. A span
`execute_tool (merged)` repeats the parallel calls beside it. Context made from another agent's text has the user's
role, although it is not the user's.
"""

from __future__ import annotations

from typing import Any

from pantrace.model import Text, Usage

from ..attribute_values import unpacked
from ..messages import message_from, messages_from, tools_from
from ..span import Span, SpanContent
from . import genai

_CONTEXT = "For context:"


def recognise(span: Span) -> bool:
    return span.scope == "gcp.vertex.agent" or any(
        key.startswith("gcp.vertex.agent.") for key in span.attributes.values
    )


def read(span: Span) -> SpanContent:
    told = genai.read_attributes(span)
    given = span.attributes
    if told.kind == "tool":
        # Since 2.13. It repeats the parallel calls beside it, which would count twice.
        if told.name == "(merged tools)":
            return SpanContent(conversation=told.conversation)
        if told.arguments is None:
            told.arguments = given.json("gcp.vertex.agent.tool_call_args")
        if told.output is None:
            told.output = given.json("gcp.vertex.agent.tool_response")
        # ADK wraps every tool's answer in an object and writes it as JSON text.
        told.output = unpacked(told.output)  # always an object
    elif told.kind == "model" or span.name == "call_llm":
        told.kind = "model"
        _request(told, given.json("gcp.vertex.agent.llm_request"))
        _response(told, given.json("gcp.vertex.agent.llm_response"))
        for message in told.heard or ():
            match message.parts:
                case (Text(text=text), *_) if message.role == "user" and text.startswith(_CONTEXT):
                    message.synthetic = True
    return genai.with_failure(told, span)


def _request(told: SpanContent, request: Any) -> None:
    if not isinstance(request, dict) or not request:
        return
    if told.heard is None:
        told.heard = messages_from(request.get("contents") or [])
    config = request.get("config")
    if isinstance(config, dict):
        if told.instructions is None and isinstance(text := config.get("system_instruction"), str):
            told.instructions = text
        declared = [
            tool
            for each in config.get("tools") or ()
            if isinstance(each, dict)
            for tool in each.get("function_declarations") or ()
        ]
        told.tools = told.tools or tools_from(declared)
    if told.model is None and isinstance(model := request.get("model"), str):
        told.model = model


def _response(told: SpanContent, response: Any) -> None:
    if not isinstance(response, dict) or not response:
        return
    content = response.get("content")
    if told.said is None and isinstance(content, dict):
        message = message_from({**content, "role": "model"})
        told.said = [message] if message is not None else []
    counted = response.get("usage_metadata")
    if told.usage is None and isinstance(counted, dict):
        numbers = {key: value for key, value in counted.items() if type(value) is int}
        thoughts, answer = numbers.get("thoughts_token_count"), numbers.get("candidates_token_count")
        told.usage = Usage(
            input=numbers.get("prompt_token_count"),
            # Gemini counts thoughts apart from the answer.
            output=None if answer is None else answer + (thoughts or 0),
            cache_read=numbers.get("cached_content_token_count"),
            reasoning=thoughts,
            total=numbers.get("total_token_count"),
        )
