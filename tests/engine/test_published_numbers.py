"""Published evaluations: their documented numbers, under their documented names, in eval, gate, compare and plot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from corpus import CORPUS, needs_corpus
from pantrace.cli import cli
from thorough import thorough

LOGIN = CORPUS / "public/openadapt/eval_json"
REPORTS = CORPUS / "public/explain/agentsleague/reports"
WORKSHOP = CORPUS / "public/adk/workshop"

pytestmark = needs_corpus


def run(*arguments: str | Path, code: int = 0) -> Result:
    found = CliRunner().invoke(cli, [str(each) for each in arguments])
    assert found.exit_code == code, found.output
    return found


def evaluated(out: Path, *inputs: Path) -> dict[str, Any]:
    """The summary's line of each measure."""
    told = json.loads(run("eval", *inputs, "--out", out, "--json").stdout)
    summary = told.get("summary", told)
    return {each["metric"]: each for each in summary["metrics"]} | {"denominator": summary["denominator"]}


def value(line: Any) -> float:
    return float(line["estimate"]["value"])


def drawn(picture: Path) -> dict[str, list[Any]]:
    """What the panels of a picture show, by title."""
    return {
        panel["title"]["text"]: [row["value"] for row in panel["data"]["values"]]
        for panel in json.loads(picture.read_text())["concat"]
    }


def test_the_ten_files_of_openadapt(tmp_path: Path) -> None:
    files = sorted(LOGIN.glob("*.json"))
    found = evaluated(tmp_path / "all", *files)
    oracle = json.loads((CORPUS / "public/openadapt/eval_json_aggregate.json").read_text())
    assert value(found["action_type_accuracy"]) == pytest.approx(oracle["aggregate_evals"]["mean_action_accuracy"])
    # Null is no zero: the mean is that of the four files that have it.
    assert value(found["click_hit_rate"]) == pytest.approx(oracle["aggregate_evals_hardened"]["mean_click_hit_rate"])
    assert (found["click_hit_rate"]["scored"], found["click_hit_rate"]["not_applicable"]) == (4, 6)
    assert value(found["episode_success_rate"]) == 0
    assert (found["denominator"]["cases"], found["denominator"]["run"]) == (10, 10)

    stored = {file: json.loads(file.read_text())["metrics"] for file in files}
    profile = tmp_path / "clicks.toml"
    profile.write_text('name = "clicks"\nversion = "1"\n[thresholds]\nclick_hit_rate = 0.8\n')
    told = json.loads(run("gate", tmp_path / "all", "--profile", profile, "--json", code=1).stdout)
    passed = {each["sample"]: each.get("passed") for each in told["decisions"]}
    rates = {file.stem: metrics.get("click_hit_rate") for file, metrics in stored.items()}
    assert passed == {name: None if rate is None else rate >= 0.8 for name, rate in rates.items()}

    base, tuned = (LOGIN / f"eval_qwen3_2b_{kind}_login_hardened.json" for kind in ("base", "ft"))
    for runs in ((base, tuned), [_one(tmp_path, each) for each in (base, tuned)]):
        (compared,) = json.loads(run("compare", *runs, "--metric", "click_hit_rate", "--json").stdout)["comparisons"]
        before, after = (stored[each]["click_hit_rate"] for each in (base, tuned))
        assert (compared["first"]["value"], compared["second"]["value"]) == (
            pytest.approx(before),
            pytest.approx(after),
        )
        assert compared["difference"]["value"] == pytest.approx(after - before)
        run("plot", *runs, "--metric", "click_hit_rate", "-o", tmp_path / "rates.vl.json")
        assert drawn(tmp_path / "rates.vl.json")["Click hit rate"] == [pytest.approx(before), pytest.approx(after)]


def _one(tmp_path: Path, file: Path) -> Path:
    evaluated(tmp_path / file.stem, file)
    return tmp_path / file.stem


def test_the_files_of_the_workshop(tmp_path: Path) -> None:
    names = {"base": "cs_baseline", "parted": "cs_m3_functional_isolation"}
    for out, name in names.items():
        found = evaluated(tmp_path / out, WORKSHOP / f"{name}.processed_interaction_sim.jsonl")
        # Sums over the cases: see the published events.
        tokens = [17381, 26673, 34247, 18010, 12720] if out == "base" else [1352, 7318, 13564, 7404, 8110]
        assert value(found["token_usage.total_tokens"]) == pytest.approx(sum(tokens) / 5)
        if out == "base":
            assert value(found["token_usage.list_cost_usd"]) == pytest.approx(0.008484, abs=5e-7)
            assert found["cache_efficiency.cache_hit_rate"]["together"]["value"] == pytest.approx(68560 / 104618)
            assert found["thinking_metrics.reasoning_ratio"]["together"]["value"] == pytest.approx(3038 / 4413)
            assert value(found["tool_utilization.total_tool_calls"]) == 2
            assert value(found["agent_handoffs.total_handoffs"]) == 0
    runs = tmp_path / "base", tmp_path / "parted"
    (compared,) = json.loads(run("compare", *runs, "--metric", "tokens", "--json").stdout)["comparisons"]
    assert compared["metric"] == "token_usage.total_tokens"
    assert compared["difference"]["value"] == pytest.approx((37748 - 109031) / 5)
    assert {each["case"]: each["before"] for each in compared["flips"]}["90f9fb35"] == 12720
    run("plot", *runs, "--metric", "token_usage.total_tokens", "-o", tmp_path / "tokens.vl.json")
    (shown,) = drawn(tmp_path / "tokens.vl.json").values()
    assert shown == [pytest.approx(21806.2), pytest.approx(7549.6)]
    profile = tmp_path / "small.toml"
    profile.write_text('name = "small"\nversion = "1"\n[limits]\n"token_usage.total_tokens" = 18000\n')
    told = json.loads(run("gate", runs[0], "--profile", profile, "--json", code=1).stdout)
    failed = {each["sample"]: each["reasons"][0] for each in told["decisions"] if not each["passed"]}
    assert {name[:8] for name in failed} == {"863cbc8b", "2c79e2d0", "68b39c35"}
    assert failed[next(name for name in failed if name.startswith("68b39c35"))].endswith(
        "token_usage.total_tokens 18010 tokens, limit 18000"
    )


@pytest.mark.parametrize(
    ("report", "cases", "passed"),
    [
        pytest.param("20260221-095419", 120, 13, marks=thorough),
        ("20260222-014515", 20, 9),
        ("20260222-030044", 20, 6),
        ("20260222-074339", 40, 19),
        ("20260222-114134", 40, 24),
        ("20260225-001835", 20, 12),
    ],
)
def test_the_six_reports(report: str, cases: int, passed: int, tmp_path: Path) -> None:
    file = REPORTS / f"eval-report-{report}.json"
    found = evaluated(tmp_path / "out", file)
    assert (found["denominator"]["cases"], found["denominator"]["run"]) == (cases, cases)
    scores = [
        metric["score"]
        for case in json.loads(file.read_text())["cases"]
        for metric in case["metrics"]
        if metric["metricName"] == "TaskAdherenceExplain" and metric["score"] >= 0
    ]
    assert value(found["TaskAdherenceExplain"]) == pytest.approx(sum(scores) / len(scores))
    told = json.loads(run("gate", tmp_path / "out", "--profile", "prep_default.documented", "--json", code=1).stdout)
    assert sum(each.get("passed") is True for each in told["decisions"]) == passed


def test_two_reports_compared(tmp_path: Path) -> None:
    files = [REPORTS / f"eval-report-{each}.json" for each in ("20260222-014515", "20260222-030044")]
    fluency = [
        [
            metric["score"]
            for case in json.loads(file.read_text())["cases"]
            for metric in case["metrics"]
            if metric["metricName"] == "FluencyExplain"
        ]
        for file in files
    ]
    means = [sum(each) / len(each) for each in fluency]
    (compared,) = json.loads(run("compare", *files, "--metric", "FluencyExplain", "--json").stdout)["comparisons"]
    assert [compared["first"]["value"], compared["second"]["value"]] == pytest.approx(means)
    run("plot", *files, "--metric", "FluencyExplain", "-o", tmp_path / "fluency.vl.json")
    assert list(drawn(tmp_path / "fluency.vl.json").values()) == [pytest.approx(means)]
