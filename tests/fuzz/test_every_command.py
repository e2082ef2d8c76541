"""Nothing is forgotten by the fuzz: no command, no file that a command takes, no kind of damage. And a few of each."""

from __future__ import annotations

import random
from pathlib import Path

import click
import pytest

from fuzz.command_lines import COLLECT, EXEMPT, EXEMPT_OPTIONS, RECORDING, SETTINGS, every_line
from fuzz.damaged_settings import parsed, settings, written
from fuzz.kinds import KINDS, Ground, told
from fuzz.whole import Whole
from goldens import golden_inputs
from pantrace.cli import COMMANDS, cli

TRIES = 12
"""Of each kind; the seed is fixed, so that a failure can be seen again."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return Whole(tmp_path_factory.mktemp("fuzz") / "whole")


def test_every_command_is_tried_or_exempt_for_a_reason() -> None:
    tried = {line.command for line in every_line()} | {COLLECT}
    assert tried | {*EXEMPT} == {*COMMANDS}
    assert not tried & {*EXEMPT}


def test_every_command_that_takes_recordings_gets_damaged_ones() -> None:
    taking = {
        name
        for name in COMMANDS
        for each in _command(name).params
        if isinstance(each, click.Argument) and each.name in ("sources", "dataset")
    }
    assert len(taking) > 10
    assert taking <= {line.command for line in RECORDING}


def test_every_file_that_an_option_reads_is_tried_or_exempt_for_a_reason() -> None:
    writes = {
        "--output",
        "--junit",
        "--markdown",
        "--report",
        "--workshop",
        "--loss",
        "--list",
        "--trace-analysis",
        "--out",
    }
    tried = {word for line in every_line() for word in line.words if word.startswith("--")}
    forgotten = {
        (name, option.opts[-1])
        for name in COMMANDS
        for option in _command(name).params
        if isinstance(option, click.Option) and any(word in (option.metavar or "") for word in ("FILE", "PATH", "DIR"))
        if not {*option.opts} & (tried | writes | {*EXEMPT_OPTIONS})
    }
    assert not forgotten


def _command(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


def test_every_kind_of_settings_has_something_to_begin_with(whole: Whole) -> None:
    assert {each.kind for each in (*settings(), *whole.settings)} == {*SETTINGS}


@pytest.mark.parametrize(
    "given", [each for each in settings() if each.name.endswith(".toml")], ids=lambda each: each.name
)
def test_settings_are_written_as_they_were_read(given: object) -> None:
    """Else the fuzz would only try files that no parser reads."""
    value = parsed(given)  # type: ignore[arg-type]
    again = parsed(given._replace(content=written(value, ".toml").encode()))  # type: ignore[attr-defined]
    assert again == value


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.__name__)
def test_a_few_of_each_kind(kind: object, whole: Whole, tmp_path: Path) -> None:
    for number in range(TRIES):
        ground = Ground(golden_inputs(), whole, tmp_path / str(number))
        ground.out.mkdir(parents=True)
        with told(str(number)):
            kind(number, ground, random.Random(f"few/{number}"))  # type: ignore[operator]
