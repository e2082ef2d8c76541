"""Seed document 2, ADK eval history: its tables and examples, and its authors' files and commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from pantrace import convert, read, validate
from pantrace.formats import by_name
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
