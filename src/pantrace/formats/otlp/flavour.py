"""Flavours: the interface of every way of writing spans, and the code that they share."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from pantrace.model import Agent, Part, Score, Step, ToolCall, ToolResult
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.json import encode
from pantrace.wire.optional import present

from .plain_spans import Plain
from .span import NAME
from .write_messages import Message

KEPT = ("gen_ai.provider.name", "gen_ai.response.id", "server.address", "server.port")
"""Attributes that mean the same in every dialect: if a span was read with them, they are written back as they were."""


class ModelCall(NamedTuple):
    """A call of a model, with its input."""

    step: Step
    given: list[Message]
    said: list[Part]
    conversation: str
    agent: Agent | None
    is_new: bool
    """Whether this is the first call of its agent: only then instructions and tools are written."""


class Flavour(Protocol):
    """Fills in the attributes of spans."""

    def __init__(self, version: str) -> None: ...

    def agent(self, span: Plain, name: str | None, conversation: str, agent: Agent | None) -> None:
        """A turn of an agent."""

    def asked(self, span: Plain, given: list[Message], answer: list[Message]) -> None:
        """What an agent was asked in its turn, and its final answer."""

    def model(self, span: Plain, call: ModelCall) -> None: ...

    def tool(self, span: Plain, call: ToolCall, result: ToolResult, conversation: str) -> None: ...

    def score(self, score: Score) -> Plain | None:
        """A score as an event; None if the score has no value."""


def fill(span: Plain, name: str, values: dict[str, Any]) -> None:
    span["name"] = name
    span["attributes"] |= present(values)


def as_json(value: Any) -> str | None:
    return None if not value else encode(value).decode("utf-8", "surrogatepass")


def put_error(span: Plain, step: Step) -> None:
    error = step.error
    if error is None:
        return
    span["status"] = {"code": 2, **({"message": error.message} if error.message else {})}
    # `_OTHER` is the conventions' word for an error without a known type.
    span["attributes"]["error.type"] = error.kind or "_OTHER"
    if error.traceback is not None:
        given = {"exception.type": error.kind, "exception.message": error.message}
        attributes = present(given)
        attributes["exception.stacktrace"] = error.traceback
        span.setdefault("events", []).append({"name": "exception", "attributes": attributes})


def put_answer(span: Plain, result: ToolResult) -> None:
    if result.failure is not None or result.error is not None:
        span["status"] = {"code": 2, **({"message": result.error} if result.error else {})}
        span["attributes"]["error.type"] = result.failure or "error"


def event_of(score: Score) -> Plain | None:
    """A score as the conventions' event; None if it has no value."""
    value = score.value
    given: dict[str, Any] = {"gen_ai.evaluation.name": score.name}
    if isinstance(value, bool):
        # The conventions have no truth values: a number for tools that plot, a label for people.
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


def as_text(value: Any) -> str:
    return encode(value).decode("utf-8", "surrogatepass")


def kept_attributes(step: Step) -> dict[str, Any]:
    own = rest_in(step.extra, NAME).get("attributes")
    return {key: own[key] for key in KEPT if key in own} if isinstance(own, dict) else {}
