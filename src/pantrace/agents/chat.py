"""`openai:MODEL`: a model behind a server that speaks OpenAI's chat completions, with the case's tools as stubs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

from pantrace.model import Record, Step
from pantrace.wire.openai_chat import messages_to, step_from
from pantrace.wire.usage_names import usage_of

from .agent import AgentFailed, Answer, Trial
from .model_loop import OPENAI, answer_with, offered
from .transport import post

NAME = "openai"


class ChatOptions(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the model is asked."""

    base_url: str = OPENAI
    """Address of the server, up to /chat/completions."""
    instructions: str | None = None
    """The system message."""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    rounds: int = 20
    """How often the model may call tools before it must answer."""


@dataclass(frozen=True)
class Chat:
    """An agent that consists of a model and a loop."""

    model: str
    options: ChatOptions
    key: str | None = None

    def ask(self, question: str, trial: Trial) -> Answer:
        return answer_with(partial(self._asked, trial), question, trial, self.options.rounds)

    def _asked(self, trial: Trial, before: list[Step]) -> Step:
        options = self.options
        settings = {
            name: value
            for name in ("temperature", "max_tokens", "seed")
            if (value := getattr(options, name)) is not None
        }
        messages = messages_to(before, NAME)
        if options.instructions is not None:
            messages = [{"role": "system", "content": options.instructions}, *messages]
        tools = [{"type": "function", "function": each} for each in offered(trial.case)]
        body = {"model": self.model, "messages": messages, **settings, **({"tools": tools} if tools else {})}
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        at = time.time()
        reply = post(f"{options.base_url.rstrip('/')}/chat/completions", body, trial, headers)
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
            # The reply's name first: behind an alias (gpt-4.1-mini) it names the dated model that really answered.
            model=reply.get("model") if isinstance(reply.get("model"), str) else self.model,
            # Local servers often report no usage, or an empty object: unknown, not zero.
            usage=usage_of(usage, NAME) if isinstance(usage, dict) and usage else None,
            stop=reason if isinstance(reason := choice.get("finish_reason"), str) else None,
            settings=settings or None,
            extra=step.extra,
        )
