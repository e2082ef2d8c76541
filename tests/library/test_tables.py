"""Results as tables: what a command prints as JSON, number for number, and nothing that is absent as zero."""

from __future__ import annotations

import json
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

import pantrace
from pantrace.cli import cli
from pantrace.engine.table import Table
from pantrace.errors import UsageError

EXAMPLES = Path(__file__).parents[2] / "examples"


def printed(*words: object) -> Any:
    """What a command prints with --json."""
    return json.loads(CliRunner().invoke(cli, [*map(str, words), "--json"]).stdout)


def test_measure_gives_what_the_command_prints() -> None:
    scores = pantrace.measure(EXAMPLES / "opencode", EXAMPLES / "adk")
    expected = printed("measure", EXAMPLES / "opencode", EXAMPLES / "adk")
    assert len(expected) > 50
    assert json.loads(json.dumps(scores.to_dict()["scores"])) == expected


def test_a_table_has_a_row_for_each_number_and_none_for_what_is_absent() -> None:
    table = pantrace.measure(EXAMPLES / "explain", metrics=["token_usage", "output_contract"]).to_arrow()
    rows = table.to_pylist()
    assert {row["metric"] for row in rows} >= {"token_usage"}
    assert all(row["value"] is None and row["explanation"] for row in rows if row["status"] == "not_applicable")
    assert table.schema.field("value").type == pa.float64()
    assert table.schema.field("epoch").type == pa.int64()


def test_one_measure_by_its_address() -> None:
    scores = pantrace.measure(EXAMPLES / "opencode", metrics="cost")
    assert {row.metric for row in scores} == {"token_usage.estimated_cost_usd"}
    assert sum(row.value for row in scores) == pytest.approx(0.0184, abs=5e-5)  # type: ignore[misc]
    assert "token_usage.estimated_cost_usd" in repr(scores)
    assert "$0.0184 sum" in repr(scores)


def test_a_run_can_be_measured_as_well_as_its_file() -> None:
    path = EXAMPLES / "inspect/basic.eval"
    of_file, of_run = pantrace.measure(path), pantrace.measure(pantrace.read(path))
    assert [row.value for row in of_run if row.sample] == [row.value for row in of_file if row.sample]


def test_check_gives_what_the_command_prints() -> None:
    report = pantrace.check(EXAMPLES, rules=EXAMPLES / "rules.toml")
    assert json.loads(json.dumps(report.to_dict())) == printed("check", EXAMPLES, "--rules", EXAMPLES / "rules.toml")
    assert report.passed is False
    assert report.to_arrow().num_rows == len(report.scores)
    assert "blocked" in repr(report)


def test_a_rule_that_never_applies_is_not_a_pass(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(
        'name = "r"\nversion = "1"\n'
        '[[rule]]\nid = "A"\nname = "a"\nwhen = { in = "any_prompt", contains_any = ["no such words"] }\n'
        'expect = { in = "final_response", matches = "." }\n'
    )
    assert pantrace.check(EXAMPLES / "inspect", rules=rules).passed is None


def test_validate_power_convert_and_aggregate_are_tables_too(tmp_path: Path) -> None:
    assert pantrace.validate(EXAMPLES / "inspect/basic.eval") == []
    wrong = pantrace.validate({"session_id": "x"}, "vertex-seed")
    assert wrong.errors
    assert wrong.to_arrow().num_rows == wrong.to_dict()["errors"] + wrong.to_dict()["warnings"]
    plan = pantrace.power(delta=0.05)
    assert plan.to_dict()["cases"] == printed("power", "--delta", "0.05")["cases"]
    assert plan.to_arrow()["cases"][0].as_py() == plan.cases
    report = pantrace.convert(EXAMPLES / "adk", tmp_path / "cases.jsonl", to="explain")
    assert sum(report.to_arrow()["values"].to_pylist()) == sum(report.losses.values()) > 0
    found = pantrace.aggregate(EXAMPLES / "openadapt/eval.json").to_dict()
    assert (
        found["mean_action_accuracy"] == printed("aggregate", EXAMPLES / "openadapt/eval.json")["mean_action_accuracy"]
    )


def test_a_diagnosis_is_a_table_of_causes() -> None:
    found = pantrace.diagnose(EXAMPLES / "adk")
    command = printed("diagnose", EXAMPLES / "adk")
    assert json.loads(json.dumps(found.to_dict())) == command
    assert sum(found.to_arrow()["samples"].to_pylist()) == found.failed == 1
    assert found.sentence in repr(found)


def test_a_missing_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table({"a": int}, [(1,), (None,)])
    for name, ask in (("pandas", table.to_pandas), ("polars", table.to_polars), ("pyarrow", table.to_arrow)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(UsageError, match=f"pip install {name}"):
            ask()


def test_an_empty_table_keeps_its_columns() -> None:
    assert Table({"a": int, "b": str}, []).to_arrow().schema.names == ["a", "b"]
    assert Table({"a": int}, [], sentence="nothing").as_text() == "nothing"


def test_texts_of_recordings_stay_texts_in_a_notebook_and_in_a_terminal() -> None:
    from rich.console import Console

    table = Table({"a": str}, [("<script>alert(1)</script>",), ("[red]x[/red]",)])
    assert "<script>" not in table._repr_html_()
    console = Console(width=60, record=True, file=StringIO())
    console.print(table)
    assert "[red]x[/red]" in console.export_text()


def test_a_long_table_shows_its_beginning_and_hands_all_of_it_on() -> None:
    table = Table({"n": int}, [(number,) for number in range(100)])
    assert "80 more rows" in repr(table)
    assert table.to_arrow().num_rows == 100


def test_a_summary_prints_as_a_short_table(tmp_path: Path) -> None:
    summary = pantrace.evaluate(EXAMPLES / "inspect/basic.eval", out=tmp_path / "results").summary
    told = str(summary)
    assert told.startswith("5 samples, none decided\nmetric")
    assert len(told) < 3000
    assert len(summary.table()) == len(summary.metrics) + len(summary.groups)


def test_errors_of_compare_name_arguments_and_not_options() -> None:
    path = EXAMPLES / "inspect/basic.eval"
    with pytest.raises(UsageError, match=r"or one run and split=NAME \(agent") as alone:
        pantrace.compare(path)
    assert "--" not in str(alone.value)
    with pytest.raises(UsageError, match=r"^cluster='nothing': no case has it"):
        pantrace.compare(path, path, cluster="nothing")
    with pytest.raises(UsageError, match=r"^margins must be above 0"):
        pantrace.compare(path, path, margins=-1)
