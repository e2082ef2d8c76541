"""Checks of `explain_inputs`: the inputs of the judges, compared with the case."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import takewhile
from typing import Any

from pantrace.model import Violation
from pantrace.wire.judge_inputs import STATED
from pantrace.wire.violation import error, warning

from .bundle import EVALS
from .dataset import inputs_in

_TEXT = ("input", "question", "context", "relevantContext", "goal")
_SOURCES = {
    "input": "model_answer",
    "question": "question",
    "context": "context",
    "relevantContext": "relevant_context",
    "goal": "task_goal",
    "availableTools": "available_tools",
    "invokedTools": "invoked_tool_calls",
}
"""Key of a payload -> the key of the case with the same content."""
_BY_LOWER = {name.lower(): name for name in EVALS}
_KEYS = {key.lower(): key for key in (*_SOURCES, "rag_mode")}


def check_bundle(values: dict[str, Any], required: Collection[str]) -> Iterator[Violation]:
    """Violations of one case's payloads; `values` are the case's known values.

    A payload that differs from the case is an error: its score would be about other words than the case shows. A
    missing one is a warning: judges take the inputs from the case, and only the document demands it here."""
    bundle = values.get("explain_inputs")
    if not isinstance(bundle, dict):
        return
    derived = inputs_in(values)
    there = set()
    for name, payload in bundle.items():
        place = f"explain_inputs.{name}"
        eval_name = _BY_LOWER.get(name.lower())
        if eval_name is None:
            yield warning(f"{name!r} is not one of the nine evals", place)
        elif not isinstance(payload, dict):
            yield error("must be an object with the inputs of the eval", place)
        else:
            there.add(eval_name)
            yield from _check_payload(eval_name, payload, derived[eval_name], values, place)
    for name in required:
        if name in _BY_LOWER.values() and name not in there:
            yield warning("is missing; judges take its inputs from the case", f"explain_inputs.{name}")


def supplied_fields(values: dict[str, Any], eval_name: str) -> set[str]:
    """Keys of the case that a payload supplies for one eval."""
    bundle = values.get("explain_inputs")
    payloads = bundle.items() if isinstance(bundle, dict) else ()
    payload = next((each for name, each in payloads if name.lower() == eval_name.lower()), None)
    given = payload.items() if isinstance(payload, dict) else ()
    return {
        _SOURCES[_KEYS[key.lower()]] for key, value in given if value is not None and _KEYS.get(key.lower()) in _SOURCES
    }


def _check_payload(
    name: str, payload: dict[str, Any], derived: dict[str, Any], values: dict[str, Any], place: str
) -> Iterator[Violation]:
    given = {_KEYS.get(key.lower(), key): (key, value) for key, value in payload.items()}
    for key, wanted in derived.items():
        if key not in given:
            source = (
                f"; judges take it from the case's {_SOURCES[key]}" if wanted is not None and key in _SOURCES else ""
            )
            yield warning(f"is missing{source}", f"{place}.{key}")
            continue
        spelled, value = given[key]
        where = f"{place}.{spelled}"
        if key == "rag_mode":
            yield from _check_mode(value, where)
        elif not _fits(key, value):
            kind = "text" if key in _TEXT else "an array, or text"
            yield error(f"must be {kind}", where)
        else:
            yield from _check_same(key, value, values.get(_SOURCES[key]), where)
    for key in given.keys() - derived.keys():
        known = key.lower() in STATED
        why = f"is not an input of {name}; no judge reads it" if known else "is an unknown key; no judge reads it"
        yield warning(why, f"{place}.{given[key][0]}")


def _check_mode(value: Any, place: str) -> Iterator[Violation]:
    # Only a warning: our judges have the variant, though the document does not.
    if value == "rag":
        yield warning("the document knows 'non-rag' only; 'rag' is judged by the variant that shows context", place)
    elif value != "non-rag":
        yield error(f"{_short(value)} is not a mode: 'non-rag', or 'rag' to be judged with the context", place)


def _check_same(key: str, value: Any, stated: Any, place: str) -> Iterator[Violation]:
    source = _SOURCES[key]
    # Tools may be given as text in words of the author's own, which cannot be compared with the case's list.
    if value == stated or (isinstance(value, str) and key not in _TEXT):
        return
    if stated is None:
        yield warning(f"is only here: the case has no {source}", place)
    else:
        here, there = "nothing" if value is None else _short(value), _short(stated)
        from_where = f" (they differ from character {_same(value, stated) + 1} on)" if here == there else ""
        yield error(f"judges read {here} here, but the case's {source} is {there}{from_where}", place)


def _fits(key: str, value: Any) -> bool:
    return value is None or isinstance(value, str) or (key not in _TEXT and isinstance(value, list))


def _same(one: Any, other: Any) -> int:
    """How many characters two values share at their beginning."""
    # Used only where both begin alike; otherwise the message shows the difference.
    texts = (one, other) if isinstance(one, str) else (repr(one), repr(other))
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
