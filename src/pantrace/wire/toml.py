"""TOML with line numbers: the data of a file, and the line of each key."""

from __future__ import annotations

import re
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pantrace.errors import UsageError

from .allowed_words import choices, inside, not_among
from .depth import is_too_deep
from .limits import limits
from .text_file import read_text

T = TypeVar("T")

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?")
_KEY = re.compile(r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


_DEEPEST = 100
_MANY_PARTS = re.compile(rf"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){{{_DEEPEST}}}""")


def parse(text: str) -> dict[str, Any]:
    """The data of a TOML text; TOMLDecodeError if it cannot be read or is nested too deeply."""
    # The parser stores every prefix of a dotted key: one with 30,000 parts took 3.4 GB.
    if _MANY_PARTS.search(text) is not None:
        raise tomllib.TOMLDecodeError(f"a key of more than {_DEEPEST} parts")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError(f"nested deeper than {_DEEPEST} levels") from None
    except ValueError:  # raised by Python's own conversion of numbers and dates
        raise tomllib.TOMLDecodeError(
            f"a number of more than {limits().digits:,} digits, or a date that is none"
        ) from None
    if is_too_deep(data, _DEEPEST):
        raise tomllib.TOMLDecodeError(f"nested deeper than {_DEEPEST} levels")
    return data


def load(text: str, name: str, kind: type[T]) -> T:
    """A TOML text as a struct; UsageError names the file and line of what does not fit."""
    try:
        data = parse(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: not valid TOML: {error}") from None
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise UsageError(_explain(_name_the_key(str(error), data, kind), text, name, kind)) from None


def load_file(path: Path, kind: type[T]) -> T:
    """A TOML file as a struct."""
    return load(read_text(path), str(path), kind)


def _explain(message: str, text: str, name: str, kind: type) -> str:
    what, _, where = message.partition(" - at ")
    path = where.strip("`").removeprefix("$").lstrip(".")
    unknown = re.search(r"unknown field `([^`]+)`", what)
    if unknown:
        inner = f"{path}.{unknown[1]}" if path else unknown[1]
        line = line_of(text, inner)
        known = sorted(_field_names(kind))
        # A key that exists elsewhere in the file is in the wrong table, which is another mistake than a typo.
        close = get_close_matches(unknown[1], known, n=1)
        hint = "; it does not belong here" if unknown[1] in known else f"; did you mean {close[0]}?" if close else ""
        return f"{name}{_line(line)}: unknown key {unknown[1]!r}{_inside(path)}{hint}"
    missing = re.search(r"missing required field `([^`]+)`", what)
    if missing:
        bare = re.sub(r"\[\d+\]$", "", path)
        table = "at the top of the file" if not path else f"in [[{bare}]]" if path != bare else f"in [{path}]"
        inside_it = _inside(path) if path.endswith("]") else ""
        example = _example(missing[1], kind, path)
        return f"{name}{_line(line_of(text, path))}: {missing[1]} is missing {table}{inside_it}: {example}"
    told = not_among(what, kind, path) or what[0].lower() + what[1:]
    return f"{name}{_line(line_of(text, path))}: {told}{_inside(path)}"


def _example(key: str, kind: Any, path: str) -> str:
    """An example for a missing key, with a value of its type or one of its allowed words."""
    where = f"{path}.{key}" if path else key
    if words := choices(kind, where):
        return f'for example {key} = "{words[0]}"'
    kinds = [kind]
    for step in re.findall(r"([\w-]+)|\[[^\]]*\]", where):
        kinds = [inner for each in kinds for inner in inside(each, step or None)]
    shown = {bool: "true", int: "1", float: "0.5"}
    value = next((shown[each] for each in kinds if each in shown), None)
    if any(getattr(each, "__origin__", None) in (list, tuple) for each in kinds):
        value = '["…"]'
    texts = {"version": '"1"'}
    return f"for example {key} = {value or texts.get(key, chr(34) + '…' + chr(34))}"


def _name_the_key(message: str, data: dict[str, Any], kind: type) -> str:
    """msgspec's message with `[...]` replaced by the key it means: the one without which the message changes."""
    above, dots, rest = message.partition("[...]")
    if not dots:
        return message
    table: Any = data
    for part in re.findall(r"\.(\w+)|\[(\d+)\]", above.rpartition("$")[2]):
        table = table[part[0]] if part[0] else table[int(part[1])]
    for key in list(table) if isinstance(table, dict) else ():
        # msgspec does not say which key of a table is wrong: try without each until its message changes.
        taken = table.pop(key)
        try:
            msgspec.convert(data, kind)
        except msgspec.ValidationError as error:
            other = str(error)
        else:
            other = ""
        table[key] = taken
        if other != message:
            return f"{above}.{key}{rest}"
    return message


def _line(number: int | None) -> str:
    return f": line {number}" if number is not None else ""


def _inside(path: str) -> str:
    return f" (in {path})" if path else ""


def _field_names(kind: Any, seen: set[Any] | None = None) -> set[str]:
    """All keys that a struct and the structs inside it know."""
    seen = set() if seen is None else seen
    if kind in seen:
        return set()
    seen.add(kind)
    names: set[str] = set()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for each in msgspec.structs.fields(kind):
            names.add(each.encode_name)
            names |= _field_names(each.type, seen)
    for inner in getattr(kind, "__args__", ()):
        names |= _field_names(inner, seen)
    return names


def line_of(text: str, path: str) -> int | None:
    """The line of the key at a path such as "rule[1].expect.contains", otherwise of the nearest table above it."""
    wanted = path
    places = key_lines(text)
    while wanted:
        if wanted in places or f"{wanted}[0]" in places:
            return places.get(wanted) or places[f"{wanted}[0]"]
        wanted = wanted.rpartition("." if wanted.rfind(".") > wanted.rfind("[") else "[")[0]
    return None


def key_lines(text: str) -> dict[str, int]:
    """Line numbers of tables and keys by path; arrays of tables are numbered from 0."""
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            parts = [part.strip().strip("\"'") for part in header[2].split(".")]
            table = ""
            for index, part in enumerate(parts):
                table = f"{table}.{part}" if table else part
                if index == len(parts) - 1 and header[1] == "[[":
                    counts[table] = counts.get(table, -1) + 1
                if table in counts:
                    table = f"{table}[{counts[table]}]"
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            name = ".".join(part.strip().strip("\"'") for part in key[1].split("."))
            found.setdefault(f"{table}.{name}" if table else name, number)
    return found
