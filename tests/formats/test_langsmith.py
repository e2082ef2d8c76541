"""LangSmith: requests that repeat the conversation, runs of tools, agents inside tools, feedback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.read import read
from pantrace.errors import ReadError
from pantrace.model import Sample, Trajectory, call_pairs, final_response, turns, usage_total

FOLDER = ROOT / "langsmith"
ANSWER = "The note says 41 + 1 = 42. The second file, missing.txt, does not exist, so I stopped there."


def golden(name: str) -> list[Sample]:
    return list(read(FOLDER / name).samples)


def told(sample: Sample) -> Trajectory:
    assert sample.trajectory is not None
    return sample.trajectory


def read_rows(folder: Path, *rows: Any) -> list[Sample]:
    path = folder / "runs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return list(read(path, format="langsmith").samples)


def run(number: int, kind: str = "llm", parent: int | None = 0, **changes: Any) -> dict[str, Any]:
    above = {} if parent is None else {"parent_run_id": str(parent)}
    return {"id": str(number), "trace_id": "0", "dotted_order": f"{number}", "run_type": kind, **above, **changes}


@pytest.mark.parametrize("name", ["openai.jsonl", "langgraph.jsonl", "anthropic.jsonl"])
def test_each_message_is_told_once_in_the_words_of_every_provider(name: str) -> None:
    (sample,) = golden(name)
    trajectory = told(sample)
    assert [step.role for step in trajectory.steps if step.role != "tool"] == ["system", "user", *["agent"] * 3]
    assert len(turns(trajectory)) == 2 and final_response(trajectory) == ANSWER
    pairs = call_pairs(trajectory)
    assert [pair.call.name for pair in pairs] == ["get_order", "get_order", "refund"]
    failures = [pair.result.failure for pair in pairs if pair.result is not None]
    assert failures == [None, None, "error"]
    assert all(pair.result is not None and pair.result.started is not None for pair in pairs)


@pytest.mark.parametrize(
    ("name", "counts"),
    [("openai.jsonl", (680, 108, 339)), ("langgraph.jsonl", (695, 108, 347)), ("anthropic.jsonl", (461, 108, 202))],
)
def test_tokens_are_those_of_the_model_calls(name: str, counts: tuple[int, int, int]) -> None:
    total = usage_total(told(golden(name)[0]))
    assert total is not None and (total.input, total.output, total.cache_read) == counts


def test_an_agent_inside_a_tool_is_a_child_of_its_call() -> None:
    trajectory = told(golden("responses.jsonl")[0])
    calls = [pair.call.id for pair in call_pairs(trajectory)]
    assert [child.caller for child in trajectory.children] == calls and len(calls) == 2
    assert {child.agents[0].name for child in trajectory.children} == {"researcher"}
    assert {child.agents[0].model for child in trajectory.children} == {"gpt-5-nano"}


def test_a_run_that_breaks_off_is_an_error_and_one_without_models_is_read() -> None:
    _, broken, pure = map(told, golden("responses.jsonl"))
    assert broken.outcome is not None and broken.outcome.status == "error"
    error = broken.steps[-1].error
    assert error is not None and error.kind == "APIConnectionError" and broken.steps[-1].usage is None
    assert pure.outcome is None and final_response(pure) == "Hi Bo"


def test_feedback_is_scores_and_a_judge_that_failed_gave_none() -> None:
    scores = {score.name: score for score in golden("export.json")[0].scores}
    assert scores["correctness"].value == 0.5
    assert (scores["tone"].status, scores["tone"].value) == ("unscored", None)
    assert (scores["judge"].status, scores["judge"].value) == ("failed", None)
    polite = scores["polite"]
    assert (polite.value, polite.explanation, polite.step) == ("yes", "kind", "00000000-0000-0000-0000-000000000003")
    assert polite.maker is not None and polite.maker.kind == "human"


def test_an_export_has_costs_as_texts_and_the_root_repeats_the_sum() -> None:
    trajectory = told(golden("export.json")[0])
    total = usage_total(trajectory)
    assert total is not None and (total.input, total.output) == (150, 30)
    assert total.cost_usd == pytest.approx(0.0000975)
    assert trajectory.response == "It is refunded already."


def test_zero_tokens_of_an_export_are_no_count(tmp_path: Path) -> None:
    row = run(0, parent=None, inputs={"input": "Hi"}, outputs={"output": "Hello"}, prompt_tokens=0, total_tokens=0)
    (sample,) = read_rows(tmp_path, row)
    assert told(sample).steps[-1].usage is None


def test_the_same_request_again_asks_nothing_new(tmp_path: Path) -> None:
    asked = {"messages": [{"role": "user", "content": "Hi"}]}
    rows = [run(0, "chain", None), run(1, inputs=asked, error="Timeout()"), run(2, inputs=asked)]
    (sample,) = read_rows(tmp_path, *rows)
    assert [step.role for step in told(sample).steps] == ["user", "agent", "agent"]


def test_a_tool_whose_answer_no_model_saw_stands_where_it_ran(tmp_path: Path) -> None:
    tool = run(2, "tool", inputs={"q": 1}, outputs={"output": None}, error="KeyError('x')", name="look")
    rows = [run(0, "chain", None), run(1, inputs={"input": "a"}), tool, run(3, inputs={"input": "b"})]
    (sample,) = read_rows(tmp_path, *rows)
    ((pair,), steps) = call_pairs(told(sample)), told(sample).steps
    assert pair.call.name == "look" and pair.result is not None and pair.result.failure == "error"
    assert steps.index(pair.step) == 2


def test_a_trace_without_its_root_and_nested_runs(tmp_path: Path) -> None:
    first, second = run(1, inputs={"input": "a"}), run(2, inputs={"input": "b"})
    (sample,) = read_rows(tmp_path, [first, second])
    assert sample.id == "0" and len(told(sample).steps) == 4
    (sample,) = read_rows(tmp_path, {**run(0, "chain", None), "child_runs": [first, second]})
    assert len(told(sample).steps) == 4


def test_runs_that_hang_from_nothing_or_from_each_other(tmp_path: Path) -> None:
    root, orphan = run(0, "chain", None, inputs={"q": "a"}), run(2, parent=1, inputs={"input": "b"})
    (sample,) = read_rows(tmp_path, root, orphan)
    assert [step.role for step in told(sample).steps] == ["user", "agent"]
    (sample,) = read_rows(tmp_path, run(0, parent=0, inputs={"input": "b"}))
    assert len(told(sample).steps) == 2
    (sample,) = read_rows(tmp_path, run(1, parent=2, inputs={"input": "b"}), run(2, parent=1, inputs={"input": "c"}))
    assert len(told(sample).steps) == 4


def test_a_file_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no runs of LangSmith"):
        read_rows(tmp_path, {"post": []})
