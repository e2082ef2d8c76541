"""Carrying: a format with a free corner loses nothing, and need not know why."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from any_sample import samples
from pantrace.model import Sample, Score
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.json import decode, encode
from pantrace.wire.loss import without_source
from pantrace.wire.pantrace_key import without_carried


def only_id(sample: Sample, options: Any) -> dict[str, Any]:
    return {"id": sample.id, **sample.extra.get("x", {})}


def read_id(row: Any) -> Sample:
    rest = {key: value for key, value in row.items() if key != "id"}
    return Sample(id=row["id"], extra={"x": rest} if rest else {})


@pytest.mark.parametrize("corner", ["pantrace", "extra.pantrace", "a.b.c"])
@settings(max_examples=60, deadline=None)
@given(sample=samples())
def test_every_sample_returns(corner: str, sample: Sample) -> None:
    load, dump = carry_rest(read_id, only_id, corner)
    row = decode(encode(dump(sample, None)))
    assert without_source(load(row)) == without_source(sample)


def test_what_the_format_can_say_takes_no_corner() -> None:
    _, dump = carry_rest(read_id, only_id, "extra.pantrace")
    assert dump(Sample(id="a"), None) == {"id": "a"}


def test_an_empty_object_around_the_corner_is_its_owners() -> None:
    load, dump = carry_rest(read_id, only_id, "extra.pantrace")
    sample = Sample(id="a", scores=(Score(name="s", value=1),), extra={"x": {"extra": {}}})
    assert load(decode(encode(dump(sample, None)))) == sample


def test_a_corner_of_somebody_else_is_his() -> None:
    load, _ = carry_rest(read_id, only_id, "extra.pantrace")
    assert load({"id": "a", "extra": 7}) == Sample(id="a", extra={"x": {"extra": 7}})
    assert load({"id": "a", "extra": {"pantrace": "hi", "b": 1}}).id == "a"


def test_an_object_that_held_nothing_else_is_not_left_behind() -> None:
    row = {"a": {"pantrace": 1}, "b": {"x": 1, "pantrace": 2}, "c": {}, "list": [{"m": {"pantrace": 3}}, {"m": {}}]}
    corners = ("a.pantrace", "b.pantrace", "c.pantrace", "list[].m.pantrace")
    assert without_carried(row, corners) == {"b": {"x": 1}, "c": {}, "list": [{}, {"m": {}}]}
