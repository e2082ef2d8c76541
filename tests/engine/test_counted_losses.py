"""Losses are only counted unless somebody asks for their list: both ways must come to the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pantrace.engine.convert import convert
from pantrace.engine.loss_report import Report
from pantrace.engine.loss_words import loss_lines
from pantrace.formats import by_name
from pantrace.model import Loss

GOLDEN = Path(__file__).parents[1] / "golden"
SOURCES = [
    "native/every_part.trace.jsonl",
    "opencode/multi_turn_reasoning_edit_compaction.json",
    "adk-history/two_cases.evalset_result.json",
    "claude-code/rewind.jsonl",
]
TARGETS = ["vertex-seed", "explain", "inspect", "atif", "openai-messages", "native"]


def converted(source: Path, to: str, folder: Path, losses: list[Loss] | None = None) -> Report:
    format_ = by_name(to)
    target = folder / ("out" if format_.is_split else f"out{format_.suffix}")
    return convert(source, target, to=to, on_loss=None if losses is None else losses.append)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_counts_are_those_of_the_list(source: str, to: str, tmp_path: Path) -> None:
    losses: list[Loss] = []
    for name in ("counted", "listed"):
        (tmp_path / name).mkdir()
    counted = converted(GOLDEN / source, to, tmp_path / "counted")
    listed = converted(GOLDEN / source, to, tmp_path / "listed", losses)
    for name in ("values", "lost", "hidden", "losses", "carried", "not_kept", "rearranged", "only_for_pantrace"):
        assert getattr(counted, name) == getattr(listed, name), name
    kept = [each for each in losses if each.what == "kept only for pantrace"]
    assert sum(each.values for each in kept) == sum(listed.carried.values())
    assert sum(each.values for each in losses) - sum(each.values for each in kept) == sum(listed.losses.values())


def test_what_only_pantrace_reads_is_named_where_nothing_was_lost(tmp_path: Path) -> None:
    report = converted(GOLDEN / "opencode/multi_turn_reasoning_edit_compaction.json", "atif", tmp_path)
    assert not report.losses and report.carried
    assert any("Kept only for pantrace" in line for line in loss_lines(report, None))


def test_a_recording_without_texts_is_said_to_have_none(tmp_path: Path) -> None:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4.1"}
    span = {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": "0000000000000001",
        "name": "chat gpt-4.1",
        "startTimeUnixNano": "1794767056000000000",
        "endTimeUnixNano": "1794767056500000000",
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "x"}, "spans": [span]}]}]}))
    losses: list[Loss] = []
    report = converted(trace, "openai-messages", tmp_path, losses)
    assert report.wordless == ["5b8efff798038103d269b633813fc60c"]
    assert [each.path for each in losses if each.what == "never recorded"] == ["trajectory.steps[].parts"]
    spoken = converted(GOLDEN / "claude-code/rewind.jsonl", "openai-messages", tmp_path)
    assert spoken.wordless == []
