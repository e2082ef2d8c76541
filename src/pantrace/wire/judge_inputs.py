"""What a judge gets to know about a sample of any format: question, context, answer, goal, tools and calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pantrace.model import (
    CallPair,
    Case,
    Sample,
    Text,
    ToolResult,
    Trajectory,
    call_pairs,
    final_response,
    is_prompt,
    merged_turns,
)


class JudgeInputs(msgspec.Struct, frozen=True, kw_only=True):
    """Inputs for judges; None for what the sample does not have."""

    question: str | None = None
    context: str | None = None
    relevant_context: str | None = None
    answer: str | None = None
    goal: str | None = None
    available_tools: list[str] | None = None
    calls: list[dict[str, Any]] = []


def judge_inputs_of(sample: Sample, call: Callable[[CallPair], dict[str, Any]] | None = None) -> JudgeInputs:
    """A sample's inputs for judges. The question is the case's, otherwise the last prompt; earlier turns are the
    context unless the case has one. `call` formats a tool call (default: `plain_call`)."""
    case, trajectory = sample.case or Case(), sample.trajectory
    question, context = case.question, case.context
    if trajectory is not None and (question is None or context is None):
        said = [turn for turn in merged_turns(trajectory) if turn.text]
        if question is None:
            question = next((turn.text for turn in reversed(said) if turn.role == "user"), None)
        if context is None:
            # The last answer is what is judged, so it is not part of the context.
            before = said[:-1] if said and said[-1].role == "agent" else said
            context = "\n\n".join(f"{turn.role}: {turn.text}" for turn in before if turn.text != question) or None
    return JudgeInputs(
        question=question,
        context=context,
        relevant_context=case.relevant_context,
        answer=answer_of(trajectory) if trajectory is not None else None,
        goal=case.goal,
        available_tools=_available_tools(case, trajectory),
        calls=[(call or plain_call)(pair) for pair in call_pairs(trajectory)] if trajectory is not None else [],
    )


STATED = {
    "input": "answer",
    "question": "question",
    "context": "context",
    "relevantcontext": "relevant_context",
    "goal": "goal",
    "availabletools": "available_tools",
    "invokedtools": "invoked_tools",
    "rag_mode": "rag_mode",
}
"""Keys of a payload in lower case -> the judges' names."""


def stated_inputs(case: Case | None, name: str) -> dict[str, Any]:
    """The inputs that a case itself gives for one judge, by the judges' names. None means null; an absent key was not
    given."""
    payload = stated_payload(case, name)
    return {STATED[key.lower()]: value for key, value in payload.items() if key.lower() in STATED}


def stated_payload(case: Case | None, name: str) -> dict[str, Any]:
    """The same under the dataset's own keys, whose case does not matter."""
    note = case.extra.get("explain") if case is not None else None
    payloads = note.get("explain_inputs") if isinstance(note, dict) else None
    for key, payload in payloads.items() if isinstance(payloads, dict) else ():
        if key.lower() == name.lower() and isinstance(payload, dict):
            return payload
    return {}


def answer_of(trajectory: Trajectory) -> str | None:
    """The final response; "" if the agent's last message is empty, None if there is none."""
    answer = final_response(trajectory)
    if answer is None and trajectory.steps:
        last = trajectory.steps[-1]
        # An empty message is an answer, if a bad one; no message at all is none.
        empty = last.role == "agent" and last.kind == "message" and any(isinstance(part, Text) for part in last.parts)
        return "" if empty else None
    return answer


def plain_call(pair: CallPair) -> dict[str, Any]:
    """A tool call as an object; without a result it has no `outcome`."""
    row = {"tool": pair.call.name, "arguments": pair.call.arguments}
    return row if pair.result is None else {**row, "outcome": outcome_of(pair.result)}


def outcome_of(result: ToolResult) -> Any:
    """The recorded output, together with the error if there was one."""
    if result.error is None:
        return result.output
    return {"error": result.error} if result.output is None else {"output": result.output, "error": result.error}


def agent_of(sample: Sample) -> str | None:
    """The agent under test: the case's, otherwise the first one that took part."""
    if sample.case is not None and sample.case.agent is not None:
        return sample.case.agent
    if sample.trajectory is None:
        return None
    if sample.trajectory.agents:
        return sample.trajectory.agents[0].name
    return next((step.agent for step in sample.trajectory.steps if step.agent and not is_prompt(step)), None)


def _available_tools(case: Case, trajectory: Trajectory | None) -> list[str] | None:
    if case.available_tools is not None:
        return list(case.available_tools)
    declared = [agent.tools for agent in trajectory.agents if agent.tools is not None] if trajectory else []
    if not declared:
        return None
    return list(dict.fromkeys(tool.name for tools in declared for tool in tools))
