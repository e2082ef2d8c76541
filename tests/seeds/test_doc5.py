"""Seed document 5, Inspect logs: its examples, its rules, its checks, and everything that its logger can write."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from corpus import CORPUS, needs_corpus
from pantrace import convert, read, validate
from pantrace.metrics import by_name
from pantrace.model import Sample, call_pairs, final_response, step_text, usage_total
from pantrace.wire.json import decode
from pantrace.wire.times import from_iso
from seeds.a2a_log import A2ALog, accepted
from seeds.recordings import EXAMPLES, pantrace

USAGE = {"prompt_tokens": 500, "completion_tokens": 200, "total_tokens": 700}
STAMP = "2024-01-01T00:00:00+00:00"
MODEL_USAGE = {"model-name": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}}
TOOL_EVENT: dict[str, Any] = {
    "event": "tool",
    "timestamp": "2024-01-01T00:00:00.000000+00:00",
    "type": "function",
    "id": "call_123",
    "function": "tool_name",
    "arguments": {"param": "value"},
    "result": {"success": True},
    "events": [],
    "view": "markdown",
    "truncated": None,
}
INFO_EVENT = {
    "event": "info",
    "timestamp": "2024-01-01T00:00:00.000000+00:00",
    "source": "a2a:task",
    "data": {"state": "working", "message": "Processing..."},
}


def document_log(tmp_path: Path, *events: dict[str, Any], eval_: dict[str, Any] | None = None) -> Path:
    """A log of the document's own examples."""
    times = {"started_at": STAMP, "completed_at": "2024-01-01T00:00:01+00:00"}
    spec: dict[str, Any] = {
        "eval_id": "unique-eval-id", "run_id": "unique-run-id", "created": STAMP, "task": "task_name",
        "task_id": "task_name-eval_id", "task_version": 1, "task_attribs": {}, "task_args": {}, "task_args_passed": {},
        "model": "model-name", "model_generate_config": {}, "model_args": {},
        "dataset": {"name": "dataset_name", "samples": 1, "sample_ids": ["sample-uuid"], "shuffled": False},
        "config": {}, "packages": {"package_name": "version"},
    }  # fmt: skip
    spec = {key: value for key, value in (spec | (eval_ or {})).items() if value is not None}
    header = {
        "version": 2, "status": "success", "eval": spec, "plan": {"name": "plan_name", "steps": [], "config": {}},
        "results": {"total_samples": 1, "completed_samples": 1, "scores": []},
        "stats": {**times, "model_usage": MODEL_USAGE},
    }  # fmt: skip
    common = {"epoch": 1, "input": "Input description", "target": "", "metadata": {}, "model_usage": MODEL_USAGE}
    spent = {**times, "total_time": 1.0, "working_time": 0.5, "uuid": "sample-uuid"}
    sample = {
        "id": "sample-uuid", **common, "messages": [], "output": {"model": "model-name", "choices": []},
        "events": list(events), "store": {}, **spent,
    }  # fmt: skip
    summary = {"id": 1, **common, "scores": {}, **spent, "retries": 0, "completed": True, "message_count": 0}
    begun = {key: spec[key] for key in ("eval_id", "run_id", "task", "model", "created")}
    path = tmp_path / "example.eval"
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in (
            ("header.json", header),
            ("samples/1_epoch_1.json", sample),
            ("summaries.json", [summary]),
            ("_journal/start.json", begun),
            ("_journal/summaries/1.json", [summary]),
        ):
            archive.writestr(name, json.dumps(value))
    return path


def _errors(path: Path) -> list[str]:
    return [f"{each.place}: {each.message}" for each in validate(path) if each.level == "error"]


def _one(path: Path) -> Sample:
    (sample,) = read(path).samples
    return sample


def test_the_documents_examples_are_read_written_and_accepted_by_its_own_checks(tmp_path: Path) -> None:
    log = document_log(tmp_path, TOOL_EVENT, INFO_EVENT)
    sample = _one(log)
    assert sample.trajectory is not None
    assert [(pair.call.name, pair.call.arguments) for pair in call_pairs(sample.trajectory)] == [
        ("tool_name", {"param": "value"})
    ]
    note = sample.trajectory.steps[-1]
    assert (note.kind, step_text(note), note.state_delta) == (
        "note",
        "task working: Processing...",
        {"task_state": "working"},
    )
    back = tmp_path / "back.eval"
    convert(log, back, to="inspect")
    # The document's tool event (an object as result, a text as view) is one that Inspect refuses.
    assert _errors(log)
    assert _errors(back) == []
    header, (summary,) = accepted(back)
    assert (header.eval.task, header.eval.dataset.sample_ids) == ("task_name", ["sample-uuid"])
    assert (summary.id, summary.total_time, summary.working_time) == ("sample-uuid", 1.0, 0.5)
    names = set(zipfile.ZipFile(back).namelist())
    assert {"header.json", "summaries.json", "_journal/start.json", "_journal/summaries/1.json"} < names
    assert len([name for name in names if name.startswith("samples/")]) == 1


@pytest.mark.parametrize(
    "field", ["model_generate_config", "model_args", "task_attribs", "task_args", "task_args_passed", "packages"]
)
def test_each_field_that_the_viewer_needs_is_reported_when_it_is_absent(field: str, tmp_path: Path) -> None:
    told = [f"{each.place}: {each.message}" for each in validate(document_log(tmp_path, eval_={field: None}))]
    assert any(field in each for each in told), told
    assert not any(field in f"{each.place}" for each in validate(document_log(tmp_path)))


@pytest.mark.parametrize("name", ["opencode", "adk", "inspect"])
def test_headers_and_summaries_of_any_source_are_accepted_by_the_documents_checks(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out.eval"
    convert(EXAMPLES / name, out, to="inspect")
    header, summaries = accepted(out)
    assert header.eval.dataset.name
    assert header.results.total_samples == len(summaries) > 0
    assert set(header.eval.dataset.sample_ids) == {summary.id for summary in summaries}
    assert all(summary.total_time >= summary.working_time >= 0 for summary in summaries)
    assert all(summary.model_usage for summary in summaries) or name != "opencode"
    assert _errors(out) == []


@pytest.mark.parametrize("name", ["explain", "openadapt"])
def test_a_source_that_tells_no_time_gets_none(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out.eval"
    convert(EXAMPLES / name, out, to="inspect")
    with pytest.raises(msgspec.ValidationError, match="missing required field `started_at`"):
        accepted(out)
    assert _errors(out) == []


def everything_logged(tmp_path: Path, **ending: Any) -> Path:
    log = A2ALog()
    log.state("working", "Starting background task")
    log.begin("documents")
    log.tool("document_list", {}, {"success": True, "size_bytes": 3})
    log.tool("document_download", {"doc_id": "d1"}, {"success": False}, error="404 Not Found")
    log.end("documents")
    log.info("a2a:progress", type="progress_update", message="Reading", importance="INFO", progress=0.25)
    log.model_call("Is the budget sound?", "It is.", USAGE)
    log.model_call("And the plan?", "", None, error="rate limit")
    log.tool("inter_agent_call", {"agent": "statistician", "message": "Check n"}, "n is enough", seconds=2.5)
    log.tool("read_all", {}, "x" * 12_000)
    log.info("agent", items=50)
    return log.write(tmp_path, **ending)


def test_everything_that_the_logger_can_write_becomes_steps_calls_usage_and_states(tmp_path: Path) -> None:
    sample = _one(everything_logged(tmp_path, output="The grant is sound."))
    trajectory = sample.trajectory
    assert trajectory is not None
    told = [(step.role, step.kind, step_text(step)) for step in trajectory.steps]
    assert told[0] == ("system", "note", "task working: Starting background task")
    assert ("system", "note", "25%: Reading") in told
    assert ("system", "note", '{"items":50}') in told
    assert told[-1] == ("system", "note", "task completed")
    assert [text for role, kind, text in told if role == "user"] == ["Is the budget sound?", "And the plan?"]
    pairs = call_pairs(trajectory)
    assert [pair.call.name for pair in pairs] == ["document_list", "document_download", "inter_agent_call", "read_all"]
    failed = pairs[1].result
    assert failed is not None
    assert (failed.error, failed.failure) == ("404 Not Found", "error")
    assert [pair.result is not None and pair.result.truncated for pair in pairs] == [False, False, False, True]
    total = usage_total(trajectory)
    assert total is not None
    assert (total.input, total.output) == (500, 200)
    assert [step.error.message for step in trajectory.steps if step.error is not None] == ["rate limit"]
    assert [step.state_delta for step in trajectory.steps if step.state_delta] == [
        {"task_state": "working"},
        {"task_state": "completed"},
    ]
    assert (final_response(trajectory), trajectory.outcome) == ("The grant is sound.", None)
    assert by_name("tool_success_rate").score(sample).value == 0.75
    assert by_name("latency_metrics").score(sample).values["tool_latency_seconds"] == pytest.approx(0.5 * 3 + 2.5)


@pytest.mark.parametrize(
    ("ending", "status", "reason"),
    [
        ({"success": False, "error": "ValueError: no budget"}, "error", "ValueError: no budget"),
        ({"success": False}, "error", "Starting background task"),
        ({}, None, None),
    ],
)
def test_a_failure_is_told_with_and_without_an_error(
    ending: dict[str, Any], status: str | None, reason: str | None, tmp_path: Path
) -> None:
    log = everything_logged(tmp_path, **ending)
    trajectory = _one(log).trajectory
    assert trajectory is not None
    found = trajectory.outcome
    assert (found.status if found else None, found.reason if found else None) == (status, reason)
    # What comes of it is read by Inspect: errors have types and tracebacks, and the log says the same.
    back = tmp_path / "back.eval"
    convert(log, back, to="inspect")
    assert _errors(back) == []
    again = _one(back).trajectory
    assert again is not None
    assert again.steps == trajectory.steps
    assert (again.outcome.status if again.outcome else None) == status


def test_the_commands_see_what_the_logger_wrote(tmp_path: Path) -> None:
    log = everything_logged(tmp_path, output="The grant is sound.")
    shown = pantrace("show", log).stdout
    for words in ("document_download", "Is the budget sound?", "task completed", "The grant is sound."):
        assert words in shown
    rows = tmp_path / "rows.json"
    done = pantrace("convert", log, "--to", "vertex-seed", "-o", rows)
    assert done.returncode == 0, done.stderr
    (row,) = decode(rows.read_bytes())
    assert [each["function_call"]["name"] for each in row["intermediate_events"]] == [
        "document_list",
        "document_download",
        "inter_agent_call",
        "read_all",
    ]
    assert row["response"]["candidates"][0]["content"]["parts"] == [{"text": "The grant is sound."}]
    prompt = pantrace("judge", log, "--rubric", "HelpfulnessExplain", "--dry-run").stdout
    assert "inter_agent_call" in prompt
    assert "The grant is sound." in prompt


def test_scores_that_are_bare_numbers_are_repaired_or_refused_never_written_as_they_are(tmp_path: Path) -> None:
    log = everything_logged(tmp_path, scores={"accuracy": 0.9})
    sample = _one(log)
    assert [(score.name, score.value) for score in sample.scores] == [("accuracy", 0.9)]
    back = tmp_path / "back.eval"
    convert(log, back, to="inspect")
    assert _errors(back) == []
    assert [(score.name, score.value) for score in _one(back).scores] == [("accuracy", 0.9)]


def test_the_end_of_a_run_follows_from_its_last_step(tmp_path: Path) -> None:
    out = tmp_path / "out.eval"
    convert(EXAMPLES / "opencode", out, to="inspect")
    header, summaries = accepted(out)
    last = {
        sample.id: max(step.ended or step.at or 0 for step in sample.trajectory.steps)
        for sample in read(EXAMPLES / "opencode").samples
        if sample.trajectory is not None
    }
    assert {str(each.id): from_iso(each.completed_at) for each in summaries} == pytest.approx(last, abs=0.001)
    assert header.stats.completed_at == max(summary.completed_at for summary in summaries)


@needs_corpus
def test_the_log_of_the_real_logger_is_read_whole() -> None:
    (path,) = (CORPUS / "own/inspect/crafted").glob("hu_*.eval")
    trajectory = _one(path).trajectory
    assert trajectory is not None
    assert final_response(trajectory) == "final"
    assert [step_text(step) for step in trajectory.steps if step.kind == "note"] == ['{"k":1}', "task completed"]
