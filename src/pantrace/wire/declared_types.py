"""Check whether a sample's fields have the types that the model declares, without looking at everything in it.

A sample is mostly foreign data: arguments, outputs, `extra`. If these came from JSON, only the fields of the structs
must be checked, which takes a sixth of the time of a full check (`wire.json.first_misfit`).
"""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from pantrace.model import Part, Sample, Step, Trajectory, all_trajectories

_APART = frozenset({Trajectory, Step, *get_args(Part)})
"""Structs that are checked separately: a trajectory may contain others, and a union of structs needs a tag, which is
not one of their attributes."""


def fits(sample: Sample, *, steps: bool = True) -> bool:
    """Whether all fields have their declared types. False may also mean that a closer look is needed. Without `steps`,
    the steps of the sample's own trajectory are skipped, because their reader has checked them."""
    try:
        _check(sample, _outline(Sample))
        for root in (sample.trajectory, sample.expected):
            for trajectory in all_trajectories(root) if root is not None else ():
                _check(trajectory, _outline(Trajectory))
                if steps or trajectory is not sample.trajectory:
                    _check_steps(trajectory)
    except (msgspec.ValidationError, AttributeError, TypeError, RecursionError, UnicodeEncodeError):
        return False
    return True


def _check(record: Any, kind: Any) -> None:
    # msgspec does not check a struct of the right class. Converted into a twin by attributes, each field is checked.
    msgspec.convert(record, kind, from_attributes=True)


def _check_steps(trajectory: Trajectory) -> None:
    _check(trajectory.steps, tuple[_outline(Step), ...])  # type: ignore[misc]
    found: dict[type, list[Any]] = {}
    # Parts of one kind are checked together: one call for a thousand texts instead of a thousand calls.
    for step in trajectory.steps:
        for part in step.parts:
            found.setdefault(type(part), []).append(part)
    for kind, parts in found.items():
        if kind not in _APART:
            raise TypeError(kind)
        _check(parts, list[_outline(kind)])  # type: ignore[misc]


@cache
def _outline(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """A twin of a struct, in which fields that are checked separately may have any type."""
    fields = [(each.name, _outline_of(each.type, inside=kind)) for each in msgspec.structs.fields(kind)]
    return msgspec.defstruct(kind.__name__, fields, kw_only=True, gc=False)


def _outline_of(declared: Any, inside: type) -> Any:
    if isinstance(declared, type) and issubclass(declared, msgspec.Struct):
        return _outline(declared) if declared not in _APART else Any
    origin, within = get_origin(declared), get_args(declared)
    if origin in (Union, UnionType):
        if any(each in _APART for each in within):
            return Any
        return reduce(or_, [_outline_of(each, inside) for each in within])
    if origin in (tuple, dict, list):
        return origin[tuple(each if each is ... else _outline_of(each, inside) for each in within)]
    if origin is Annotated:
        return Annotated[(_outline_of(within[0], inside), *declared.__metadata__)]
    return declared
