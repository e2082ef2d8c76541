"""Weighing: a grade as the mean over the judge's own probabilities, if the provider reports them."""

from __future__ import annotations

import math
import re
from typing import Any

from .rubric import Rubric

_SCORE = re.compile(r'"score"\s*:\s*"?', re.IGNORECASE)


def probabilities(tokens: list[dict[str, Any]], score: int, rubric: Rubric) -> dict[int, float] | None:
    """How likely each grade was at the place of the verdict; None if the tokens do not show it.

    The grade must be one token, and the same as the verdict's."""
    if rubric.passes:
        return None
    joined = "".join(str(token.get("token", "")) for token in tokens)
    places = list(_SCORE.finditer(joined))
    if not places:
        return None
    # The last one, as in `verdict`: a judge may quote another score before its own.
    wanted, place = places[-1].end(), 0
    for token in tokens:
        text = str(token.get("token", ""))
        if place <= wanted < place + len(text):
            return _weights(token, score, rubric)
        place += len(text)
    return None


def _weights(token: dict[str, Any], score: int, rubric: Rubric) -> dict[int, float] | None:
    # "10" may be two tokens: then the probabilities at this place are those of "1".
    if _grade(token.get("token")) != score:
        return None
    found: dict[int, float] = {}
    for other in token.get("top_logprobs") or [token]:
        grade = _grade(other.get("token"))
        if grade in rubric.choices:
            assert grade is not None
            found[grade] = found.get(grade, 0.0) + math.exp(float(other["logprob"]))
    total = math.fsum(found.values())
    return {grade: found[grade] / total for grade in sorted(found)} if total > 0 and score in found else None


def _grade(text: Any) -> int | None:
    plain = str(text).strip().strip('"')
    return int(plain) if re.fullmatch(r"\d{1,3}", plain) else None


def weighted_mean(weights: dict[int, float]) -> float:
    return math.fsum(grade * share for grade, share in weights.items())
