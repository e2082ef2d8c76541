"""Score ranges of metric definitions as grades: whole numbers with their descriptions."""

from __future__ import annotations

import re
from typing import Any

from pantrace.errors import UsageError

_LABEL = re.compile(r"(-?\d+)\s*[=:]\s*(.*?)\s*(?=[,;]\s*-?\d+\s*[=:]|$)", re.DOTALL)
_KEYS = ("min", "max", "description")
# 0 to 100. Every grade is listed for the judge, so a range of thousands would be most of the prompt.
_MOST = 101


def grades_of(score_range: dict[str, Any] | None, place: str) -> tuple[dict[str, str], str]:
    """The grades, and a sentence for the prompt if the description does not describe single grades."""
    if score_range is None:
        raise UsageError(f'{place}it is missing; say which grades there are, such as {{"min": 0, "max": 5}}')
    if unknown := [key for key in score_range if key not in _KEYS and not key.startswith("_")]:
        raise UsageError(f"{place}unknown key {unknown[0]!r}; known: {', '.join(_KEYS)}")
    low, high = (_whole(score_range.get(key), f"{place}{key}: ") for key in ("min", "max"))
    if not low < high < low + _MOST:
        raise UsageError(f"{place}from {low} to {high} are not grades; max must be above min, by at most {_MOST - 1}")
    description = score_range.get("description") or ""
    if not isinstance(description, str):
        raise UsageError(f"{place}description: it must be a text")
    labels = {int(grade): text for grade, text in _LABEL.findall(description)}
    fitting = bool(labels) and all(low <= grade <= high for grade in labels)
    grades = {str(grade): labels.get(grade, "") if fitting else "" for grade in range(low, high + 1)}
    return grades, "" if fitting or not description else f"The grades: {description}"


def _whole(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (abs(value) < 1e9 and value == int(value)):
        said = "missing" if value is None else f"{value!r}"[:40]
        raise UsageError(
            f"{place}{said}; judges give whole numbers: a range such as 0 to 1 has the grades 0 and 1, "
            "and a finer one is written as 0 to 10"
        )
    return int(value)
