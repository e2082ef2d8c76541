"""Rows: what the tables say about one sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain
from typing import Any

import msgspec

from pantrace.model import (
    Action,
    Decision,
    Record,
    Sample,
    Score,
    Step,
    Thinking,
    ToolCall,
    Trajectory,
    Usage,
    all_trajectories,
    call_pairs,
    final_response,
    said,
    turns,
    usage_total,
)
from pantrace.wire.grades import GRADES

from .json_text import column_json, exact_json, number_text
from .schema import Addressed, CallRow, DecisionRow, SampleRow, ScoreRow, StepRow


class Result(Record, frozen=True, kw_only=True):
    """What a run made of one sample."""

    sample: Sample
    """As it was read, with the scores that came with it."""
    scores: tuple[Score, ...] = ()
    """Those that the run made."""
    decisions: tuple[Decision, ...] = ()


class Kept(Record, frozen=True, kw_only=True):
    """The rows of a result that a part holds already: copied as they are, they stay the same to the letter."""

    rows: dict[str, list[Addressed]]

    @property
    def hash(self) -> str:
        """Of its sample."""
        (row,) = self.rows["samples"]
        assert isinstance(row, SampleRow)
        return json_hash(row.json)


def json_hash(json: str) -> str:
    """The hash of one sample, by the text that is kept of it."""
    return sha256(json.encode() + b"\n").hexdigest()


def samples_hash(samples: Iterable[Sample]) -> str:
    """Of samples as they are kept."""
    digest = sha256()
    for sample in samples:
        digest.update(exact_json(sample) + b"\n")
    return digest.hexdigest()


Address = dict[str, Any]
"""The first columns of every row: part, number, sample, epoch."""


def address_of(part: str, number: int, sample: Sample) -> Address:
    """Which sample a row belongs to."""
    return {"part": part, "number": number, "sample": sample.id, "epoch": sample.epoch}


def rows_of(part: str, number: int, result: Result | Kept) -> dict[str, list[Addressed]]:
    """The rows of one result by table."""
    if isinstance(result, Kept):
        return {
            table: [msgspec.structs.replace(row, part=part, number=number) for row in rows]
            for table, rows in result.rows.items()
        }
    sample = result.sample
    address = address_of(part, number, sample)
    trajectories = list(all_trajectories(sample.trajectory)) if sample.trajectory is not None else []
    steps = list(_step_rows(address, trajectories))
    calls = list(_call_rows(address, trajectories))
    return {
        "samples": [_sample_row(address, sample, trajectories, len(steps), len(calls))],
        "steps": [*steps],
        "calls": [*calls],
        "scores": [*_score_rows(address, sample.scores, result.scores)],
        "decisions": [decision_row(address, decision) for decision in result.decisions],
    }


def _sample_row(address: Address, sample: Sample, trajectories: list[Trajectory], steps: int, calls: int) -> SampleRow:
    case, trajectory = sample.case, sample.trajectory
    agents = trajectory.agents if trajectory is not None else ()
    models = dict.fromkeys(step.model for each in trajectories for step in each.steps if step.model is not None)
    of_case: dict[str, Any] = {}
    if case is not None:
        of_case = {
            "case_id": case.id,
            "scenario": case.scenario,
            "question": case.question,
            "goal": case.goal,
            "reference": case.reference,
            "labels": column_json(case.labels) if case.labels else None,
            "profile": case.profile,
            "contract": case.contract,
        }
    of_trajectory: dict[str, Any] = {}
    if trajectory is not None:
        of_trajectory = {
            "title": trajectory.title,
            "created": trajectory.created,
            "ended": trajectory.ended,
            "response": final_response(trajectory),
        }
        if (source := trajectory.source) is not None:
            of_trajectory |= {"format": source.format, "producer": source.producer}
            of_trajectory |= {"source": source.path, "place": source.place}
        if (outcome := trajectory.outcome) is not None:
            of_trajectory |= {"status": outcome.status, "reason": outcome.reason, "reward": outcome.reward}
    return SampleRow(
        **address,
        **of_case,
        **of_trajectory,
        **_tokens(usage_total(trajectory, children=True) if trajectory is not None else None),
        agent=(case.agent if case is not None else None) or (agents[0].name if agents else None),
        models=column_json(list(models)) if models else None,
        trajectories=len(trajectories),
        turns=sum(turn.number > 0 for turn in turns(trajectory)) if trajectory is not None else 0,
        steps=steps,
        calls=calls,
        json=exact_json(sample).decode(),
    )


def _tokens(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "reasoning_tokens": usage.reasoning,
        "total_tokens": usage.total,
        "cost_usd": usage.cost_usd,
    }


def _step_rows(address: Address, trajectories: list[Trajectory]) -> Iterator[StepRow]:
    for place, trajectory in enumerate(trajectories):
        numbered = ((turn.number, step) for turn in turns(trajectory) for step in turn.steps)
        for index, (turn, step) in enumerate(numbered):
            yield StepRow(
                **address,
                **_tokens(step.usage),
                trajectory=place,
                trajectory_id=trajectory.id,
                step=index,
                id=step.id,
                parent=step.parent,
                role=step.role,
                kind=step.kind,
                agent=step.agent,
                turn=turn if step.turn is None else step.turn,
                invocation=step.invocation,
                started=step.at,
                ended=step.ended,
                model=step.model,
                text=said(step),
                thinking=_thinking(step),
                actions=_actions(step),
                calls=sum(isinstance(part, ToolCall) for part in step.parts),
                stop=step.stop,
                error_kind=step.error.kind if step.error is not None else None,
                error=step.error.message if step.error is not None else None,
            )


def _thinking(step: Step) -> str | None:
    thoughts = [part.text or part.summary for part in step.parts if isinstance(part, Thinking)]
    return "\n\n".join(thought for thought in thoughts if thought) or None


def _actions(step: Step) -> str | None:
    actions = [part for part in step.parts if isinstance(part, Action)]
    return column_json(actions) if actions else None


def _call_rows(address: Address, trajectories: list[Trajectory]) -> Iterator[CallRow]:
    for place, trajectory in enumerate(trajectories):
        indices = {id(step): index for index, step in enumerate(trajectory.steps)}
        for number, pair in enumerate(call_pairs(trajectory, agent_only=False)):
            call, result = pair.call, pair.result
            of_result: dict[str, Any] = {}
            if result is not None:
                of_result = {
                    "output": _output(result.output),
                    "error": result.error,
                    "failure": result.failure,
                    "exit_code": result.exit_code,
                    "truncated": result.truncated,
                    "started": result.started,
                    "ended": result.ended,
                }
            yield CallRow(
                **address,
                **of_result,
                trajectory=place,
                step=indices[id(pair.step)],
                call=number,
                id=call.id,
                kind=pair.step.kind,
                agent=pair.step.agent,
                name=call.name,
                arguments=None if call.arguments is None else column_json(call.arguments),
                answered=result is not None,
            )


def _output(output: Any) -> str | None:
    return output if output is None or isinstance(output, str) else column_json(output)


def _score_rows(address: Address, stored: Iterable[Score], ours: Iterable[Score]) -> Iterator[ScoreRow]:
    """Each score once: one of ours that says exactly what came with the sample is not said again."""
    seen: set[bytes] = set()
    with_origin = chain((("source", score) for score in stored), (("run", score) for score in ours))
    for origin, score in with_origin:
        json = exact_json(score)
        if origin == "run" and json in seen:
            continue
        seen.add(json)
        yield _score_row(address, origin, score, json.decode())


def _score_row(address: Address, origin: str, score: Score, json: str) -> ScoreRow:
    scale, maker = score.scale, score.maker
    number, kind, text = _value(score.value)
    if kind == "text" and (maker is None or maker.kind == "stored"):
        number = GRADES.get(text or "")
    return ScoreRow(
        **address,
        origin=origin,
        name=score.name,
        value=number,
        value_type=kind,
        text=text,
        status=score.status,
        passed=score.passed,
        threshold=score.threshold,
        scale_low=scale.low if scale is not None else None,
        scale_high=scale.high if scale is not None else None,
        better=scale.better if scale is not None else None,
        explanation=score.explanation,
        evidence=column_json(score.evidence) if score.evidence else None,
        numbers=column_json(score.values) if score.values else None,
        details=column_json(score.details) if score.details else None,
        maker=maker.name if maker is not None else None,
        maker_kind=maker.kind if maker is not None else None,
        maker_version=maker.version if maker is not None else None,
        maker_model=maker.model if maker is not None else None,
        json=json,
    )


_EXACT = 1 << 53
"""Integers up to here are exact as a double."""


def _value(value: float | bool | str | None) -> tuple[float | None, str | None, str | None]:
    """Number, type and text of a score's value."""
    if value is None:
        return None, None, None
    if isinstance(value, bool):
        return float(value), "boolean", None
    if isinstance(value, str):
        return None, "text", value
    if isinstance(value, int):
        return (float(value), "number", None) if abs(value) <= _EXACT else (None, "number", str(value))
    finite = value - value == 0
    return (value, "number", None) if finite else (None, "number", number_text(value))


def decision_row(address: Address, decision: Decision) -> DecisionRow:
    """A decision on the sample at that address."""
    return DecisionRow(
        **address,
        profile=decision.profile,
        passed=decision.passed,
        composite=decision.composite,
        reasons=column_json(decision.reasons),
        deciding=column_json(decision.deciding),
        json=exact_json(decision).decode(),
    )
