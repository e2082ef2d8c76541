"""Fields: what a condition can ask about a sample, derived from the types of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from pantrace.errors import UsageError
from pantrace.model import Sample

SHORT = {
    "agent": ("case.agent", "trajectory.agents.name", "trajectory.steps.agent"),
    "model": ("trajectory.agents.model", "trajectory.steps.model"),
    "title": ("trajectory.title",),
    "created": ("trajectory.created",),
    "status": ("trajectory.outcome.status",),
    "format": ("trajectory.source.format",),
    "session": ("trajectory.id",),
    "tool": ("trajectory.steps.parts.name",),
    "label": ("case.labels",),
    "directory": (
        "trajectory.extra.opencode.info.directory",
        "trajectory.extra.opencode.project.worktree",
        "trajectory.extra.codex.meta.cwd",
        "trajectory.extra.claude-code.common.cwd",
    ),
}
"""Names that stand for paths."""


@dataclass(frozen=True)
class Field:
    """What is at the end of one or several paths."""

    paths: tuple[str, ...]
    number: bool
    """Whether it can be a number."""
    text: bool
    """Whether it can be any text."""
    words: tuple[str, ...]
    """The words that it can be, if only some are possible: passed, failed; true, false."""
    open: bool
    """Whether only the data shows if there is such a name: labels, extra, arguments."""


def field(name: str) -> Field:
    """The field with this name; a UsageError that lists what there is, if there is none or if it has no value."""
    first, _, rest = name.partition(".")
    # A short name may lead to several paths, because formats keep the same thing in different places.
    paths = tuple(f"{path}.{rest}" if rest else path for path in SHORT.get(first, ())) or (name,)
    found = [(path, kind, is_open) for path in paths for kind, is_open in _ends(_root(), path.split("."), False)]
    if not found:
        raise UsageError(_unknown(name, paths[0]))
    values = [each for each in found if not isinstance(each[1], inspect.StructType | inspect.DictType)]
    if not values:
        raise UsageError(_no_value(name, [kind for _, kind, _ in found]))
    kinds = [kind for _, kind, _ in values]
    is_open = any(is_open for _, _, is_open in values)
    return Field(
        paths=tuple(dict.fromkeys(path for path, _, _ in values)),
        # A label has the type text, but is often meant as a number.
        number=is_open
        or any(isinstance(kind, inspect.IntType | inspect.FloatType | inspect.AnyType) for kind in kinds),
        text=is_open or any(isinstance(kind, inspect.StrType | inspect.AnyType) for kind in kinds),
        words=tuple(dict.fromkeys(word for kind in kinds for word in _words(kind))),
        open=is_open,
    )


def values_at(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Every value at a path, in all items of lists. A key of a mapping may contain dots."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from values_at(item, path)
    elif not path:
        if value is not None and not isinstance(value, dict | msgspec.Struct):
            yield value
    elif isinstance(value, dict):
        # Keys may contain dots ("gen_ai.usage"), so every way to split the path is tried.
        for end in range(1, len(path) + 1):
            if (key := ".".join(path[:end])) in value:
                yield from values_at(value[key], path[end:])
    elif isinstance(value, msgspec.Struct):
        if path[0] in value.__struct_fields__:
            yield from values_at(getattr(value, path[0]), path[1:])
        elif path[0] == value.__struct_config__.tag_field:
            yield from values_at(value.__struct_config__.tag, path[1:])


def names_beside(value: Any, path: Sequence[str]) -> Iterator[str]:
    """The keys of the mapping in which the last name of a path is searched."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from names_beside(item, path)
    elif isinstance(value, dict):
        yield from (value if len(path) == 1 else names_beside(value.get(path[0]), path[1:]))
    elif isinstance(value, msgspec.Struct) and len(path) > 1:
        yield from names_beside(getattr(value, path[0], None), path[1:])


@cache
def _root() -> inspect.Type:
    return inspect.type_info(Sample)


def _ends(kind: Any, path: Sequence[str], is_open: bool) -> Iterator[tuple[inspect.Type, bool]]:
    """The types that can be at a path, and whether only the data shows if there is anything."""
    if isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _ends(each, path, is_open)
    elif isinstance(kind, inspect.VarTupleType | inspect.ListType):
        yield from _ends(kind.item_type, path, is_open)
    elif isinstance(kind, inspect.TupleType):
        for each in kind.item_types:
            yield from _ends(each, path, is_open)
    elif isinstance(kind, inspect.AnyType):
        yield kind, is_open or bool(path)
    elif not path:
        if not isinstance(kind, inspect.NoneType):
            yield kind, is_open
    elif isinstance(kind, inspect.StructType):
        for member in kind.fields:
            if member.encode_name == path[0]:
                yield from _ends(member.type, path[1:], is_open)
        if path == [kind.tag_field]:
            yield inspect.LiteralType(values=(str(kind.tag),)), is_open
    elif isinstance(kind, inspect.DictType):
        for end in range(1, len(path) + 1):
            yield from _ends(kind.value_type, path[end:], True)


def _words(kind: inspect.Type) -> tuple[str, ...]:
    if isinstance(kind, inspect.BoolType):
        return ("true", "false")
    return tuple(map(str, kind.values)) if isinstance(kind, inspect.LiteralType) else ()


def _unknown(name: str, path: str) -> str:
    """Up to where a path is known, what there is, and what was perhaps meant."""
    parts = path.split(".")
    known = next(end for end in range(len(parts) - 1, -1, -1) if end == 0 or any(_ends(_root(), parts[:end], False)))
    if known == 0:
        names = [*SHORT, *_names(_root())]
        meant = _meant(parts[0], names) or _meant(parts[-1], _by_last_name())
        listed = ", ".join("label.NAME" if each == "label" else each for each in names)
        start = f"there is no field {name}{_did_you_mean(meant, f'write a label as label.{name}')}"
        return f"{start} Fields are {listed}, and what these hold (docs/select.md)"
    inside = [each for kind, _ in _ends(_root(), parts[:known], False) for each in _names(kind)]
    holder = ".".join(parts[:known])
    if not inside:
        return f"there is no field {name}: {holder} is a single value without fields"
    close = _meant(parts[known], inside)
    meant = ".".join([holder, close, *parts[known + 1 :]]) if close else None
    return f"{holder} has no field {parts[known]}{_did_you_mean(meant)} It has {', '.join(dict.fromkeys(inside))}"


def _no_value(name: str, kinds: list[inspect.Type]) -> str:
    inside = list(dict.fromkeys(each for kind in kinds for each in _names(kind)))
    if not inside:
        return f"{name} has named values: {name}.NAME"
    return f"{name} is not a single value; it has {', '.join(f'{name}.{each}' for each in inside)}"


def _did_you_mean(meant: str | None, otherwise: str = "") -> str:
    if meant:
        return f"; did you mean {meant}?"
    return f" ({otherwise})." if otherwise else "."


def _meant(given: str, names: Sequence[str] | dict[str, str]) -> str | None:
    """The name that an unknown word probably means; for a mapping, the value of that name."""
    # "input" for "input_tokens": too far apart for a comparison by letters.
    close = [each for each in names if each == given or each.startswith(f"{given}_")]
    close = close or get_close_matches(given, list(names), n=1, cutoff=0.7)
    return None if not close else names[close[0]] if isinstance(names, dict) else close[0]


def _names(kind: Any) -> list[str]:
    if isinstance(kind, inspect.UnionType):
        return [name for each in kind.types for name in _names(each)]
    if isinstance(kind, inspect.VarTupleType):
        return _names(kind.item_type)
    if not isinstance(kind, inspect.StructType):
        return []
    return [*([kind.tag_field] if kind.tag_field else []), *(each.encode_name for each in kind.fields)]


@cache
def _by_last_name() -> dict[str, str]:
    """The last component of each path -> the shortest path that ends in it."""
    paths = sorted(_paths(_root(), "", ()), key=lambda path: path.count("."))
    return {path.rpartition(".")[2]: path for path in reversed(paths)}


def _paths(kind: Any, path: str, inside: tuple[type, ...]) -> Iterator[str]:
    if isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _paths(each, path, inside)
    elif isinstance(kind, inspect.VarTupleType):
        yield from _paths(kind.item_type, path, inside)
    elif isinstance(kind, inspect.StructType):
        # Trajectories contain trajectories: without this check, the paths would never end.
        for member in kind.fields if kind.cls not in inside else ():
            where = f"{path}.{member.encode_name}" if path else member.encode_name
            yield from _paths(member.type, where, (*inside, kind.cls))
    elif path and not isinstance(kind, inspect.NoneType | inspect.DictType):
        yield path


def grouping(by: str) -> Callable[[Sample], str]:
    """A function that returns the group of a sample; a UsageError if there is no such field."""
    try:
        paths = [path.split(".") for path in field(by).paths]
    except UsageError as error:
        raise UsageError(f"--by {by!r}: {error}") from None

    def group(sample: Sample) -> str:
        found = dict.fromkeys(str(value) for path in paths for value in values_at(sample, path))
        return ", ".join(found) or "(none)"

    return group
