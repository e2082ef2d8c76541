"""Scores of a sample, both ways."""

from __future__ import annotations

import math
from typing import Any

from pantrace.model import Maker, Score
from pantrace.wire.json import NonFinite
from pantrace.wire.optional import object_of

from .content import own_extra

_KNOWN = frozenset({"value", "explanation", "metadata"})
_NAN = NonFinite("NaN")


def to_scores(raw: Any) -> tuple[Score, ...]:
    """The scores of a sample."""
    if not isinstance(raw, dict):
        return ()
    return tuple(_to_score(str(name), score) for name, score in raw.items())


def _to_score(name: str, raw: Any) -> Score:
    if not isinstance(raw, dict):
        raw = {"value": raw}
    value = raw.get("value")
    extra = {key: item for key, item in raw.items() if key not in _KNOWN and item not in (None, [])}
    metadata = raw.get("metadata")
    details = object_of(metadata)
    status = "scored"
    if isinstance(value, (dict, list)):
        if metadata is not None:
            extra["metadata"] = metadata
        details, value = {"value": value}, None
    elif isinstance(value, float) and not math.isfinite(value):
        # Only NaN means "unscored" in Inspect, so Infinity is kept as well.
        if str(value) != "nan":
            extra["value"] = value
        value, status = None, "unscored"
    elif value is None:
        extra["value"] = None
        status = "unscored"
    return Score(
        name=name,
        value=value,
        status=status,  # type: ignore[arg-type]
        explanation=raw.get("explanation"),
        details=details,
        maker=Maker(name=name),
        # P (partial) and N (no answer) are neither passed nor failed.
        passed={"C": True, "I": False}.get(value) if isinstance(value, str) else None,
        extra={"inspect": extra} if extra else {},
    )


def from_scores(scores: tuple[Score, ...]) -> dict[str, Any]:
    """Scores by name; several of one name get numbers."""
    found: dict[str, Any] = {}
    for score in scores:
        name, number = score.name, 2
        while name in found:
            name, number = f"{score.name} {number}", number + 1
        found[name] = _from_score(score)
    return found


def _from_score(score: Score) -> dict[str, Any]:
    extra = own_extra(score.extra)
    found: dict[str, Any] = {"value": score.value}
    if score.value is None:
        if score.status == "scored" and set(score.details) == {"value"}:
            found["value"] = score.details["value"]
        else:
            # inspect_ai requires a value; NaN is its way to say "no score".
            found["value"] = _NAN
    if score.explanation is not None:
        found["explanation"] = score.explanation
    if (score.details and score.status != "scored") or (score.details and score.value is not None):
        found["metadata"] = score.details
    if score.status == "failed":
        found["reason"] = "scoring_failed"
    return {**found, **extra, "history": extra.get("history", [])}


def number(value: Any) -> float | None:
    """The number that Inspect's default conversion gives a score: C is 1, P is 0.5, I and N are 0."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float)):
        return float(value) if math.isfinite(value) else None
    return {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}.get(value) if isinstance(value, str) else None
