"""Managed metrics without the service: names, what is shown of a sample, results as scores, the cache."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from goldens import ROOT
from pantrace.engine.judge import Access, Bench, bench, judge_all, plan_questions
from pantrace.engine.managed import case_of
from pantrace.engine.read import read
from pantrace.errors import Unanswered, UsageError
from pantrace.judges import (
    NO_PROJECT,
    Absent,
    Managed,
    Project,
    Reply,
    Settings,
    load_any_rubric,
    managed_metric,
    managed_names,
    managed_request,
    managed_score,
)
from pantrace.judges.managed import families
from pantrace.model import Case, Sample, Score, Step, Text, Trajectory
from pantrace.normalise.secrets import Redactor
from scripted import Scripted, sample_of

QUALITY = managed_metric("general_quality_v1")
HERE = Project(project="p", location="l")
TALK, SHORT, UNANSWERED = list(read(ROOT / "vertex-agent/sessions.jsonl").samples)


def shown(sample: Sample, metric: str) -> dict[str, Any] | Absent:
    return case_of(sample, sample, managed_metric(metric), None)


def verdicts(*given: Any) -> list[dict[str, Any]]:
    rubric = {"content": {"property": {"description": "It is in English."}}, "type": "LANGUAGE", "importance": "HIGH"}
    return [{"evaluated_rubric": rubric, "reasoning": "so it is", "verdict": each} for each in given]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("vertex:general_quality", "names no version; .* vertex:general_quality_v1 or vertex:general_quality_v2"),
        ("vertex:safety_v2", "no v2 of safety; .* vertex:safety_v1 or vertex:safety_v3"),
        ("vertex:final_response_match_v1", "say vertex:final_response_match_v2 or vertex:final_response_match_v3"),
        ("vertex:genral_quality_v1", "did you mean vertex:general_quality_v1"),
        ("vertex:fluency", "unknown metric vertex:fluency"),
        ("vertex:", "unknown metric"),
    ],
)
def test_names_without_a_version_or_a_meaning_are_refused(name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        load_any_rubric(name)


def test_every_name_that_is_listed_loads_and_stays_pinned() -> None:
    assert len(set(managed_names())) == 27
    for name in managed_names():
        assert load_any_rubric(name) == Managed(name=name, metric=name.removeprefix("vertex:"))
    for family in families().values():
        assert family.instead is None or family.instead in families()


def test_guidelines_only_where_the_service_makes_rubrics() -> None:
    assert managed_metric("text_quality_v2", name="Tone", guidelines="Be terse.").guidelines == "Be terse."
    with pytest.raises(UsageError, match="vertex:safety_v1 takes no guidelines"):
        managed_metric("safety_v1", guidelines="Be terse.")


def test_null_and_missing_verdicts_are_false() -> None:
    given = [*verdicts(True, True, True, True, True, None, None, False), {"reasoning": "no verdict at all"}]
    score = managed_score(QUALITY, {"score": 0.5555556, "explanation": "", "rubric_verdicts": given})
    assert (score.value, score.status) == (5 / 9, "scored")
    assert score.explanation == "5 of 9 rubrics are met"
    assert [each["verdict"] for each in score.details["verdicts"]] == [True] * 5 + [False] * 4
    assert score.details["verdicts"][0] == {
        "verdict": True,
        "description": "It is in English.",
        "type": "LANGUAGE",
        "importance": "HIGH",
        "reasoning": "so it is",
    }
    assert "score_given" not in score.details
    assert score.maker is not None
    assert (score.maker.name, score.maker.kind, score.maker.version) == ("vertex:general_quality_v1", "rubric", "v1")


def test_a_score_that_its_verdicts_do_not_bear_out_is_kept_beside_them() -> None:
    score = managed_score(QUALITY, {"score": 1.0, "rubric_verdicts": verdicts(True, False)})
    assert score.value == 0.5
    assert (score.details["score_given"], score.details["share_of_true_verdicts"]) == (1.0, 0.5)
    alone = managed_score(QUALITY, {"rubric_verdicts": verdicts(False, False)})
    assert (alone.value, alone.status, alone.details["score_given"]) == (0.0, "scored", None)


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ({}, "neither a score nor verdicts"),
        ({"score": None, "rubric_verdicts": []}, "neither a score nor verdicts"),
        ({"score": float("nan")}, "not a number"),
        ({"score": 4.0}, "outside 0 to 1"),
        ({"score": 0.0, "error": {"code": 8, "message": "quota"}}, "error 8: quota"),
        ({"rubric_verdicts": verdicts(True), "error": {"code": 13}}, "error 13: no details"),
    ],
)
def test_what_is_no_score_is_unscored_and_never_a_number(result: dict[str, Any], why: str) -> None:
    score = managed_score(QUALITY, result)
    assert (score.status, score.value) == ("unscored", None)
    assert why in (score.explanation or "")


def test_a_number_without_verdicts_stands_with_its_explanation() -> None:
    score = managed_score(managed_metric("safety_v1"), {"score": 0.0, "explanation": "Harassment"})
    assert (score.value, score.explanation) == (0.0, "Harassment")


def test_each_metric_is_shown_its_inputs_and_nothing_else() -> None:
    sample = replace(sample_of(), case=Case(context="Two were eaten.", reference="Three."))
    columns = {name: set(case) for name in families() if isinstance(case := shown(sample, _first(name)), dict)}
    text, run = {"prompt", "response"}, {"agent_data"}
    assert columns == {
        "general_quality": text,
        "text_quality": text,
        "instruction_following": text,
        "grounding": text | {"context"},
        "safety": text,
        "multi_turn_general_quality": text,
        "multi_turn_text_quality": text,
        "final_response_match": text | {"reference"},
        "final_response_quality": text | run,
        "hallucination": text | run,
        "tool_use_quality": {"prompt"} | run,
        "multi_turn_tool_use_quality": run,
        "multi_turn_trajectory_quality": run,
        "multi_turn_task_success": run,
    }


def _first(family: str) -> str:
    return f"{family}_{families()[family].versions[0]}"


def test_the_last_prompt_stands_apart_from_the_conversation() -> None:
    case = shown(TALK, "multi_turn_general_quality_v2")
    assert isinstance(case, dict)
    assert [content["role"] for content in case["conversation_history"]] == ["user", "model"]
    assert case["prompt"] == "Run the tests and ask the reviewer."
    assert case["response"] == "One test fails: `div` is not tested for zero."


@pytest.mark.parametrize(
    ("sample", "metric", "why"),
    [
        (TALK, "general_quality_v1", "2 prompts, and the metric judges one .*vertex:multi_turn_general_quality_v1"),
        (TALK, "safety_v1", "2 prompts, and the metric judges one$"),
        (UNANSWERED, "multi_turn_text_quality_v1", "no answer after the last prompt"),
        (sample_of(question=None), "general_quality_v1", "no question and no prompt"),
        (SHORT, "tool_use_quality_v1", "no tool was called"),
        (SHORT, "multi_turn_tool_use_quality_v1", "no tool was called"),
        (SHORT, "grounding_v1", "no context"),
        (sample_of(), "final_response_match_v2", "no reference answer"),
        (sample_of(), "final_response_reference_free_v1", "no rubrics of its own"),
        (Sample(id="x", case=Case(question="?")), "multi_turn_task_success_v1", "not been run"),
        (Sample(id="x", trajectory=Trajectory()), "multi_turn_task_success_v1", "nothing was said or done"),
    ],
)
def test_what_a_metric_cannot_judge_is_not_applicable(sample: Sample, metric: str, why: str) -> None:
    (scores,) = [scores for _, scores in judge_all([sample], [managed_metric(metric)], _bench(_never))]
    assert scores[0].status == "not_applicable"
    assert re.search(why, scores[0].explanation or "")


def _never(*_: Any) -> Any:
    raise AssertionError("something was asked")


def test_only_runs_of_the_agents_that_a_metric_is_for() -> None:
    mine = replace(QUALITY, agents=("planner", "counter"))
    assert isinstance(case_of(sample_of(), sample_of(), mine, None), dict)
    other = replace(sample_of(), case=Case(agent="writer"))
    assert case_of(other, other, mine, None) == Absent("it is not a run of planner or counter")


def test_rubrics_that_come_with_a_sample_are_sent_without_secrets_and_without_other_extras() -> None:
    groups = {"mine": [{"content": {"property": {"description": "It hides password: hunter22"}}}]}
    sample = replace(sample_of(), extra={"vertex-flat": {"rubric_groups": groups, "note": "not for others"}})
    case = case_of(sample, sample, managed_metric("final_response_reference_free_v1"), Redactor())
    assert isinstance(case, dict)
    assert set(case) == {"prompt", "response", "rubric_groups"}
    assert "hunter22" not in json.dumps(case)
    assert "It hides password" in json.dumps(case)


def _bench(script: Any, cache: Path | None = None, *, replay: bool = False, **access: Any) -> Bench:
    reach = Access(vertex=HERE, attempts=1, **access)
    return bench(Settings(), reach, cache=cache, replay=replay, judge=Scripted(script))


def _scores(run: Bench, *samples: Sample, metrics: list[Managed] | None = None) -> list[Score]:
    return [score for _, scores in judge_all(samples, metrics or [QUALITY], run) for score in scores]


def test_a_second_run_asks_nothing_and_a_replay_needs_no_service(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    answered = Reply(text=json.dumps({"rubric_verdicts": verdicts(True, None)}))
    first = _bench(lambda _: answered, cache)
    named_else = replace(sample_of(), id="another", case=Case(id="z", labels={"topic": "fruit"}))
    assert [score.value for score in _scores(first, sample_of(), named_else)] == [0.5, 0.5]
    assert first.summary()["calls"] == 1, "what the service is shown does not name the sample"
    assert first.summary()["tokens_estimated"]
    second, replayed = _bench(_never, cache), _bench(_never, cache, replay=True)
    assert _scores(second, sample_of()) == _scores(replayed, sample_of())
    assert (second.summary()["calls"], replayed.summary()["cached"]) == (0, 1)
    others = [replace(QUALITY, guidelines="Be terse."), managed_metric("general_quality_v2")]
    missing = _scores(_bench(_never, cache, replay=True), sample_of(), metrics=others)
    assert [score.status for score in missing] == ["unscored", "unscored"]


def test_failures_are_unscored_with_their_code_and_are_not_kept(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    (failed,) = _scores(_bench(lambda _: Unanswered("HTTP 429: slow down", again=True, code=429), cache), sample_of())
    assert (failed.status, failed.value, failed.details["error_code"]) == ("unscored", None, 429)
    assert failed.explanation == "HTTP 429: slow down (asked once)"
    (later,) = _scores(_bench(lambda _: Reply(text='{"score": 1}'), cache), sample_of())
    assert later.value == 1.0


def test_a_budget_of_calls() -> None:
    run = _bench(lambda _: Reply(text='{"score": 1}'), calls=1)
    scores = _scores(run, sample_of(), sample_of(question="And pears?"))
    assert sorted(score.status for score in scores) == ["scored", "unscored"]
    assert run.summary()["unscored_because"] == {"budget exhausted: 1 of 1 calls are made": 1}


def test_without_a_project_nothing_is_sent() -> None:
    run = bench(Settings(models=("openai:m",)), Access(), judge=Scripted(_never))
    (score,) = _scores(run, sample_of())
    assert score.status == "unscored"
    assert score.explanation == f"{NO_PROJECT} (the rubric general_quality can replace it)"


def test_secrets_are_replaced_before_anything_is_sent() -> None:
    asked = Scripted(lambda _: Reply(text='{"score": 1}'))
    run = bench(Settings(), Access(vertex=HERE), judge=asked)
    metrics = [QUALITY, managed_metric("tool_use_quality_v1")]
    sample = sample_of(question="How many? password: hunter22", answer="Three.")
    assert sample.trajectory is not None
    note = Step(role="agent", parts=(Text(text="api_key=abcdefgh1234"),))
    sample = replace(sample, trajectory=replace(sample.trajectory, steps=(*sample.trajectory.steps[:-1], note)))
    _scores(run, sample, metrics=metrics)
    assert len(asked.requests) == 2
    for request in asked.requests:
        assert "hunter22" not in request.prompt
        assert "abcdefgh1234" not in request.prompt
        assert "[redacted:password]" in request.prompt


def test_a_dry_run_tells_what_would_be_sent_and_what_the_cache_knows(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    _scores(_bench(lambda _: Reply(text='{"score": 1}'), cache), sample_of())
    found = list(plan_questions([sample_of(), TALK], [QUALITY], Bench(None, Settings()), cache))
    assert [(each.calls, each.cached) for each in found] == [(0, 1), (0, 0)]
    assert found[0].prompt is not None
    assert json.loads(found[0].prompt.text) == {"prompt": "How many are left?", "response": "Three are left."}
    assert "2 prompts" in (found[1].not_applicable or "")


def test_the_address_of_a_reply_is_metric_version_guidelines_and_case() -> None:
    case = {"prompt": "a", "response": "b"}
    keys = {
        managed_request(each, shown).key
        for each in (QUALITY, managed_metric("general_quality_v2"), replace(QUALITY, guidelines="x"))
        for shown in (case, {**case, "response": "c"})
    }
    assert len(keys) == 6
    assert managed_request(replace(QUALITY, name="Mine", agents=("a",)), case).key in keys
