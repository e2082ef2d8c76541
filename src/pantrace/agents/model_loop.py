"""A model as an agent: it is asked, stubs answer its tool calls, and it is asked again until it calls no more tools.

A case may list tools and the calls that are expected, with their outcomes. The model is offered these tools; a call is
answered with the outcome of the expected call of that name, otherwise with an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from pantrace.model import Case, Step, Text, ToolCall, ToolResult

from .agent import AgentFailed, Answer, Trial

OPENAI = "https://api.openai.com/v1"


def answer_with(ask_model: Callable[[list[Step]], Step], question: str, trial: Trial, rounds: int) -> Answer:
    """Ask a model a question. `ask_model` takes the conversation so far and returns the model's next step."""
    steps: list[Step] = []
    before = [*trial.history, Step(role="user", parts=(Text(text=question),))]
    until = time.monotonic() + trial.seconds
    for _ in range(rounds):
        trial.seconds = until - time.monotonic()
        try:
            step = ask_model([*before, *steps])
        except AgentFailed as failed:
            # The steps before the failure are worth keeping: they become the sample's trajectory.
            raise AgentFailed(failed.status, failed.reason, Answer(steps=tuple(steps)), again=failed.again) from None
        steps.append(step)
        # The provider's own tools (a web search) arrive with their results; only the others need a stub.
        answered = {part.call_id for part in step.parts if isinstance(part, ToolResult)}
        calls = [part for part in step.parts if isinstance(part, ToolCall) and part.id not in answered]
        if not calls:
            return Answer(steps=tuple(steps))
        steps += [_answered(call, trial.case) for call in calls]
    raise AgentFailed("limit", f"no answer within {rounds} rounds of tool calls", Answer(steps=tuple(steps)))


def offered(case: Case) -> Iterator[dict[str, Any]]:
    """The tools of a case, each with its name and as much of its arguments' schema as the case tells."""
    names = dict.fromkeys([*(case.available_tools or ()), *(call.name for call in case.expected_calls or ())])
    for name in names:
        arguments = next((call.arguments for call in case.expected_calls or () if call.name == name), None)
        known: dict[str, Any] = {key: {} for key in arguments} if isinstance(arguments, dict) else {}
        yield {"name": name, "parameters": {"type": "object", "properties": known, "additionalProperties": True}}


def _answered(call: ToolCall, case: Case) -> Step:
    found = next((each for each in case.expected_calls or () if each.name == call.name and each.outcome), None)
    if found is not None:
        result = ToolResult(call_id=call.id, name=call.name, output=found.outcome)
    else:
        why = "this tool is a stub, and the case states no outcome for it"
        result = ToolResult(call_id=call.id, name=call.name, output=why, error=why, failure="error")
    return Step(role="tool", parts=(result,), at=time.time())
