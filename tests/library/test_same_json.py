"""`.to_dict()` of a result is what its command prints with --json, key by key and number by number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import pantrace
from pantrace.cli import COMMANDS, cli
from pantrace.errors import UsageError

EXAMPLES = Path(__file__).parents[2] / "examples"
NIGHTS = [Path(__file__).parents[2] / "docs/examples/nightly" / f"{day}.eval" for day in ("monday", "friday")]
PLAN, RULES = EXAMPLES / "eval.toml", EXAMPLES / "rules.toml"

NO_FUNCTION = {
    "show": "pantrace.read gives the samples themselves",
    "detect": "pantrace.read(path).source names the format",
    "query": "Results.query gives a table",
    **dict.fromkeys(("formats", "metrics", "rubrics", "profiles"), "lists what pantrace has, not what it found"),
    **dict.fromkeys(("migrate", "redact"), "write files beside their inputs; the list is all that there is to say"),
    "calibrate": "its result is the calibration file",
}
"""Commands with --json that are no function, and what is there instead."""


def forty_two(question: str) -> str:
    """An agent that knows one answer."""
    return "42" if "six" in question else "no idea"


def questions(folder: Path) -> Path:
    table = folder / "questions.csv"
    table.write_text("id,question,reference\na,What is six times seven?,42\nb,And seven times eight?,56\n")
    return table


CASES: dict[str, tuple[list[object], Callable[[Path], Any]]] = {
    "validate": (["validate", EXAMPLES / "inspect"], lambda _: pantrace.validate(EXAMPLES / "inspect")),
    "check": (["check", EXAMPLES, "--rules", RULES], lambda _: pantrace.check(EXAMPLES, rules=RULES)),
    "compare": (["compare", *NIGHTS], lambda _: pantrace.compare(*NIGHTS)),
    "trend": (["compare", "--trend", *NIGHTS], lambda _: pantrace.trend(*NIGHTS)),
    "diagnose": (["diagnose", EXAMPLES / "adk"], lambda _: pantrace.diagnose(EXAMPLES / "adk")),
    "aggregate": (
        ["aggregate", EXAMPLES / "openadapt", "--by", "backend"],
        lambda _: pantrace.aggregate(EXAMPLES / "openadapt", by="backend"),
    ),
    "power": (["power", "--delta", "0.05"], lambda _: pantrace.power(delta=0.05)),
    "judge": (
        ["judge", EXAMPLES / "adk", "--rubric", "HelpfulnessExplain"],
        lambda _: pantrace.judge(EXAMPLES / "adk", rubrics="HelpfulnessExplain"),
    ),
    "convert": (
        ["convert", EXAMPLES / "adk", "-o", "out.eval"],
        lambda folder: pantrace.convert(EXAMPLES / "adk", folder / "out.eval"),
    ),
    "report": (
        ["report", EXAMPLES / "adk", "-o", "out.md"],
        lambda folder: pantrace.report(EXAMPLES / "adk", out=folder / "out.md"),
    ),
    "plot": (["plot", *NIGHTS, "-o", "out.vl.json"], lambda folder: drawn(folder / "out.vl.json")),
    "eval": (
        ["eval", EXAMPLES / "adk", "--plan", PLAN, "--out", "out"],
        lambda folder: pantrace.evaluate(EXAMPLES / "adk", plan=PLAN, out=folder / "out"),
    ),
    "run": (
        ["run", "questions.csv", "--agent", "one=cmd:cat", "--agent", "two=cmd:echo 42", "--out", "out"],
        lambda folder: pantrace.run(questions(folder), {"one": "cmd:cat", "two": "cmd:echo 42"}, out=folder / "out"),
    ),
}


def drawn(target: Path) -> Any:
    figure = pantrace.plot(*NIGHTS)
    figure.save(target)
    return figure


def said(words: list[object]) -> Any:
    done = CliRunner().invoke(cli, [*map(str, words), "--json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return json.loads(done.stdout)


def comparable(found: Any, folder: Path) -> Any:
    """Plain JSON, without the folder."""
    return json.loads(json.dumps(found).replace(f"{folder}/", ""))


def keys(found: Any) -> Any:
    """What is there, without the values: how long an agent took is another number each time."""
    if isinstance(found, dict):
        return {name: keys(value) for name, value in found.items() if value is not None}
    return [*map(keys, found)] if isinstance(found, list) and found and isinstance(found[0], dict) else None


@pytest.mark.parametrize("name", CASES)
def test_a_result_is_what_the_command_prints(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words, make = CASES[name]
    for each in ("command", "python"):
        (tmp_path / each).mkdir()
    questions(tmp_path / "command")
    monkeypatch.chdir(tmp_path / "command")
    printed = comparable(said(words), tmp_path / "command")
    result = make(tmp_path / "python")
    found = comparable(result.to_dict(), tmp_path / "python")
    assert (keys(found) if name == "run" else found) == (keys(printed) if name == "run" else printed)
    assert len(printed) > 1
    # Every result can be handed on and looked at.
    assert result.to_arrow().num_columns > 2
    assert callable(result.to_pandas)
    assert callable(result.to_polars)
    assert repr(result)
    assert getattr(result, "_repr_html_", None) or getattr(result, "_repr_svg_", None)
    assert result.__rich__() is not None


def test_an_agent_can_be_a_function(tmp_path: Path) -> None:
    found = pantrace.run(questions(tmp_path), forty_two, out=tmp_path / "out", trials=2)
    (agent,) = found.agents
    assert (agent.ran, agent.left, found.complete) == (4, 0, True)
    matched = {row.sample: row.value for row in found.result.scores if row.metric == "exact_match"}
    assert sorted(map(bool, matched.values())) == [False, True]
    assert found.gate().passed is None  # no profile decides
    again = pantrace.run(questions(tmp_path), forty_two, out=tmp_path / "out", trials=2, evaluate=False)
    assert (again.agents[0].ran, again.agents[0].reused, again.results) == (0, 4, [])
    with pytest.raises(UsageError, match="top of a module"):
        pantrace.run(questions(tmp_path), lambda question: question, out=tmp_path / "other")


def test_what_the_evaluation_lacks_is_said_before_anybody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    plan = tmp_path / "plan.toml"
    plan.write_text('[judge]\nmodels = ["openai:m"]\n')
    with pytest.raises(UsageError, match="the judge needs a key"):
        pantrace.run(questions(tmp_path), forty_two, plan=plan, out=tmp_path / "out")
    with pytest.raises(UsageError, match="is an input"):
        pantrace.run(plan, forty_two, plan=plan, out=plan, evaluate=False)
    assert not (tmp_path / "out").exists()
    spent = pantrace.run(
        questions(tmp_path), forty_two, plan=plan, out=tmp_path / "out", evaluate=False, budget_calls=1
    )
    assert spent.agents[0].answered == 2  # the function tells of no model calls


def test_a_gate_says_what_the_command_prints(tmp_path: Path) -> None:
    results = pantrace.evaluate(EXAMPLES / "adk", plan=PLAN, out=tmp_path / "out")
    words = ["gate", tmp_path / "out", "--profile", "prep_default", "--baseline", tmp_path / "out"]
    printed = said(words)
    decided = results.gate("prep_default", baseline=tmp_path / "out")
    assert json.loads(json.dumps(decided.to_dict())) == printed
    assert decided.passed is not True
    assert decided.to_arrow().num_rows == len(decided.decisions)


def test_every_command_with_json_is_here_or_has_a_reason() -> None:
    from click import Context

    for name in COMMANDS:
        command = cli.get_command(Context(cli), name)
        assert command is not None
        if any("--json" in each.opts for each in command.params):
            assert (name in {*CASES, "gate", "measure"}) != (name in NO_FUNCTION), name
