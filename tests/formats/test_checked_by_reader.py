"""Formats that say they look at every value themselves: what they read fits the model, whatever stands in the file."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from goldens import ROOT
from pantrace.errors import ReadError
from pantrace.formats import by_name, names
from pantrace.formats.inspect.reading import loaded
from pantrace.formats.opencode.sessions import load
from pantrace.model import Sample, Source, Step, Text, ToolCall, Trajectory
from pantrace.wire.declared_types import fits
from pantrace.wire.json import misfit
from wrong_values import VALUES, places, replaced, units

ODD = (*VALUES, 2**53 + 1, -(2**60))


def inspect_samples(row: Any) -> list[Sample]:
    return [sample for _, sample in loaded(lambda: row, None, Source(format="inspect"), refuse)]


def refuse(error: ReadError) -> None:
    raise error


READERS: dict[str, Callable[[Any], list[Sample]]] = {"inspect": inspect_samples, "opencode": lambda row: [load(row)]}
FOREIGN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, ReadError)
"""How a reader may end at a value that it cannot take; the frame makes a sentence of it."""


def rows_of(name: str) -> Iterator[Any]:
    for path in sorted((ROOT / name).rglob("*")):
        if path.suffix not in (".json", ".eval") or path.name.endswith(".native.json"):
            continue
        for unit in units(path):
            value = unit.value
            if ":samples/" in unit.name or (isinstance(value, dict) and {"info", "messages"} <= value.keys()):
                yield value
            elif isinstance(value, dict) and isinstance(value.get("samples"), list):
                yield from value["samples"]


def test_every_format_of_which_nothing_is_checked_is_tried_here() -> None:
    assert {name for name in names() if by_name(name).checked == "by the reader"} == READERS.keys()


@pytest.mark.parametrize("name", READERS)
def test_whatever_value_stands_anywhere_a_sample_fits_the_model(name: str) -> None:
    dice = random.Random(name)
    rows = list(rows_of(name))
    tried: set[tuple[Any, ...]] = set()
    read = 0
    for row in rows:
        for place in places(row):
            # One place of each kind in each file: the tenth message is read as the first.
            kind = (id(row), *("#" if isinstance(key, int) else key for key in place))
            if kind in tried:
                continue
            tried.add(kind)
            changed = replaced(row, place, dice.choice(ODD))
            try:
                samples = READERS[name](changed)
            except FOREIGN:
                continue
            for sample in samples:
                read += 1
                assert misfit(sample, Sample) is None, place
    assert len(rows) > 3
    assert read > len(tried) / 2


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
        assert misfit(sample, Sample) is not None
    assert fits(wrong[3], steps=False)
