"""Pickled objects that refer to each other: written out where they stand, and never without an end."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.errors import ReadError
from pantrace.wire.jsonpickle import unknown_wrapper_keys, unpickle


def test_an_object_in_two_places_stands_in_both() -> None:
    assert unpickle({"a": ["x"], "b": {"py/id": 1}}) == {"a": ["x"], "b": ["x"]}


WRITTEN: dict[str, Any] = {
    "py/object": "__main__.Basket",
    "py/state": {
        "__dict__": {
            "items": [
                {
                    "py/object": "__main__.Item",
                    "py/state": {
                        "__dict__": {"x": 1},
                        "__pydantic_extra__": {"note": "n", "deep": {"q": [1]}, "shared": [1, 2]},
                        "__pydantic_fields_set__": {"py/set": ["shared", "deep", "x", "note"]},
                        "__pydantic_private__": None,
                    },
                },
                {"py/id": 4},
                {"plain": {"py/id": 10}},
                {"py/id": 10},
            ]
        },
        "__pydantic_extra__": None,
        "__pydantic_fields_set__": {"py/set": ["items"]},
        "__pydantic_private__": None,
    },
}
"""By jsonpickle 4.1.4 (3.0.4 gives the same), of pydantic models of which one allows fields that it does not declare:
Basket(items=[item, item, {"plain": shared}, shared])."""


def test_numbers_of_objects_are_those_of_jsonpickle() -> None:
    item = {"x": 1, "note": "n", "deep": {"q": [1]}, "shared": [1, 2]}
    assert unpickle(WRITTEN) == {"items": [item, item, {"plain": [1, 2]}, [1, 2]]}
    assert unknown_wrapper_keys(WRITTEN) == {}


def test_what_refers_to_itself_ends_there() -> None:
    assert unpickle({"a": ["x", {"py/id": 1}]}) == {"a": ["x", None]}


def test_references_to_references_are_not_written_out_without_an_end() -> None:
    doubled: list[Any] = [["x"]]
    for number in range(1, 60):
        doubled.append([{"py/id": number}, {"py/id": number}])
    with pytest.raises(ReadError, match="refer to each other"):
        unpickle(doubled)
    deep: list[Any] = [["x"]]
    for number in range(1, 400):
        deep.append([{"py/id": number}])
    with pytest.raises(ReadError, match="refer to each other"):
        unpickle(deep)
