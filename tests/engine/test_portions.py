"""Parts: small at first, then larger, cut by nothing but the samples."""

from __future__ import annotations

import pytest

from pantrace.engine import portions as cut
from pantrace.engine.portions import portions
from pantrace.model import Sample, Step, Text, Trajectory
from pantrace.store import sample_of


def test_each_part_may_hold_twice_as_many_as_the_one_before() -> None:
    samples = [Sample(id=str(number)) for number in range(64 + 128 + 256 + 10)]
    found = list(portions(iter(samples)))
    assert [len(each) for each in found] == [64, 128, 256, 10]
    back = [sample_of(text) for each in found for text in each.texts(0, len(each))]
    assert back == samples
    # The same samples, the same names.
    assert [each.hash for each in portions(samples)] == [each.hash for each in found]
    assert len({each.hash for each in found}) == 4


def test_a_part_ends_with_the_sample_that_reaches_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut, "BYTES", 1_000)
    long = Trajectory(steps=(Step(role="agent", parts=(Text(text="x" * 700),)),))
    sizes = [len(each) for each in portions(Sample(id=str(number), trajectory=long) for number in range(5))]
    assert sizes == [2, 2, 1]


def test_a_sample_is_the_same_after_waiting_as_a_text() -> None:
    odd = Sample(id="half \ud800", extra={"x": {"big": 10**30, "nan": float("nan"), "none": None}})
    (found,) = portions([odd])
    back = sample_of(found.texts(0, 1)[0])
    assert back.id == odd.id
    assert back.extra["x"]["big"] == 10**30 and back.extra["x"]["none"] is None
    assert str(back.extra["x"]["nan"]).lower() == "nan"


def test_no_samples_no_part() -> None:
    assert list(portions([])) == []
