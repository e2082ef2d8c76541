"""Depth of records: a value that is nested too deeply is refused wherever the model has room for a foreign one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from pantrace.errors import ReadError
from pantrace.model import RunHeader, Sample
from pantrace.wire.depth import OURS
from pantrace.wire.json import decode_as, encode
from pantrace.wire.limits import limits

Place = tuple[str, Any]
"""Where a foreign value may stand, and a record that has one there."""


def foreign(kind: msgspec.inspect.Type, deep: Any, path: str = "", inside: tuple[Any, ...] = ()) -> Iterator[Place]:
    """A record for each place of a type at which anything may stand; each struct once on the way."""
    if isinstance(kind, msgspec.inspect.AnyType):
        yield path, deep
    elif isinstance(kind, msgspec.inspect.UnionType):
        for each in kind.types:
            yield from foreign(each, deep, path, inside)
    elif isinstance(kind, msgspec.inspect.DictType):
        for place, value in foreign(kind.value_type, deep, f"{path}.*", inside):
            yield place, {"any": value}
    elif isinstance(kind, msgspec.inspect.VarTupleType | msgspec.inspect.ListType):
        for place, value in foreign(kind.item_type, deep, f"{path}[]", inside):
            yield place, [value]
    elif isinstance(kind, msgspec.inspect.StructType) and kind.cls not in inside:
        needed = {field.encode_name: usual(field.type) for field in kind.fields if field.required}
        tag = {kind.tag_field: kind.tag} if kind.tag_field is not None else {}
        for field in kind.fields:
            name = f"{path}.{field.encode_name}".lstrip(".")
            for place, value in foreign(field.type, deep, name, (*inside, kind.cls)):
                yield place, {**tag, **needed, field.encode_name: value}


def usual(kind: msgspec.inspect.Type) -> Any:
    """Any value that a field which must be there takes."""
    if isinstance(kind, msgspec.inspect.UnionType):
        return usual(kind.types[0])
    if isinstance(kind, msgspec.inspect.LiteralType):
        return kind.values[0]
    if isinstance(kind, msgspec.inspect.StructType):
        return {field.encode_name: usual(field.type) for field in kind.fields if field.required}
    if isinstance(kind, msgspec.inspect.IntType | msgspec.inspect.FloatType):
        return 1
    return False if isinstance(kind, msgspec.inspect.BoolType) else "x"


def of_depth(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("kind", [Sample, RunHeader])
def test_every_foreign_value_of_a_record_has_a_limit(kind: type) -> None:
    places = dict(foreign(msgspec.inspect.type_info(kind), of_depth(limits().depth + OURS + 5)))
    assert {"results[].extra.*"} <= places.keys() or {"trajectory.steps[].parts[].arguments"} <= places.keys()
    passed = []
    for place, record in places.items():
        text = encode(record)
        assert msgspec.json.decode(text, type=kind)  # what is wrong is nothing but the depth
        try:
            decode_as(text, kind)
        except ReadError as error:
            assert "nested deeper" in error.message
            continue
        passed.append(place)
    assert not passed


@pytest.mark.parametrize("kind", [Sample, RunHeader])
def test_what_is_as_deep_as_allowed_is_read_everywhere(kind: type) -> None:
    for _, record in foreign(msgspec.inspect.type_info(kind), of_depth(limits().depth)):
        text = encode(record)
        assert encode(decode_as(text, kind)) == encode(msgspec.json.decode(text, type=kind))
