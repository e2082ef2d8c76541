"""`measure --by`: every sample is in a group with a name, in every output, and no number is in a group of another."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from goldens import ROOT
from pantrace.cli import cli
from pantrace.engine.convert import write_run
from pantrace.model import Case, Run, Sample, Score, Step, Text, Trajectory, Usage

EXAMPLES = ROOT.parent.parent / "examples"


@pytest.fixture
def mixed(tmp_path: Path) -> list[str]:
    """Samples with a model and one without, and a file with numbers of a whole run."""
    samples = [
        Sample(
            id=f"s{number}",
            trajectory=Trajectory(
                steps=(
                    Step(role="user", parts=(Text(text="q"),)),
                    Step(role="agent", model=model, parts=(Text(text="a"),), usage=Usage(input=10 * number, output=1)),
                )
            ),
        )
        for number, model in ((1, "m-1"), (2, None), (3, "m-1"))
    ]
    write_run(Run(samples=samples), tmp_path / "some.trace.jsonl", to="native", measure=False)
    return [str(tmp_path / "some.trace.jsonl"), str(EXAMPLES / "openadapt/eval.json")]


def measured(*words: Any) -> Result:
    done = CliRunner().invoke(cli, ["measure", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done


def groups_of(table: str) -> dict[str, set[str]]:
    rows = [line.split() for line in table.splitlines() if line.startswith(("m-1 ", "(none) ", "(whole run) "))]
    return {
        group: {row[1 + group.count(" ")] for row in rows if " ".join(row).startswith(group)}
        for group in ("m-1", "(none)", "(whole run)")
    }


@pytest.mark.parametrize("jobs", [1, 2])
def test_numbers_of_a_whole_run_are_a_group_of_their_own(mixed: list[str], jobs: int) -> None:
    found = groups_of(measured(*mixed, "--by", "model", "-j", jobs).stdout)
    assert "episode_success_rate" in found["(whole run)"]
    assert "token_usage.total_tokens" in found["m-1"] & found["(none)"]
    assert "episode_success_rate" not in found["m-1"] | found["(none)"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_rows_name_their_group(mixed: list[str], jobs: int) -> None:
    words = (*mixed, "--by", "model", "-j", jobs)
    wanted = {"s1": "m-1", "s2": "(none)", "s3": "m-1", None: "(whole run)"}
    rows = json.loads(measured(*words, "--json").stdout)
    assert {row["sample"]: row["group"] for row in rows} == wanted
    long = csv.DictReader(io.StringIO(measured(*words, "--csv").stdout))
    assert {row["sample"] or None: row["group"] for row in long} == wanted
    wide = csv.DictReader(io.StringIO(measured(*words, "--per", "sample", "--csv").stdout))
    assert {row["sample"]: row["group"] for row in wide} == {name: wanted[name] for name in ("s1", "s2", "s3")}
    shown = measured(*words, "--per", "sample", "--metric", "tokens").stdout
    assert "(none)" in next(line for line in shown.splitlines() if line.startswith("s2"))
    # Without groups, nothing about them.
    assert "group" not in json.loads(measured(*mixed, "-j", jobs, "--json").stdout)[0]


def test_samples_of_two_runs_with_one_id_have_rows_of_their_own(tmp_path: Path) -> None:
    first, second = (tmp_path / f"{name}.eval" for name in ("one", "two"))
    for path in (first, second):
        shutil.copy(EXAMPLES / "inspect/basic.eval", path)
    shown = measured(first, second, "--per", "sample", "--metric", "tokens").stdout
    assert "10 samples measured" in shown
    assert [sum(line.startswith(name) for line in shown.splitlines()) for name in ("one.eval", "two.eval")] == [5, 5]


def test_samples_without_a_label_are_a_group_of_an_evaluation(tmp_path: Path) -> None:
    """One value for most and none for the rest: the rest must not disappear, nor the label."""
    samples = [
        Sample(
            id=f"s{number}",
            case=Case(id=f"c{number}", labels={"level": "easy"} if number < 3 else {}),
            scores=(Score(name="right", value=number < 3),),
        )
        for number in range(5)
    ]
    write_run(Run(samples=samples), tmp_path / "some.trace.jsonl", to="native", measure=False)
    words = ["eval", str(tmp_path / "some.trace.jsonl"), f"--out={tmp_path / 'run'}"]
    done = CliRunner().invoke(cli, [*words, "--by=level"])
    assert done.exit_code == 0
    rows = [line.split() for line in done.output.splitlines() if line.startswith(("easy ", "(none) "))]
    right = {row[0]: (row[2], row[-1]) for row in rows if row[1] == "right"}
    assert right == {"easy": ("1", "3"), "(none)": ("0", "2")}
    # All cases have ids and no topic: there is nothing to tell apart, and the message does not deny more than that.
    lost = CliRunner().invoke(cli, [*words, "--by=topic"])
    assert "no sample has such a label, or all have the same value; samples can be grouped by level" in str(
        lost.exception
    )
