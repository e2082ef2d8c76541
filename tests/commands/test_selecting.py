"""Every command that chooses samples refuses names that are not there, and says so when nothing is left."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from pantrace.cli import cli, main

EXAMPLES = Path(__file__).parents[2] / "examples"

REST = {
    "check": ["--rules", "stateless-handoff"],
    "convert": ["--to", "native", "-o", "out.trace.jsonl"],
    "diagnose": [],
    "eval": ["--out", "out"],
    "judge": ["--rubric", "safety", "--judge", "openai:m", "--replay", "--cache", "replies.sqlite"],
    "measure": ["--metric", "token_usage"],
    "redact": ["--to", "native", "-o", "out.trace.jsonl"],
    "show": [],
}
"""What each of them needs besides."""


def selecting() -> list[str]:
    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return [name for name, each in commands.items() if each and any("--where" in option.opts for option in each.params)]


def run(name: str, *words: str) -> int | str | None:
    with pytest.raises(SystemExit) as end:
        main([name, str(EXAMPLES / "explain"), str(EXAMPLES / "opencode"), *REST[name], *words])
    return end.value.code


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_selecting_command_is_tried() -> None:
    # A report is made of each input by itself, and says what it left out; `run` asks agents. Both have their own tests.
    assert sorted(selecting()) == sorted([*REST, "report", "run"])


@pytest.mark.parametrize("name", REST)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--where", "agnet=build"], "there is no field agnet; did you mean agent? Fields are agent, model, title"),
        (["--where", "agnet!=build"], "did you mean agent?"),
        (["--where", "tokns>5"], "there is no field tokns"),
        (["--where", "agent"], "it is one of FIELD=VALUE, FIELD!=VALUE, FIELD~REGEX, or FIELD>NUMBER"),
        (["--where", "label.dificulty=easy"], "no sample has label.dificulty; did you mean label.difficulty?"),
        (["--where", "label.dificulty!=easy"], "There are label.difficulty"),
        (["--sample", "walk-4"], "no sample 'walk-4' among the 5 that were read; did you mean walk-3?"),
        (["--sample", "walk-3", "--sample", "nowhere"], "no sample 'nowhere' among the 5"),
    ],
)
def test_a_name_that_is_not_there(
    name: str, words: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(name, *words) == 2
    assert told in capsys.readouterr().err
    left = {path.name for path in folder.iterdir() if not path.name.startswith("replies.sqlite")}
    assert not left, "nothing is written"


@pytest.mark.parametrize("name", REST)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--where", "agent=nobody"], "none matches --where 'agent=nobody' (agent is build, compaction, tour-planner)"),
        (["--since", "1m"], "none matches --since "),
        (["--sample", "walk-3", "--where", "agent=build"], "none matches --sample walk-3 --where 'agent=build'"),
    ],
)
def test_nothing_selected_is_told(name: str, words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    # There is no recording without a sample: these two write nothing, and say that it is no success.
    # And of nothing nobody can say that it keeps the rules.
    assert run(name, *words) == {"convert": 1, "redact": 1, "check": 3}.get(name, 0)
    assert f"nothing was selected: 5 samples were read, but {told}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["eval", "check"])
def test_a_gate_over_nothing_cannot_decide(name: str) -> None:
    assert run(name, "--where", "agent=nobody", {"eval": "--gate", "check": "--ci"}[name]) == 3


@pytest.mark.parametrize("name", REST)
def test_what_is_there_is_selected(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(name, "--where", "label.difficulty=easy", "--sample", "tour-planner-001") in (0, 1, 3)
    assert "selected" not in capsys.readouterr().err


@pytest.mark.parametrize("name", REST)
def test_the_start_of_an_id_is_enough(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(name, "--sample", "walk") in (0, 1, 3)
    assert "no sample" not in capsys.readouterr().err
    assert run(name, "--sample", "tour-planner") == 2
    assert "2 samples begin with 'tour-planner': tour-planner-001, tour-planner-002" in capsys.readouterr().err


def test_the_old_name_of_the_option_is_understood_and_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "--session", "walk-3") == 0
    assert capsys.readouterr().out.startswith("sample walk-3")
    with pytest.raises(SystemExit):
        main(["show", "--help"])
    told = capsys.readouterr().out
    assert "--sample ID" in told
    assert "--session" not in told


def test_a_limit_of_eval_is_for_all_inputs_and_holds_when_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("eval", "--limit", "2") == 0
    assert "2 samples measured, 0 reused" in capsys.readouterr().err
    assert run("eval", "--limit", "2") == 0
    assert "0 samples measured, 2 reused" in capsys.readouterr().err
