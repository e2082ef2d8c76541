"""Evaluations: resumed, repeated, killed, gated; offline and on every format."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from junitparser import JUnitXml, Skipped

from goldens import ROOT
from pantrace.engine.convert import write_run
from pantrace.engine.evaluate import decide_again, evaluate_into
from pantrace.engine.plan import MeasureTable, Plan, load_plan, prepare
from pantrace.engine.reports import as_junit, as_markdown
from pantrace.engine.summary import gate_code, summarise
from pantrace.errors import ReadError, UsageError
from pantrace.model import Case, Run, Sample, Scale, Score, Step, Text, ToolCall, ToolResult, Trajectory, Usage
from pantrace.policy import load_profile
from pantrace.store import query
from thorough import thorough

EXAMPLES = ROOT.parent.parent / "examples"
READY = prepare(Plan(), Path())


def small_sample(number: int) -> Sample:
    call = ToolCall(id=f"c{number}", name="bash", arguments={"n": number})
    result = ToolResult(call_id=f"c{number}", name="bash", output="ok", failure="error" if number % 3 == 0 else None)
    steps = (
        Step(id="u", role="user", parts=(Text(text=f"question {number}"),)),
        Step(
            id="a",
            role="agent",
            model="gemini-2.5-flash",
            parts=(call, result),
            usage=Usage(input=100 + number, output=10),
        ),
        Step(id="b", role="agent", parts=(Text(text=f"answer {number}"),)),
    )
    return Sample(
        id=f"s{number:05d}",
        case=Case(reference=f"answer {number}", labels={"parity": "even" if number % 2 == 0 else "odd"}),
        trajectory=Trajectory(steps=steps),
    )


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recordings") / "runs.trace.jsonl"
    write_run(Run(samples=[small_sample(number) for number in range(2000)]), path, to="native", measure=False)
    return path


def rows(out: Path) -> dict[str, list[tuple[object, ...]]]:
    return {
        table: sorted(query(out, f"select * exclude (run) from {table}").rows, key=repr)
        for table in ("samples", "steps", "calls", "scores", "decisions")
    }


def test_a_second_run_measures_nothing(tmp_path: Path) -> None:
    first = evaluate_into([EXAMPLES], tmp_path / "out", READY, "")
    before = rows(tmp_path / "out")
    second = evaluate_into([EXAMPLES], tmp_path / "out", READY, "")
    assert (first.measured, first.reused) == (13, 0)
    assert (second.measured, second.reused) == (0, 13)
    assert rows(tmp_path / "out") == before


def test_new_input_is_added_and_old_input_left_alone(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    shutil.copy(EXAMPLES / "opencode/bad_tool_calls.json", runs)
    assert evaluate_into([runs], tmp_path / "out", READY, "").measured == 1
    shutil.copy(EXAMPLES / "adk/garden_shop.evalset_result.json", runs)
    done = evaluate_into([runs], tmp_path / "out", READY, "")
    assert (done.measured, done.reused) == (2, 1)


def test_another_plan_is_refused(tmp_path: Path) -> None:
    evaluate_into([EXAMPLES / "opencode"], tmp_path / "out", READY, "")
    other = prepare(Plan(name="other"), Path())
    with pytest.raises(UsageError, match="something that it names has changed"):
        evaluate_into([EXAMPLES / "opencode"], tmp_path / "out", other, "")


def test_a_vanished_input_stops_cleanly_and_what_was_kept_stays(tmp_path: Path) -> None:
    evaluate_into([EXAMPLES / "opencode"], tmp_path / "out", READY, "")
    with pytest.raises(ReadError, match="no such file"):
        evaluate_into([tmp_path / "gone.json"], tmp_path / "out", READY, "")
    assert summarise(tmp_path / "out").samples == 2


def test_offline_every_required_eval_says_why_it_was_not_judged(tmp_path: Path) -> None:
    evaluate_into([EXAMPLES / "explain"], tmp_path / "out", READY, "")
    summary = summarise(tmp_path / "out")
    judged = {each.metric: each for each in summary.metrics if each.metric.endswith("Explain")}
    assert judged["TaskAdherenceExplain"].why_not == "no judge configured"
    assert {each.profile: each.undecided for each in summary.decisions} == {
        "assessment_strict": 1,
        "prep_default": 1,
        "unheard_of": 1,
    }
    assert gate_code(summary, 1.0) == 3


def scored(value: float) -> Sample:
    return Sample(id=f"v{value}", case=Case(profile="p"), scores=(Score(name="quality", value=value),))


@pytest.mark.parametrize(("values", "rate", "code"), [([5, 4], 1.0, 0), ([5, 1], 1.0, 1), ([5, 1], 0.5, 0)])
def test_gates(values: list[float], rate: float, code: int, tmp_path: Path) -> None:
    profile = tmp_path / "p.toml"
    profile.write_text('name = "p"\nversion = "1"\n[thresholds]\nquality = 3\n')
    plan = tmp_path / "plan.toml"
    plan.write_text('[measure]\nmetrics = []\n[decide]\nprofiles = ["p.toml"]\n')
    loaded, text, folder = load_plan(plan)
    source = tmp_path / "in.trace.jsonl"
    write_run(Run(samples=[scored(value) for value in values]), source, to="native")
    evaluate_into([source], tmp_path / "out", prepare(loaded, folder), text)
    summary = summarise(tmp_path / "out")
    assert gate_code(summary, rate) == code
    decide_again(tmp_path / "out", load_profile(str(profile)))
    assert summarise(tmp_path / "out").decisions == summary.decisions


def test_a_run_directory_is_a_source_like_any_other(tmp_path: Path) -> None:
    from pantrace.engine.convert import convert

    evaluate_into([EXAMPLES / "opencode"], tmp_path / "out", READY, "")
    report = convert(tmp_path / "out", tmp_path / "again.trace.jsonl", to="native")
    assert report.samples == 2
    line = (tmp_path / "again.trace.jsonl").read_text().splitlines()[1]
    assert any(score["name"] == "tool_success_rate" for score in json.loads(line)["scores"])
    assert convert(tmp_path / "out", tmp_path / "log.eval", to="inspect").samples == 2


def test_a_run_directory_becomes_an_explain_report_and_returns(tmp_path: Path) -> None:
    from pantrace.engine.convert import convert
    from pantrace.engine.read import read

    evaluate_into([ROOT / "explain/report.json"], tmp_path / "out", READY, "")
    convert(tmp_path / "out", tmp_path / "report.json", to="explain", options={"kind": "report"})
    before = {sample.id: sample for sample in read(ROOT / "explain/report.json").samples}
    after = {sample.id: sample for sample in read(tmp_path / "report.json").samples}
    assert after.keys() == before.keys()
    for name, sample in before.items():
        scores = {score.name: score.value for score in after[name].scores}
        assert {score.name: score.value for score in sample.scores}.items() <= scores.items()


def test_reports(tmp_path: Path) -> None:
    evaluate_into([EXAMPLES / "explain"], tmp_path / "out", READY, "")
    suites = JUnitXml.fromstring(as_junit(tmp_path / "out"))
    assert (suites.tests, suites.failures, suites.skipped) == (3, 0, 3)
    cases = [case for suite in suites for case in suite]
    assert [case.classname for case in cases] == ["assessment_strict", "prep_default", "unheard_of"]
    assert all(isinstance(case.result[0], Skipped) for case in cases)
    text = as_markdown(summarise(tmp_path / "out"), "Title")
    assert "| unheard_of | 0 | 0 | 1 | - |" in text
    assert "- 1 × CoherenceExplain is unscored: no judge configured" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[measure]\nmetrics = 3\n", r"line 2: expected `array`"),
        (
            '[measure]\nmetrics = ["tool_sucess_rate"]\n',
            "line 2: unknown metric 'tool_sucess_rate'; did you mean tool_success_rate",
        ),
        ("[mesure]\n", r"line 1: unknown key 'mesure'; did you mean measure\?"),
        ('[decide]\nprofile = "nobody"\n', "no profile 'nobody'"),
        ("[measure.settings.token_usage]\npricess = 1\n", "has no setting 'pricess'"),
    ],
)
def test_a_wrong_plan_is_told_by_its_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        prepare(*_loaded(path))


def _loaded(path: Path) -> tuple[Plan, Path, str, str]:
    plan, text, folder = load_plan(path)
    return plan, folder, text, str(path)


def parts_of(out: Path) -> int:
    return len(list((out / "parts").glob("*.samples.*.parquet"))) if out.exists() else 0


@thorough
def test_killed_at_random_moments_it_ends_like_an_undisturbed_run(recordings: Path, tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    command = [sys.executable, "-m", "pantrace", "eval", str(recordings)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    subprocess.run([*command, "--out", str(whole)], env=environment, check=True, capture_output=True)
    dice = random.Random(7)
    killed = 0
    for _ in range(20):
        # A kill comes a random moment after the first or second part of this try, so that each falls into the writing.
        enough = min(parts_of(torn) + dice.randint(1, 2), parts_of(whole) - 1)
        process = subprocess.Popen(
            [*command, "--out", str(torn)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and parts_of(torn) < enough:
            time.sleep(0.002)
        time.sleep(dice.uniform(0, 0.02))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.wait()
    subprocess.run([*command, "--out", str(torn)], env=environment, check=True, capture_output=True)
    assert killed >= 15
    assert rows(torn) == rows(whole)
    pooled = {each.metric: each.together for each in summarise(torn).metrics if each.together}
    assert pooled == {each.metric: each.together for each in summarise(whole).metrics if each.together}
    # 667 of the 2,000 calls failed.
    assert pooled["tool_success_rate.tool_success_rate"].value == 1333 / 2000


def test_a_reference_lies_beside_the_plan(recordings: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plans"
    folder.mkdir()
    (folder / "golden.trace.jsonl").write_bytes(recordings.read_bytes())
    (folder / "plan.toml").write_text(
        '[measure]\nmetrics = ["exact_match"]\n[reference]\npath = "golden.trace.jsonl"\n'
    )
    ready = prepare(*_loaded(folder / "plan.toml"))
    assert ready.reference == folder / "golden.trace.jsonl"
    done = evaluate_into([recordings], tmp_path / "out", ready, "")
    assert done.unmatched == 0


def test_repeated_cases_are_not_worth_as_much_as_other_cases(tmp_path: Path) -> None:
    def sample(case: int, epoch: int, value: float) -> Sample:
        return Sample(id=f"c{case}", epoch=epoch, case=Case(id=f"c{case}"), scores=(Score(name="m", value=value),))

    once = [sample(case, 1, float(case % 3 == 0)) for case in range(12)]
    often = [sample(case, epoch, float(case % 3 == 0)) for case in range(12) for epoch in range(1, 9)]
    widths = []
    for name, samples in (("once", once), ("often", often)):
        path = tmp_path / f"{name}.trace.jsonl"
        write_run(Run(samples=samples), path, to="native", measure=False)
        evaluate_into([path], tmp_path / name, prepare(Plan(measure=MeasureTable(metrics=())), Path()), "")
        (metric,) = summarise(tmp_path / name).metrics
        assert metric.estimate is not None and metric.estimate.value == pytest.approx(1 / 3)
        assert metric.estimate.low is not None and metric.estimate.high is not None
        assert metric.estimate.low >= 0 and metric.estimate.high <= 1
        widths.append(metric.estimate.high - metric.estimate.low)
    assert widths[1] > 0.8 * widths[0]


def test_intervals_end_where_the_scale_ends(tmp_path: Path) -> None:
    scores = [Score(name="s", value=value, scale=Scale(low=1, high=5)) for value in (5.0, 5.0, 5.0, 5.0, 4.0, 1.0)]
    path = tmp_path / "x.trace.jsonl"
    samples = [Sample(id=str(number), scores=(score,)) for number, score in enumerate(scores)]
    write_run(Run(samples=samples), path, to="native", measure=False)
    evaluate_into([path], tmp_path / "out", prepare(Plan(measure=MeasureTable(metrics=())), Path()), "")
    (metric,) = summarise(tmp_path / "out").metrics
    assert metric.estimate is not None and metric.estimate.high == 5.0


def test_counts_that_files_store_have_no_interval_below_nothing(tmp_path: Path) -> None:
    files = []
    for number, clicks in enumerate((1, 2, 400)):
        metrics = {"num_episodes": 1, "num_steps": 1, "action_type_accuracy": 0.5, "coord_error_count": clicks}
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(json.dumps({"schema_version": "1.0", "metrics": metrics}))
    evaluate_into(files, tmp_path / "out", READY, "", format="openadapt-eval")
    (line,) = [each for each in summarise(tmp_path / "out").metrics if each.metric == "coord_error_count"]
    assert line.estimate is not None
    assert (line.estimate.value, line.estimate.low) == (pytest.approx(403 / 3), 0)
