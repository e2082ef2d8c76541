"""What options declare without importing anything is what the engine knows; and what the shell completes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from pantrace.cli import diagnose, judge, measure, plot, show
from pantrace.diagnosis.question import BUDGET as QUESTION
from pantrace.engine.diagnose import EXAMPLES
from pantrace.engine.listing import SORTS
from pantrace.engine.plot import Kind
from pantrace.engine.tables import Kind as TableKind
from pantrace.judges import BUDGET, CALIBRATION_FILE
from pantrace.plots import KINDS

ROOT = Path(__file__).parents[2]


def default(command: object, option: str) -> object:
    return next(each.default for each in command.params if option in each.opts)  # type: ignore[attr-defined]


def test_choices_and_defaults_are_the_engine_s() -> None:
    assert show.SORTS == SORTS
    assert get_args(Kind) == plot.FIGURES
    assert plot.KINDS == KINDS
    assert set(measure.SUFFIXES.values()) == set(get_args(TableKind))
    assert judge.MAX_CHARS == BUDGET
    assert default(diagnose.command, "--max-chars") == QUESTION
    assert default(diagnose.command, "--examples") == EXAMPLES
    assert CALIBRATION_FILE == "calibration.json"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("convert --to ins", "inspect"),
        ("measure x --metric tool_success", "tool_success_rate"),
        ("gate x --profile prep_default.d", "prep_default.documented"),
        ("show examples/opencode --sample ses_e1f9", "ses_e1f901162ffesXODlT1I2RwJdD"),
    ],
)
def test_the_shell_completes(words: str, found: str) -> None:
    line = f"pantrace {words}"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "_PANTRACE_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - 1),
    }
    told = subprocess.run(
        [sys.executable, "-m", "pantrace"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert told.stdout.split() == [f"plain,{found}"], told.stderr


def test_help_loads_none_of_the_engine() -> None:
    code = (
        "import sys; from pantrace.cli import COMMANDS, cli; import click\n"
        "for name in COMMANDS: cli.get_command(click.Context(cli), name).get_help(click.Context(cli))\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('msgspec', 'rich', 'numpy') "
        "or name.startswith(('pantrace.engine', 'pantrace.formats', 'pantrace.model', 'pantrace.metrics'))])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"
