"""The loss report in words: counts that agree with each other, and no paths among the words."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.loss_kinds import OTHER, kind_of
from pantrace.engine.loss_report import Report
from pantrace.engine.loss_words import loss_lines, reasons
from pantrace.errors import LossRefused
from pantrace.formats import by_name, names
from pantrace.model import Loss

SOURCE = ROOT / "adk-history" / "double_encoded_1.21.evalset_result.json"


def _report(*losses: Loss, values: int = 161) -> Report:
    report = Report(to="otlp", values=values)
    report.notes.formats["codex"] = 1
    for loss in losses:
        report.add(loss)
    return report


def test_shares_say_which_values_they_are_of() -> None:
    whole = _report(Loss(path="trajectory.title", what="absent", why="x"), values=1)
    assert loss_lines(whole)[-1].startswith("Of all 1 value, the tools of otlp see 0 %")
    own = _report(Loss(path="extra.codex.a", what="absent", why="x", own=1), Loss(path="id", what="absent", why="x"))
    assert loss_lines(own)[-1].startswith("Of the 161 values that are not specific to codex, the tools of otlp see ")


def test_paths_without_words_of_their_own_are_other_fields() -> None:
    assert kind_of("trajectory.invocations[]") == "invocations"
    assert kind_of("trajectory.something_new[]") == OTHER


@pytest.mark.parametrize("name", names())
def test_no_reason_contains_the_separator_of_reasons(name: str) -> None:
    assert [why for why in by_name(name).lost.values() if ";" in why] == []


def test_reasons_do_not_contradict_each_other(tmp_path: Path) -> None:
    report = convert([SOURCE], tmp_path / "a.json", to="otlp", carry=False)
    told = reasons(report, None)
    assert sum("otlp has no place for it" in each for each in told) == 1
    assert not any(";" in each for each in told)


def test_strict_counts_values_and_places_as_the_file_does(tmp_path: Path) -> None:
    lines: list[Loss] = []
    with pytest.raises(LossRefused) as refused:
        convert([SOURCE], tmp_path / "a.json", to="otlp", carry=False, strict=True, on_loss=lines.append)
    values = sum(line.values for line in lines)
    assert str(refused.value).startswith(f"{values} values would be lost")
