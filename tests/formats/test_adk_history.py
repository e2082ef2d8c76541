"""What is peculiar to ADK's eval history: merged sources, old encodings, one file per case, honest numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT, without_source
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.errors import ReadError
from pantrace.formats import by_name
from pantrace.model import Sample, Text, ToolCall, Trajectory, call_pairs, final_response, step_text, usage_total
from pantrace.wire.adk.recase import CASE_RESULT, to_camel
from pantrace.wire.head import Head
from pantrace.wire.json import to_plain
from pantrace.wire.loss import sample_losses

FORMAT = by_name("adk-history")
GOLDEN = ROOT / "adk-history"
OWN = CORPUS / "own" / "adk"


def history(name: str) -> dict[str, Sample]:
    path = next(OWN.glob(name))
    return {sample.id: sample for sample in read(path).samples}


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((GOLDEN / name).read_bytes())["eval_case_results"]
    return found


def load(case: dict[str, Any]) -> Sample:
    assert FORMAT.load is not None
    return FORMAT.load(case)


def done(sample: Sample) -> Trajectory:
    assert sample.trajectory is not None
    return sample.trajectory


def transfers(trajectory: Trajectory) -> list[str]:
    acts = [step.extra.get("adk", {}).get("actions", {}) for step in trajectory.steps]
    return [act["transfer_to_agent"] for act in acts if "transfer_to_agent" in act]


# eval id: model calls, tool calls, failed calls, transfers, total tokens (facts: ADK's own metrics and the session)
ORACLE = {
    "wrong_tools": (2, 2, 0, 0, 1084),
    "news_grounded": (1, 0, 0, 0, 435),
    "blocked": (1, 0, 0, 0, 429),
    "essay_truncated": (1, 0, 0, 0, 430),
    "refund_multi_turn": (6, 4, 1, 1, 4826),
    "stock_parallel": (2, 2, 0, 0, 1097),
    "hello": (1, 0, 0, 0, 435),
}


@needs_corpus
@pytest.mark.parametrize("name", sorted(ORACLE))
def test_calls_errors_transfers_and_tokens_are_adks_own(name: str) -> None:
    sample = history("garden_shop_shop_set_1794767056*.json")[name]
    trajectory = done(sample)
    pairs = call_pairs(trajectory)
    total = usage_total(trajectory)
    assert total is not None
    found = (
        len([step for step in trajectory.steps if step.usage is not None]),
        len(pairs),
        len([pair for pair in pairs if pair.result is not None and pair.result.failure]),
        len(transfers(trajectory)),
        total.total,
    )
    assert found == ORACLE[name]


@needs_corpus
def test_tokens_equal_adks_token_usage_metric_except_where_adk_drops_the_event() -> None:
    for name, sample in history("garden_shop_shop_set_1794767056*.json").items():
        stored = next(score for score in sample.scores if score.name == "token_usage_v1")
        total = usage_total(done(sample))
        assert total is not None
        if name == "blocked":
            assert (stored.value, stored.status, total.total) == (None, "not_applicable", 429)
            continue
        invocations = len(done(sample).invocations)
        assert isinstance(stored.value, float)
        assert stored.value * invocations == total.total
        details = stored.details["token_usage_details"]
        assert details["input_tokens"] * invocations == total.input
        assert details["output_tokens"] * invocations == total.output
        if total.cache_read is not None:
            assert details["cached_tokens"] * invocations == total.cache_read


@needs_corpus
def test_a_case_without_its_session_tells_the_same_calls_and_texts() -> None:
    whole = history("garden_shop_shop_set_1794767056*.json")
    bare = history("garden_shop_shop_set_wrong_app*.json")
    assert whole.keys() == bare.keys()

    def calls(sample: Sample) -> list[tuple[str, Any, Any]]:
        pairs = call_pairs(done(sample))
        return [(pair.call.name, pair.call.arguments, pair.result and pair.result.output) for pair in pairs]

    def texts(sample: Sample) -> list[tuple[str | None, str | None]]:
        return [(step.agent, step_text(step)) for step in done(sample).steps if step_text(step)]

    for name, sample in whole.items():
        assert calls(bare[name]) == calls(sample)
        assert texts(bare[name]) == texts(sample)
        assert [agent.tools for agent in done(bare[name]).agents] == [agent.tools for agent in done(sample).agents]
        if name != "blocked":
            assert usage_total(done(bare[name])) == usage_total(done(sample))
        absent = bare[name].extra["adk-history"]["absent"]
        assert {"session_details", "state", "event_timestamps", "stop_reasons"} <= set(absent)
        assert ("usage" in absent) == (name == "blocked")
        assert done(bare[name]).state is None
        assert all(step.at is None for step in done(bare[name]).steps)


@needs_corpus
def test_seven_files_of_one_case_each_are_one_run_of_seven() -> None:
    run = read(OWN / "adk_1.21.0")
    samples = list(run.samples)
    assert sorted(sample.id for sample in samples) == sorted(ORACLE)
    assert run.task == "shop_set"
    assert run.agent == "garden_shop"
    assert {sample.epoch for sample in samples} == {None}
    assert len({done(sample).source.path for sample in samples if done(sample).source}) == 7  # type: ignore[union-attr]
    for sample in samples:
        calls, tools, failed, handed, _ = ORACLE[sample.id]
        pairs = call_pairs(done(sample))
        assert len(pairs) == tools
        assert len([pair for pair in pairs if pair.result and pair.result.failure]) == failed
        assert len(transfers(done(sample))) == handed
        assert len([step for step in done(sample).steps if step.usage is not None]) <= calls


@needs_corpus
def test_all_of_a_run_goes_through_one_file_and_back(tmp_path: Path) -> None:
    for source in (OWN / "adk_1.21.0", *OWN.glob("garden_shop*.json")):
        target = tmp_path / "out.evalset_result.json"
        report = convert(source, target, to="adk-history", strict=True)
        assert not report.losses
        before = sorted((to_plain(each) for each in read(source).samples), key=lambda each: each["id"])
        after = sorted((to_plain(each) for each in read(target).samples), key=lambda each: each["id"])
        assert without_source(after) == without_source(before)
        assert b'"pantrace"' not in target.read_bytes()


def test_a_directory_of_two_runs_counts_repetitions(tmp_path: Path) -> None:
    for number, moment in enumerate((1000.0, 5000.0), 1):
        for name, offset in (("hello", 0.0), ("blocked", 0.5)):
            case = {**cases("two_cases.evalset_result.json")[0], "eval_id": name}
            row = {
                "eval_set_result_id": f"shop_{number}_{name}",
                "eval_set_id": "shop_set",
                "eval_case_results": [case],
                "creation_timestamp": moment + offset,
            }
            (tmp_path / f"{number}{name}.evalset_result.json").write_text(json.dumps(row))
    run = read(tmp_path)
    assert [(sample.id, sample.epoch) for sample in run.samples] == [
        ("hello", 1),
        ("blocked", 1),
        ("hello", 2),
        ("blocked", 2),
    ]
    assert [each["creation_timestamp"] for each in run.extra["adk-history"]["files"]] == [
        1000.0,
        1000.5,
        5000.0,
        5000.5,
    ]


def test_a_directory_with_other_files_is_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes((GOLDEN / "two_cases.evalset_result.json").read_bytes())
    assert FORMAT.detect(Head(tmp_path)) == "directory"
    (tmp_path / "b.json").write_text("{}")
    assert FORMAT.detect(Head(tmp_path)) is None


def test_camel_case_reads_the_same() -> None:
    for case in cases("two_cases.evalset_result.json") + cases("wrong_app.evalset_result.json"):
        camel = to_camel(case, CASE_RESULT)
        assert "evalMetricResultPerInvocation" in camel
        assert to_plain(load(camel)) == to_plain(load(case))


def test_the_same_id_twice_in_one_result_is_two_epochs(tmp_path: Path) -> None:
    case = cases("two_cases.evalset_result.json")[0]
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"eval_set_result_id": "r", "eval_set_id": "s", "eval_case_results": [case, case]}))
    assert [sample.epoch for sample in read(path).samples] == [1, 2]


@pytest.mark.parametrize(
    ("status", "word"),
    [(1, "passed"), (2, "failed"), (3, "unscored"), ("PASS", "passed"), ("FAIL", "failed"), ("PASSED", "passed")],
)
def test_status_by_number_and_by_name(status: Any, word: str) -> None:
    case = {**cases("two_cases.evalset_result.json")[0], "final_eval_status": status}
    outcome = done(load(case)).outcome
    assert outcome is not None
    assert outcome.status == word


def test_an_inference_failure_is_an_error_with_its_reason() -> None:
    case = cases("two_cases.evalset_result.json")[0]
    user = case["session_details"]["events"][0]
    broken = {**user, "author": "greeter", "content": None, "error_code": "RuntimeError", "error_message": "no quota"}
    session = {**case["session_details"], "events": [user, broken]}
    failed = {
        **case,
        "final_eval_status": 2,
        "overall_eval_metric_results": [],
        "eval_metric_result_per_invocation": [],
        "session_details": session,
    }
    sample = load(failed)
    outcome = done(sample).outcome
    assert outcome is not None
    assert (outcome.status, outcome.reason) == ("error", "RuntimeError: no quota")
    assert sample.scores == ()
    assert sample.extra["adk-history"]["absent"] == ["app_details", "invocations", "usage"]
    looped = {**broken, "error_code": "LlmCallsLimitExceededError"}
    outcome = done(load({**failed, "session_details": {**session, "events": [user, looped]}})).outcome
    assert outcome is not None
    assert outcome.status == "limit"
    assert FORMAT.dump is not None
    assert to_plain(load(FORMAT.dump(sample, None))) == to_plain(sample)


def test_unknown_fields_are_kept_at_every_level() -> None:
    case = json.loads(json.dumps(cases("two_cases.evalset_result.json")[0]))
    case["new_of_case"] = {"a": 1}
    case["session_details"]["new_of_session"] = 2
    case["session_details"]["events"][1]["new_of_event"] = [3]
    case["overall_eval_metric_results"][0]["new_of_metric"] = 4
    case["eval_metric_result_per_invocation"][0]["actual_invocation"]["new_of_invocation"] = 5
    sample = load(case)
    assert sample.extra["adk-history"]["new_of_case"] == {"a": 1}
    assert done(sample).extra["adk"]["new_of_session"] == 2
    assert done(sample).steps[1].extra["adk"]["new_of_event"] == [3]
    assert sample.scores[0].extra["adk-history"]["new_of_metric"] == 4
    assert done(sample).invocations[0].extra["adk"]["new_of_invocation"] == 5
    assert FORMAT.dump is not None
    assert to_plain(load(FORMAT.dump(sample, None))) == to_plain(sample)


def test_what_the_invocations_say_beyond_the_session_is_kept() -> None:
    case = json.loads(json.dumps(cases("two_cases.evalset_result.json")[0]))
    extra = {"author": "auditor", "content": {"parts": [{"text": "only here"}], "role": "model"}}
    data = case["eval_metric_result_per_invocation"][0]["actual_invocation"]["intermediate_data"]
    data["invocation_events"].append(extra)
    kept = done(load(case)).invocations[0].extra["adk"]["recorded"]
    assert kept["intermediate_data"]["invocation_events"] == [extra]
    assert "recorded" not in done(load(cases("two_cases.evalset_result.json")[0])).invocations[0].extra.get("adk", {})


def test_instructions_that_change_between_turns_are_kept() -> None:
    case = json.loads(json.dumps(cases("two_cases.evalset_result.json")[1]))
    second = case["eval_metric_result_per_invocation"][1]["actual_invocation"]["app_details"]
    second["agent_details"]["greeter"]["instructions"] = "Be formal now."
    sample = load(case)
    greeter = done(sample).agents[0]
    assert greeter.instructions is not None
    assert greeter.instructions.startswith("You greet customers")
    kept = done(sample).invocations[1].extra["adk"]["app_details"]["agent_details"]["greeter"]
    assert kept["instructions"] == "Be formal now."
    assert FORMAT.dump is not None
    assert to_plain(load(FORMAT.dump(sample, None))) == to_plain(sample)


def test_deprecated_pairs_of_metric_and_result_are_scores() -> None:
    case = dict(cases("two_cases.evalset_result.json")[0])
    pair = [
        {"metric_name": "safety_v1", "threshold": 0.8, "judge_model_options": {"judge_model": "gemini-2.5-flash"}},
        {"score": 1.0, "eval_status": 1},
    ]
    case.update(overall_eval_metric_results=None, eval_metric_results=[pair], eval_metric_result_per_invocation=[])
    (score,) = load(case).scores
    assert (score.name, score.value, score.threshold, score.passed) == ("safety_v1", 1.0, 0.8, True)
    assert score.extra["adk-history"]["judge_model_options"] == {"judge_model": "gemini-2.5-flash"}


def test_rubrics_and_their_scores_are_details() -> None:
    case = json.loads(json.dumps(cases("two_cases.evalset_result.json")[0]))
    metric = case["overall_eval_metric_results"][0]
    metric["details"] = {"rubric_scores": [{"rubric_id": "polite", "rationale": "says please", "score": 1.0}]}
    metric["criterion"] = {"threshold": 1.0, "judge_model_options": {"num_samples": 5}}
    score = load(case).scores[0]
    assert score.details["rubric_scores"][0]["rationale"] == "says please"
    assert score.details["criterion"] == {"judge_model_options": {"num_samples": 5}}
    assert FORMAT.dump is not None
    written = FORMAT.dump(load(case), None)["overall_eval_metric_results"][0]
    assert written["details"]["rubric_scores"] == metric["details"]["rubric_scores"]
    assert written["criterion"] == metric["criterion"]


def test_expected_invocations_are_the_reference() -> None:
    refund = load(cases("two_cases.evalset_result.json")[1])
    assert refund.expected is not None
    wanted = [part.name for step in refund.expected.steps for part in step.parts if isinstance(part, ToolCall)]
    assert wanted == ["transfer_to_agent", "lookup_order", "lookup_order", "issue_refund"]
    assert refund.case is not None
    assert refund.case.reference == "I refunded $35.98 for order ORD-98765."
    assert [call.name for call in refund.case.expected_calls or ()] == wanted
    scenario = json.loads(json.dumps(cases("two_cases.evalset_result.json")[1]))
    for block in scenario["eval_metric_result_per_invocation"]:
        block["expected_invocation"] = None
    assert load(scenario).expected is None
    assert load(scenario).case.expected_calls is None  # type: ignore[union-attr]


def test_a_foreign_sample_becomes_calls_and_answers_in_events_of_their_own() -> None:
    sample = next(iter(read(ROOT / "native" / "every_part.trace.jsonl").samples))
    assert FORMAT.dump is not None
    row = FORMAT.dump(sample, None)
    events = row["session_details"]["events"]
    kinds = [[next(iter(part)) for part in event.get("content", {}).get("parts", ())] for event in events]
    assert ["text", "text", "function_call"] in kinds
    assert ["function_response"] in kinds
    assert all(event["author"] and event["invocation_id"] for event in events)
    usages = [event["usage_metadata"] for event in events if "usage_metadata" in event]
    assert [usage["total_token_count"] for usage in usages] == [150]
    back = load(row)
    assert not sample_losses(sample, back, {}, "adk-history")
    # What ADK's shape adds is no claim that nobody made: scores, parts and outcomes are exactly as before.
    assert back.scores == sample.scores
    assert [step.parts for step in done(back).steps] == [step.parts for step in done(sample).steps]
    assert done(back).outcome == done(sample).outcome


def test_no_time_is_invented() -> None:
    step = Trajectory(id="t", steps=read_steps("user", "agent"))
    assert FORMAT.dump is not None
    row = FORMAT.dump(Sample(id="a", trajectory=step), None)
    assert "timestamp" not in json.dumps(row)
    assert "duration" not in json.dumps(row)
    assert "last_update_time" not in row["session_details"]


def read_steps(*roles: Any) -> Any:
    from pantrace.model import Step

    return tuple(Step(role=role, parts=(Text(text=role),)) for role in roles)


def test_broken_cases_are_named_and_the_others_read(tmp_path: Path) -> None:
    good = cases("two_cases.evalset_result.json")[0]
    path = tmp_path / "x.json"
    bad = {**good, "eval_metric_result_per_invocation": ["nonsense"]}
    rows = {"eval_set_result_id": "r", "eval_set_id": "s", "eval_case_results": [bad, {"a": 1}, good]}
    path.write_text(json.dumps(rows))
    broken: list[ReadError] = []
    assert [sample.id for sample in read(path, on_broken=broken.append).samples] == ["blocked"]
    assert [error.place for error in broken] == ["case 1", "case 2"]


def test_validate_finds_every_place(tmp_path: Path) -> None:
    from pantrace.engine.validate import validate

    assert not [each for each in validate(GOLDEN / "two_cases.evalset_result.json") if each.level == "error"]
    warned = validate(GOLDEN / "double_encoded_1.21.evalset_result.json")
    assert "JSON string" in warned[0].message
    row = json.loads((GOLDEN / "two_cases.evalset_result.json").read_bytes())
    row["eval_case_results"][1]["session_details"]["events"][0]["author"] = None
    row["eval_case_results"][0]["overall_eval_metric_results"][0]["score"] = "high"
    path = tmp_path / "x.json"
    path.write_text(json.dumps(row))
    places = [each.place for each in validate(path) if each.level == "error"]
    assert places == [
        "eval_case_results[0].overall_eval_metric_results[0].score",
        "eval_case_results[1].session_details.events[0].author",
        "case 1",  # which cannot be read: an author must be text
    ]


def test_the_final_response_of_a_blocked_case_is_none() -> None:
    sample = load(cases("two_cases.evalset_result.json")[0])
    assert final_response(done(sample)) is None
    step = done(sample).steps[-1]
    assert step.error is not None
    assert (step.stop, step.error.kind) == ("SAFETY", "SAFETY")
