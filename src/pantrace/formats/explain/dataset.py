"""Cases: rows of a dataset, full or comparative, read as samples and written."""

from __future__ import annotations

from typing import Any

from pantrace.errors import ReadError
from pantrace.model import (
    Agent,
    Case,
    ExpectedCall,
    Part,
    Sample,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    active_steps,
    call_pairs,
    final_response,
    is_agents,
)
from pantrace.wire.extra_keys import as_extra, rest_in
from pantrace.wire.judge_inputs import JudgeInputs, agent_of, judge_inputs_of
from pantrace.wire.pantrace_key import CARRIER

from .bundle import call_entry, inputs_of
from .keys import (
    NAME,
    is_anything,
    is_object,
    is_objects,
    is_text,
    is_texts,
    restore,
    split_known,
    vocabulary,
)

UNKNOWN = "unknown"
"""The agent's name if none is known: the original program cannot read a case without one."""
BEFORE = "calls_before_answer"
"""How many calls came before the answer, if more followed: a case holds calls and answer separately."""
LABELS = ("phase", "difficulty", "quality_band", "topic_family", "learner_level", "workflow_mode")

CALL = vocabulary({"tool": is_text, "arguments": is_anything, "reason": is_text, "outcome": is_text})
MADE = vocabulary({"tool": is_text, "arguments": is_anything, "outcome": is_anything})


def is_calls(value: Any) -> bool:
    return is_objects(value) and all("tool" in split_known(item, CALL)[0] for item in value)


CASE = vocabulary(
    {
        "case_id": is_text,
        "scenario_id": is_text,
        "agent_name": is_text,
        **dict.fromkeys(LABELS, is_text),
        "question": is_text,
        "context": is_text,
        "model_answer": is_text,
        "reference_answer": is_text,
        "task_goal": is_text,
        "relevant_context": is_text,
        "available_tools": is_texts,
        "expected_tool_calls": is_calls,
        "invoked_tool_calls": is_calls,
        "explain_inputs": is_object,
        "required_evals": is_texts,
        "threshold_profile": is_text,
        "expected_contract": is_text,
        "labels": is_object,
        CARRIER: lambda value: is_object(value) and isinstance(value.get(BEFORE), int),
    }
)


def load(row: dict[str, Any]) -> Sample:
    """A case as a sample; without an answer and calls it has not been run."""
    values, note = split_known(row, CASE)
    if "case_id" not in values:
        raise ReadError("a case needs a case_id that is text", remedy="is this an explain dataset?")
    # Our own writer puts it there, because the original program needs a name.
    if values.get("agent_name") == UNKNOWN:
        del values["agent_name"]
    labels = {name: values[name] for name in LABELS if name in values}
    scenario = {}
    for name, value in values.get("labels", {}).items():
        if isinstance(value, str):
            labels.setdefault(name, value)
        else:
            # Labels of a case are texts; the numbers of a scenario are kept beside them.
            scenario[name] = value
    if scenario:
        note["scenario"] = scenario
    if "explain_inputs" in values and (kept := _deviations(values)):
        note["explain_inputs"] = kept
    required, tools = values.get("required_evals"), values.get("available_tools")
    expected = values.get("expected_tool_calls")
    case = Case(
        id=values["case_id"],
        scenario=values.get("scenario_id"),
        agent=values.get("agent_name"),
        question=values.get("question"),
        context=values.get("context"),
        relevant_context=values.get("relevant_context"),
        reference=values.get("reference_answer"),
        goal=values.get("task_goal"),
        expected_calls=None if expected is None else tuple(_expected_call(call) for call in expected),
        available_tools=None if tools is None else tuple(tools),
        required_evals=None if required is None else tuple(required),
        profile=values.get("threshold_profile"),
        contract=values.get("expected_contract"),
        labels=labels,
        extra=as_extra(NAME, note),
    )
    return Sample(id=values["case_id"], case=case, trajectory=_trajectory(values))


def _deviations(values: dict[str, Any]) -> dict[str, Any]:
    """Payloads of a stored bundle that do not follow from the case; null for one that is missing."""
    stored, derived = values["explain_inputs"], inputs_in(values)
    # In real datasets the bundle only repeats the case: 1.4 MB for 30 cases.
    kept = {name: payload for name, payload in stored.items() if payload != derived.get(name)}
    return {**kept, **{name: None for name in derived if name not in stored}}


def inputs_in(values: dict[str, Any]) -> dict[str, Any]:
    """The payloads that follow from a case's other values."""
    return inputs_of(
        JudgeInputs(
            question=values.get("question"),
            context=values.get("context"),
            relevant_context=values.get("relevant_context"),
            answer=values.get("model_answer"),
            goal=values.get("task_goal"),
            available_tools=values.get("available_tools"),
            calls=values.get("invoked_tool_calls", []),
        )
    )


def _expected_call(row: dict[str, Any]) -> ExpectedCall:
    values, note = split_known(row, CALL)
    return ExpectedCall(
        name=values["tool"],
        arguments=values.get("arguments"),
        reason=values.get("reason"),
        outcome=values.get("outcome"),
        extra=as_extra(NAME, note),
    )


def _trajectory(values: dict[str, Any]) -> Trajectory | None:
    answer, calls = values.get("model_answer"), values.get("invoked_tool_calls")
    if answer is None and calls is None:
        return None
    made = [_call_parts(call, f"call_{number}") for number, call in enumerate(calls or (), 1)]
    if answer is not None:
        # A case does not say when the answer was given: without our note, it comes last.
        made.insert(values.get(CARRIER, {}).get(BEFORE, len(made)), (Text(text=answer),))
    parts = [part for each in made for part in each]
    question, agent = values.get("question"), values.get("agent_name")
    steps = [Step(role="user", parts=(Text(text=question),))] if question is not None else []
    if parts:
        steps.append(Step(role="agent", agent=agent, parts=tuple(parts)))
    return Trajectory(agents=(Agent(name=agent),) if agent is not None else (), steps=tuple(steps))


def _call_parts(row: dict[str, Any], call_id: str) -> tuple[Part, ...]:
    values, note = split_known(row, MADE, always=("outcome",))
    call = ToolCall(id=call_id, name=values["tool"], arguments=values.get("arguments"), extra=as_extra(NAME, note))
    if "outcome" not in values:
        # A null outcome says that there was a result, a missing one that there was none.
        answered = any(key.lower() == "outcome" for key in row)
        return (call, ToolResult(call_id=call_id, name=call.name)) if answered else (call,)
    outcome = values["outcome"]
    # The shape in which our own writer puts an output and an error into one value.
    if isinstance(outcome, dict) and isinstance(outcome.get("error"), str) and not outcome.keys() - {"output", "error"}:
        output, error = outcome.get("output"), outcome["error"]
        return call, ToolResult(call_id=call_id, name=call.name, output=output, error=error, failure="error")
    # The generator of the published data writes a label, "relevant" or "error", in place of the result.
    failed = isinstance(outcome, str) and outcome.lower() == "error"
    return call, ToolResult(call_id=call_id, name=call.name, output=outcome, failure="error" if failed else None)


def dump(sample: Sample, *, bundle: bool, labels: bool) -> dict[str, Any]:
    """A sample of any format as a case."""
    case, given = sample.case or Case(), judge_inputs_of(sample, call_entry)
    note = rest_in(case.extra, NAME)
    answered = sample.trajectory is not None
    row: dict[str, Any] = {
        "case_id": case_id(sample),
        "scenario_id": case.scenario,
        "agent_name": agent_of(sample) or UNKNOWN,
        **{name: case.labels.get(name) for name in LABELS},
        "question": given.question,
        "context": given.context,
        "model_answer": given.answer,
        "reference_answer": _reference(sample, case),
        "task_goal": given.goal,
        "relevant_context": given.relevant_context,
        "available_tools": given.available_tools,
        "expected_tool_calls": _expected_rows(sample, case),
        # None, not []: an empty list would say that the case was run and called no tool.
        "invoked_tool_calls": given.calls if answered else None,
        "explain_inputs": _bundle(given, note) if bundle else None,
        "required_evals": None if case.required_evals is None else list(case.required_evals),
        "threshold_profile": case.profile,
        "expected_contract": case.contract,
        "labels": (further_labels(case) or None) if labels else None,
        CARRIER: _order(sample.trajectory) if given.answer is not None else None,
    }
    return restore(row, note)


def _order(trajectory: Trajectory | None) -> dict[str, int] | None:
    """Where the answer comes among the calls; None if it is last, which readers assume."""
    calls = before = 0
    if trajectory is None or trajectory.response is not None:
        return None
    for step in active_steps(trajectory):
        for part in step.parts if is_agents(step) else ():
            calls += isinstance(part, ToolCall)
            if isinstance(part, Text):
                before = calls
    return {BEFORE: before} if before < calls else None


def case_id(sample: Sample) -> str:
    """The sample's id; a later repetition gets a number, because ids are unique in a file."""
    return f"{sample.id}#{sample.epoch}" if sample.epoch is not None and sample.epoch > 1 else sample.id


def further_labels(case: Case) -> dict[str, Any]:
    """Labels without a key of their own: from the scenario catalogue, and from other formats."""
    words = {name: value for name, value in case.labels.items() if name not in LABELS}
    return {**words, **rest_in(case.extra, NAME).get("scenario", {})}


def _bundle(given: JudgeInputs, note: dict[str, Any]) -> dict[str, Any] | None:
    kept = note.get("explain_inputs", {})
    if given.answer is None and not kept:
        return None
    merged: dict[str, Any] = {**inputs_of(given), **kept}
    return {name: payload for name, payload in merged.items() if payload is not None}


def _reference(sample: Sample, case: Case) -> str | None:
    if case.reference is None and sample.expected is not None:
        return final_response(sample.expected)
    return case.reference


def _expected_rows(sample: Sample, case: Case) -> list[dict[str, Any]] | None:
    if case.expected_calls is None:
        return [call_entry(pair) for pair in call_pairs(sample.expected)] if sample.expected is not None else None
    return [
        restore(
            {"tool": call.name, "arguments": call.arguments, "reason": call.reason, "outcome": call.outcome},
            rest_in(call.extra, NAME),
        )
        for call in case.expected_calls
    ]
