"""What is peculiar to the JSONL of the ADK evaluation guide: all its fields, and none of the original's defects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.engine.validate import validate
from pantrace.errors import ReadError, UsageError
from pantrace.formats import by_name
from pantrace.formats.adk_jsonl import load_row
from pantrace.formats.adk_jsonl.line import decode_line
from pantrace.model import Invocation, Sample, Step, Text, ToolCall, ToolResult, Trajectory, call_pairs, usage_total
from pantrace.wire.adk.schema import Session
from pantrace.wire.read_listener import listening
from wrong_values import replaced

FORMAT = by_name("adk-jsonl")
GOLDEN = ROOT / "adk-jsonl"
HISTORY = ROOT / "adk-history"
WORKSHOP = CORPUS / "public" / "adk" / "workshop"

ORDER = [
    "request",
    "response",
    "question_id",
    "session_id",
    "base_url",
    "app_name",
    "ADK_USER_ID",
    "status",
    "run_id",
    "agents_evaluated",
    "user_inputs",
    "question_metadata",
    "interaction_datetime",
    "USER",
    "reference_data",
    "missing_information",
    "final_session_state",
    "session_trace",
    "latency_data",
    "trace_summary",
    "extracted_data",
    "final_response",
]
EXTRACTED = [
    "state_variables",
    "tool_interactions",
    "sub_agent_trace",
    "tool_declarations",
    "system_instruction",
    "thinking_trace",
    "grounding_chunks",
    "per_turn_tokens",
    "stop_reasons",
    "conversation_history",
]


def rows(source: Path, folder: Path, **options: str) -> dict[str, dict[str, Any]]:
    target = folder / "out.jsonl"
    report = convert(source, target, to="adk-jsonl", options=options)
    assert all(path.startswith("run.") for path, _, _ in report.losses)  # rows have no place for a run
    found = [json.loads(line) for line in target.read_text().splitlines()]
    return {row["question_id"]: row for row in found}


def dump(sample: Sample, **options: Any) -> dict[str, Any]:
    assert FORMAT.dump is not None
    row: dict[str, Any] = FORMAT.dump(sample, FORMAT.options(**options))
    return row


def load(row: dict[str, Any]) -> Sample:
    assert FORMAT.load is not None
    return FORMAT.load(row)


def test_all_fields_of_the_document_in_the_originals_order(tmp_path: Path) -> None:
    row = rows(HISTORY / "two_cases.evalset_result.json", tmp_path)["refund_multi_turn"]
    assert list(row)[: len(ORDER)] == ORDER
    assert list(row["extracted_data"])[: len(EXTRACTED)] == EXTRACTED
    theirs = [json.loads(line) for line in (GOLDEN / "reference_converter.jsonl").read_text().splitlines()]
    (original,) = [each for each in theirs if each["question_id"] == "refund_multi_turn"]
    assert list(row)[: len(original)] == list(original)
    assert set(original["extracted_data"]) <= set(row["extracted_data"])
    same = ("question_id", "session_id", "app_name", "ADK_USER_ID", "user_inputs", "final_response", "response")
    for key in (*same, *(key for key in original if key.startswith("adk_score."))):
        assert row[key] == original[key], key


def test_content_is_real_where_the_original_has_placeholders(tmp_path: Path) -> None:
    row = rows(HISTORY / "two_cases.evalset_result.json", tmp_path)["refund_multi_turn"]
    data = row["extracted_data"]
    assert data["system_instruction"].startswith("You greet customers of the garden shop")
    assert data["agent_instructions"]["billing_agent"].startswith("You handle refunds.")
    functions = {each["name"]: each for group in data["tool_declarations"] for each in group["function_declarations"]}
    assert functions["issue_refund"]["description"] == "Issues the refund."
    assert functions["issue_refund"]["parameters"]["required"] == ["order_id", "amount_cents"]
    assert data["stop_reasons"] == ["STOP"] * 6
    assert data["model_versions"] == ["gemini-2.5-pro"] * 2 + ["gemini-2.5-flash"] * 4
    assert sum(each["total_token_count"] for each in data["per_turn_tokens"]) == 4826
    assert "cached_content_token_count" not in data["per_turn_tokens"][0]
    assert data["cache_details"]["cached_content_token_count"] == 1920
    assert data["thinking_trace"] == ["The user wants a refund; billing owns refunds.", "Look up the order first."]
    assert data["errors"][0]["error_message"] == "upstream timeout"


def test_grounding_sources_are_there(tmp_path: Path) -> None:
    row = rows(HISTORY / "wrong_app.evalset_result.json", tmp_path)["news_grounded"]
    chunk = {"web": {"domain": "example.org", "title": "Petunia care", "uri": "https://example.org/petunia"}}
    assert row["extracted_data"]["grounding_chunks"] == [chunk]
    assert row["extracted_data"]["grounding_sources"][0]["uri"] == "https://example.org/petunia"


def test_data_keys_keep_their_case(tmp_path: Path) -> None:
    row = rows(HISTORY / "two_cases.evalset_result.json", tmp_path)["refund_multi_turn"]
    text = json.dumps(row)
    assert '"orderId"' not in text
    assert "LlmRequestKey" not in text
    calls = row["extracted_data"]["tool_interactions"]
    assert calls[1]["input_arguments"] == {"order_id": "ORD-98765", "include_items": True}
    assert [call["tool_name"] for call in calls] == [
        "transfer_to_agent",
        "lookup_order",
        "lookup_order",
        "issue_refund",
    ]
    assert (calls[1]["status"], calls[3]["output_result"]) == ("error", "refunded 3598")


def test_one_span_per_call_and_no_invented_time(tmp_path: Path) -> None:
    row = rows(HISTORY / "two_cases.evalset_result.json", tmp_path)["refund_multi_turn"]
    names = [span["name"] for span in row["session_trace"]]
    assert len([name for name in names if name.startswith("execute_tool")]) == 4
    assert names.count("call_llm") == 6
    assert names.count("invocation") == 2
    ended = [span for span in row["session_trace"] if span["end_time"] is not None]
    assert {span["name"] for span in ended} == {"invocation"}
    assert [node["duration_seconds"] for node in row["latency_data"]] == [0.097, 0.196]
    assert len({span["trace_id"] for span in row["session_trace"]}) == 2
    assert row["trace_summary"].count("tool:lookup_order") == 2
    assert "sub-agent:billing_agent" in row["trace_summary"]


def test_without_measured_times_there_are_none() -> None:
    steps = (Step(role="user", parts=(Text(text="a"),)), Step(role="agent", model="m", parts=(Text(text="b"),)))
    row = dump(Sample(id="x", trajectory=Trajectory(id="s", steps=steps)))
    assert all(span["start_time"] is None and span["end_time"] is None for span in row["session_trace"])
    assert row["latency_data"][0]["duration_seconds"] is None
    assert row["interaction_datetime"] is None


def test_pairs_are_right_when_a_turn_has_several_texts() -> None:
    steps = (
        Step(role="user", parts=(Text(text="q1"),)),
        Step(role="agent", parts=(Text(text="looking"), ToolCall(id="c", name="f", arguments={}))),
        Step(role="tool", parts=(ToolResult(call_id="c", output={"a": 1}),)),
        Step(role="agent", parts=(Text(text="a1"),)),
        Step(role="user", parts=(Text(text="q2"),)),
        Step(role="agent", parts=(Text(text="a2"),)),
    )
    row = dump(Sample(id="x", trajectory=Trajectory(id="s", steps=steps)))
    told = [(content["role"], content["parts"][0]["text"]) for content in row["request"]["contents"]]
    assert told == [("user", "q1"), ("model", "looking\n\na1"), ("user", "q2")]
    assert row["extracted_data"]["conversation_history"] == row["request"]["contents"][:-1]
    assert row["final_response"] == "a2"
    assert row["user_inputs"] == ["q1", "q2"]


def test_state_never_hides_a_reserved_key() -> None:
    state = {"tool_interactions": "mine", "final": 1, "errors": 2}
    row = dump(Sample(id="x", trajectory=Trajectory(id="s", state=state)))
    assert row["extracted_data"]["tool_interactions"] == []
    assert row["extracted_data"]["errors"] == []
    assert row["extracted_data"]["final"] == 1
    assert row["extracted_data"]["state_variables"] == state


def test_tool_descriptions_fill_what_the_source_does_not_declare(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    described = {"description": "Looks an order up.", "limitations": ["no refunds"]}
    path.write_text(json.dumps({"_documentation": "x", "tools": {"lookup_order": described, "issue_refund": "Pays."}}))
    row = rows(ROOT / "adk-session" / "saved_refund.session.json", tmp_path, tool_descriptions=str(path))
    functions = next(iter(row.values()))["extracted_data"]["tool_declarations"][0]["function_declarations"]
    assert functions == [
        {"name": "transfer_to_agent"},
        {"name": "lookup_order", "description": "Looks an order up. Limitations: no refunds."},
        {"name": "issue_refund", "description": "Pays."},
    ]
    with pytest.raises(UsageError):
        rows(ROOT / "adk-session" / "saved_refund.session.json", tmp_path, tool_descriptions=str(tmp_path / "none"))


def test_rows_of_the_original_are_read_and_their_defects_flagged() -> None:
    samples = {sample.id: sample for sample in read(GOLDEN / "reference_converter.jsonl").samples}
    refund = samples["refund_multi_turn"]
    assert refund.trajectory is not None
    assert refund.extra["adk-jsonl"]["recased_keys"] is True
    total = usage_total(refund.trajectory)
    assert total is not None
    assert (total.total, total.cache_read) == (4826, 1920)
    assert len(call_pairs(refund.trajectory)) == 4
    # The original invents spans of one second each: no duration follows from them.
    assert refund.trajectory.invocations == ()
    assert refund.trajectory.agents[0].instructions is None


def test_ours_is_not_flagged_and_says_all_that_the_history_says() -> None:
    ours = {sample.id: sample for sample in read(GOLDEN / "ours.jsonl").samples}
    for sample in read(HISTORY / "two_cases.evalset_result.json").samples:
        mine = ours[sample.id]
        assert mine.scores == sample.scores
        assert mine.expected == sample.expected
        assert mine.trajectory is not None
        assert sample.trajectory is not None
        assert mine.trajectory.steps == sample.trajectory.steps
        assert mine.trajectory.invocations == sample.trajectory.invocations
        assert "recased_keys" not in mine.extra.get("adk-jsonl", {})


def test_a_row_without_a_session_is_read_from_what_was_said() -> None:
    row = {
        "question_id": "q",
        "extracted_data": {},
        "request": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
        "response": {"candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}]}}]},
    }
    trajectory = load(row).trajectory
    assert trajectory is not None
    assert [(step.role, step.parts[0].text) for step in trajectory.steps] == [  # type: ignore[union-attr]
        ("user", "hi"),
        ("agent", "hello"),
    ]


def test_nested_model_calls_of_a_real_trace_are_counted_once() -> None:
    def span(name: str, number: int, parent: int | None, start: int, end: int, **attributes: Any) -> dict[str, Any]:
        times = {"start_time": start * 10**9, "end_time": end * 10**9}
        return {"name": name, "span_id": number, "parent_span_id": parent, **times, "attributes": attributes}

    ours = {"gcp.vertex.agent.invocation_id": "e-1"}
    spans = [
        span("invocation", 1, None, 0, 20),
        span("invoke_agent root", 2, 1, 0, 20),
        span("call_llm", 3, 2, 0, 15, **ours),
        span("execute_tool helper", 4, 3, 5, 15),
        span("invocation", 5, 4, 6, 14),
        span("call_llm", 6, 5, 7, 13, **{"gcp.vertex.agent.invocation_id": "e-sub"}),
        span("call_llm", 7, 2, 16, 19, **ours),
    ]
    events = [{"author": "user", "invocationId": "e-1", "content": {"parts": [{"text": "go"}]}}]
    session = {"id": "s", "appName": "app", "userId": "u", "state": {}, "events": events}
    sample = load({"question_id": "q", "base_url": "http://x", "final_session_state": session, "session_trace": spans})
    assert sample.trajectory is not None
    found = Invocation(id="e-1", at=0.0, seconds=20.0, model_seconds=14.0, tool_seconds=4.0)
    assert sample.trajectory.invocations == (found,)


# published in cs_baseline, recomputed from the events (facts)
BASELINE = {"b961b0eb": 17381, "863cbc8b": 26673, "2c79e2d0": 34247, "68b39c35": 18010, "90f9fb35": 12720}
ISOLATED = {"90f9fb35": 1352, "b961b0eb": 7318, "2c79e2d0": 13564, "863cbc8b": 7404, "68b39c35": 8110}


@needs_corpus
@pytest.mark.parametrize(
    ("name", "totals"), [("cs_baseline", BASELINE), ("cs_m3_functional_isolation", ISOLATED)], ids=["baseline", "m3"]
)
def test_tokens_of_published_files_are_whole(name: str, totals: dict[str, int]) -> None:
    found = {}
    for sample in read(WORKSHOP / f"{name}.processed_interaction_sim.jsonl").samples:
        assert sample.trajectory is not None
        total = usage_total(sample.trajectory)
        assert total is not None
        found[sample.id] = total.total
        assert all(score.status == "unscored" and score.value is None for score in sample.scores)
    assert found == totals


def flat(tree: list[dict[str, Any]], path: str = "") -> dict[str, float]:
    found: dict[str, float] = {}
    for number, node in enumerate(tree):
        here = f"{path}/{number} {node['name']} {node['type']}"
        found |= {here: node["duration_seconds"], **flat(node.get("children", []), here)}
    return found


@needs_corpus
def test_the_live_variant_keeps_its_trace_and_its_parsed_answer(tmp_path: Path) -> None:
    source = WORKSHOP / "retail_baseline.processed_interaction_app.jsonl"
    originals = {row["question_id"]: row for row in map(json.loads, source.read_text().splitlines())}
    for name, row in rows(source, tmp_path).items():
        original = originals[name]
        assert row["final_response"] == original["final_response"]
        assert row["session_trace"] == original["session_trace"]
        assert flat(row["latency_data"]) == pytest.approx(flat(original["latency_data"]), abs=2e-4)
        assert row["final_session_state"]["state"] == original["final_session_state"]["state"]
        assert row["run_id"] == original["run_id"]
        sample = load(original)
        assert sample.trajectory is not None
        (invocation,) = sample.trajectory.invocations
        assert invocation.seconds == pytest.approx(original["latency_data"][0]["duration_seconds"], abs=1e-4)
        assert invocation.model_seconds is not None
        assert invocation.seconds is not None
        assert invocation.model_seconds < invocation.seconds
        assert invocation.id == sample.trajectory.steps[0].invocation


@needs_corpus
def test_the_older_csv_is_read() -> None:
    samples = list(read(WORKSHOP / "cs_golden.processed_interaction.csv").samples)
    assert [len(call_pairs(sample.trajectory)) for sample in samples if sample.trajectory] == [4, 1, 2, 1]
    assert samples[0].case is not None
    assert len(samples[0].case.expected_calls or ()) == 6


def test_validate_tells_errors_from_what_only_the_document_demands() -> None:
    assert [each for each in validate(GOLDEN / "ours.jsonl") if each.level == "error"] == []
    row = dump(Sample(id="x", trajectory=Trajectory(id="s")))
    del row["latency_data"]
    row["final_session_state"]["events"] = "none"
    found = {(each.place, each.level) for each in FORMAT.check(row)} if FORMAT.check else set()
    assert ("latency_data", "warning") in found
    assert ("final_session_state.events", "error") in found


def test_what_is_added_to_a_row_of_another_comes_back() -> None:
    format_ = by_name("adk-jsonl")
    assert format_.load is not None and format_.dump is not None
    for line in (ROOT / "adk-jsonl" / "reference_converter.jsonl").read_bytes().splitlines():
        sample = format_.load(json.loads(line))
        assert sample.case is not None
        changed = msgspec.structs.replace(sample, case=msgspec.structs.replace(sample.case, goal="to be seen"))
        row = json.loads(json.dumps(format_.dump(changed, format_.options())))
        assert format_.load(row) == changed
        assert "extracted_data" in format_.load(row).extra["adk-jsonl"]["row"], "still a row of somebody else's"


@pytest.mark.parametrize("golden", ["reference_converter.jsonl", "ours.jsonl"])
def test_a_line_says_the_same_by_type_and_as_a_dictionary(golden: str) -> None:
    for line in (ROOT / "adk-jsonl" / golden).read_bytes().splitlines():
        typed = decode_line(line)
        assert isinstance(typed["final_session_state"], Session)
        assert load_row(typed) == load_row(json.loads(line))


def test_a_line_in_which_something_is_unusual_is_decoded_whole() -> None:
    line = (ROOT / "adk-jsonl" / "reference_converter.jsonl").read_bytes().splitlines()[0]
    row = json.loads(line)
    twice = b'{"run_id": "the first", ' + line[1:]
    assert decode_line(twice)["run_id (duplicate 1)"] == "the first"
    indented = json.dumps(row, indent=1).encode()
    row["final_session_state"]["newKey"] = 1
    for unusual in (indented, json.dumps(row).encode(), json.dumps({**row, "final_session_state": None}).encode()):
        assert decode_line(unusual) == json.loads(unusual)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("session_trace", 0, "end_time"), 10**400, None),
        (("session_trace", 0, "attributes"), 1.5, None),
        (("app_name",), [1], "app_name must be text, is [1]"),
        (("reference_data",), {"reference_tool_interactions": [{}]}, "interaction must be text, is None"),
        (("final_session_state", "events", 0, "content", "parts", 0), {"text": 5, "thought": True}, None),
        (("final_session_state", "events", 0, "author"), 7, "an event's author must be text, is 7"),
        (("final_session_state", "events", 0), "x", "an event must be an object, is 'x'"),
    ],
)
def test_a_hostile_value_is_named_and_the_next_row_is_read(
    place: tuple[Any, ...], value: Any, words: str | None, tmp_path: Path
) -> None:
    first, second = (ROOT / "adk-jsonl" / "reference_converter.jsonl").read_bytes().splitlines()
    path = tmp_path / "hostile.jsonl"
    path.write_bytes(json.dumps(replaced(json.loads(first), place, value)).encode() + b"\n" + second + b"\n")
    broken: list[ReadError] = []
    found = list(read(path, on_broken=broken.append).samples)
    assert found[-1].id == json.loads(second)["question_id"]
    if words is None:
        assert len(found) == 2 and not broken
    else:
        (error,) = broken
        assert words in error.message and error.place == "line 1"


def test_a_line_says_the_same_to_those_who_measure_its_reading() -> None:
    line = (ROOT / "adk-jsonl" / "reference_converter.jsonl").read_bytes().splitlines()[0]
    repeated = line.replace(b'"final_session_state": {', b'"final_session_state": {"appName": "the first", ', 1)
    assert repeated != line
    with listening(lambda place, data: None):
        heard, whole = decode_line(line), decode_line(repeated)
    assert isinstance(heard["final_session_state"], Session)
    assert load_row(heard) == load_row(json.loads(line))
    assert whole["final_session_state"]["appName (duplicate 1)"] == "the first"
