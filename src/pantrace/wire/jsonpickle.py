"""jsonpickle: Python objects as JSON. They are unwrapped as data; nothing is imported, called or built."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from typing import Any

from pantrace.errors import ReadError

from .limits import limits

_MOST_REFERRED = 1_000_000


def is_pickled(value: Any) -> bool:
    """Whether a value is an object that jsonpickle wrote."""
    return isinstance(value, dict) and isinstance(value.get("py/object"), str)


def unpickled(value: Any) -> Any:
    """The fields of objects, the words of enumerations, times as ISO 8601; tables (DataFrame) as columns."""
    return _Unwrapped().of(value, "")


class _Unwrapped:
    """One walk in the order of writing: `py/id` means the object of that number."""

    def __init__(self) -> None:
        self.known: list[Any] = []
        self._extents: dict[int, tuple[int, int]] = {}
        self._referred = 0

    def of(self, value: Any, key: str) -> Any:
        if isinstance(value, list):
            return self._list(value, key)
        if not isinstance(value, dict):
            return value
        if "py/id" in value:
            return self._again(value["py/id"])
        if is_pickled(value) or "py/reduce" in value:
            return self._object(value)
        if "py/tuple" in value or "py/set" in value:
            inner = value.get("py/tuple", value.get("py/set"))
            return [self.of(each, "") for each in inner] if isinstance(inner, list) else None
        if "py/type" in value or "py/function" in value:
            return None
        # Found with a file of the real client: an object's state and its fields have numbers, other mappings do not.
        if key in ("py/state", "__dict__"):
            self.known.append(None)
        return {name: self.of(each, name) for name, each in value.items()}

    def _list(self, value: list[Any], key: str) -> list[Any]:
        place = len(self.known)
        if not key.startswith("py/"):
            # None until it is whole: what refers to itself would have no end.
            self.known.append(None)
        found = [self.of(each, "") for each in value]
        if not key.startswith("py/"):
            self.known[place] = found
        return found

    def _again(self, number: Any) -> Any:
        """An object that stands in several places. Written out it stands there each time, so what they come to is
        counted: a few references to references would be more than any memory holds."""
        found = self.known[number - 1] if isinstance(number, int) and 0 < number <= len(self.known) else None
        size, depth = self._extent(found)
        self._referred += size
        if self._referred > _MOST_REFERRED or depth > limits().depth:
            raise ReadError("objects that refer to each other come to too many values", remedy="write it as plain JSON")
        return found

    def _extent(self, value: Any) -> tuple[int, int]:
        """How many values it is when it is written out, and how deep."""
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        if inner is None:
            return 1, 0
        if (known := self._extents.get(id(value))) is None:
            extents = [self._extent(each) for each in inner]
            known = 1 + sum(size for size, _ in extents), 1 + max((depth for _, depth in extents), default=0)
            self._extents[id(value)] = known
        return known

    def _object(self, value: dict[str, Any]) -> Any:
        place = len(self.known)
        self.known.append(None)
        name = str(value.get("py/object", ""))
        if name.endswith(".DataFrame"):
            found: Any = columns_of(value)
        elif name == "datetime.datetime":
            found = _moment(value)
        elif "py/reduce" in value:
            parts = self.of(value["py/reduce"], "py/reduce")
            arguments = parts[1] if isinstance(parts, list) and len(parts) > 1 else None
            found = arguments[0] if isinstance(arguments, list) and arguments else None
        else:
            inner = {key: self.of(each, key) for key, each in value.items() if key != "py/object"}
            state = inner.pop("py/state", None)
            found = state.get("__dict__", state) if isinstance(state, dict) else inner
        self.known[place] = found
        return found


def _moment(value: dict[str, Any]) -> str | None:
    """A datetime, which is kept as ten bytes."""
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
    """The columns of a pickled DataFrame whose cells are texts and other plain values; {} if it is kept otherwise."""
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
    """The last list inside, which is where numpy keeps the items of an array of objects."""
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
