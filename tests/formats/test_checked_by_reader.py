"""Formats that say they look at every value themselves: what they read fits the model, whatever stands in the file."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from goldens import golden_inputs
from pantrace.engine.read import read
from pantrace.errors import ReadError
from pantrace.formats import by_name
from pantrace.model import Sample, Step, Text, ToolCall, Trajectory
from pantrace.wire.declared_types import fits
from pantrace.wire.json import first_misfit
from wrong_values import VALUES, Unit, places, replaced, units

ODD = (*VALUES, 2**53 + 1, -(2**60))
TRIES = 60
"""For each golden input, at places of different kinds; the seed is fixed, so that a failure can be seen again."""
GOLDENS = [(name, path) for name, path in golden_inputs() if by_name(name).checks_itself]


def kinds_of_places(path: Path) -> list[tuple[Unit, tuple[Any, ...]]]:
    """One place of each kind in a golden input: its tenth message is read as the first."""
    found: dict[tuple[Any, ...], tuple[Unit, tuple[Any, ...]]] = {}
    for unit in units(path):
        for place in places(unit.value):
            found.setdefault(tuple("#" if isinstance(key, int) else key for key in place), (unit, place))
    return list(found.values())


@pytest.mark.parametrize(("name", "path"), GOLDENS, ids=[f"{name}/{path.name}" for name, path in GOLDENS])
def test_whatever_value_stands_anywhere_a_sample_fits_the_model(name: str, path: Path, tmp_path: Path) -> None:
    dice = random.Random(f"{name}/{path.name}")
    copy = tmp_path / path.name
    possible = kinds_of_places(path)
    seen = 0
    # Trees and databases are copied for each try, and read by what reads the files.
    tries = TRIES // 6 if path.is_dir() or path.suffix == ".db" else TRIES
    for unit, place in dice.sample(possible, min(tries, len(possible))):
        if path.is_dir():
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(path, copy)
        else:
            shutil.copy(path, copy)
        new = dice.choice(ODD)
        unit.write(replaced(unit.value, place, new), copy)
        broken: list[ReadError] = []
        try:
            samples = list(read(copy, format=name, on_broken=broken.append).samples)
        except ReadError:
            continue
        for sample in samples:
            seen += 1
            assert first_misfit(sample, Sample) is None, (unit.name, place, new)
    assert seen


def test_a_field_of_a_wrong_type_is_seen_wherever_it_stands() -> None:
    good = Sample(
        id="a", trajectory=Trajectory(steps=(Step(role="agent", parts=(Text(text="b"), ToolCall(name="c"))),))
    )
    assert fits(good)
    wrong: list[Any] = [
        Sample(id=7),  # type: ignore[arg-type]
        Sample(id="a", trajectory=Trajectory(id=7)),  # type: ignore[arg-type]
        Sample(id="a", trajectory=Trajectory(steps=(Step(role="nobody"),))),  # type: ignore[arg-type]
        Sample(id="a", trajectory=Trajectory(steps=(Step(role="agent", parts=(Text(text=7),)),))),  # type: ignore[arg-type]
        Sample(id="a", expected=Trajectory(children=(Trajectory(title=7),))),  # type: ignore[arg-type]
        Sample(id="a", trajectory=Trajectory(steps=(Step(role="agent", parts=("text",)),))),  # type: ignore[arg-type]
    ]
    for sample in wrong:
        assert not fits(sample)
        assert first_misfit(sample, Sample) is not None
    assert fits(wrong[3], steps=False)
