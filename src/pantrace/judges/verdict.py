"""Verdicts: a judge's reply as a reason and a grade, or why it cannot be used. Never a guess.

The last JSON object with a `score` wins, since a judge may quote others first. A reply is refused if its last verdict
is not certain: a broken object before it may enclose it, another score after it may correct it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from .rubric import Rubric

_OBJECT = re.compile(r'\{\s*"')
_SCORE = re.compile(r"""["']score["']\s*:""", re.IGNORECASE)
_REASONS = ("reason", "explanation", "reasoning", "rationale")
# An object without a score is searched for objects inside it, so nested ones take quadratic time.
_LONGEST = 100_000
_decoder = json.JSONDecoder()


CANNOT_TELL = "cannot_tell"
CLAIMS = ("supported", "contradicted", "unsupported", CANNOT_TELL)
"""What the evidence may say about a statement; cannot_tell: its evidence was cut or never recorded."""


class Verdict(msgspec.Struct, frozen=True):
    """A grade with its reason and what it rests on."""

    score: int | bool | None
    """None: the judge cannot tell."""
    reason: str | None
    thoughts: str | None = None
    steps: tuple[int, ...] = ()
    """Numbers of steps, as the judge names them."""
    quotes: tuple[str, ...] = ()
    claims: tuple[dict[str, str], ...] = ()


class Unusable(Exception):
    """Raised with the reason why a reply is not a verdict."""


def verdict_of(reply: str, rubric: Rubric, *, partial: bool = False) -> Verdict:
    """The verdict in a reply; Unusable otherwise. `partial`: the judge may answer that it cannot tell."""
    row = _last_object(reply)
    # Accepted only if the prompt offered it: on complete evidence a judge must decide.
    unsure = partial and isinstance(row.get("score"), str) and row["score"].strip().lower() == CANNOT_TELL
    score = None if unsure else _grade(row.get("score"), rubric)
    reason = next((text for name in _REASONS if isinstance(text := row.get(name), str) and text.strip()), None)
    thoughts = row.get("thoughtchain")
    thoughts = thoughts if isinstance(thoughts, str) and thoughts.strip() else None
    return Verdict(
        score,
        reason or thoughts,
        thoughts if reason else None,
        tuple(step for step in _listed(row, "steps") if type(step) is int),
        tuple(quote for quote in _listed(row, "quotes") if isinstance(quote, str) and quote.strip()),
        tuple(_claims(row)),
    )


def _listed(row: dict[str, Any], name: str) -> list[Any]:
    value = row.get(name)
    return value if isinstance(value, list) else []


def _claims(row: dict[str, Any]) -> Iterator[dict[str, str]]:
    for each in _listed(row, "claims"):
        if isinstance(each, dict) and isinstance(each.get("claim"), str) and each.get("verdict") in CLAIMS:
            yield {"claim": each["claim"], "verdict": each["verdict"]}


def _last_object(reply: str) -> dict[str, Any]:
    """The last object with a score, its keys in lower case."""
    if not reply.strip():
        raise Unusable("the reply is empty")
    if len(reply) > _LONGEST:
        raise Unusable(f"the reply is longer than {_LONGEST} characters")
    found: dict[str, Any] | None = None
    place = end = 0
    while (opening := _OBJECT.search(reply, place)) is not None:
        try:
            value, after = _decoder.raw_decode(reply, opening.start())
        except (ValueError, RecursionError):  # also for a number with thousands of digits
            raise Unusable("the reply has broken JSON") from None
        lowered = {key.lower(): each for key, each in value.items()}
        if "score" in lowered:
            found, end, place = lowered, after, after
        else:
            place = opening.start() + 1
    if found is None:
        raise Unusable("the reply has no JSON object with a score")
    # A recording may contain a verdict that the judge repeats: with two of them, it is unclear which one it means.
    if _SCORE.search(reply, end):
        raise Unusable("the reply names another score after its verdict")
    return found


def _grade(score: Any, rubric: Rubric) -> int | bool:
    if rubric.passes:
        word = {True: "pass", False: "fail"}.get(score) if isinstance(score, bool) else score
        if not isinstance(word, str) or word.strip().lower() not in ("pass", "fail"):
            raise Unusable(f"out of scale: {_short(score)} is neither pass nor fail")
        return word.strip().lower() == "pass"
    # Some models put every value of a JSON object into quotation marks.
    if isinstance(score, str) and re.fullmatch(r"\s*-?\d{1,4}(?:\.0+)?\s*", score):
        score = float(score)
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        raise Unusable(f"the score {_short(score)} is not a number")
    if score not in rubric.choices:
        low, high = rubric.choices[0], rubric.choices[-1]
        raise Unusable(f"out of scale: {_short(score)} is not a whole number from {low} to {high}")
    return int(score)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
