"""`openai:MODEL`: a model behind any server that speaks OpenAI's chat completions, with the tools of the case as stubs.

A case may list tools and the calls that are expected, with their outcomes. The model is offered these tools; a call is
answered with the outcome of the expected call of that name, else with an error.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pantrace.model import Case, Record, Step, Text, ToolCall, ToolResult
from pantrace.wire.openai_chat import messages_to, step_from
from pantrace.wire.usage_words import usage_of

from .agent import AgentFailed, Answer, Trial
from .transport import post

NAME = "openai"
OPENAI = "https://api.openai.com/v1"


class ChatOptions(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the model is asked."""

    base_url: str = OPENAI
    """Address of the server, up to /chat/completions."""
    instructions: str | None = None
    """What the model is told first."""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    rounds: int = 20
    """How often the model may call tools before it must have answered."""


@dataclass(frozen=True)
class Chat:
    """An agent that is a model and a loop."""

    model: str
    options: ChatOptions
    key: str | None = None

    def ask(self, question: str, trial: Trial) -> Answer:
        steps: list[Step] = []
        settings = {
            name: value
            for name in ("temperature", "max_tokens", "seed")
            if (value := getattr(self.options, name)) is not None
        }
        tools = [*_offered(trial.case)]
        until = time.monotonic() + trial.seconds
        for _ in range(self.options.rounds):
            said = messages_to([*trial.history, Step(role="user", parts=(Text(text=question),)), *steps], NAME)
            if self.options.instructions is not None:
                said = [{"role": "system", "content": self.options.instructions}, *said]
            body = {"model": self.model, "messages": said, **settings, **({"tools": tools} if tools else {})}
            trial.seconds = until - time.monotonic()
            try:
                step = self._asked(body, trial, settings)
            except AgentFailed as failed:
                raise AgentFailed(
                    failed.status, failed.reason, Answer(steps=tuple(steps)), again=failed.again
                ) from None
            steps.append(step)
            calls = [part for part in step.parts if isinstance(part, ToolCall)]
            if not calls:
                return Answer(steps=tuple(steps))
            steps += [_answered(call, trial.case) for call in calls]
        raise AgentFailed(
            "limit", f"no answer within {self.options.rounds} rounds of tool calls", Answer(steps=tuple(steps))
        )

    def _asked(self, body: dict[str, Any], trial: Trial, settings: dict[str, Any]) -> Step:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        at = time.time()
        reply = post(f"{self.options.base_url.rstrip('/')}/chat/completions", body, trial, headers)
        match reply:
            case {"choices": [{"message": dict(message), **choice}, *_]}:
                step = step_from({**message, "role": "assistant"}, NAME)
            case _:
                raise AgentFailed("error", "the server's reply has no choices with a message")
        usage = reply.get("usage")
        return Step(
            role="agent",
            parts=step.parts,
            at=at,
            ended=time.time(),
            model=reply.get("model") if isinstance(reply.get("model"), str) else self.model,
            usage=usage_of(usage, NAME) if isinstance(usage, dict) and usage else None,
            stop=reason if isinstance(reason := choice.get("finish_reason"), str) else None,
            settings=settings or None,
            extra=step.extra,
        )


def _offered(case: Case) -> Iterator[dict[str, Any]]:
    names = dict.fromkeys([*(case.available_tools or ()), *(call.name for call in case.expected_calls or ())])
    for name in names:
        arguments = next((call.arguments for call in case.expected_calls or () if call.name == name), None)
        known: dict[str, Any] = {key: {} for key in arguments} if isinstance(arguments, dict) else {}
        schema = {"type": "object", "properties": known, "additionalProperties": True}
        yield {"type": "function", "function": {"name": name, "parameters": schema}}


def _answered(call: ToolCall, case: Case) -> Step:
    found = next((each for each in case.expected_calls or () if each.name == call.name and each.outcome), None)
    if found is not None:
        result = ToolResult(call_id=call.id, name=call.name, output=found.outcome)
    else:
        why = "this tool is a stub, and the case states no outcome for it"
        result = ToolResult(call_id=call.id, name=call.name, output=why, error=why, failure="error")
    return Step(role="tool", parts=(result,), at=time.time())
