"""Decides whether the arguments of two calls agree, and how many of them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Record
from pantrace.wire.json import decode

from .values import STRICT, Likeness, alike, canonical

Mode = Literal["exact", "ignore", "subset", "superset", "keys", "allowed"]


class ArgumentRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the arguments of a predicted call are compared with those of a reference call."""

    mode: Mode = "exact"
    """exact: all the same; ignore: not compared; subset: all given arguments are in the reference; superset: all
    arguments of the reference were given, and more are allowed; keys: only `keys` count; allowed: the reference has a
    list of allowed values for each argument, and "" among them makes it optional."""
    keys: tuple[str, ...] = ()
    """Dotted paths of the arguments that count in the mode keys."""
    normalise: bool = False
    """Ignore case and white space in texts."""
    tolerance: float = 0.0
    """How far two numbers may differ, absolutely or relative to the larger one."""

    def __post_init__(self) -> None:
        _ = self.likeness  # a wrong tolerance is reported here, not by every comparison

    @property
    def likeness(self) -> Likeness:
        """How single values are compared."""
        if not self.normalise and self.tolerance == 0:
            return STRICT
        return Likeness(normalise=self.normalise, tolerance=self.tolerance)

    @property
    def by_signature(self) -> bool:
        """Whether two calls agree exactly if their signatures are equal."""
        return self.mode == "ignore" or (self.mode in ("exact", "keys") and not self.tolerance)

    @property
    def transitive(self) -> bool:
        """Whether a ~ b and b ~ c imply a ~ c; then equal calls may be paired first without loss."""
        return self.mode == "ignore" or (self.mode != "allowed" and not self.tolerance)


class Shared(msgspec.Struct, frozen=True):
    """How many arguments two calls have, and in how many they agree."""

    agreeing: int
    predicted: int
    reference: int


def arguments_of(value: Any) -> Any:
    """Arguments as an object if possible: none is an empty object, JSON text is decoded."""
    if value is None:
        return {}
    # OpenAI writes arguments as JSON text, others as an object: equal calls must be equal in both forms.
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return decode(value.encode("utf-8", "surrogatepass"))
        except ReadError:
            return value
    return value


def signature(rule: ArgumentRule, arguments: Any) -> Hashable:
    """A key for the arguments as the rule sees them; with `by_signature` it alone decides."""
    if rule.mode == "ignore":
        return None
    if rule.mode == "keys":
        return tuple(canonical(_at(arguments, key), rule.likeness) for key in rule.keys)
    return canonical(arguments, rule.likeness)


def agree(rule: ArgumentRule, predicted: Any, reference: Any) -> bool:
    """Whether the arguments of a predicted call are right."""
    how = rule.likeness
    if rule.mode == "ignore":
        return True
    if rule.mode == "keys":
        return all(alike(_at(predicted, key), _at(reference, key), how) for key in rule.keys)
    if not isinstance(predicted, dict) or not isinstance(reference, dict):
        return alike(predicted, reference, how)
    if rule.mode == "subset":
        return all(key in reference and alike(value, reference[key], how) for key, value in predicted.items())
    if rule.mode == "superset":
        return all(key in predicted and alike(predicted[key], value, how) for key, value in reference.items())
    if rule.mode == "allowed":
        # BFCL's convention: an empty text among the allowed values makes an argument optional.
        given = all(key in reference and _allowed(value, reference[key], how) for key, value in predicted.items())
        return given and all(key in predicted or "" in _choices(values) for key, values in reference.items())
    return alike(predicted, reference, how)


def shared_arguments(rule: ArgumentRule, predicted: Any, reference: Any) -> Shared:
    """How many arguments count under the rule on either side, and how many agree."""
    how = rule.likeness
    if rule.mode == "ignore":
        return Shared(0, 0, 0)
    if rule.mode == "keys":
        agreeing = sum(alike(_at(predicted, key), _at(reference, key), how) for key in rule.keys)
        return Shared(agreeing, len(rule.keys), len(rule.keys))
    if not isinstance(predicted, dict) or not isinstance(reference, dict):
        return Shared(int(alike(predicted, reference, how)), 1, 1)
    both = predicted.keys() & reference.keys()
    if rule.mode == "allowed":
        wanted = sum(key in both or "" not in _choices(values) for key, values in reference.items())
        return Shared(sum(_allowed(predicted[key], reference[key], how) for key in both), len(predicted), wanted)
    agreeing = sum(alike(predicted[key], reference[key], how) for key in both)
    if rule.mode == "superset":
        return Shared(agreeing, len(both), len(reference))
    if rule.mode == "subset":
        return Shared(agreeing, len(predicted), len(both))
    return Shared(agreeing, len(predicted), len(reference))


def _choices(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def _allowed(value: Any, values: Any, how: Likeness) -> bool:
    return any(alike(value, choice, how) for choice in _choices(values))


def _at(arguments: Any, path: str) -> Any:
    """The value at a dotted path; None if there is none. A key with dots in its name goes first."""
    if isinstance(arguments, dict) and path in arguments:
        return arguments[path]
    for key in path.split("."):
        if not isinstance(arguments, dict):
            return None
        arguments = arguments.get(key)
    return arguments
