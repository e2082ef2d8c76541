"""What somebody met who used it for the first time."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pantrace.cli import cli
from pseudo_terminal import PANTRACE, pantrace


def _sample(name: str, epoch: int, model: str | None) -> dict[str, Any]:
    step: dict[str, Any] = {
        "role": "agent",
        "parts": [{"type": "text", "text": f"answer {epoch}"}],
        "usage": {"input": 17_700, "output": 50},
    }
    steps = [{"role": "user", "parts": [{"type": "text", "text": "do"}]}, step | ({"model": model} if model else {})]
    return {
        "id": name,
        "epoch": epoch,
        "trajectory": {"steps": steps},
        "scores": [{"name": "points", "value": 17_700.5}],
    }


@pytest.fixture
def path(tmp_path: Path) -> str:
    rows = [_sample("q1", 1, "gpt-4o"), _sample("q1", 2, None), _sample("q2", 1, "gpt-4o")]
    lines = [{"pantrace": "2", "run": {"name": "r"}}, *rows]
    (tmp_path / "a.trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(tmp_path / "a.trace.jsonl")


def _run(*words: str) -> str:
    done = CliRunner().invoke(cli, [*words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_samples_without_the_field_are_a_group_although_nothing_applies_to_them(path: str) -> None:
    told = _run("measure", path, "--by", "model", "--metric", "cost")
    assert [line.split()[0] for line in told.splitlines() if "gpt-4o" in line or "(none)" in line] == [
        "gpt-4o",
        "(none)",
    ]


def test_a_row_for_each_sample_and_a_column_for_each_number(path: str) -> None:
    rows = list(csv.DictReader(io.StringIO(_run("measure", path, "--per", "sample", "--csv"))))
    assert [(row["sample"], row["epoch"]) for row in rows] == [("q1", "1"), ("q1", "2"), ("q2", "1")]
    assert {row["token_usage.total_tokens"] for row in rows} == {"17750"}
    assert {row["points"] for row in rows} == {"17700.5"}
    assert rows[1]["token_usage.estimated_cost_usd"] == ""
    assert not any("{" in cell for row in rows for cell in row.values())


def test_what_is_advised_for_two_samples_of_one_id_prints_each(path: str) -> None:
    told = _run("show", path, "--sample", "q1")
    advice = [line.strip() for line in told.splitlines() if line.strip().startswith("pantrace show")]
    assert len(advice) == 2
    for number, line in enumerate(advice, 1):
        assert f"answer {number}" in _run(*shlex.split(line)[1:], "--no-pager")


def test_large_numbers_are_written_as_people_read_them(path: str, tmp_path: Path) -> None:
    _run("report", path, "-o", str(tmp_path / "x.md"))
    written = (tmp_path / "x.md").read_text()
    assert "17,70" in written
    assert "e+" not in written


def test_a_folder_that_is_one_input_tells_its_files() -> None:
    golden = Path(__file__).parents[1] / "golden"
    folder = next(each for each in sorted((golden / "opencode").iterdir()) if each.is_dir())
    files = sum(1 for each in folder.rglob("*") if each.is_file())
    done = CliRunner().invoke(cli, ["validate", str(folder)])
    assert f"1 input ({files:,} files)" in done.output


def test_a_plan_that_names_a_file_that_is_not_there_tells_its_own_line(path: str, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('[measure]\n\n[check]\nrules = ["nope.toml"]\n')
    done = CliRunner().invoke(
        cli, ["eval", path, "--plan", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "out")]
    )
    assert "plan.toml: line 4: " in str(done.exception)
    assert "nope.toml" in str(done.exception)


def test_many_messages_of_one_kind_do_not_push_the_result_off_the_screen(tmp_path: Path) -> None:
    inputs = [tmp_path / f"{letter}.trace.jsonl" for letter in "abcdefgh"]
    for each in inputs:
        each.write_text('{"pantrace":"2"}\n' + json.dumps({"id": "same", "case": {"id": "same"}}) + "\n")
    out = tmp_path / "all.trace.jsonl"
    command = ("convert", *map(str, inputs), "--to", "native", "-o", str(out))
    told = _run(*command)
    assert told.count("renamed: ") == 3
    assert "and 4 more of these: -v lists all of them" in told
    assert _run(*command, "-v").count("renamed: ") == 7


def test_a_path_is_said_once_for_all_that_is_wrong_with_its_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text('{"metrics": {"action_type_accuracy": 7, "num_episodes": "x"}}')
    lines = pantrace("validate", "one.json", "two.json", folder=tmp_path).lines
    assert [line for line in lines if ".json" in line] == ["one.json", "two.json"]
    assert sum(line.startswith("  error: ") for line in lines) >= 4
    piped = subprocess.run([*PANTRACE, "validate", "one.json"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert all(line.startswith(("error: one.json: ", "warning: one.json: ")) for line in piped.splitlines()[2:])


def test_an_interval_stays_on_one_line(tmp_path: Path) -> None:
    metrics = {"num_episodes": 8, "num_steps": 96, "episode_success_rate": 0.5, "mean_episode_step_score": 0.9}
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"backend": "qwen3", "metrics": metrics}))
        metrics = {**metrics, "episode_success_rate": 0.75, **{f"metric_{number}": 0.5 for number in range(9)}}
    found = pantrace("aggregate", "one.json", "two.json", folder=tmp_path)
    assert "[0.000, 1.000]" in found.text
    assert "metric_5 and 3 more (--json has all)" in found.words


def test_too_few_cases_see_no_difference_instead_of_one_that_cannot_be(tmp_path: Path) -> None:
    for name, cases, passed in (("a", "xy", False), ("b", "pqr", True)):
        scores = {each: [{"name": "ok", "value": passed and each != "p"}] for each in cases}
        rows = [{"id": each, "epoch": epoch, "scores": scores[each]} for each in cases for epoch in (1, 2)]
        lines = [{"pantrace": "2", "run": {"name": name}}, *rows]
        (tmp_path / f"{name}.trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = " ".join(_run("compare", str(tmp_path / "a.trace.jsonl"), str(tmp_path / "b.trace.jsonl")).split())
    assert "No difference at all could have been seen in so few cases; " in told
    assert not re.search(r"could have seen [\d,]{3,} points", told)


def test_another_plan_for_a_directory_with_recordings_is_told_both_ways_out(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("id,question\nq1,one\n")
    (tmp_path / "plan.toml").write_text('[measure]\nmetrics = ["contains"]\n')
    out = str(tmp_path / "out")
    _run("run", str(tmp_path / "q.csv"), "--agent", "cmd:echo hello", "--out", out)
    done = CliRunner().invoke(cli, ["eval", f"{out}/recordings", "--plan", str(tmp_path / "plan.toml"), "--out", out])
    told = "choose another directory for out, or evaluate its recordings by this plan: `pantrace eval"
    assert told in str(done.exception)


def test_an_eval_that_no_rubric_grades_is_named(tmp_path: Path) -> None:
    case = {"id": "a", "required_evals": ["TourEval"]}
    (tmp_path / "a.trace.jsonl").write_text('{"pantrace":"2"}\n' + json.dumps({"id": "a", "case": case}) + "\n")
    (tmp_path / "plan.toml").write_text('[judge]\nmodels = ["openai:m"]\nbase_url = "http://127.0.0.1:9/v1"\n')
    told = _run(
        "eval", str(tmp_path / "a.trace.jsonl"), "--plan", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "out")
    )
    assert "there is no rubric 'TourEval'" in told


def test_the_output_of_init_is_named_as_that_of_other_commands(tmp_path: Path) -> None:
    assert "wrote" in _run("init", "-o", str(tmp_path / "nightly.toml"))
    assert (tmp_path / "nightly.toml").read_text().startswith("# A plan for `pantrace eval RUNS --plan nightly.toml")
    both = CliRunner().invoke(cli, ["init", "a.toml", "-o", "b.toml"])
    assert "name one file, not both a.toml and b.toml" in str(both.exception)


def test_the_first_sentence_of_a_comparison_is_about_what_both_runs_have(tmp_path: Path) -> None:
    for name, extra in (("a", [f"cost_{letter}" for letter in "abcdef"]), ("b", [])):
        rows = [
            {"id": case, "scores": [{"name": each, "value": 0.5 + number} for each in (*extra, "ok_of_it")]}
            for number, case in enumerate("xyz")
        ]
        lines = [{"pantrace": "2", "run": {"name": name}}, *rows]
        (tmp_path / f"{name}.trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = _run("compare", str(tmp_path / "a.trace.jsonl"), str(tmp_path / "b.trace.jsonl"))
    assert "ok_of_it" in told.splitlines()[0] and "not compared" not in told.splitlines()[0]
    said = "b has no number in 3 of 3 cases in which a has one: cost_a, cost_b, cost_c, cost_d and 2 more"
    assert said in " ".join(told.split())


def test_an_epoch_is_said_from_the_second_run_of_a_case_on(path: str, tmp_path: Path) -> None:
    listed = _run("show", path)
    assert [line.split("  ")[0] for line in listed.splitlines() if line.startswith("q")] == ["q1", "q1 (2)", "q2"]
    once = tmp_path / "once.trace.jsonl"
    lines = [{"pantrace": "2", "run": {"name": "r"}}, _sample("q1", 1, None), _sample("q2", 1, None)]
    once.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "epoch" not in _run("measure", str(once), "--per", "sample", "--metric", "tokens")
    assert "epoch" in _run("measure", path, "--per", "sample", "--metric", "tokens")


def test_ids_are_cut_so_that_no_other_sample_of_any_folder_is_meant(tmp_path: Path) -> None:
    names = {"episode_0000_login_page": "/a", "episode_0000_logout_page": "/b"}
    rows = [_sample(name, 1, None) for name in names]
    for row, folder in zip(rows, names.values(), strict=True):
        row["trajectory"]["extra"] = {"opencode": {"info": {"directory": folder}}}
    file = tmp_path / "two.trace.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in [{"pantrace": "2", "run": {}}, *rows]))
    listed = _run("show", str(file))
    assert "/b (1 sample)" in listed
    cut = [line.split()[0].rstrip("…") for line in listed.splitlines() if line.startswith("episode")]
    assert [[name for name in names if name.startswith(each)] for each in cut] == [[name] for name in names]


def test_a_query_for_everything_shows_what_people_ask_for(path: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    _run("eval", path, "--out", out)
    done = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["query", out, "select * from scores"], catch_exceptions=False)
    assert done.stdout.splitlines()[0].split()[:2] == ["run", "sample"]
    columns = _run("query", out, "select * from scores", "--csv").splitlines()[0].split(",")
    assert columns[:4] == ["run", "part", "number", "sample"]


def test_a_check_without_rules_is_told_which_packs_there_are(path: str) -> None:
    done = CliRunner().invoke(cli, ["check", path])
    assert "a pack (stateless-handoff) with --rules" in str(done.output)


def test_options_are_told_without_words_of_python() -> None:
    told = _run("formats")
    assert "output_limit=VALUE  " in told
    assert "include_final=true  " in told
    assert not re.search("=(None|True|False)", told)


def test_a_report_in_markdown_has_the_units_of_the_commands(path: str, tmp_path: Path) -> None:
    out, page = str(tmp_path / "out"), tmp_path / "page.md"
    _run("eval", "examples/opencode", "--out", out)
    _run("report", out, "-o", str(page))
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in page.read_text().splitlines() if "|" in line}
    name = next(each for each in rows if each.endswith("success\\_rate"))
    assert " % |" in rows[name]
