"""Verdicts: a judge's reply as a reason and a grade, or why it cannot be used. Never a guess.

The last JSON object with a `score` wins, since a judge may quote others on its way to it. A reply is refused where its
last verdict is not certain: a broken object in front of it may enclose it, another score behind it may correct it."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from .rubric import Rubric

_OBJECT = re.compile(r'\{\s*"')
_SCORE = re.compile(r"""["']score["']\s*:""", re.IGNORECASE)
_REASONS = ("reason", "explanation", "reasoning", "rationale")
_LONGEST = 100_000
_decoder = json.JSONDecoder()


class Verdict(msgspec.Struct, frozen=True):
    """A grade with its reason."""

    score: int | bool
    reason: str | None
    thoughts: str | None = None


class Unusable(Exception):
    """Why a reply is no verdict."""


def verdict_of(reply: str, rubric: Rubric) -> Verdict:
    """The verdict that a reply holds; Unusable otherwise."""
    row = _last_object(reply)
    score = _grade(row.get("score"), rubric)
    reason = next((text for name in _REASONS if isinstance(text := row.get(name), str) and text.strip()), None)
    thoughts = row.get("thoughtchain")
    thoughts = thoughts if isinstance(thoughts, str) and thoughts.strip() else None
    return Verdict(score, reason or thoughts, thoughts if reason else None)


def _last_object(reply: str) -> dict[str, Any]:
    """The last object with a score, its keys in small letters."""
    if not reply.strip():
        raise Unusable("the reply is empty")
    if len(reply) > _LONGEST:
        raise Unusable(f"the reply is longer than {_LONGEST} characters")
    found: dict[str, Any] | None = None
    place = end = 0
    while (opening := _OBJECT.search(reply, place)) is not None:
        try:
            value, after = _decoder.raw_decode(reply, opening.start())
        except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError of its own
            raise Unusable("the reply holds broken JSON") from None
        lowered = {key.lower(): each for key, each in value.items()}
        if "score" in lowered:
            found, end, place = lowered, after, after
        else:
            place = opening.start() + 1
    if found is None:
        raise Unusable("the reply holds no JSON object with a score")
    if _SCORE.search(reply, end):
        raise Unusable("the reply names another score behind its verdict")
    return found


def _grade(score: Any, rubric: Rubric) -> int | bool:
    if rubric.passes:
        word = {True: "pass", False: "fail"}.get(score) if isinstance(score, bool) else score
        if not isinstance(word, str) or word.strip().lower() not in ("pass", "fail"):
            raise Unusable(f"out of scale: {_short(score)} is neither pass nor fail")
        return word.strip().lower() == "pass"
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
