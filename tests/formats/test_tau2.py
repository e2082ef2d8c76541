"""tau2-bench: rewards, trials, and a user who has tools."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.read import read
from pantrace.errors import ReadError
from pantrace.formats.tau2 import load
from pantrace.model import Sample, Trajectory, call_pairs, final_response, turns, usage_total

GOLDEN = ROOT / "tau2/garden.json"


def golden() -> list[Sample]:
    return list(read(GOLDEN).samples)


def told(sample: Sample) -> Trajectory:
    assert sample.trajectory is not None
    return sample.trajectory


def simulation(**changes: Any) -> Sample:
    row = {"id": "s", "task_id": "1", "messages": [], "termination_reason": "user_stop", **changes}
    return load({"info": {}, "task": None, "simulation": row})


def test_trials_are_epochs_of_their_task() -> None:
    assert [(sample.id, sample.epoch) for sample in golden()] == [("pump_1", 2), ("pump_1", 1), ("pump_1", 3)]
    run = read(GOLDEN)
    assert (run.task, run.agent, run.model) == ("garden", "llm_agent", "gpt-4.1-mini")


def test_how_a_trial_ended_is_told_from_its_reward() -> None:
    outcomes = [told(sample).outcome for sample in golden()]
    assert [each.status for each in outcomes if each] == ["passed", "limit", "error"]
    scores = [sample.scores[0] for sample in golden()]
    # The benchmark stores 0 where the agent broke down; nobody gave that reward.
    assert [(score.status, score.value) for score in scores] == [("scored", 1.0), ("scored", 0.0), ("failed", None)]


def test_what_the_user_does_and_what_its_model_costs_is_not_the_agents() -> None:
    first = told(golden()[0])
    pairs = call_pairs(first)
    assert [(pair.call.id, pair.result.failure) for pair in pairs if pair.result] == [("c1", "error"), ("c2", None)]
    assert len([turn for turn in turns(first) if turn.number]) == 2
    total = usage_total(first)
    assert total is not None and (total.input, total.output) == (1200, 60)
    assert {step.model for step in first.steps} == {None, "gpt-4.1-mini"}


def test_the_user_who_hangs_up_asks_nothing() -> None:
    first = told(golden()[0])
    assert first.steps[-1].kind == "note" and final_response(first) == "Good."


def test_the_task_is_the_case_without_what_the_user_has_to_do() -> None:
    case = golden()[0].case
    assert case is not None and case.expected_calls is not None
    assert [(call.name, call.arguments) for call in case.expected_calls] == [("find_pump", {"owner": "alex"})]
    assert case.goal is not None and "Your pump does not run." in case.goal


@pytest.mark.parametrize(
    ("changes", "status", "score"),
    [
        ({"reward_info": {"reward": 0.5}}, "failed", "scored"),
        ({"reward_info": None}, "unscored", "unscored"),
        ({"reward_info": {"reward": True}}, "unscored", "unscored"),
        ({"reward_info": {"reward": 0.0}, "termination_reason": "infrastructure_error"}, "error", "failed"),
        ({"reward_info": {"reward": 0.0}, "termination_reason": "too_many_errors"}, "limit", "scored"),
    ],
)
def test_rewards_and_endings(changes: dict[str, Any], status: str, score: str) -> None:
    sample = simulation(**changes)
    outcome = told(sample).outcome
    assert outcome is not None and (outcome.status, sample.scores[0].status) == (status, score)


def test_a_conversation_in_audio_is_refused_and_not_shown_empty() -> None:
    with pytest.raises(ReadError, match="ticks of audio"):
        simulation(messages=None, ticks=[])


def in_a_folder(path: Path) -> Path:
    """The golden results as tau2 stores them with `--format dir`."""
    results = json.loads(GOLDEN.read_bytes())
    (path / "simulations").mkdir(parents=True)
    for number, each in enumerate(results.pop("simulations")):
        (path / "simulations" / f"{number}.json").write_text(json.dumps(each, indent=2))
    (path / "results.json").write_text(json.dumps(results, indent=2))
    return path


def test_simulations_may_be_files_of_their_own(tmp_path: Path) -> None:
    folder = in_a_folder(tmp_path / "run")
    for path in (folder, folder / "results.json"):
        found = list(read(path).samples)
        assert [(each.id, each.epoch, each.scores) for each in found] == [
            (each.id, each.epoch, each.scores) for each in golden()
        ]
        assert [told(each).steps for each in found] == [told(each).steps for each in golden()]
    assert read(folder / "results.json").extra == read(GOLDEN).extra


def test_a_simulation_can_be_named_alone(tmp_path: Path) -> None:
    (one,) = read(in_a_folder(tmp_path / "run") / "simulations" / "1.json").samples
    assert (one.epoch, one.case) == (golden()[1].epoch, golden()[1].case)


def test_a_broken_simulation_does_not_cost_the_others(tmp_path: Path) -> None:
    folder = in_a_folder(tmp_path / "run")
    (folder / "simulations" / "1.json").write_text('{"id": "x", "task_id":')
    (folder / "simulations" / "0.json").write_text('{"id": "x", "task_id": "pump_1", "ticks": []}')
    broken: list[ReadError] = []
    assert [each.epoch for each in read(folder / "results.json", on_broken=broken.append).samples] == [3]
    assert [Path(each.path or "").name for each in broken] == ["0.json", "1.json"]


def test_results_without_simulations_say_where_they_may_be(tmp_path: Path) -> None:
    folder = in_a_folder(tmp_path / "run")
    shutil.rmtree(folder / "simulations")
    with pytest.raises(ReadError, match="a folder `simulations` beside them"):
        list(read(folder / "results.json").samples)
