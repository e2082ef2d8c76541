"""Pickled objects that refer to each other: written out where they stand, and never without an end."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.errors import ReadError
from pantrace.wire.jsonpickle import unpickled


def test_an_object_in_two_places_stands_in_both() -> None:
    assert unpickled({"a": ["x"], "b": {"py/id": 1}}) == {"a": ["x"], "b": ["x"]}


def test_what_refers_to_itself_ends_there() -> None:
    assert unpickled({"a": ["x", {"py/id": 1}]}) == {"a": ["x", None]}


def test_references_to_references_are_not_written_out_without_an_end() -> None:
    doubled: list[Any] = [["x"]]
    for number in range(1, 60):
        doubled.append([{"py/id": number + 1}, {"py/id": number + 1}])
    with pytest.raises(ReadError, match="refer to each other"):
        unpickled(doubled)
    deep: list[Any] = [["x"]]
    for number in range(1, 400):
        deep.append([{"py/id": number + 1}])
    with pytest.raises(ReadError, match="refer to each other"):
        unpickled(deep)
