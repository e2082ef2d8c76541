"""tau-bench: rewards, trials, hidden failures, and the repeated trials of the published airline file."""

from __future__ import annotations

from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.read import read
from pantrace.formats.tau_bench import check, load
from pantrace.model import Sample, ToolCall, call_pairs, final_response
from pantrace.stats import clustered_mean, mean, pass_hat_k, pass_k

AIRLINE = CORPUS / "public/tau_bench/gpt-4o-airline.json.gz"


def golden() -> list[Sample]:
    return list(read(ROOT / "tau-bench/library.json").samples)


def row(**changes: Any) -> dict[str, Any]:
    return {"task_id": 3, "trial": 0, "reward": 1.0, "info": {}, "traj": [], **changes}


def test_a_run_that_broke_down_has_no_reward() -> None:
    broken = golden()[3]
    (score,) = broken.scores
    assert (score.status, score.value) == ("failed", None)
    assert broken.trajectory is not None and broken.trajectory.outcome is not None
    assert (broken.trajectory.outcome.status, broken.trajectory.outcome.reward) == ("error", None)
    assert broken.trajectory.outcome.extra == {"tau-bench": {"reward": 0.0}}


@pytest.mark.parametrize("reward", [None, float("nan"), "1.0", True])
def test_a_reward_that_is_no_number_is_unscored(reward: Any) -> None:
    (score,) = load(row(reward=reward)).scores
    assert (score.status, score.value, score.passed) == ("unscored", None, None)


def test_a_conversation_that_did_not_end_is_told_from_one_that_failed() -> None:
    outcomes = [sample.trajectory.outcome for sample in golden() if sample.trajectory]
    assert [outcome.status for outcome in outcomes if outcome] == ["passed", "failed", "limit", "error"]


@pytest.mark.parametrize(("trial", "epoch"), [(0, 1), (3, 4), (None, None), ("x", None), (True, None)])
def test_trials_count_from_one_and_keep_their_number(trial: Any, epoch: int | None) -> None:
    sample = load(row(trial=trial))
    assert (sample.id, sample.epoch) == ("3", epoch)
    assert sample.extra["tau-bench"] == {"task_id": 3, "trial": trial}


def test_failures_hidden_in_answers_are_seen() -> None:
    trajectory = golden()[1].trajectory
    assert trajectory is not None
    failures = [pair.result.failure for pair in call_pairs(trajectory) if pair.result]
    assert failures == ["error", "invalid_tool", None]


def test_arguments_that_are_no_json_stay_text() -> None:
    trajectory = golden()[1].trajectory
    assert trajectory is not None
    calls = [part for step in trajectory.steps for part in step.parts if isinstance(part, ToolCall)]
    assert calls[0].arguments == '{"tool": drill}'
    assert calls[1].arguments == {"tool": "drill"}


def test_the_user_who_hangs_up_asks_nothing() -> None:
    trajectory = golden()[0].trajectory
    assert trajectory is not None
    assert trajectory.steps[-1].kind == "note"
    assert final_response(trajectory) == "Booked until 3 May."


def test_the_simulated_users_cost_is_not_the_agents() -> None:
    trajectory = golden()[0].trajectory
    assert trajectory is not None
    assert trajectory.usage is None
    assert trajectory.extra["tau-bench"]["user_cost"] == 0.00125


def test_every_violation_has_its_place() -> None:
    wrong = row(reward=1.5, traj=[{"content": "x"}, {"role": "user", "tool_calls": [{"function": {}}]}])
    assert [(each.level, each.place) for each in check(wrong)] == [
        ("error", "traj[0].role"),
        ("error", "traj[1].tool_calls[0].function.name"),
        ("warning", "reward"),
    ]


@needs_corpus
def test_airline_rewards_and_reliability() -> None:
    samples = list(read(AIRLINE).samples)
    assert (len(samples), len({sample.id for sample in samples})) == (200, 50)
    rewards = [float(sample.scores[0].value or 0) for sample in samples]
    assert mean(rewards).value == pytest.approx(0.42, abs=1e-12)
    tasks: dict[str, list[bool]] = {}
    for sample in samples:
        tasks.setdefault(sample.id, []).append(bool(sample.scores[0].passed))
    counts = [(len(passed), sum(passed)) for passed in tasks.values()]
    found = [pass_k(counts, k, pass_hat_k).value for k in (1, 2, 3, 4)]
    assert found == pytest.approx([0.42, 0.27333333333333333, 0.22, 0.20], abs=1e-9)


@needs_corpus
def test_airline_trials_of_a_task_agree_so_the_honest_interval_is_wider() -> None:
    samples = list(read(AIRLINE).samples)
    rewards = [float(sample.scores[0].value or 0) for sample in samples]
    naive, clustered = mean(rewards), clustered_mean(rewards, [sample.id for sample in samples])
    assert naive.low is not None and clustered.low is not None
    assert clustered.low < naive.low


@needs_corpus
def test_airline_failures_and_unfinished_conversations() -> None:
    samples = list(read(AIRLINE).samples)
    pairs = [pair for sample in samples if sample.trajectory for pair in call_pairs(sample.trajectory)]
    assert len(pairs) == 1164
    assert sum(pair.result is not None and pair.result.failure is not None for pair in pairs) == 73
    unfinished = [
        sample
        for sample in samples
        if sample.trajectory and sample.trajectory.outcome and sample.trajectory.outcome.status == "limit"
    ]
    assert len(unfinished) == 5
