"""ATIF: the results of Harbor's trials, results that name no call, prompts counted without their cached tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.errors import ReadError
from pantrace.formats import by_name
from pantrace.model import Sample, Trajectory, Usage, call_pairs, usage_total

FORMAT = by_name("atif")
ASKED = {"step_id": 1, "source": "user", "message": "Fix the wheel."}


def _document(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    agent = {"name": "smith", "version": "1"}
    return {"schema_version": "ATIF-v1.6", "session_id": "s1", "agent": agent, "steps": [ASKED, *steps], **more}


def _acting(calls: int, results: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    made = [{"tool_call_id": f"c{n}", "function_name": "type", "arguments": {"n": n}} for n in range(calls)]
    step = {"step_id": 2, "source": "agent", "message": "", "tool_calls": made, "observation": {"results": results}}
    return step | more


def _read(row: dict[str, Any]) -> Trajectory:
    assert FORMAT.load is not None and FORMAT.dump is not None
    sample = FORMAT.load(row)
    assert FORMAT.dump(sample, None) == row
    assert sample.trajectory is not None
    return sample.trajectory


@pytest.mark.parametrize(
    ("calls", "results", "answers"),
    [
        (1, ["done"], ["done"]),
        (2, ["one", "two"], ["one", "two"]),
        # Several commands, one look at the terminal.
        (3, ["all"], [None, None, "all"]),
    ],
)
def test_results_that_name_no_call_answer_those_of_their_step(
    calls: int, results: list[str], answers: list[str | None]
) -> None:
    trajectory = _read(_document(_acting(calls, [{"content": each} for each in results])))
    found = [pair.result for pair in call_pairs(trajectory)]
    assert [each is not None and each.output for each in found] == answers


def test_results_that_could_answer_several_calls_are_left_alone() -> None:
    trajectory = _read(_document(_acting(3, [{"content": "one"}, {"content": "two"}])))
    assert [pair.result for pair in call_pairs(trajectory)] == [None, None, None]


def test_a_result_that_names_its_call_leaves_the_other_to_one_that_names_none() -> None:
    trajectory = _read(_document(_acting(2, [{"source_call_id": "c0", "content": "one"}, {"content": "two"}])))
    assert [pair.result.output for pair in call_pairs(trajectory) if pair.result] == ["one", "two"]


def test_a_prompt_that_is_less_than_its_cached_part_was_counted_without_it() -> None:
    first = _acting(1, [], metrics={"prompt_tokens": 900, "completion_tokens": 10, "cached_tokens": 100})
    used = {"prompt_tokens": 20, "cached_tokens": 980}
    second = {"step_id": 3, "source": "agent", "message": "Done.", "metrics": used}
    totals = {"total_prompt_tokens": 920, "total_completion_tokens": 10, "total_cached_tokens": 1080}
    trajectory = _read(_document(first, second, final_metrics=totals))
    found = [step.usage for step in trajectory.steps if step.usage is not None]
    assert [each.input for each in found] == [1000, 1000]
    assert all(each.derived == ("input",) for each in found)
    total = usage_total(trajectory)
    assert total is not None and (total.input, total.cache_read) == (2000, 1080)


def test_a_prompt_that_holds_its_cached_part_is_left_alone() -> None:
    step = _acting(1, [], metrics={"prompt_tokens": 900, "completion_tokens": 10, "cached_tokens": 900})
    assert _read(_document(step)).steps[1].usage == Usage(input=900, output=10, cache_read=900)


def _trial(folder: Path, *, document: bool = True, **more: Any) -> Path:
    (folder / "agent").mkdir(parents=True)
    if document:
        (folder / "agent" / "trajectory.json").write_text(json.dumps(_document(_acting(1, [{"content": "ok"}]))))
    result = {
        "trial_name": folder.name,
        "task_name": "wheel",
        "config": {"agent": {"env": {"KEY": "not to be kept"}}},
        "agent_result": {"n_input_tokens": 30, "n_cache_tokens": 70, "n_output_tokens": 5, "cost_usd": 0.5},
        "verifier_result": {"rewards": {"reward": 1.0}},
        "exception_info": None,
        "started_at": "2026-01-02T03:04:05Z",
    }
    (folder / "result.json").write_text(json.dumps(result | more))
    return folder


def _only(path: Path) -> Sample:
    (sample,) = read(path).samples
    return sample


def test_a_document_has_the_verdict_of_its_trial(tmp_path: Path) -> None:
    folder = _trial(tmp_path / "wheel__a1")
    for path in (folder, folder / "result.json", folder / "agent" / "trajectory.json"):
        sample = _only(path)
        assert sample.id == "s1" and sample.case is not None and sample.case.id == "wheel"
        assert sample.trajectory is not None and sample.trajectory.outcome is not None
        assert (sample.trajectory.outcome.status, sample.trajectory.outcome.reward) == ("passed", 1.0)
        assert [(score.name, score.value, score.passed) for score in sample.scores] == [("reward", 1.0, True)]
        assert "not to be kept" not in str(sample)
    out = tmp_path / "out.json"
    convert(folder, out, to="atif")
    written = json.loads(out.read_bytes())
    assert written["steps"][1]["observation"] == {"results": [{"content": "ok"}]}
    again = _only(out)
    assert again.scores == sample.scores and again.case == sample.case


TIMEOUT = {"exception_type": "AgentTimeoutError", "exception_message": "after 60 seconds"}
BROKEN = {"exception_type": "RuntimeError", "exception_message": "no image"}
NONE: dict[str, Any] = {"rewards": None}


@pytest.mark.parametrize(
    ("rewards", "trouble", "status", "reason"),
    [
        ({"rewards": {"reward": 0.5}}, None, "failed", None),
        ({"rewards": {"reward": 0}}, TIMEOUT, "limit", "AgentTimeoutError: after 60 seconds"),
        # The verifier looks at what was left behind, however the agent ended.
        ({"rewards": {"reward": 1}}, TIMEOUT, "passed", "AgentTimeoutError: after 60 seconds"),
        ({"rewards": {"tests": 0.0}}, None, "failed", None),
        ({"rewards": {"tests": 1.0, "style": 0.0}}, None, "unscored", None),
        (None, BROKEN, "error", "RuntimeError: no image"),
        (NONE, None, "unscored", None),
    ],
)
def test_how_a_trial_ended(
    tmp_path: Path, rewards: dict[str, Any] | None, trouble: dict[str, Any] | None, status: str, reason: str | None
) -> None:
    sample = _only(_trial(tmp_path / "t", verifier_result=rewards, exception_info=trouble))
    assert sample.trajectory is not None and sample.trajectory.outcome is not None
    assert (sample.trajectory.outcome.status, sample.trajectory.outcome.reason) == (status, reason)


def test_a_trial_that_broke_down_before_its_agent_began_is_a_sample(tmp_path: Path) -> None:
    _trial(tmp_path / "a")
    _trial(tmp_path / "b", document=False, verifier_result=None, exception_info=BROKEN)
    found = {sample.id: sample.trajectory for sample in read(tmp_path).samples}
    broken = found["b"]
    assert found.keys() == {"s1", "b"} and broken is not None and broken.outcome is not None
    assert broken.outcome.status == "error" and broken.steps == ()
    total = usage_total(broken)
    assert total is not None and (total.input, total.output, total.cost_usd) == (100, 5, 0.5)


def test_a_damaged_result_is_named_and_the_document_still_read(tmp_path: Path) -> None:
    folder = _trial(tmp_path / "t")
    (folder / "result.json").write_text('{"trial_name": ')
    broken: list[ReadError] = []
    (sample,) = read(folder / "agent" / "trajectory.json", on_broken=broken.append).samples
    assert [each.path for each in broken] == [str(folder / "result.json")]
    assert sample.trajectory is not None and sample.trajectory.outcome is None
