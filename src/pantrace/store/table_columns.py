"""Columns of the tables, each built in one go from the waiting items. Rows are never built: they were the largest cost
of `eval`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from pantrace.model import Action, Score, Step, Thinking, ToolCall, Usage, final_response, step_text, turns, usage_total
from pantrace.wire.inspect_grades import GRADES

from .json_text import column_json, column_jsons, exact_jsons, number_text
from .rows import Address, CallItem, DecisionItem, SampleItem, ScoreItem, StepItem

Columns = dict[str, Sequence[Any]]
"""Values by column name; all of the same length."""


def _fields(records: Iterable[Any], **fields: str) -> Columns:
    """A column for each named field of the records; null if there is no record."""
    found: Columns = {}
    records = list(records)
    for column, name in fields.items():
        field = attrgetter(name)
        found[column] = [None if each is None else field(each) for each in records]
    return found


def _addressed(addresses: Sequence[Address]) -> Columns:
    part, number, sample, epoch = zip(*addresses, strict=True)
    return {"part": part, "number": number, "sample": sample, "epoch": epoch}


def _tokens(usages: Iterable[Usage | None]) -> Columns:
    return _fields(
        usages,
        input_tokens="input",
        output_tokens="output",
        cache_read_tokens="cache_read",
        cache_write_tokens="cache_write",
        reasoning_tokens="reasoning",
        total_tokens="total",
        cost_usd="cost_usd",
    )


def sample_columns(items: Sequence[SampleItem]) -> Columns:
    """The columns of `samples`."""
    addresses, samples, trajectories, steps, calls, absent, json = zip(*items, strict=True)
    cases = [each.case for each in samples]
    own = [each.trajectory for each in samples]
    return {
        **_addressed(addresses),
        **_fields(cases, case_id="id", scenario="scenario", question="question", goal="goal", reference="reference"),
        **_fields(cases, profile="profile", contract="contract"),
        # "[]" and not null for none: null means that the part is of an earlier version.
        "required_evals": [
            column_json(each.required_evals) if each is not None and each.required_evals else "[]" for each in cases
        ],
        "labels": column_jsons([None if each is None else each.labels for each in cases]),
        "agent": [
            (case.agent if case is not None else None) or (each.agents[0].name if each and each.agents else None)
            for case, each in zip(cases, own, strict=True)
        ],
        **_fields(own, title="title", created="created", ended="ended"),
        "response": [None if each is None else final_response(each) for each in own],
        **_fields(
            (None if each is None else each.source for each in own),
            format="format",
            producer="producer",
            source="path",
            place="place",
        ),
        **_fields(
            (None if each is None else each.outcome for each in own), status="status", reason="reason", reward="reward"
        ),
        **_tokens(None if each is None else usage_total(each) for each in own),
        "models": column_jsons([list(_models(each)) for each in trajectories]),
        "trajectories": [*map(len, trajectories)],
        "turns": [0 if each is None else sum(turn.number > 0 for turn in turns(each)) for each in own],
        "steps": steps,
        "calls": calls,
        "not_applicable": absent,
        "json": json,
    }


def _models(trajectories: Iterable[Any]) -> dict[str, None]:
    return dict.fromkeys(step.model for each in trajectories for step in each.steps if step.model is not None)


def step_columns(items: Sequence[StepItem]) -> Columns:
    """The columns of `steps`."""
    addresses, places, trajectories, indices, turn_numbers, steps = zip(*items, strict=True)
    return {
        **_addressed(addresses),
        "trajectory": places,
        "trajectory_id": [each.id for each in trajectories],
        "step": indices,
        "turn": turn_numbers,
        **_fields(steps, id="id", parent="parent", role="role", kind="kind", agent="agent", invocation="invocation"),
        **_fields(steps, started="at", ended="ended", model="model", stop="stop"),
        "text": [*map(step_text, steps)],
        "thinking": [*map(_thinking, steps)],
        "actions": column_jsons([[part for part in step.parts if isinstance(part, Action)] for step in steps]),
        "calls": [sum(type(part) is ToolCall for part in each.parts) for each in steps],
        **_tokens(each.usage for each in steps),
        **_fields((each.error for each in steps), error_kind="kind", error="message"),
    }


def _thinking(step: Step) -> str | None:
    thoughts = [part.text or part.summary for part in step.parts if isinstance(part, Thinking)]
    return "\n\n".join(thought for thought in thoughts if thought) or None


def call_columns(items: Sequence[CallItem]) -> Columns:
    """The columns of `calls`."""
    addresses, places, indices, numbers, pairs = zip(*items, strict=True)
    results = [each.result for each in pairs]
    return {
        **_addressed(addresses),
        "trajectory": places,
        "step": indices,
        "call": numbers,
        **_fields((each.step for each in pairs), kind="kind", agent="agent"),
        **_fields((each.call for each in pairs), id="id", name="name"),
        "arguments": [None if each.call.arguments is None else column_json(each.call.arguments) for each in pairs],
        "answered": [each is not None for each in results],
        "output": [None if each is None else _output(each.output) for each in results],
        **_fields(results, error="error", failure="failure", exit_code="exit_code", truncated="truncated"),
        **_fields(results, started="started", ended="ended"),
    }


def _output(output: Any) -> str | None:
    return output if output is None or isinstance(output, str) else column_json(output)


def score_columns(items: Sequence[ScoreItem]) -> Columns:
    """The columns of `scores`."""
    addresses, origins, scores = zip(*items, strict=True)
    values, kinds, texts = zip(*map(_value, scores), strict=True)
    return {
        **_addressed(addresses),
        "origin": origins,
        "value": values,
        "value_type": kinds,
        "text": texts,
        **_fields(scores, name="name", status="status", passed="passed", threshold="threshold"),
        **_fields(scores, explanation="explanation"),
        **_fields((each.scale for each in scores), scale_low="low", scale_high="high", better="better"),
        "evidence": column_jsons([each.evidence for each in scores]),
        "numbers": column_jsons([each.values for each in scores]),
        "details": column_jsons([each.details for each in scores]),
        **_fields(
            (each.maker for each in scores),
            maker="name",
            maker_kind="kind",
            maker_version="version",
            maker_model="model",
        ),
        "json": exact_jsons(scores),
    }


_EXACT = 1 << 53
"""Integers up to this one are exact as a double."""


def _value(score: Score) -> tuple[float | None, str | None, str | None]:
    """Number, type and text of a score's value."""
    value = score.value
    if value is None:
        return None, None, None
    if isinstance(value, bool):
        return float(value), "boolean", None
    if isinstance(value, str):
        # A judge of ours may use the same letters with another meaning.
        stored = score.maker is None or score.maker.kind == "stored"
        return GRADES.get(value) if stored else None, "text", value
    if isinstance(value, int):
        return (float(value), "number", None) if abs(value) <= _EXACT else (None, "number", str(value))
    finite = value - value == 0
    return (value, "number", None) if finite else (None, "number", number_text(value))


def decision_columns(items: Sequence[DecisionItem]) -> Columns:
    """The columns of `decisions`."""
    addresses, decisions, json = zip(*items, strict=True)
    return {
        **_addressed(addresses),
        **_fields(decisions, profile="profile", passed="passed", composite="composite"),
        "reasons": [column_json(each.reasons) for each in decisions],
        "deciding": [column_json(each.deciding) for each in decisions],
        "json": json,
    }


COLUMNS: dict[str, Callable[[Any], Columns]] = {
    "samples": sample_columns,
    "steps": step_columns,
    "calls": call_columns,
    "scores": score_columns,
    "decisions": decision_columns,
}
"""The function that turns the items of each table into its columns."""
