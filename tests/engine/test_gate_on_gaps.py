"""Gates where something could not be compared or read: they do not pass, and every output says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

import pantrace
from pantrace.cli import cli
from pantrace.engine.check import as_junit as check_junit
from pantrace.engine.compare_runs import exit_code
from pantrace.engine.convert import write_run
from pantrace.errors import UsageError
from pantrace.model import Case, Outcome, Run, Sample, Scale, Score, Step, Text, Trajectory, Usage

BOUNDED = Scale(low=0, high=1)


def written(path: Path, cases: dict[str, bool]) -> str:
    samples = [
        Sample(id=name, case=Case(id=name), scores=(Score(name="right", value=value, scale=BOUNDED),))
        for name, value in cases.items()
    ]
    write_run(Run(samples=samples), path, to="native", measure=False)
    return str(path)


def many(prefix: str, right: int, wrong: int) -> dict[str, bool]:
    return {f"{prefix}{n}": n < right for n in range(right + wrong)}


def test_runs_without_a_common_case_pass_and_fail_no_gate(tmp_path: Path) -> None:
    """76 of 100 easy cases are no proof against 48 of 100 hard ones, in either direction."""
    low = written(tmp_path / "low.trace.jsonl", many("a", 48, 52))
    high = written(tmp_path / "high.trace.jsonl", many("b", 76, 24))
    for runs, verdict in (((low, high), "better"), ((high, low), "worse")):
        (found,) = pantrace.compare(*runs, metrics=["right"]).comparisons
        assert (found.verdict, found.common, found.no_worse) == (verdict, 0, None)
        assert (
            "proven for these cases. No case is in both runs, so the cases may differ and not the runs."
            in found.sentence
        )
        assert exit_code([found]) == 3


def test_cases_that_the_second_run_lacks_are_said_and_pass_no_gate(tmp_path: Path) -> None:
    whole = many("c", 20, 20)
    old = written(tmp_path / "old.trace.jsonl", {name: n < 10 for n, name in enumerate(whole)})
    easy = dict.fromkeys(list(whole)[:30], True)
    new = written(tmp_path / "new.trace.jsonl", easy)
    (found,) = pantrace.compare(old, new, metrics=["right"]).comparisons
    assert (found.verdict, found.no_worse) == ("better", None)
    assert "Left out: new lacks 10 of 40 cases of old." in found.sentence
    assert exit_code([found]) == 3
    # New cases in the second run hide nothing.
    more = written(tmp_path / "more.trace.jsonl", {**dict.fromkeys(whole, True), "new": True})
    (found,) = pantrace.compare(old, more, metrics=["right"]).comparisons
    assert exit_code([found]) == 0
    assert "Left out" not in found.sentence


def test_the_column_of_pairs_counts_pairs(tmp_path: Path) -> None:
    one = written(tmp_path / "one.trace.jsonl", many("a", 1, 2))
    two = written(tmp_path / "two.trace.jsonl", many("b", 3, 0))
    shown = CliRunner().invoke(cli, ["compare", one, two, "--metric", "right"]).output
    head, row = (line for line in shown.splitlines() if line.startswith(("metric ", "right ")))
    assert row[: head.index(" pairs") + 6].split()[-1] == "0"


def evaluation(path: Path, **metrics: float | None) -> str:
    document = {
        "schema_version": "1.0",
        "config_path": "c.yaml",
        "backend": "qwen3",
        "dsl_mode": "som",
        "eval_timestamp": "2026-11-15T18:00:00+00:00",
        "metrics": {"num_episodes": 400, "num_steps": 9600, **metrics},
    }
    path.write_text(json.dumps(document))
    return str(path)


@pytest.mark.parametrize("lost", [None, -1.0, "gone"], ids=["null", "withdrawn", "gone"])
def test_a_stored_number_that_the_second_file_lacks_passes_no_gate(lost: Any, tmp_path: Path) -> None:
    one = evaluation(tmp_path / "one.json", episode_success_rate=0.5, element_accuracy=0.97)
    kept = {} if lost == "gone" else {"element_accuracy": lost}
    two = evaluation(tmp_path / "two.json", episode_success_rate=0.9, **kept)
    found = pantrace.compare(one, two).comparisons
    verdicts = {each.metric: each.verdict for each in found}
    assert (verdicts["episode_success_rate"], verdicts["element_accuracy"]) == ("better", "inconclusive")
    assert exit_code(found) == 3
    if lost != -1.0:
        with pytest.raises(UsageError, match="two has no number"):
            pantrace.compare(one, two, metrics=["episode_success_rate", "element_accuracy"])


def test_a_misspelt_metric_of_stored_numbers_is_refused_beside_a_right_one(tmp_path: Path) -> None:
    one = evaluation(tmp_path / "one.json", episode_success_rate=0.5, element_accuracy=0.97)
    two = evaluation(tmp_path / "two.json", episode_success_rate=0.9, element_accuracy=0.2)
    with pytest.raises(UsageError, match="did you mean element_accuracy"):
        pantrace.compare(one, two, metrics=["episode_success_rate", "elment_accuracy"])


RULES = """name = "r"
version = "1"

[[rule]]
id = "ANSWERS"
name = "Answers"
expect = { in = "final_response", matches = "." }
"""


@pytest.fixture
def half_read(tmp_path: Path) -> list[str]:
    """Two files: a good sample, and a record that cannot be read."""
    steps = (Step(role="user", parts=(Text(text="q"),)), Step(role="agent", parts=(Text(text="a"),)))
    ended = Trajectory(steps=steps, outcome=Outcome(status="passed"))
    write_run(
        Run(samples=[Sample(id="s1", trajectory=ended)]), tmp_path / "good.trace.jsonl", to="native", measure=False
    )
    (tmp_path / "bad.trace.jsonl").write_text('{"pantrace": "2"}\n{"id": 3}\n')
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "plan.toml").write_text('[measure]\nmetrics = ["outcome"]\n[decide]\nprofile = "p.toml"\n')
    (tmp_path / "p.toml").write_text('name = "p"\nversion = "1"\n[thresholds]\noutcome = 1\n')
    return [str(tmp_path / name) for name in ("good.trace.jsonl", "bad.trace.jsonl")]


def test_rules_that_a_record_could_not_be_checked_by_are_not_kept(half_read: list[str], tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    assert pantrace.check(half_read[0], rules=rules).passed is True
    found = pantrace.check(*half_read, rules=rules)
    assert found.passed is None
    assert (found.to_dict()["summary"]["passed"], found.to_dict()["summary"]["records_refused"]) == (None, 1)
    root = ElementTree.fromstring(check_junit(found))
    assert (root.get("tests"), root.get("errors"), len(root.findall(".//error"))) == ("2", "1", 1)
    shown = CliRunner().invoke(cli, ["check", *half_read, "--rules", str(rules)])
    assert shown.exit_code == 3
    assert "Could not decide, which is not a pass" in shown.output
    assert "1 record could not be read" in " ".join(shown.output.split())


def test_what_a_gate_decided_is_the_same_in_every_output(half_read: list[str], tmp_path: Path) -> None:
    """JUnit viewers show skipped cases as green, so the gate is a case of its own."""
    files = {kind: tmp_path / f"out.{kind}" for kind in ("xml", "md")}
    out = [f"--out={tmp_path / 'run'}", f"--junit={files['xml']}", f"--markdown={files['md']}"]
    done = CliRunner().invoke(cli, ["eval", *half_read, f"--plan={tmp_path / 'plan.toml'}", *out, "--gate", "--json"])
    assert done.exit_code == 3
    told = json.loads(done.stdout)["gate"]
    assert (told["passed"], told["exit_code"]) == (None, 3)
    assert told["sentence"] in done.stderr
    assert "could not decide" in files["md"].read_text()
    root = ElementTree.fromstring(files["xml"].read_text())
    assert (root.get("tests"), root.get("errors"), root.get("failures")) == ("2", "1", "0")
    assert [each.get("message") for each in root.iter("error")] == [told["sentence"]]
    again = CliRunner().invoke(cli, ["gate", str(tmp_path / "run"), "--json"])
    assert (again.exit_code, json.loads(again.stdout)["gate"]) == (3, told)


def test_a_baseline_that_fails_is_in_the_files_too(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('name = "p"\nversion = "1"\n[thresholds]\nright = 0\n')
    (tmp_path / "plan.toml").write_text("[measure]\nmetrics = []\n")
    for name, right in (("old", 60), ("new", 10)):
        source = written(tmp_path / f"{name}.trace.jsonl", many("c", right, 60 - right))
        pantrace.evaluate(source, out=tmp_path / name, plan=tmp_path / "plan.toml")
    words = ["gate", str(tmp_path / "new"), f"--profile={tmp_path / 'p.toml'}", f"--baseline={tmp_path / 'old'}"]
    done = CliRunner().invoke(cli, [*words, f"--junit={tmp_path / 'x.xml'}", f"--markdown={tmp_path / 'x.md'}"])
    assert done.exit_code == 1
    root = ElementTree.fromstring((tmp_path / "x.xml").read_text())
    assert root.get("failures") == "1"
    assert "failed: proven worse" in (tmp_path / "x.md").read_text()


@pytest.mark.parametrize("rate", [float("nan"), 90, -0.1, True, "0,9"], ids=repr)
def test_a_share_that_is_none_is_refused(rate: Any, half_read: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a share from 0 to 1"):
        pantrace.check(half_read[0], rules=tmp_path / "rules.toml", min_pass_rate=rate)
    done = CliRunner().invoke(
        cli, ["check", half_read[0], f"--rules={tmp_path / 'rules.toml'}", f"--min-pass-rate={rate}"]
    )
    assert done.exit_code == 2


def test_the_table_of_a_gate_has_what_the_profile_decides_by(tmp_path: Path) -> None:
    usage = Usage(input=20, output=5)
    steps = (Step(role="user", parts=(Text(text="q"),)), Step(role="agent", parts=(Text(text="a"),), usage=usage))
    samples = [Sample(id=name, trajectory=Trajectory(steps=steps)) for name in ("a", "b")]
    write_run(Run(samples=samples), tmp_path / "x.trace.jsonl", to="native", measure=False)
    pantrace.evaluate(tmp_path / "x.trace.jsonl", out=tmp_path / "run")
    profile = tmp_path / "p.toml"
    profile.write_text('name = "p"\nversion = "1"\n[limits]\ntokens = 30\n"token_usage.input_tokens" = 19\n')
    shown = CliRunner().invoke(cli, ["gate", str(tmp_path / "run"), f"--profile={profile}"]).output
    rows = [line.split()[0] for line in shown.splitlines() if line.startswith("token_usage.")]
    assert rows == ["token_usage.total_tokens", "token_usage.input_tokens"]


def test_a_rate_is_shown_with_the_digits_that_decide(half_read: list[str], tmp_path: Path) -> None:
    results = pantrace.evaluate(half_read[0], out=tmp_path / "run", plan=tmp_path / "plan.toml")
    assert "at least 99.99999% must pass" in results.gate(min_pass_rate=0.9999999).sentence
