"""Check whether a sample's fields hold the types that the model declares, without unfolding the sample.

A sample is mostly foreign data: arguments, outputs, what `extra` keeps. Whoever knows that these came out of JSON need
look at the fields of the structs only, which takes a sixth of the time of looking at everything (`wire.json.misfit`).
"""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from pantrace.model import Part, Sample, Step, Trajectory, all_trajectories

_APART = frozenset({Trajectory, Step, *get_args(Part)})
"""Structs that are looked at by themselves: a trajectory may hold others, and a union of structs needs a tag, which is
not among their attributes."""


def fits(sample: Sample, *, steps: bool = True) -> bool:
    """Whether all fields have their declared types. False may also mean that a closer look is needed. Without `steps`,
    the steps of the sample's own trajectory are skipped because their reader has checked them.

    Without `steps`, those of the sample's own trajectory are not looked at, as their reader has done it."""
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
    # A struct passes as itself unseen; read attribute by attribute into a twin, each field is checked on the way.
    msgspec.convert(record, kind, from_attributes=True)


def _check_steps(trajectory: Trajectory) -> None:
    _check(trajectory.steps, tuple[_outline(Step), ...])  # type: ignore[misc]
    found: dict[type, list[Any]] = {}
    for step in trajectory.steps:
        for part in step.parts:
            found.setdefault(type(part), []).append(part)
    for kind, parts in found.items():
        if kind not in _APART:
            raise TypeError(kind)
        _check(parts, list[_outline(kind)])  # type: ignore[misc]


@cache
def _outline(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """A twin of a struct in which fields that are checked separately may hold anything."""
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
