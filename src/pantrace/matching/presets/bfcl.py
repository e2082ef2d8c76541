"""The rules of the Berkeley Function Calling Leaderboard's ast checker, for Python types.

A reference call has a list of allowed answers for each argument; "" among them makes it optional. The tool's schema, if
there is one, adds required arguments and types: the declared type, or that of the first answer (a variable's name in
place of a value). Texts are compared in lower case without " ,./-_*^". Types of items are checked one level deep."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pantrace.matching.call import Call

_TYPES: dict[str, type] = {
    "string": str,
    "any": str,
    "integer": int,
    "float": float,
    "number": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "object": dict,
}
_NOISE = re.compile(r"[ ,./\-_*^]")


def ast_match(predicted: Sequence[Call], reference: Sequence[Call], schemas: Mapping[str, Any] | None = None) -> bool:
    """As many calls as in the reference, and each reference call takes the first call that is right for it."""
    if len(predicted) != len(reference):
        return False
    left = list(predicted)
    for wanted in reference:
        schema = (schemas or {}).get(wanted.name)
        place = next((i for i, call in enumerate(left) if call_is_right(call, wanted, schema)), None)
        if place is None:
            return False
        del left[place]
    return True


def call_is_right(call: Call, wanted: Call, schema: Any = None) -> bool:
    """Whether name, arguments, their types and values are allowed; a dot in a name may be an underscore."""
    if call.name not in (wanted.name, wanted.name.replace(".", "_")):
        return False
    given, answers = call.arguments, wanted.arguments
    if not isinstance(given, dict) or not isinstance(answers, dict):
        return False
    declared = schema.get("properties", {}) if isinstance(schema, dict) else None
    required = schema.get("required", ()) if isinstance(schema, dict) else ()
    if any(name not in given for name in required):
        return False
    for name, value in given.items():
        if name not in answers or (declared is not None and name not in declared):
            return False
        if not _argument_is_right(value, _answers(answers[name]), declared[name] if declared is not None else None):
            return False
    return all(name in given or "" in _answers(allowed) for name, allowed in answers.items())


def _argument_is_right(value: Any, answers: list[Any], declared: Any) -> bool:
    answer_type = _first_type(answers)
    kind, item = _declared_types(declared, answer_type if answer_type is not None else type(value))
    # As in the checker: an integer passes for a float, a float never for an integer.
    if kind is float and type(value) is int:
        value = float(value)
    if not _is(value, kind):
        # A variable's name in place of a value must have the answers' type, and is compared unchanged.
        return type(value) is answer_type and value in answers
    if item is not None and not any(_items_fit(value, answer, item) for answer in answers):
        return False
    if answer_type is not None and answer_type is not kind:
        return value in answers
    if kind is dict:
        return any(_object_is_right(value, answer) for answer in answers)
    if kind is list and item is dict:
        return any(_objects_are_right(value, answer) for answer in answers)
    if kind is str:
        return _plain(value) in [_plain(answer) for answer in answers if type(answer) is str]
    if kind is list:
        # "" counts as a list without items: an optional list may also be given empty.
        lists = [answer for answer in answers if isinstance(answer, list | str)]
        return [_plain(each) for each in value] in [[_plain(each) for each in answer] for answer in lists]
    return value in answers


def _declared_types(declared: Any, default: type) -> tuple[type, type | None]:
    """The type of the argument and of its items, from the schema."""
    if not isinstance(declared, dict):
        return default, None
    kind = _TYPES.get(declared.get("type", ""), default)
    items = declared.get("items")
    return kind, _TYPES.get(items.get("type", "")) if kind is list and isinstance(items, dict) else None


def _is(value: Any, kind: type) -> bool:
    # Not isinstance: for that True is an int, and for the checker it is not.
    return type(value) is kind


def _first_type(answers: Sequence[Any]) -> type | None:
    return next((type(answer) for answer in answers if answer != ""), None)


def _items_fit(value: list[Any], answer: Any, item: type) -> bool:
    """Whether all items have the declared type or the answer's; an answer that is not a list requires nothing."""
    if type(answer) is not list:
        return True
    return all(type(each) in (item, _first_type(answer)) for each in value)


def _object_is_right(value: Any, answer: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(answer, dict):
        return False
    for key, each in value.items():
        if key not in answer or _plain(each) not in [_plain(one) for one in _answers(answer[key])]:
            return False
    return all(key in value or "" in _answers(allowed) for key, allowed in answer.items())


def _objects_are_right(value: list[Any], answer: Any) -> bool:
    same = isinstance(answer, list | str) and len(value) == len(answer)
    return same and all(map(_object_is_right, value, answer))


def _answers(allowed: Any) -> list[Any]:
    return allowed if isinstance(allowed, list) else [allowed]


def _plain(value: Any) -> Any:
    return _NOISE.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value
