"""The explain format: what is peculiar to its datasets, reports and scenario catalogues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from any_sample import json_value, samples
from corpus import CORPUS, needs_corpus
from goldens import ROOT, without_source
from pantrace.engine.convert import convert, write_run
from pantrace.engine.read import Notes, read, read_pile
from pantrace.engine.select import Selection
from pantrace.engine.validate import validate
from pantrace.errors import ReadError, UsageError
from pantrace.formats import by_name, detect
from pantrace.formats.explain import Options, explain_inputs
from pantrace.formats.explain.bundle import EVALS
from pantrace.formats.explain.dataset import CASE
from pantrace.formats.explain.report import AGENT, REPORT
from pantrace.formats.explain.scored_case import METRIC, SCORED
from pantrace.model import (
    Agent,
    Case,
    Run,
    Sample,
    Score,
    Step,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    Trajectory,
    Violation,
    header_of,
)
from pantrace.wire.head import Head
from pantrace.wire.json import decode, encode, to_plain
from pantrace.wire.loss import sample_losses

FORMAT = by_name("explain")
GOLDEN = ROOT / "explain"
PUBLIC = CORPUS / "public/explain/agentsleague"
quiet = settings(max_examples=60, suppress_health_check=list(HealthCheck))

SEED_KEYS = [
    *("case_id", "scenario_id", "agent_name", "phase", "difficulty", "quality_band", "topic_family", "learner_level"),
    *("question", "context", "model_answer", "reference_answer", "task_goal", "relevant_context"),
    *("available_tools", "expected_tool_calls", "invoked_tool_calls", "explain_inputs"),
    *("required_evals", "threshold_profile", "expected_contract"),
]


def load(row: Any) -> Sample:
    assert FORMAT.load is not None
    return FORMAT.load(row)


def dump(sample: Sample, **options: Any) -> Any:
    assert FORMAT.dump is not None
    return FORMAT.dump(sample, Options(**options))


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8-sig").splitlines()]


def golden_case(number: int) -> dict[str, Any]:
    return rows_of(GOLDEN / "cases.explain.jsonl")[number - 1]


def in_order(value: Any) -> Any:
    """A JSON value that is equal only if the keys stand in the same order."""
    if isinstance(value, dict):
        return [(key, in_order(item)) for key, item in value.items()]
    return [in_order(item) for item in value] if isinstance(value, list) else value


# Cases


def test_a_case_without_answer_and_calls_has_not_been_run() -> None:
    assert load({"case_id": "a-001", "agent_name": "a", "question": "Why?"}).trajectory is None
    assert load({"case_id": "a-001", "agent_name": "a", "question": "Why?", "model_answer": None}).trajectory is None
    assert load({"case_id": "a-001", "agent_name": "a", "model_answer": ""}).trajectory is not None


def test_a_case_needs_only_its_id() -> None:
    assert load({"case_id": "a-001"}).case == Case(id="a-001")
    with pytest.raises(ReadError, match="case_id"):
        load({"agent_name": "a", "question": "Why?"})


def test_the_answer_is_the_trajectory() -> None:
    sample = load(golden_case(1))
    assert sample.trajectory is not None
    user, agent = sample.trajectory.steps
    assert (user.role, user.parts) == ("user", (Text(text="Plan a two hour walk through the old town."),))
    assert [type(part).__name__ for part in agent.parts] == [*["ToolCall", "ToolResult"] * 2, "Text"]


def test_an_outcome_is_kept_as_recorded_and_a_failure_is_seen() -> None:
    calls = [
        {"tool": "t", "arguments": {"a": 1}, "outcome": "relevant"},
        {"tool": "t", "arguments": {"a": 1}, "outcome": "error"},
        {"tool": "t", "arguments": "{", "outcome": {"error": "bad"}},
        {"tool": "t", "outcome": {"error": "bad", "code": 4}},
        {"tool": "t", "outcome": None},
        {"tool": "t"},
    ]
    sample = load({"case_id": "a-001", "agent_name": "a", "invoked_tool_calls": calls})
    assert sample.trajectory is not None
    results = [part for part in sample.trajectory.steps[0].parts if isinstance(part, ToolResult)]
    found = [(each.call_id, each.output, each.error, each.failure) for each in results]
    assert found == [
        ("call_1", "relevant", None, None),
        ("call_2", "error", None, "error"),
        ("call_3", None, "bad", "error"),
        ("call_4", {"error": "bad", "code": 4}, None, None),
        ("call_5", None, None, None),
    ]
    assert dump(sample)["invoked_tool_calls"] == calls


@pytest.mark.parametrize("number", [1, 2])
def test_a_full_case_is_written_with_the_keys_of_its_description_in_their_order(number: int) -> None:
    row = golden_case(number)
    written = dump(load(row))
    assert [key for key in written if key != "x_reviewer"] == SEED_KEYS
    assert written == row


def test_keys_are_read_in_any_letters_and_written_as_they_were() -> None:
    row = {"CASE_ID": "a-001", "Agent_Name": "a", "Model_Answer": "x", "Invoked_Tool_Calls": [{"Tool": "t", "Z": 1}]}
    sample = load(row)
    assert sample.case is not None
    assert (sample.id, sample.case.agent) == ("a-001", "a")
    assert dump(sample, bundle=False) == row


def test_a_value_of_the_wrong_kind_is_kept_and_is_no_value() -> None:
    row = {"case_id": "a-001", "agent_name": "a", "difficulty": 3, "model_answer": "x", "invoked_tool_calls": [1]}
    sample = load(row)
    assert sample.case is not None
    assert sample.case.labels == {}
    assert dump(sample, bundle=False) == row


@quiet
@given(row=st.dictionaries(st.sampled_from([*CASE.fits, "Question", "other"]), json_value, max_size=8))
def test_any_case_returns_whole(row: dict[str, Any]) -> None:
    row["case_id"] = "a-001"
    sample = load(row)
    assert to_plain(load(decode(encode(dump(sample))))) == to_plain(sample)
    list(FORMAT.check(row) if FORMAT.check else ())


# The bundle


def test_a_bundle_that_follows_from_the_case_is_not_stored() -> None:
    sample = load(golden_case(1))
    assert sample.case is not None
    assert sample.case.extra == {}
    assert explain_inputs(sample) == golden_case(1)["explain_inputs"]


def test_only_what_differs_of_a_bundle_is_stored() -> None:
    sample = load(golden_case(2))
    assert sample.case is not None
    kept = sample.case.extra["explain"]["explain_inputs"]
    assert set(kept) == {"TaskAdherenceExplain", "EmpathyExplain"}
    assert kept["EmpathyExplain"] is None
    # What a judge is given: the payload's own words, and the case's where it has none.
    assert explain_inputs(sample)["TaskAdherenceExplain"] == golden_case(2)["explain_inputs"]["TaskAdherenceExplain"]
    assert explain_inputs(sample)["EmpathyExplain"]["input"] == golden_case(2)["model_answer"]


def test_the_bundle_can_be_left_out_and_is_not_written_for_a_case_without_an_answer() -> None:
    assert "explain_inputs" not in dump(load(golden_case(1)), bundle=False)
    assert "explain_inputs" not in dump(load(rows_of(GOLDEN / "comparative.explain.jsonl")[0]))


def conversation() -> Sample:
    def step(role: Any, *parts: Any) -> Step:
        return Step(role=role, parts=parts)

    call = ToolCall(id="c", name="bash", arguments={"command": "ls"})
    return Sample(
        id="ses_1",
        epoch=2,
        trajectory=Trajectory(
            agents=(Agent(name="build", tools=(Tool(name="bash"), Tool(name="read"))),),
            steps=(
                step("system", Text(text="Be brief.")),
                step("user", Text(text="Hello.")),
                step("agent", Text(text="Hi.")),
                step("user", Text(text="List the files.")),
                step("agent", Text(text="I look."), call),
                step("tool", ToolResult(call_id="c", output="a.txt", error="disk slow", failure="error")),
                step("agent", Text(text="There is a.txt.")),
            ),
        ),
        scores=(Score(name="accuracy", value=True), Score(name="grade", value="C")),
    )


def test_a_conversation_of_another_format_becomes_a_case() -> None:
    row = dump(conversation())
    assert row["case_id"] == "ses_1#2"
    assert row["agent_name"] == "build"
    assert row["question"] == "List the files."
    assert row["context"] == "user: Hello.\n\nagent: Hi."
    assert row["model_answer"] == "There is a.txt."
    assert row["available_tools"] == ["bash", "read"]
    outcome = {"output": "a.txt", "error": "disk slow"}
    assert row["invoked_tool_calls"] == [{"tool": "bash", "arguments": {"command": "ls"}, "outcome": outcome}]
    assert "scenario_id" not in row
    lost = {loss.path for loss in sample_losses(conversation(), load(row), FORMAT.lost, "explain")}
    assert {"id", "epoch", "scores", "trajectory.steps[0]", "trajectory.steps[1]"} <= lost


def test_the_inputs_of_any_sample_have_the_nine_shapes() -> None:
    inputs = explain_inputs(conversation())
    assert tuple(inputs) == EVALS
    assert set(inputs["ToolCallAccuracyExplain"]) == {"input", "question", "availableTools", "invokedTools"}
    assert inputs["PerceivedIntelligenceExplain"]["rag_mode"] == "non-rag"
    assert inputs["TaskAdherenceExplain"] == {
        "input": "There is a.txt.",
        "question": "List the files.",
        "goal": None,
    }
    assert explain_inputs(Sample(id="x"))["RelevanceExplain"] == {"input": None, "question": None, "context": None}


# Files


def test_a_row_longer_than_the_head_is_recognised(tmp_path: Path) -> None:
    row = {"case_id": "a-001", "agent_name": "a", "question": "q", "model_answer": "x" * 90_000, "required_evals": []}
    path = tmp_path / "long.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + encode(row) + b"\n" + encode({**row, "case_id": "a-002"}))
    assert [format_.name for format_, _ in [detect(path)]] == ["explain"]
    assert [sample.id for sample in read(path).samples] == ["a-001", "a-002"]


def test_a_line_that_the_original_passes_over_is_named(tmp_path: Path) -> None:
    path = tmp_path / "commented.jsonl"
    row = encode({"case_id": "a-001", "agent_name": "a"})
    path.write_bytes(b"# my cases\n" + row + b"\n\n[1]\n")
    broken: list[ReadError] = []
    assert detect(path)[0].name == "explain"
    assert [sample.id for sample in read(path, on_broken=broken.append).samples] == ["a-001"]
    assert [error.place for error in broken] == ["line 1", "line 4"]
    assert "does not begin with {" in broken[0].message


def test_a_catalogue_in_common_is_joined_and_written_with_the_case(tmp_path: Path) -> None:
    for folder, name in (("common", "scenario-catalog.jsonl"), ("tours", "cases.explain.jsonl")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes((GOLDEN / name).read_bytes())
    source, target = tmp_path / "tours/cases.explain.jsonl", tmp_path / "out.jsonl"
    first, second, third = read(source).samples
    assert first.case is not None
    assert second.case is not None
    assert first.case.labels["noise_factor"] == "none"
    assert first.case.extra["explain"]["scenario"]["weekly_hours"] == 2
    assert second.case.labels["learner_level"] == "advanced"
    assert third.case is not None
    assert "noise_factor" not in third.case.labels
    report = convert(source, target, to="explain")
    assert not report.losses
    assert rows_of(target)[0]["labels"]["noise_factor"] == "none"
    convert(source, target, to="explain", options={"labels": "false"})
    assert rows_of(target)[0] == golden_case(1)
    assert next(iter(read(GOLDEN / "cases.explain.jsonl").samples)).case == first.case


def test_a_dataset_named_json_is_an_array(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    convert(GOLDEN / "comparative.explain.jsonl", target, to="explain")
    assert json.loads(target.read_bytes()) == rows_of(GOLDEN / "comparative.explain.jsonl")
    assert detect(target)[0].name == "explain"


def test_cases_and_reports_are_not_mixed_silently(tmp_path: Path) -> None:
    pile = [GOLDEN / "comparative.explain.jsonl", GOLDEN / "report.json"]
    with pytest.raises(UsageError, match="kind=report"):
        write_run(read_pile(pile, notes=Notes()), tmp_path / "out.jsonl", to="explain")
    assert not (tmp_path / "out.jsonl").exists()
    report = write_run(read_pile(pile, notes=Notes()), tmp_path / "out", to="explain", options={"kind": "report"})
    assert report.samples == 6
    assert json.loads((tmp_path / "out").read_bytes())["totalCases"] == 6


# Reports


def test_an_errored_case_is_an_error_and_not_a_zero() -> None:
    sample = next(iter(read(GOLDEN / "report.json").samples))
    assert sample.trajectory is not None
    assert sample.trajectory.outcome is not None
    assert sample.trajectory.outcome.status == "error"
    (composite,) = sample.scores
    assert (composite.value, composite.status, composite.passed) == (None, "failed", False)


def test_minus_one_is_unscored_and_is_written_back() -> None:
    *_, sample = read(GOLDEN / "report.json").samples
    score = next(score for score in sample.scores if score.name == "ToolCallAccuracyExplain")
    assert (score.value, score.status) == (None, "unscored")
    row = next(metric for metric in dump(sample)["metrics"] if metric["metricName"] == score.name)
    assert row == {
        "metricName": score.name,
        "evalName": score.name,
        "score": -1,
        "probScore": -1,
        "reasoning": None,
        "chainOfThought": None,
    }


def test_each_score_has_its_scale() -> None:
    *_, sample = read(GOLDEN / "report.json").samples
    scales = {score.name: (score.scale.low, score.scale.high) for score in sample.scores if score.scale is not None}
    assert set(scales) == set(EVALS)
    assert {name for name, scale in scales.items() if scale == (1, 10)} == {"PerceivedIntelligenceExplain"}


def test_a_report_is_written_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    convert(GOLDEN / "report.json", target, to="explain", strict=True)
    assert in_order(json.loads(target.read_bytes())) == in_order(json.loads((GOLDEN / "report.json").read_bytes()))


def test_a_stored_average_that_its_cases_do_not_give_is_kept_beside_what_they_give() -> None:
    run = read(GOLDEN / "report.json")
    differing = [(each.name, each.value, each.extra["explain"]) for each in run.results if each.extra]
    assert differing == [("composite", 4.5, {"recomputed": 4.615})]
    assert [each.place for each in validate(GOLDEN / "report.json") if "stored" in each.message] == [
        "perAgent.tour-planner.compositeAverage"
    ]


def test_totals_of_a_part_of_a_report_are_counted_anew_over_scored_values(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    convert(GOLDEN / "report.json", target, to="explain", selection=Selection(limit=3))
    written = json.loads(target.read_bytes())
    assert (written["totalCases"], written["totalPassed"], written["judge"]) == (3, 2, "a-small-judge")
    assert written["generatedAtUtc"] == "2026-03-01T08:15:30.1234567+00:00"
    assert written["perAgent"]["walk-workflow-multi-agent"]["compositeAverage"] == 4.75
    assert not [each for each in validate(target) if "stored" in each.message]


def test_scores_of_another_format_become_a_report(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    report = write_run(Run(samples=[conversation()]), target, to="explain", options={"kind": "report"})
    written = json.loads(target.read_bytes())
    (case,) = written["cases"]
    assert "compositeScore" not in case
    assert "passed" not in case
    assert [(metric["score"], metric["value"]) for metric in case["metrics"]] == [(1, True), (None, "C")]
    assert written["perAgent"]["build"]["metricAverages"]["accuracy"] == {"averageScore": 1}
    (sample,) = read(target).samples
    assert [score.value for score in sample.scores] == [True, "C"]
    assert not any(path.startswith("scores") for path, _, _ in report.losses)


def test_a_report_in_other_letters_is_read_and_returns(tmp_path: Path) -> None:
    def pascal(value: Any) -> Any:
        if isinstance(value, dict):
            words = {*REPORT.fits, *AGENT.fits, *SCORED.fits, *METRIC.fits, "averageScore", "averageProbScore"}
            return {key[0].upper() + key[1:] if key in words else key: pascal(item) for key, item in value.items()}
        return [pascal(item) for item in value] if isinstance(value, list) else value

    path, target = tmp_path / "pascal.json", tmp_path / "out.json"
    document = pascal(json.loads((GOLDEN / "report.json").read_bytes()))
    path.write_bytes(encode(document))
    run = read(path)
    assert [each.value for each in run.results] == [each.value for each in read(GOLDEN / "report.json").results]
    convert(path, target, to="explain", strict=True)
    assert in_order(json.loads(target.read_bytes())) == in_order(document)


@quiet
@given(sample=samples())
def test_any_sample_becomes_a_case_of_a_report(sample: Sample) -> None:
    row = decode(encode(dump(sample, kind="report")))
    assert [violation for violation in validate(row, format="explain") if violation.level == "error"] == []
    once = load(row)
    assert to_plain(load(decode(encode(dump(once))))) == to_plain(once)
    assert [score.value for score in once.scores if score.name != "composite"] == [s.value for s in sample.scores]


@quiet
@given(
    case=st.dictionaries(st.sampled_from([*SCORED.fits, "other"]), json_value, max_size=6),
    metric=st.dictionaries(st.sampled_from([*METRIC.fits, "other"]), json_value, max_size=6),
    agent=st.dictionaries(st.sampled_from([*AGENT.fits, "other"]), json_value, max_size=6),
    root=st.dictionaries(st.sampled_from(["totalPassed", "overallPassRate", "other"]), json_value, max_size=3),
)
@example(case={}, metric={"value": False, "score": 1}, agent={}, root={})
def test_any_report_returns_whole(
    case: Any, metric: Any, agent: Any, root: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("report")
    path, target = folder / "in.json", folder / "out.json"
    cases = [{**case, "caseId": "a"}, {"caseId": "b", "metrics": [{**metric, "metricName": "m"}], "passed": True}]
    path.write_bytes(encode({**root, "totalCases": 2, "perAgent": {"x": agent}, "cases": cases}))
    list(validate(path))
    run = read(path)
    before = [to_plain(sample) for sample in run.samples]
    write_run(read(path), target, to="explain", measure=False)
    after = read(target, format="explain")
    assert without_source(to_plain(header_of(after))) == without_source(to_plain(header_of(run)))
    assert [to_plain(sample) for sample in after.samples] == before


def test_one_broken_case_of_a_report_is_named_and_left_out(tmp_path: Path) -> None:
    document = json.loads((GOLDEN / "report.json").read_bytes())
    document["cases"][1:3] = [7, {"agentName": "nobody"}]
    path = tmp_path / "report.json"
    path.write_bytes(encode(document))
    broken: list[ReadError] = []
    assert len(list(read(path, on_broken=broken.append).samples)) == 2
    assert [error.place for error in broken] == ["cases[1]", "cases[2]"]


# Validation


def complaints(path: Path) -> list[tuple[str, str | None]]:
    return [(each.level, each.place) for each in validate(path)]


def test_what_is_wrong_in_the_golden_cases() -> None:
    assert complaints(GOLDEN / "scenario-catalog.jsonl") == []
    found = complaints(GOLDEN / "cases.explain.jsonl")
    assert [each for each in found if each[1] and each[1].startswith("line 1")] == [("warning", "line 1, agent_name")]
    assert [each for each in found if each[1] and each[1].startswith("line 2")] == [
        ("error", "line 2, explain_inputs.TaskAdherenceExplain.input"),
        ("error", "line 2, explain_inputs.TaskAdherenceExplain.question"),
        ("warning", "line 2, explain_inputs.EmpathyExplain"),
        ("warning", "line 2, learner_level"),
    ]
    third = {each for each in found if each[1] and each[1].startswith("line 3")}
    assert {level for level, _ in third} == {"warning"}
    places = {str(place).removeprefix("line 3, ") for _, place in third}
    assert {"case_id", "difficulty", "required_evals[1]", "scenario_id", "threshold_profile"} <= places


def of_row(row: dict[str, Any]) -> list[tuple[str, str | None]]:
    assert FORMAT.check is not None
    found: list[Violation] = list(FORMAT.check(row))
    return [(each.level, each.place) for each in found]


def test_an_eval_that_cannot_run_is_an_error() -> None:
    row = golden_case(1)
    assert of_row(row) == []
    del row["relevant_context"]
    # A payload can supply what the case lacks.
    payload = "explain_inputs.IntentResolutionExplain.relevantContext"
    assert of_row(row) == [("warning", "relevant_context"), ("warning", payload)]
    del row["explain_inputs"]["IntentResolutionExplain"]["relevantContext"]
    assert of_row(row) == [("warning", "relevant_context"), ("error", "relevant_context"), ("warning", payload)]
    bare = {key: value for key, value in golden_case(1).items() if key not in ("model_answer", "explain_inputs")}
    assert ("error", "model_answer") in of_row(bare)


DIFFERENT = [
    # payload, key, value -> level, and what the message says
    ("FluencyExplain", "input", "something else", "error", "judges read 'something else' here, but the case's"),
    ("FluencyExplain", "question", None, "error", "judges read nothing here"),
    ("RelevanceExplain", "context", "another", "error", "but the case's context is"),
    ("TaskAdherenceExplain", "goal", "another", "error", "but the case's task_goal is"),
    ("IntentResolutionExplain", "relevantContext", "another", "error", "but the case's relevant_context is"),
    ("ToolCallAccuracyExplain", "availableTools", ["other"], "error", "but the case's available_tools is"),
    ("ToolCallAccuracyExplain", "invokedTools", [], "error", "but the case's invoked_tool_calls is"),
    ("ToolCallAccuracyExplain", "invokedTools", 7, "error", "must be an array, or text"),
    ("HelpfulnessExplain", "input", {"a": 1}, "error", "must be text"),
    ("PerceivedIntelligenceExplain", "rag_mode", "rag", "warning", "the document knows 'non-rag' only"),
    ("PerceivedIntelligenceExplain", "rag_mode", "hybrid", "error", "'hybrid' is not a mode"),
    ("PerceivedIntelligenceExplain", "rag_mode", None, "error", "None is not a mode"),
    ("CoherenceExplain", "goal", "x", "warning", "is not an input of CoherenceExplain"),
    ("CoherenceExplain", "colour", "x", "warning", "is an unknown key"),
]


@pytest.mark.parametrize(("name", "key", "value", "level", "why"), DIFFERENT)
def test_a_payload_that_says_something_else_is_named(name: str, key: str, value: Any, level: str, why: str) -> None:
    row = golden_case(1)
    row["explain_inputs"][name][key] = value
    assert FORMAT.check is not None
    (found,) = FORMAT.check(row)
    assert (found.level, found.place) == (level, f"explain_inputs.{name}.{key}")
    assert why in found.message


@pytest.mark.parametrize("name", EVALS)
def test_every_key_that_a_payload_lacks_is_named(name: str) -> None:
    for key in golden_case(1)["explain_inputs"][name]:
        row = golden_case(1)
        del row["explain_inputs"][name][key]
        assert of_row(row) == [("warning", f"explain_inputs.{name}.{key}")]


def test_texts_that_differ_late_are_told_apart() -> None:
    row = golden_case(1)
    row["explain_inputs"]["FluencyExplain"]["input"] = row["model_answer"] + "!"
    assert FORMAT.check is not None
    (found,) = FORMAT.check(row)
    assert f"differ from character {len(row['model_answer']) + 1} on" in found.message


def test_payloads_that_are_none() -> None:
    row = golden_case(1)
    row["explain_inputs"] |= {"FluencyExplain": "text", "PolitenessExplain": {}}
    del row["explain_inputs"]["RelevanceExplain"]
    row["required_evals"] = ["RelevanceExplain"]
    assert of_row(row) == [
        ("error", "explain_inputs.FluencyExplain"),
        ("warning", "explain_inputs.PolitenessExplain"),
        ("warning", "explain_inputs.RelevanceExplain"),
    ]


def test_a_comparative_case_needs_no_answer() -> None:
    row = rows_of(GOLDEN / "comparative.explain.jsonl")[0]
    assert of_row(row) == []
    assert of_row({**row, "workflow_mode": "swarm"}) == [("warning", "workflow_mode")]


def test_a_wrong_type_is_an_error_and_a_wrong_word_a_warning() -> None:
    assert of_row({**golden_case(1), "phase": "party"}) == [("warning", "phase")]
    assert ("error", "question") in of_row({**golden_case(1), "question": 5})
    assert ("error", "case_id") in of_row({"agent_name": "a"})


def test_a_case_id_that_occurs_twice_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "twice.jsonl"
    path.write_bytes(encode(golden_case(1)) + b"\n" + encode(golden_case(1)) + b"\n")
    assert complaints(path) == [("warning", "line 1, agent_name"), ("error", "line 2")]


# The published files


@needs_corpus
@pytest.mark.parametrize(
    ("name", "variant", "count"),
    [
        ("curator/learning-path-curator.explain.jsonl", "dataset", 30),
        ("full-workflow/preparation-workflow.comparative.explain.jsonl", "comparative", 50),
        ("common/scenario-catalog.jsonl", "catalogue", 30),
    ],
)
def test_published_rows_return_whole(name: str, variant: str, count: int, tmp_path: Path) -> None:
    path, target = PUBLIC / name, tmp_path / "out.jsonl"
    assert FORMAT.detect(Head(path)) == variant
    assert convert(path, target, to="explain", strict=True).samples == count
    again = [without_source(to_plain(sample)) for sample in read(target).samples]
    assert again == [without_source(to_plain(sample)) for sample in read(path).samples]
    convert(path, target, to="explain", options={"labels": "false"})
    assert rows_of(target) == rows_of(path)
    assert not [each for each in validate(path) if each.level == "error"]


@needs_corpus
def test_the_published_bundles_follow_from_their_cases() -> None:
    rows = rows_of(PUBLIC / "curator/learning-path-curator.explain.jsonl")
    found = list(read(PUBLIC / "curator/learning-path-curator.explain.jsonl").samples)
    assert [explain_inputs(sample) for sample in found] == [row["explain_inputs"] for row in rows]
    assert not any("explain_inputs" in sample.case.extra.get("explain", {}) for sample in found if sample.case)
    assert all(sample.case and sample.case.labels["target_exam"] for sample in found)
    failures = [
        part.failure
        for sample in found
        if sample.trajectory
        for part in sample.trajectory.steps[1].parts
        if isinstance(part, ToolResult)
    ]
    assert (failures.count(None), failures.count("error")) == (206, 39)


@needs_corpus
def test_published_comparative_cases_have_not_been_run_and_hang_loose() -> None:
    path = PUBLIC / "full-workflow/preparation-workflow.comparative.explain.jsonl"
    assert all(sample.trajectory is None for sample in read(path).samples)
    found = validate(path)
    assert {(each.level, (each.place or "").rpartition(" ")[2]) for each in found} == {("warning", "scenario_id")}
    assert len(found) == 50


@needs_corpus
def test_published_reports_return_as_they_were(tmp_path: Path) -> None:
    errored = scored = unscored = 0
    paths = sorted((PUBLIC / "reports").glob("*.json"))
    assert len(paths) == 6
    for path in paths:
        assert FORMAT.detect(Head(path)) == "report"
        for sample in read(path).samples:
            outcome = sample.trajectory.outcome if sample.trajectory is not None else None
            errored += outcome is not None and outcome.status == "error"
            scored += sample.scores[0].status == "scored"
            unscored += sum(score.status == "unscored" for score in sample.scores)
            assert all(score.value != -1 for score in sample.scores)
        target = tmp_path / path.name
        convert(path, target, to="explain", strict=True)
        assert in_order(json.loads(target.read_bytes())) == in_order(json.loads(path.read_bytes()))
    assert (scored, errored, unscored) == (253, 7, 24)


@needs_corpus
def test_one_stored_average_of_the_published_reports_is_wrong() -> None:
    wrong = [
        (path.stem[-15:], each.place, each.message)
        for path in sorted((PUBLIC / "reports").glob("*.json"))
        for each in validate(path)
        if "stored 3" in each.message or "its cases give" in each.message
    ]
    place = "perAgent.preparation-workflow-single-agent.compositeAverage"
    assert wrong == [("20260225-001835", place, "stored 3, its cases give 3.5")]
    run = read(PUBLIC / "reports/eval-report-20260225-001835.json")
    both = [(each.value, each.extra["explain"]["recomputed"]) for each in run.results if each.extra]
    assert both == [(3, 3.5)]


@needs_corpus
def test_sessions_beside_the_published_data_are_another_format() -> None:
    sessions = sorted((PUBLIC / "seed_sessions").rglob("*.json"))
    assert len(sessions) == 9
    assert [path.name for path in sessions if FORMAT.detect(Head(path)) is not None] == []
    assert FORMAT.detect(Head(PUBLIC)) is None


def test_samples_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(encode({"case_id": "a-001", "agent_name": "a"}) + b"\n" + b'{"case_id": torn\n')
    reading = iter(read(path).samples)
    assert next(reading).id == "a-001"
    with pytest.raises(ReadError, match="line 2"):
        next(reading)


def test_a_changed_score_makes_the_stored_totals_stale(tmp_path: Path) -> None:
    run = read(GOLDEN / "report.json")
    target = tmp_path / "out.json"

    def more(sample: Sample) -> Sample:
        return msgspec.structs.replace(sample, scores=(*sample.scores, Score(name="length", value=7)))

    write_run(msgspec.structs.replace(run, samples=map(more, run.samples)), target, to="explain")
    assert json.loads(target.read_bytes())["perAgent"]["tour-planner"]["metricAverages"]["length"]["averageScore"] == 7


CALL, RESULT = ToolCall(id="call_1", name="t", arguments={}), ToolResult(call_id="call_1", name="t", output="o")


@pytest.mark.parametrize(
    "parts", [(Text(text="Now."), CALL, RESULT), (CALL, RESULT, Text(text="Done."))], ids=["before", "after"]
)
def test_an_answer_keeps_its_place_among_the_calls(parts: tuple[Any, ...]) -> None:
    steps = (Step(role="user", parts=(Text(text="go"),)), Step(role="agent", agent="a", parts=parts))
    assert FORMAT.dump is not None and FORMAT.load is not None
    row = FORMAT.dump(Sample(id="a-001", trajectory=Trajectory(steps=steps)), Options())
    again = FORMAT.load(decode(encode(row)))
    assert again.trajectory is not None
    assert again.trajectory.steps[-1].parts == parts


def test_a_case_of_no_known_agent_can_be_read_by_everybody(tmp_path: Path) -> None:
    sample = Sample(id="x", case=Case(id="x", question="q"))
    target = tmp_path / "out.jsonl"
    assert not write_run(Run(samples=[sample]), target, to="explain").losses
    assert not [each for each in validate(target) if each.level == "error"]
    (again,) = read(target).samples
    assert again.case is not None and again.case.agent is None
