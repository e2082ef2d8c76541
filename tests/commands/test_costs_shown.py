"""`show`: the cost of a session is the same in the list and in the transcript, and an estimate says that it is one."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pantrace.cli import cli
from pantrace.model import Agent, Sample, Step, Text, Trajectory, Usage
from pantrace.viewer.sample_page import counts_of


def _run(*words: str) -> str:
    done = CliRunner().invoke(cli, [*words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def _native(tmp_path: Path, costs: dict[str, float | None]) -> str:
    """Samples of one call; the price table would ask $2.50 for each."""
    lines: list[dict[str, Any]] = [{"pantrace": "2", "run": {"name": "r"}}]
    for name, cost in costs.items():
        usage: dict[str, Any] = {"input": 1_000_000, "output": 0} | ({} if cost is None else {"cost_usd": cost})
        step = {"role": "agent", "model": "gpt-4o", "parts": [{"type": "text", "text": "hi"}], "usage": usage}
        lines.append({"id": name, "trajectory": {"steps": [step]}})
    path = tmp_path / "a.trace.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def _rows(*words: str) -> dict[str, tuple[str, str]]:
    found = csv.DictReader(io.StringIO(_run("show", *words, "--csv")))
    return {row["id"]: (row["cost"], row["cost_source"]) for row in found}


def test_a_recorded_cost_comes_before_the_price_table(tmp_path: Path) -> None:
    path = _native(tmp_path, {"recorded": 0.0074, "silent": None, "zero": 0})
    # Programs write 0 for models whose price they do not know.
    assert _rows(path) == {
        "recorded": ("0.0074", "reported"),
        "silent": ("2.5", "estimated"),
        "zero": ("2.5", "estimated"),
    }


def test_the_table_marks_estimates(tmp_path: Path) -> None:
    told = _run("show", _native(tmp_path, {"recorded": 0.0074, "silent": None}))
    lines = {line.split()[0]: line for line in told.splitlines() if line.strip()}
    assert " $0.0074" in lines["recorded"]
    assert " ~$2.50" in lines["silent"]
    assert " ~$2.51" in lines["total"]
    assert "by the price table" in " ".join(told.split())
    (tmp_path / "b").mkdir()
    assert "~" not in _run("show", _native(tmp_path / "b", {"a": 0.1, "b": 0.2}))


def test_list_json_and_transcript_agree(tmp_path: Path) -> None:
    path = _native(tmp_path, {"a": 0.0074, "b": 0.5})
    [line] = [each for each in json.loads(_run("show", path, "--json")) if each["id"] == "a"]
    assert (line["listed"]["cost"], line["listed"]["cost_source"]) == (0.0074, "reported")
    assert "$0.0074" in _run("show", path, "--sample", "a").splitlines()[-1]


def _call(cost: float | None, model: str | None = "gpt-4o") -> Step:
    usage = Usage(input=1_000_000, output=0, cost_usd=cost)
    return Step(role="agent", model=model, parts=(Text(text="hi"),), usage=usage)


def test_a_cost_that_only_some_calls_record_is_not_that_of_the_session() -> None:
    sample = Sample(id="a", trajectory=Trajectory(steps=(_call(0.1), _call(None))))
    found = counts_of(sample, ())
    assert (found["cost"], found["estimated"]) == (5.0, True)


def test_the_only_agents_model_holds_for_steps_that_name_none() -> None:
    agent = Agent(name="a", model="gpt-4o")
    step = _call(None, model=None)
    one = Trajectory(agents=(agent,), steps=(step,))
    assert counts_of(Sample(id="a", trajectory=one), ())["cost"] == 2.5
    # With two agents nobody knows whose step it is.
    two = Trajectory(agents=(agent, Agent(name="b", model="gpt-4.1")), steps=(step,))
    assert counts_of(Sample(id="a", trajectory=two), ())["cost"] is None
    # The same for the total that a source states.
    whole = Trajectory(agents=(agent,), usage={"": Usage(input=1_000_000, output=0)})
    assert counts_of(Sample(id="a", trajectory=whole), ())["cost"] == 2.5


@pytest.mark.parametrize("form", ["--csv", "--json"])
def test_the_most_expensive_of_all_are_shown_not_of_the_first(tmp_path: Path, form: str) -> None:
    path = _native(tmp_path, {f"s{number}": 0.01 * (number * 7 % 10 + 1) for number in range(10)})
    told = _run("show", path, "--sort", "cost", "--limit", "3", form)
    rows = [each["listed"] for each in json.loads(told)] if form == "--json" else csv.DictReader(io.StringIO(told))
    assert [round(float(row["cost"]), 2) for row in rows] == [0.1, 0.09, 0.08]


def test_a_sorted_list_is_limited_too_and_one_sample_is_printed_whole(tmp_path: Path) -> None:
    path = _native(tmp_path, {f"s{number}": 0.01 * (number + 1) for number in range(10)})
    told = _run("show", path, "--sort", "cost", "--limit", "2")
    assert [line.split()[0] for line in told.splitlines() if line.startswith("s")][1:] == ["s9", "s8"]
    assert _run("show", path, "--sort", "cost", "--limit", "1").startswith("sample s9\n")
    assert _run("show", path, "--sort", "cost", "--reverse", "--limit", "1").startswith("sample s0\n")
