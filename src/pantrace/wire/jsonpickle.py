"""jsonpickle: Python objects as JSON. They are unwrapped as data; nothing is imported, called or built."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from typing import Any


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

    def of(self, value: Any, key: str) -> Any:
        if isinstance(value, list):
            return self._list(value, key)
        if not isinstance(value, dict):
            return value
        if "py/id" in value:
            number = value["py/id"]
            return self.known[number - 1] if isinstance(number, int) and 0 < number <= len(self.known) else None
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
        found: list[Any] = []
        if not key.startswith("py/"):
            self.known.append(found)
        found += [self.of(each, "") for each in value]
        return found

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
