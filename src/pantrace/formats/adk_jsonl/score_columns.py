"""Scores as columns: adk_score.NAME, adk_status.NAME, adk_threshold.NAME and adk_details.NAME, both ways."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pantrace.model import Score
from pantrace.wire.adk.field_types import mapping, number
from pantrace.wire.adk.scores import MAKER, SCALES, STATUS, metric_to

PREFIXES = ("adk_score.", "adk_status.", "adk_threshold.", "adk_details.")


def scores_from(row: dict[str, Any]) -> list[Score]:
    """The scores in the columns of a row."""
    scores = []
    for key, value in row.items():
        if not key.startswith("adk_score."):
            continue
        name = key.removeprefix("adk_score.")
        status = row.get(f"adk_status.{name}")
        # A metric that was not evaluated is null here, and must not become a zero.
        worth = value if isinstance(value, (int, float)) else None
        # `passed` cannot tell these two apart, so the word itself is kept for the way back.
        extra = {"adk-history": {"eval_status": status}} if status in ("NOT_EVALUATED", "INFORMATIONAL") else {}
        scores.append(
            Score(
                name=name,
                value=worth,
                scale=SCALES.get(name),
                status="scored" if worth is not None else "not_applicable" if status == "INFORMATIONAL" else "unscored",
                explanation=None if worth is not None else f"google-adk gives no value ({status or 'no status'})",
                details=mapping(row.get(f"adk_details.{name}"), "details") or {},
                maker=MAKER,
                threshold=number(row.get(f"adk_threshold.{name}"), "a threshold"),
                passed={"PASSED": True, "FAILED": False}.get(str(status)),
                extra=extra,
            )
        )
    return scores


def score_columns(scores: Iterable[Score]) -> dict[str, Any]:
    """The columns of scores: all values first, then what else is known about each."""
    metrics = [(score, metric_to(score)) for score in scores]
    columns: dict[str, Any] = {f"adk_score.{score.name}": metric["score"] for score, metric in metrics}
    for score, metric in metrics:
        if score.passed is not None or score.extra.get("adk-history", {}).get("eval_status") is not None:
            columns[f"adk_status.{score.name}"] = STATUS.get(metric["eval_status"], "NOT_EVALUATED")
        if score.threshold is not None:
            columns[f"adk_threshold.{score.name}"] = score.threshold
        if score.details:
            columns[f"adk_details.{score.name}"] = score.details
    return columns
