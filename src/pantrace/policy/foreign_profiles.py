"""Profiles in files that other tools wrote: criteria of google-adk (`test_config.json`), and criteria files in YAML."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError, UsageError
from pantrace.wire.json import decode, encode
from pantrace.wire.text_file import read_text
from pantrace.wire.yaml import load_yaml

from .profile import Profile

INFORMATIONAL = ("tool_call_count_v1", "inference_call_count_v1", "token_usage_v1", "invocation_duration_v1")
"""Metrics of google-adk that have no threshold and decide nothing."""
_MEANS = ("average", "mean", "weighted_average", "weighted_mean")


def from_criteria(path: Path) -> Profile:
    """`{"criteria": {metric: threshold, or {"threshold": ...}}}`: a score below its threshold fails the case."""
    try:
        data = decode(read_text(path).encode())
    except ReadError as error:
        raise UsageError(f"{path}: not valid JSON: {error.message}") from None
    criteria = data.get("criteria") if isinstance(data, dict) else None
    if not isinstance(criteria, dict) or not criteria:
        raise UsageError(f"{path}: not a profile: it has no criteria, unlike ADK's test_config.json")
    thresholds = {}
    for name, criterion in criteria.items():
        given = criterion.get("threshold") if isinstance(criterion, dict) else criterion
        # ADK writes these without a threshold. Any other metric without one is an error: it could never fail.
        if given is None and name in INFORMATIONAL:
            continue
        thresholds[name] = _number(given, f"{path}: criteria.{name}: the threshold")
    return Profile(
        name=path.stem, version=_version(criteria), description="criteria of google-adk", thresholds=thresholds
    )


def from_rubric(path: Path) -> Profile:
    """The `aggregation` of a criteria file: every criterion must reach the score that passes (minimum), or their mean
    must (average, weighted by each one's `weight`)."""
    data = load_yaml(read_text(path), str(path))
    criteria = data.get("criteria") if isinstance(data, dict) else None
    if not isinstance(criteria, list) or not all(isinstance(each, dict) and "id" in each for each in criteria):
        raise UsageError(f"{path}: not a profile: it has no list `criteria` with ids")
    ends = {str(each["id"]): _ends(each, path) for each in criteria}
    given = data.get("aggregation")
    rule: dict[str, Any] = given if isinstance(given, dict) else {}
    method = str(rule.get("method", "minimum"))
    passing = (rule.get("thresholds") or {}).get("pass") if isinstance(rule.get("thresholds"), dict) else None
    metadata = data.get("metadata")
    called = metadata.get("pillar_id") if isinstance(metadata, dict) else None
    fields: dict[str, Any] = {"name": str(called or path.stem), "version": _version(data)}
    # Without a number to pass, each criterion has to reach its own best score, because scales may differ.
    if method in ("minimum", "min", "all"):
        wanted = None if passing is None else _number(passing, f"{path}: aggregation.thresholds.pass")
        return Profile(**fields, thresholds={name: high if wanted is None else wanted for name, high in ends.items()})
    if method not in _MEANS:
        raise UsageError(f"{path}: unknown aggregation.method {method!r}; known: minimum, average, weighted_average")
    weights = {str(each["id"]): _number(each.get("weight", 1), f"{path}: {each['id']}: weight") for each in criteria}
    least = _number(passing, f"{path}: aggregation.thresholds.pass")
    return Profile(**fields, weights=weights, composite_min=least)


def _ends(criterion: dict[str, Any], path: Path) -> float:
    """The best score of a criterion."""
    scoring = criterion.get("scoring")
    scores = [each.get("score") for each in scoring if isinstance(each, dict)] if isinstance(scoring, list) else []
    if not scores:
        raise UsageError(f"{path}: {criterion['id']}: it has no scoring")
    return max(_number(score, f"{path}: {criterion['id']}: a score") for score in scores)


_LARGEST = 1e300


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(f"{what} must be a number, not {value!r:.40}")
    # JSON allows integers of any length, which float() cannot convert, and YAML has infinity.
    if not abs(value) <= _LARGEST:
        raise UsageError(f"{what} is too large a number")
    return float(value)


def _version(data: Any) -> str:
    # These files have no version of their own, but a decision must name one that changes with the thresholds.
    return sha256(encode(data)).hexdigest()[:12]
