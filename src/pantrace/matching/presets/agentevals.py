"""agentevals' trajectory match: strict, unordered, subset, superset. Each call takes the first that fits, so a partial
argument mode may miss a pairing that exists; two empty lists match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from pantrace.matching.call import Call

ArgumentMode = Literal["exact", "ignore", "subset", "superset"]
Override = ArgumentMode | tuple[str, ...]
"""A mode, or the dotted paths of the arguments that count."""


class Message(msgspec.Struct, frozen=True):
    """A message with its role and the calls it makes."""

    role: str
    calls: tuple[Call, ...] = ()


class Modes(msgspec.Struct, frozen=True):
    """How arguments are compared: one mode for all tools, and others for single ones."""

    default: ArgumentMode = "exact"
    tools: Mapping[str, Override] = {}


def superset(predicted: Sequence[Call], reference: Sequence[Call], modes: Modes) -> bool:
    """Every reference call finds a different predicted call."""
    used: set[int] = set()
    for wanted in reference:
        place = next((i for i, call in enumerate(predicted) if i not in used and _fits(call, wanted, modes)), None)
        if place is None:
            return False
        # First fit, not best assignment: agentevals does the same, and the preset must give its result.
        used.add(place)
    return True


def subset(predicted: Sequence[Call], reference: Sequence[Call], modes: Modes) -> bool:
    """Every predicted call finds a different reference call; the argument mode is reversed, too."""
    return superset(reference, predicted, modes)


def matches_unordered(predicted: Sequence[Call], reference: Sequence[Call], modes: Modes) -> bool:
    """Superset and subset, so that a partial argument mode must hold both ways."""
    return superset(predicted, reference, modes) and subset(predicted, reference, modes)


def strict(predicted: Sequence[Message], reference: Sequence[Message], modes: Modes) -> bool:
    """The same roles in the same order, each with the same calls; calls of one message in any order."""
    if [message.role for message in predicted] != [message.role for message in reference]:
        return False
    for ours, theirs in zip(predicted, reference, strict=True):
        if len(ours.calls) != len(theirs.calls):
            return False
        left = list(theirs.calls)
        for call in ours.calls:
            place = next((i for i, wanted in enumerate(left) if _fits(call, wanted, modes)), None)
            if place is None:
                return False
            del left[place]
    return True


def _fits(call: Call, wanted: Call, modes: Modes) -> bool:
    if call.name != wanted.name:
        return False
    # Python's == below, as in the library: True equals 1.
    mode = modes.tools.get(call.name) or modes.default
    given, asked = call.arguments, wanted.arguments
    if not isinstance(mode, str):
        return all(_at(given, path) == _at(asked, path) for path in mode)
    if mode == "ignore":
        return True
    if mode == "subset":
        return all(key in asked and asked[key] == value for key, value in given.items())
    if mode == "superset":
        return all(key in given and given[key] == value for key, value in asked.items())
    return bool(given == asked)


def _at(arguments: Any, path: str) -> Any:
    for key in path.split("."):
        arguments = arguments.get(key) if isinstance(arguments, dict) else None
    return arguments
