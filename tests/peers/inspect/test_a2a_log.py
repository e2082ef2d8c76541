"""inspect_ai reads what comes of logs that the logger of the A2A SDK wrote, and of the document's own examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

from pantrace.engine.convert import convert
from seeds.test_doc5 import INFO_EVENT, TOOL_EVENT, document_log, everything_logged


@pytest.mark.parametrize(
    "ending",
    [{"output": "Sound."}, {"success": False}, {"success": False, "error": "ValueError: x"}, {"scores": {"a": 0.9}}],
)
def test_whatever_the_logger_writes_is_read_once_it_is_converted(ending: dict[str, Any], tmp_path: Path) -> None:
    back = tmp_path / "back.eval"
    convert(everything_logged(tmp_path, **ending), back, to="inspect")
    log = read_eval_log(str(back))
    assert log.samples is not None
    (sample,) = log.samples
    assert [event.function for event in sample.events if event.event == "tool"] == [
        "document_list",
        "document_download",
        "inter_agent_call",
        "read_all",
    ]
    assert log.status == ("success" if ending.get("success", True) else "error")
    assert (sample.error is not None) == ("error" in ending)
    (summary,) = read_eval_log_sample_summaries(str(back))
    assert summary.id == sample.id


def test_the_documents_examples_are_read_once_they_are_converted(tmp_path: Path) -> None:
    back = tmp_path / "back.eval"
    convert(document_log(tmp_path, TOOL_EVENT, INFO_EVENT), back, to="inspect")
    log = read_eval_log(str(back))
    assert log.samples is not None
    assert [event.event for event in log.samples[0].events] == ["tool", "info"]
