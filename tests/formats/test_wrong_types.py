"""A value of another type, anywhere in a recording: refused or left out in words, or read so that it lasts."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from goldens import golden_inputs
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.errors import ReadError
from wrong_values import VALUES, Unit, places, replaced, units

GOLDENS = golden_inputs()
TRIES = 8
"""For each golden input; the seed is fixed, so that a failure can be seen again."""


def attempt(name: str, path: Path, unit: Unit, changed: Any, work: Path) -> None:
    """Convert a changed copy to native: a ReadError, or a file that reads back with every sample that was written."""
    copy = work / path.name
    if path.is_dir():
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(path, copy)
    elif not copy.exists():
        shutil.copy(path, copy)
    unit.write(changed, copy if path.is_dir() else work / path.name)
    target = work / "out.trace.jsonl"
    try:
        report = convert(copy, target, to="native", format=name)
    except ReadError as error:
        assert str(work) in str(error)
        return
    assert len(list(read(target, format="native").samples)) == report.samples


@pytest.mark.parametrize(("name", "path"), GOLDENS, ids=[f"{name}/{path.name}" for name, path in GOLDENS])
def test_a_wrong_value_never_makes_a_file_that_cannot_be_read(name: str, path: Path, tmp_path: Path) -> None:
    dice = random.Random(f"{name}/{path.name}")
    found = list(units(path))
    if not found:
        pytest.skip("no JSON inside")
    for _ in range(TRIES):
        unit = dice.choice(found)
        place = dice.choice([(), *places(unit.value)])
        new = dice.choice(VALUES)
        try:
            attempt(name, path, unit, replaced(unit.value, place, new), tmp_path)
        except Exception as error:
            raise AssertionError(f"{path.name}: {unit.name} with {new!r} at {place}: {error!r}") from error
