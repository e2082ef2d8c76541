"""Presets give the numbers of the real libraries, on hundreds of generated lists of calls."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from any_calls import pairs
from pantrace.matching.arguments import ArgumentRule
from pantrace.matching.call import Call, Rules
from pantrace.matching.presets import PRESETS, Message, Options, Side

PAIRS = pairs()
DEFAULT = Options()


def ours(name: str, predicted: Sequence[Call], reference: Sequence[Call], options: Options = DEFAULT) -> Any:
    return PRESETS[name].score(Side(calls=tuple(predicted)), Side(calls=tuple(reference)), options)


def test_the_generated_lists_reach_every_verdict() -> None:
    """Otherwise agreement would say little."""
    found = {ours("adk-exact", *pair) for pair in PAIRS}, {ours("adk-any-order", *pair) for pair in PAIRS}
    assert found == ({0.0, 1.0}, {0.0, 1.0})
    assert len({ours("deepeval-tool-correctness", *pair, Options(ignore_arguments=False)) for pair in PAIRS}) > 20


@pytest.mark.parametrize("ignore", [False, True])
@pytest.mark.parametrize("mode", ["exact", "in_order", "any_order"])
def test_adk(mode: str, ignore: bool) -> None:
    from google.adk.evaluation.eval_case import IntermediateData, Invocation
    from google.adk.evaluation.eval_metrics import EvalMetric, ToolTrajectoryCriterion
    from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator
    from google.genai import types

    criterion = ToolTrajectoryCriterion(
        threshold=0.5, match_type=ToolTrajectoryCriterion.MatchType[mode.upper()], ignore_args=ignore
    )
    evaluator = TrajectoryEvaluator(
        eval_metric=EvalMetric(metric_name="tool_trajectory_avg_score", criterion=criterion)
    )

    def invocation(calls: Sequence[Call]) -> Invocation:
        uses = [types.FunctionCall(name=call.name, args=call.arguments) for call in calls]
        user = types.Content(role="user", parts=[types.Part(text="go")])
        return Invocation(user_content=user, intermediate_data=IntermediateData(tool_uses=uses))

    # Three invocations at a time: ADK's score is their mean.
    for first in range(len(PAIRS) - 2):
        three = PAIRS[first : first + 3]
        theirs = evaluator.evaluate_invocations(
            [invocation(predicted) for predicted, _ in three], [invocation(reference) for _, reference in three]
        )
        predicted = Side(calls=(), invocations=tuple(tuple(one) for one, _ in three))
        reference = Side(calls=(), invocations=tuple(tuple(one) for _, one in three))
        score = PRESETS[f"adk-{mode.replace('_', '-')}"].score(predicted, reference, Options(ignore_arguments=ignore))
        assert score == pytest.approx(theirs.overall_score, abs=1e-12)


RULES = {
    "exact": Rules(),
    "ignore": Rules(ArgumentRule(mode="ignore")),
    "subset": Rules(ArgumentRule(mode="subset")),
    "superset": Rules(ArgumentRule(mode="superset")),
    "keys": Rules(
        tools={"search": ArgumentRule(mode="keys", keys=("a.deep", "b")), "read": ArgumentRule(mode="ignore")}
    ),
}
OVERRIDES = {"search": ["a.deep", "b"], "read": "ignore"}


@pytest.mark.parametrize("mode", sorted(RULES))
@pytest.mark.parametrize("kind", ["strict", "unordered", "subset", "superset"])
def test_agentevals(kind: Any, mode: Any) -> None:
    from agentevals.trajectory.match import create_trajectory_match_evaluator

    evaluator = create_trajectory_match_evaluator(
        trajectory_match_mode=kind,
        tool_args_match_mode="exact" if mode == "keys" else mode,
        tool_args_match_overrides=OVERRIDES if mode == "keys" else None,  # type: ignore[arg-type]
    )

    def messages(calls: Sequence[Call]) -> list[dict[str, Any]]:
        """Two calls per message: strict looks at messages."""
        groups = [calls[start : start + 2] for start in range(0, len(calls), 2)]
        said: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
        for group in groups:
            functions = [{"name": call.name, "arguments": json.dumps(call.arguments)} for call in group]
            asked = [{"type": "function", "id": "1", "function": function} for function in functions]
            said.append({"role": "assistant", "content": "", "tool_calls": asked})
        return [*said, {"role": "assistant", "content": "done"}]

    def side(calls: Sequence[Call]) -> Side:
        groups = [tuple(calls[start : start + 2]) for start in range(0, len(calls), 2)]
        asked = (Message("assistant", group) for group in groups)
        return Side(calls=tuple(calls), messages=(Message("user"), *asked, Message("assistant")))

    for predicted, reference in PAIRS:
        theirs = evaluator(outputs=messages(predicted), reference_outputs=messages(reference))
        options = Options(rules=RULES[mode])
        assert PRESETS[f"agentevals-{kind}"].score(side(predicted), side(reference), options) == theirs["score"]


@pytest.mark.parametrize("strict", [True, False])
def test_ragas_tool_call_accuracy(strict: bool) -> None:
    from ragas.messages import AIMessage, ToolCall
    from ragas.metrics.collections import ToolCallAccuracy, ToolCallF1

    def score(metric: Any, predicted: Sequence[Call], reference: Sequence[Call]) -> float:
        said = [AIMessage(content="", tool_calls=[ToolCall(name=c.name, args=c.arguments) for c in predicted])]
        wanted = [ToolCall(name=call.name, args=call.arguments) for call in reference]
        return float(asyncio.run(metric.ascore(user_input=said, reference_tool_calls=wanted)).value)

    name = "ragas-tool-call-accuracy" if strict else "ragas-tool-call-accuracy-any-order"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for predicted, reference in PAIRS:
            theirs = score(ToolCallAccuracy(strict_order=strict), predicted, reference)
            assert ours(name, predicted, reference) == pytest.approx(theirs, abs=1e-12)
            assert ours("ragas-tool-call-f1", predicted, reference) == score(ToolCallF1(), predicted, reference)


@pytest.mark.parametrize("ignore", [False, True])
@pytest.mark.parametrize("kind", ["", "-ordered", "-exact"])
def test_deepeval_tool_correctness(kind: str, ignore: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    monkeypatch.setenv("OPENAI_API_KEY", "never used: no available tools, so no model is asked")
    from deepeval.metrics import ToolCorrectnessMetric
    from deepeval.test_case import LLMTestCase, ToolCall, ToolCallParams

    metric = ToolCorrectnessMetric(
        evaluation_params=[] if ignore else [ToolCallParams.INPUT_PARAMETERS],
        should_exact_match=kind == "-exact",
        should_consider_ordering=kind == "-ordered",
        async_mode=False,
    )

    def tools(calls: Sequence[Call]) -> list[ToolCall]:
        return [ToolCall(name=call.name, input_parameters=call.arguments) for call in calls]

    for predicted, reference in PAIRS:
        case = LLMTestCase(
            input="go", actual_output="done", tools_called=tools(predicted), expected_tools=tools(reference)
        )
        theirs = metric.measure(case, _show_indicator=False)
        score = ours(f"deepeval-tool-correctness{kind}", predicted, reference, Options(ignore_arguments=ignore))
        assert score == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("order", ["exact", "in_order", "any_order"])
def test_pydantic_evals_trajectory_match(order: Any) -> None:
    from pydantic_evals.evaluators import EvaluatorContext, TrajectoryMatch
    from pydantic_evals.otel.span_tree import SpanNode, SpanTree

    start = datetime(2026, 1, 1, tzinfo=UTC)

    def context(calls: Sequence[Call]) -> EvaluatorContext[Any, Any, Any]:
        tree = SpanTree()
        tree.add_spans(
            [
                SpanNode(
                    name=f"execute_tool {call.name}",
                    trace_id=1,
                    span_id=number + 1,
                    parent_span_id=None,
                    start_timestamp=start + timedelta(seconds=number),
                    end_timestamp=start + timedelta(seconds=number, milliseconds=1),
                    attributes={"gen_ai.tool.name": call.name},
                )
                for number, call in enumerate(calls)
            ]
        )
        return EvaluatorContext(
            name=None,
            inputs=None,
            metadata=None,
            expected_output=None,
            output=None,
            duration=0.0,
            _span_tree=tree,
            attributes={},
            metrics={},
        )

    for predicted, reference in PAIRS:
        evaluator = TrajectoryMatch(expected_trajectory=[call.name for call in reference], order=order)
        theirs = evaluator.evaluate(context(predicted)).value
        score = ours(f"pydantic-evals-trajectory-match-{order.replace('_', '-')}", predicted, reference)
        assert score == pytest.approx(theirs, abs=1e-12)
