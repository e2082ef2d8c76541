"""jsonpickle: Python objects as JSON. They are unwrapped as data; nothing is imported, called or built."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pantrace.errors import ReadError

from .limits import limits

# Nested references multiply: a small file could expand to more than fits in memory.
_MOST_REFERRED = 1_000_000


def is_pickled(value: Any) -> bool:
    """Whether a value is an object that jsonpickle wrote."""
    return isinstance(value, dict) and isinstance(value.get("py/object"), str)


_PANDAS = frozenset(
    {"_mgr", "_typ", "_metadata", "_flags", "allows_duplicate_labels", "attrs"}  # of the table
    | {"_data", "_name", "_range", "_cache", "_id", "_references"}  # of its axes
)
"""Fields that pandas uses for a table and its axes."""


def unknown_wrapper_keys(value: Any) -> dict[str, dict[str, Any]]:
    """Keys in jsonpickle's wrappers that belong neither to it nor to the pickled objects, by the wrapper's path.
    `unpickle` cannot return them, because a wrapper often becomes a single word."""
    found: dict[str, dict[str, Any]] = {}
    _add_unknown_keys(found, value, "", in_table=False)
    return found


def _add_unknown_keys(found: dict[str, dict[str, Any]], value: Any, place: str, *, in_table: bool) -> None:
    if isinstance(value, list):
        for number, each in enumerate(value):
            _add_unknown_keys(found, each, f"{place}[{number}]", in_table=in_table)
    if not isinstance(value, dict):
        return
    in_table = in_table or str(value.get("py/object", "")).endswith(".DataFrame")
    strange = {key: each for key, each in value.items() if _is_unknown(key, value, in_table)}
    if strange:
        found[place] = strange
    for key, each in value.items():
        # pandas can compute its caches again.
        if key not in strange and key != "_cache":
            _add_unknown_keys(found, each, f"{place}.{key}" if place else key, in_table=in_table)


def _is_unknown(key: str, around: dict[str, Any], in_table: bool) -> bool:
    if key.startswith(("py/", "__pydantic_")) or key in ("__dict__", "__reduce__"):
        return False
    if in_table:
        return key not in _PANDAS
    # An object's fields are in its state if there is one, otherwise next to its name.
    if {"__dict__", "__reduce__", "py/state"} & around.keys():
        return True
    return "py/object" not in around and any(each.startswith("py/") for each in around)


def unpickle(value: Any) -> Any:
    """The pickled value as plain data: fields of objects, words of enumerations, times as ISO 8601, tables as
    columns."""
    return _Unwrapper().of(value)


class _Unwrapper:
    """One walk in the order of writing: `py/id` refers to an object by its number.

    jsonpickle (3 and 4 alike) counts objects, dictionaries and lists from 0, each when it begins; tuples, sets and
    classes do not count, nor do the lists of its own wrappers. Data that is not needed is walked through as well, or
    every later number would refer to another object."""

    def __init__(self) -> None:
        self.known: list[Any] = []
        self._extents: dict[int, tuple[int, int]] = {}
        self._referred = 0

    def of(self, value: Any) -> Any:
        if isinstance(value, list):
            return self._count(lambda: self._each(value))
        if not isinstance(value, dict):
            return value
        if "py/id" in value:
            return self._repeat(value["py/id"])
        if is_pickled(value) or "py/reduce" in value:
            return self._count(lambda: self._object(value))
        if "py/tuple" in value or "py/set" in value:
            inner = value.get("py/tuple", value.get("py/set"))
            return self._each(inner) if isinstance(inner, list) else None
        if "py/type" in value or "py/function" in value:
            return None
        return self._count(lambda: {name: self.of(each) for name, each in value.items()})

    def _each(self, items: list[Any]) -> list[Any]:
        return [self.of(each) for each in items]

    def _count(self, make: Callable[[], Any]) -> Any:
        place = len(self.known)
        # None until it is complete: an object that refers to itself would have no end.
        self.known.append(None)
        self.known[place] = found = make()
        return found

    def _repeat(self, number: Any) -> Any:
        """An object that is referred to again. Its size is counted each time, because it is written out each time."""
        found = self.known[number] if type(number) is int and 0 <= number < len(self.known) else None
        size, depth = self._extent(found)
        self._referred += size
        if self._referred > _MOST_REFERRED or depth > limits().depth:
            raise ReadError("objects that refer to each other come to too many values", remedy="write it as plain JSON")
        return found

    def _extent(self, value: Any) -> tuple[int, int]:
        """How many values an object has when written out, and how deep it is."""
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        if inner is None:
            return 1, 0
        if (known := self._extents.get(id(value))) is None:
            extents = [self._extent(each) for each in inner]
            known = 1 + sum(size for size, _ in extents), 1 + max((depth for _, depth in extents), default=0)
            self._extents[id(value)] = known
        return known

    def _object(self, value: dict[str, Any]) -> Any:
        name = str(value.get("py/object", ""))
        if name == "datetime.datetime":
            # Walked through for its numbers, although the value itself is computed below.
            written = value.get("__reduce__")
            if isinstance(written, list) and isinstance(written[-1], list):
                self._each(written[-1])
            return _moment(value)
        if isinstance(reduced := value.get("py/reduce"), list):
            parts: list[Any] = [*self._each(reduced), None, None]
            arguments = parts[1]
            return arguments[0] if isinstance(arguments, list) and arguments else None
        fields = {key: self.of(each) for key, each in value.items() if key != "py/object"}
        if name.endswith(".DataFrame"):
            return columns_of(value)
        state = fields.pop("py/state", fields)
        if not isinstance(state, dict) or not isinstance(named := state.get("__dict__"), dict):
            return state if isinstance(state, dict) else fields
        # pydantic keeps fields that a model does not declare in a separate dictionary.
        more = state.get("__pydantic_extra__")
        return {**named, **more} if isinstance(more, dict) else named


def _moment(value: dict[str, Any]) -> str | None:
    """A pickled datetime (ten bytes in base64) as ISO 8601."""
    texts = [each for each in _texts(value.get("__reduce__")) if not each.startswith("datetime.")]
    try:
        raw = base64.b64decode(texts[0], validate=True)
        year, second = raw[0] * 256 + raw[1], raw[6]
        fraction = int.from_bytes(raw[7:10])
        return datetime(year, raw[2], raw[3], raw[4], raw[5], second, fraction, tzinfo=UTC).isoformat()
    except (IndexError, ValueError, binascii.Error):
        return None


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _texts(each)]


def columns_of(frame: dict[str, Any]) -> dict[str, list[Any]]:
    """The columns of a pickled DataFrame with plain cells; {} if it was pickled in another way."""
    try:
        blocks, axes = frame["py/state"]["_mgr"]["py/reduce"][1]["py/tuple"]
        names = _cells(axes[0])
        found: dict[str, list[Any]] = {}
        for block in blocks["py/tuple"]:
            array, place, _ = block["py/reduce"][1]["py/tuple"]
            start, stop, step = place["py/reduce"][1]["py/tuple"]
            columns = names[start:stop:step]
            cells = _cells(array)
            high = len(cells) // len(columns)
            for number, name in enumerate(columns):
                found[name] = cells[number * high : (number + 1) * high]
        return {name: found[name] for name in names if isinstance(name, str) and name in found}
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
        return {}


def _cells(value: Any) -> list[Any]:
    """The last list inside, which is where numpy stores the items of an array of objects."""
    found: list[Any] = []

    def walk(each: Any) -> None:
        nonlocal found
        if isinstance(each, list) and each and all(not isinstance(item, dict | list) for item in each):
            found = each
        for item in each.values() if isinstance(each, dict) else each if isinstance(each, list) else ():
            if not (isinstance(each, dict) and "py/type" in each):
                walk(item)

    walk(value)
    return found
