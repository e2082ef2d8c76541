"""The house keeps its rules: imports stay light, public names are what is visible, words are where they belong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pantrace

SOURCE = Path(pantrace.__file__).parent
HEAVY = (
    "msgspec",
    "click",
    "rich",
    "jinja2",
    "zstandard",
    "sqlite3",
    "zipfile",
    "numpy",
    "pyarrow",
    "duckdb",
    "asyncio",
)


def _loaded(statement: str) -> set[str]:
    program = f"import sys; {statement}; print(' '.join(sys.modules))"
    environment = {"PYTHONPATH": str(SOURCE.parent)}
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return set(found.stdout.split())


def test_importing_pantrace_loads_nothing_heavy() -> None:
    assert not _loaded("import pantrace") & set(HEAVY)


def test_the_command_line_starts_without_rich_or_a_format() -> None:
    loaded = _loaded("import pantrace.cli")
    assert "rich" not in loaded
    assert not any(name.startswith("pantrace.formats.") for name in loaded)


def test_commands_load_what_they_use_and_nothing_else(tmp_path: Path) -> None:
    runs = SOURCE.parents[1] / "tests" / "golden" / "native" / "every_part.trace.jsonl"

    def loaded(*arguments: str) -> set[str]:
        quiet = "contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit)"
        begin = "import contextlib, io; from pantrace.cli import main"
        return _loaded(f"{begin}\nwith {quiet}: main({[*arguments]!r})\npass")

    evaluated = str(tmp_path / "results")
    assert "asyncio" not in loaded("measure", str(runs))
    assert "pantrace.judges.judge" in loaded("eval", str(runs), "--out", evaluated)
    # pyarrow.compute makes a function for each of its kernels when it is loaded.
    assert not loaded("compare", evaluated, evaluated) & {"asyncio", "pantrace.judges", "pyarrow.compute", "duckdb"}


def test_public_names_are_what_is_visible() -> None:
    assert dir(pantrace) == sorted(pantrace.__all__)
    for name in pantrace.__all__:
        assert getattr(pantrace, name) is not None


def test_only_the_command_line_and_how_judges_are_reached_read_the_environment() -> None:
    # `inspect eval` loads the task by its path: it is no part of this program, and is told what to ask by variables.
    # Nodes of a cluster have no command line, and each has its own disk for what it fetches from a bucket.
    # Workers are given the environment of whoever started them, whatever is in it.
    others = {
        SOURCE / name
        for name in (
            "library/access.py",
            "agents/inspect_task.py",
            "places/cache.py",
            "places/in_time.py",
            "engine/start_method.py",
        )
    }
    for file in SOURCE.rglob("*.py"):
        if file.parent.name != "cli" and file not in others:
            assert "os.environ" not in file.read_text(), file


def test_no_module_has_a_name_that_says_nothing() -> None:
    banned = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base", "core"}
    assert not [file for file in SOURCE.rglob("*.py") if file.stem in banned]


def test_no_source_file_is_longer_than_400_lines() -> None:
    assert not [file.name for file in SOURCE.rglob("*.py") if len(file.read_text().splitlines()) > 400]


def test_the_model_stays_small() -> None:
    files = [file.read_text().splitlines() for file in (SOURCE / "model").glob("*.py")]
    # Comments do not count: a limit that forbids explaining the model would miss its purpose.
    assert sum(not line.lstrip().startswith("#") for lines in files for line in lines) <= 1200
    assert len((SOURCE / "__init__.py").read_text().splitlines()) <= 90


def test_the_error_tree_in_the_docstring_is_the_tree() -> None:
    from pantrace import errors

    drawn = re.findall(r"(?:├──|└──|^)\s*(\w+)\s{2,}", errors.__doc__ or "", re.MULTILINE)
    real = [name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)]
    assert sorted(drawn) == sorted(real)
