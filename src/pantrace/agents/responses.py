"""`openai-responses:MODEL`: a model behind a server that speaks OpenAI's Responses API, with the case's tools as stubs.

Every request contains all items so far as the server sent them, with reasoning and ids. Unlike `previous_response_id`,
this works with servers that store nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from pantrace.model import Record, Step
from pantrace.wire.extra_keys import as_extra, rest_of
from pantrace.wire.openai_responses import parts_from, step_items
from pantrace.wire.openai_usage import usage_from

from .agent import AgentFailed, Answer, Trial
from .model_loop import OPENAI, answer_with, offered
from .transport import post

NAME = "openai-responses"
_READ = ("id", "model", "output", "usage", "created_at", "status", "tools")
"""Keys of a response that are read, and `tools`, which only repeats the case."""


class ResponsesOptions(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the model is asked."""

    base_url: str = OPENAI
    """Address of the server, up to /responses."""
    instructions: str | None = None
    """The system message."""
    temperature: float | None = None
    max_tokens: int | None = None
    """Maximum tokens of a response, reasoning included; the API calls it max_output_tokens."""
    effort: str | None = None
    """How much a reasoning model thinks: low, medium, high, or another level that it knows."""
    rounds: int = 20
    """How often the model may call tools before it must answer."""


@dataclass(frozen=True)
class Responses:
    """An agent that consists of a model and a loop."""

    model: str
    options: ResponsesOptions
    key: str | None = None

    def ask(self, question: str, trial: Trial) -> Answer:
        return answer_with(partial(self._asked, trial), question, trial, self.options.rounds)

    def _asked(self, trial: Trial, before: list[Step]) -> Step:
        options = self.options
        given = {
            "temperature": options.temperature,
            "max_output_tokens": options.max_tokens,
            "reasoning": {"effort": options.effort} if options.effort is not None else None,
        }
        settings = {name: value for name, value in given.items() if value is not None}
        body = {"model": self.model, "input": [item for step in before for item in step_items(step, NAME)], **settings}
        if options.instructions is not None:
            body["instructions"] = options.instructions
        # Strict is the default of this API, and refuses schemas that do not list all arguments, as ours do not.
        if tools := [{"type": "function", **each, "strict": False} for each in offered(trial.case)]:
            body["tools"] = tools
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        at = time.time()
        reply = post(f"{options.base_url.rstrip('/')}/responses", body, trial, headers)
        return self._step(reply, at, settings)

    def _step(self, reply: Any, at: float, settings: dict[str, Any]) -> Step:
        match reply:
            # This API reports failures with status 200 and an `error` in the body.
            case {"error": {"message": str(why)}} | {"status": "failed" | "cancelled" as why}:
                raise AgentFailed("error", f"the server gave no response: {why}")
            case {"output": list(items)} if all(isinstance(each, dict) for each in items):
                parts, notes = parts_from(items, NAME)
            case _:
                raise AgentFailed("error", "the server's reply has no output of items (is it a server of Responses?)")
        details = reply.get("incomplete_details")
        # "incomplete" alone does not say whether the length or a filter stopped it.
        stop = details.get("reason") if isinstance(details, dict) else reply.get("status")
        rest = rest_of(reply, _READ)
        return Step(
            id=reply["id"] if isinstance(reply.get("id"), str) else None,
            role="agent",
            parts=tuple(parts),
            at=at,
            ended=time.time(),
            model=reply["model"] if isinstance(reply.get("model"), str) else self.model,
            usage=usage_from(reply.get("usage"), NAME, "responses"),
            stop=stop if isinstance(stop, str) else None,
            settings=settings or None,
            extra=as_extra(NAME, {"items": notes, **({"response": rest} if rest else {})}),
        )
