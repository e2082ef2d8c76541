"""A judge that answers by a script, behind the one-method seam, and samples for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pantrace.judges import Reply, Request
from pantrace.model import Agent, Case, Sample, Step, Text, Tool, ToolCall, ToolResult, Trajectory, Usage


class Scripted:
    """Answers with what `script` says: a reply's text, a whole reply, or an exception to raise."""

    def __init__(self, script: Callable[[Request], Any]):
        self.script = script
        self.requests: list[Request] = []

    async def ask(self, request: Request) -> Reply:
        self.requests.append(request)
        found = self.script(request)
        if isinstance(found, Exception):
            raise found
        return found if isinstance(found, Reply) else Reply(text=found, usage=Usage(input=100, output=20, total=120))


def verdict(score: Any, reason: str = "the evidence shows it") -> str:
    return json.dumps({"reason": reason, "score": score})


def sample_of(
    *, question: str | None = "How many are left?", answer: str | None = "Three are left.", name: str = "s1"
) -> Sample:
    """A short run: a prompt, a call with its result, an answer."""
    call = ToolCall(id="c1", name="count", arguments={"what": "apples"})
    parts = [call, ToolResult(call_id="c1", name="count", output="3")]
    steps = [Step(role="user", parts=(Text(text=question),))] if question is not None else []
    steps.append(Step(role="agent", parts=tuple(parts)))
    if answer is not None:
        steps.append(Step(role="agent", parts=(Text(text=answer),)))
    agent = Agent(name="counter", tools=(Tool(name="count", description="counts things"), Tool(name="weigh")))
    return Sample(id=name, case=Case(id=name), trajectory=Trajectory(agents=(agent,), steps=tuple(steps)))
