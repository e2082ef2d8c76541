"""Seed document 2, ADK eval history: its tables and examples, and its authors' files and commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from pantrace import convert, read, validate
from pantrace.errors import UsageError
from pantrace.formats import by_name
from pantrace.policy import load_profile
from pantrace.wire.json import decode, encode
from seeds.recordings import pantrace

GOLDEN = Path(__file__).parents[1] / "golden"
HISTORY = by_name("adk-history")


def _case(name: str = "two_cases.evalset_result.json", number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / "adk-history" / name).read_bytes())["eval_case_results"][number]
    return found


def _rows(path: Path) -> list[dict[str, Any]]:
    return [decode(line) for line in path.read_bytes().splitlines()]


def test_the_older_list_of_scores_counts_where_the_newer_lacks_a_metric() -> None:
    case = _case()
    overall = [each["metric_name"] for each in case["overall_eval_metric_results"]]
    assert "safety_v1" not in overall
    case["eval_metric_results"] = [
        [{"metric_name": "safety_v1", "threshold": 0.8}, {"score": 0.9, "eval_status": 1}],
        [{"metric_name": overall[0], "threshold": 0.1}, {"score": 0.123, "eval_status": 2}],
        [{"threshold": 0.1}, {"score": 0.5}],
    ]
    assert HISTORY.load is not None
    assert HISTORY.dump is not None
    sample = HISTORY.load(case)
    scores = {score.name: score for score in sample.scores}
    assert (scores["safety_v1"].value, scores["safety_v1"].passed) == (0.9, True)
    assert scores[overall[0]].value != 0.123
    again = HISTORY.load(decode(encode(HISTORY.dump(sample, None))))
    assert {score.name: score.value for score in again.scores} == {name: each.value for name, each in scores.items()}
    adk = by_name("adk-jsonl")
    assert adk.dump is not None
    assert adk.dump(sample, adk.options())["adk_score.safety_v1"] == 0.9


def _another_run(folder: Path, session: str) -> None:
    whole = json.loads((GOLDEN / "adk-history/two_cases.evalset_result.json").read_bytes())
    for case in whole["eval_case_results"]:
        case["session_id"] = case["session_details"]["id"] = f"{session}-{case['eval_id']}"
    folder.mkdir(exist_ok=True)
    (folder / f"{session}.evalset_result.json").write_bytes(encode(whole))


def test_the_question_id_is_the_id_of_the_case_however_often_it_was_run(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        _another_run(tmp_path / name, name)
    out = tmp_path / "rows.jsonl"
    report = convert([tmp_path / name for name in ("a", "b", "c")], out, to="adk-jsonl")
    ids = [case["eval_id"] for case in json.loads(next((tmp_path / "a").iterdir()).read_bytes())["eval_case_results"]]
    rows = _rows(out)
    assert [row["question_id"] for row in rows] == ids * 3
    assert len({row["run_id"] for row in rows}) == 6
    assert report.renamed == []
    assert [sample.epoch for sample in read(out).samples] == [None, None, 2, 2, 3, 3]


def test_two_rows_of_one_session_do_collide(tmp_path: Path) -> None:
    for name in ("a", "b"):
        _another_run(tmp_path / name, "same")
    report = convert([tmp_path / "a", tmp_path / "b"], tmp_path / "rows.jsonl", to="adk-jsonl")
    assert len(report.renamed) == 2


def test_golden_questions_are_cases() -> None:
    price, refund, opening = read(GOLDEN / "adk-golden/garden_shop.json").samples
    assert price.case is not None
    assert [call.name for call in price.case.expected_calls or ()] == ["find_product", "get_price"]
    assert (price.case.agent, price.case.labels) == ("garden_shop", {"topic": "prices"})
    assert refund.case is not None
    assert refund.case.expected_calls == ()
    assert opening.case is not None
    assert opening.case.expected_calls is None
    assert price.trajectory is None
    assert validate(GOLDEN / "adk-golden/garden_shop.json") == []


def test_golden_questions_and_eval_sets_become_each_other(tmp_path: Path) -> None:
    sets, back = tmp_path / "set.evalset.json", tmp_path / "golden.json"
    convert(GOLDEN / "adk-golden/garden_shop.json", sets, to="adk-evalset", carry=False)
    cases = json.loads(sets.read_bytes())["eval_cases"]
    assert [len(case["conversation"]) for case in cases] == [1, 3, 1]
    uses = cases[0]["conversation"][0]["intermediate_data"]["tool_uses"]
    assert [(use["name"], use["args"]) for use in uses] == [
        ("find_product", {"name": "rake"}),
        ("get_price", {"sku": "R-14"}),
    ]
    assert cases[0]["session_input"]["app_name"] == "garden_shop"
    convert(sets, back, to="adk-golden", carry=False)
    given = json.loads((GOLDEN / "adk-golden/garden_shop.json").read_bytes())["golden_questions"]
    for before, after in zip(given, json.loads(back.read_bytes())["golden_questions"], strict=True):
        assert (before["id"], before["user_inputs"]) == (after["id"], after["user_inputs"])
        for key in ("reference_tool_interactions", "reference_response"):
            assert (after["reference_data"].get(key) or None) == (before.get("reference_data", {}).get(key) or None)
    whole = convert(GOLDEN / "adk-golden/garden_shop.json", tmp_path / "copy.json", to="adk-golden")
    assert not whole.losses


def test_a_session_becomes_a_golden_question(tmp_path: Path) -> None:
    out = tmp_path / "golden.json"
    convert(GOLDEN / "adk-history/two_cases.evalset_result.json", out, to="adk-golden")
    questions = json.loads(out.read_bytes())["golden_questions"]
    assert all(question["user_inputs"] and question["reference_data"] for question in questions)


def test_golden_questions_are_a_reference(tmp_path: Path) -> None:
    history = GOLDEN / "adk-history/two_cases.evalset_result.json"
    case = _case(number=1)
    calls = [
        part["function_call"]
        for event in case["session_details"]["events"]
        for part in (event.get("content") or {}).get("parts") or ()
        if part.get("function_call")
    ]
    wanted = [{"tool_name": call["name"], "input_arguments": call["args"]} for call in calls]
    golden = tmp_path / "golden.json"
    questions = [
        {"id": case["eval_id"], "user_inputs": ["x"], "reference_data": {"reference_tool_interactions": wanted}},
        {"id": "nobody", "user_inputs": ["y"], "reference_data": {"reference_tool_interactions": wanted[:1]}},
    ]
    golden.write_bytes(encode({"golden_questions": questions}))
    asked = ["--metric", "trajectory_accuracy", "--reference", golden, "--json"]
    found = pantrace("measure", history, *asked)
    assert found.returncode == 0, found.stderr
    rows = [row for row in json.loads(found.stdout) if row["maker"]["kind"] == "check"]
    scores = {row["sample"]: row["value"] for row in rows}
    assert scores[case["eval_id"]] == 1.0
    assert scores["nobody"] is None
    assert "1 case of" in found.stderr


@needs_corpus
@pytest.mark.parametrize(
    ("name", "count"), [("cs_full_conversation_golden.json", 1), ("retail_golden_dataset.json", 3)]
)
def test_the_workshops_golden_questions_return_whole(name: str, count: int, tmp_path: Path) -> None:
    path = CORPUS / "public/adk/workshop" / name
    report = convert(path, tmp_path / "copy.json", to="adk-golden")
    assert (report.samples, sum(report.losses.values())) == (count, 0)
    assert not [each for each in validate(path) if each.level == "error"]
    given = json.loads(path.read_bytes())["golden_questions"]
    found = json.loads((tmp_path / "copy.json").read_bytes())["golden_questions"]
    assert [{key: question.get(key) for key in given[0]} for question in found] == given


def test_criteria_of_adk_are_a_profile(tmp_path: Path) -> None:
    config = tmp_path / "test_config.json"
    criteria = {"tool_trajectory_avg_score": 1.0, "response_match_score": {"threshold": 0.6}, "token_usage_v1": {}}
    config.write_bytes(encode({"criteria": criteria}))
    profile = load_profile(str(config))
    assert profile.thresholds == {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.6}
    plan = tmp_path / "eval.toml"
    plan.write_text('[decide]\nprofile = "test_config.json"\n')
    history = GOLDEN / "adk-history/two_cases.evalset_result.json"
    found = pantrace("eval", history, "--plan", plan, "--out", tmp_path / "run", "--gate", "--json")
    statuses = {
        each["eval_id"]: each["final_eval_status"] for each in json.loads(history.read_bytes())["eval_case_results"]
    }
    decisions = {row["sample"]: row["passed"] for row in json.loads(found.stdout)["decisions"]}
    assert decisions == {name: status == 1 for name, status in statuses.items()}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "it has no criteria"),
        ('{"criteria": {}}', "it has no criteria"),
        ('{"criteria": {"safety_v1": "high"}}', "criteria.safety_v1: the threshold must be a number"),
        ('{"criteria": {"safety_v1": {}}}', "criteria.safety_v1: the threshold must be a number"),
        ('{"criteria": ', "not valid JSON"),
    ],
)
def test_criteria_that_decide_nothing_are_refused(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "test_config.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"test_config\.json: ") as error:
        load_profile(str(path))
    assert why in str(error.value)


@needs_corpus
@pytest.mark.parametrize("name", ["own/adk/test_config.json", "public/adk/workshop/cs_test_config.json"])
def test_the_real_criteria_are_profiles(name: str) -> None:
    assert set(load_profile(str(CORPUS / name)).thresholds) == {"tool_trajectory_avg_score", "response_match_score"}


def test_the_workshops_outputs_come_in_one_command_with_our_numbers(tmp_path: Path) -> None:
    for name in ("a", "b"):
        _another_run(tmp_path / "runs", name)
    out = tmp_path / "workshop"
    done = pantrace("eval", tmp_path / "runs", "--out", tmp_path / "run", "--workshop", out)
    assert done.returncode == 0, done.stderr
    summary = json.loads((out / "eval_summary.json").read_bytes())
    assert list(summary) == [
        *("experiment_id", "run_type", "test_description", "interaction_datetime"),
        *("overall_summary", "per_question_summary"),
    ]
    assert [(each["question_id"], each["runs"]) for each in summary["per_question_summary"]] == [
        (_case(number=0)["eval_id"], 2),
        (_case(number=1)["eval_id"], 2),
    ]
    usage = [
        event["usage_metadata"]["total_token_count"]
        for number in (0, 1)
        for event in _case(number=number)["session_details"]["events"]
        if event.get("usage_metadata")
    ]
    overall = summary["overall_summary"]["deterministic_metrics"]
    assert overall["token_usage.total_tokens"] == sum(usage) / 2
    assert overall["token_usage.llm_calls"] == len(usage) / 2
    questions = [each["deterministic_metrics"] for each in summary["per_question_summary"]]
    assert sum(each["token_usage"]["total_tokens"] for each in questions) == sum(usage)
    assert all(each["exact_match"] is None or each["exact_match"] for each in questions)
    stored = summary["per_question_summary"][0]["llm_metrics"]["response_match_score"]
    expected = {each["metric_name"]: each["score"] for each in _case()["overall_eval_metric_results"]}
    assert stored["score"] == pytest.approx(expected["response_match_score"])
    log = (out / "question_answer_log.md").read_text()
    assert "**Total Questions:** 2" in log
    assert log.count("\n## ") == 4
    for heading in ("Conversation", "Final Response Summary", "Agent Trajectory", "Tool Calls", "Evaluation Metrics"):
        assert log.count(f"\n### {heading}\n") == 4


def test_words_of_a_recording_are_no_headings_of_the_log(tmp_path: Path) -> None:
    whole = json.loads((GOLDEN / "adk-history/two_cases.evalset_result.json").read_bytes())
    text = "fine\n## 9. Question: `forged`\n---\n| a | b |"
    whole["eval_case_results"][0]["session_details"]["events"][0]["content"]["parts"][0]["text"] = text
    path = tmp_path / "x.evalset_result.json"
    path.write_bytes(encode(whole))
    assert pantrace("eval", path, "--out", tmp_path / "run", "--workshop", tmp_path / "w").returncode == 0
    log = (tmp_path / "w/question_answer_log.md").read_text()
    assert "\n> ## 9. Question: `forged`\n" in log
    assert "\n## 9." not in log


@needs_corpus
def test_the_published_summary_with_right_numbers(tmp_path: Path) -> None:
    """What the workshop published, in its shape: token totals, tool calls and handoffs as the events give them."""
    folder = CORPUS / "public/adk/workshop"
    rows = folder / "cs_baseline.processed_interaction_sim.jsonl"
    assert pantrace("eval", rows, "--out", tmp_path / "run", "--workshop", tmp_path / "w").returncode == 0
    found = json.loads((tmp_path / "w/eval_summary.json").read_bytes())
    published = json.loads((folder / "cs_baseline.eval_summary.json").read_bytes())
    assert found.keys() == published.keys()
    assert {each["question_id"] for each in found["per_question_summary"]} == {
        each["question_id"] for each in published["per_question_summary"]
    }
    numbers, theirs = (each["overall_summary"]["deterministic_metrics"] for each in (found, published))
    assert numbers["token_usage.total_tokens"] == 21806.2
    assert theirs["token_usage.total_tokens"] == 16857.0  # whole calls lost where a field was null
    assert (numbers["tool_utilization.total_tool_calls"], theirs["tool_utilization.total_tool_calls"]) == (2.0, 4.0)
    assert (numbers["agent_handoffs.total_handoffs"], theirs["agent_handoffs.total_handoffs"]) == (0.0, 2.8)
    for name in ("token_usage.prompt_tokens", "token_usage.llm_calls", "context_saturation.max_total_tokens"):
        assert numbers[name] == theirs[name]
    absent = {name for name in theirs if name not in numbers}
    assert {name.partition(".")[0] for name in absent} == {"latency_metrics"}  # its times are invented
