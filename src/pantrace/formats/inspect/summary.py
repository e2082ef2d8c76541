"""Summaries and reductions: what the viewer lists without reading samples."""

from __future__ import annotations

import hashlib
import math
from typing import Any, NamedTuple

from pantrace.model import Sample
from pantrace.wire.difference import SAME, apply_difference, difference
from pantrace.wire.json import encode
from pantrace.wire.output_row import Row

from .content import own_extra
from .deviation import annotate
from .header import NO_MODEL, Counted
from .scores import number

_SAME = (
    *("id", "epoch", "choices", "description", "model_usage", "role_usage", "model_fallbacks", "started_at"),
    *("completed_at", "total_time", "working_time", "uuid", "turn_count", "token_limit", "token_limit_type"),
    *("token_limit_usage", "message_limit", "time_limit"),
)
SUMMARY, FLUSHED, FLUSH = "summary", "flushed", "flush"
"""Notes in a sample's `extra`: how its summary differs from the one derived from it, how the journal differs from that,
and the number of the journal file with the summary (0: none; 1 is the default and not noted)."""


class Summarised(NamedTuple):
    """A sample's summary in a log, and in its journal."""

    summary: dict[str, Any]
    flushed: dict[str, Any] | None
    """The same in the journal, if it is there."""
    flush: int


# Inspect's own limits for a summary (0.3.285).
_INPUT, _TEXT = 5120, 1024


def summary(row: dict[str, Any]) -> dict[str, Any]:
    """The summary of a sample: long texts cut, pictures named, large metadata left out."""
    found = {key: row[key] for key in _SAME if row.get(key) is not None}
    found["input"] = _thin_input(row.get("input"))
    target = row.get("target")
    found["target"] = [_cut(str(each)) for each in target] if isinstance(target, list) else _cut(str(target or ""))
    found["metadata"] = _thin(row.get("metadata"))
    scores = row.get("scores")
    if isinstance(scores, dict):
        found["scores"] = {name: _thin_score(score) for name, score in scores.items()}
    error, limit = row.get("error"), row.get("limit")
    if error is not None:
        found["error"] = error.get("message") if isinstance(error, dict) else str(error)
    if isinstance(limit, dict):
        found["limit"] = limit.get("type")
        if limit.get("reason") is not None:
            found["limit_reason"] = limit["reason"]
    retries = row.get("error_retries")
    found["retries"] = len(retries) if isinstance(retries, list) else 0
    found["completed"] = True
    found["message_count"] = len(row.get("messages") or ())
    return found


def with_summary(sample: Sample, row: dict[str, Any], stated: Summarised) -> Sample:
    """The sample with notes on how its stored summary differs from the one derived from its row."""
    derived = summary(row)
    # Id and epoch of the sample win: a summary with another id would leave the sample's page blank.
    named = {key: derived[key] for key in ("id", "epoch") if key in derived}
    notes = {
        SUMMARY: difference(derived, {**stated.summary, **named}),
        FLUSHED: SAME if stated.flushed is None else difference(stated.summary, stated.flushed),
        FLUSH: stated.flush if stated.flush != 1 else SAME,
    }
    notes = {name: note for name, note in notes.items() if note is not SAME}
    return annotate(sample, notes) if notes else sample


def _cut(text: str) -> str:
    return text if len(text) <= _INPUT else text[:_INPUT] + "...\n(content truncated)"


def _thin_input(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value)
    if not isinstance(value, list):
        return ""
    return [_thin_message(message) if isinstance(message, dict) else message for message in value]


def _thin_message(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": _cut(content)}
    parts = []
    for part in content or ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text":
            parts.append({**part, "text": _cut(part.get("text") or "")})
        else:
            parts.append({"type": "text", "text": f"({str(kind).capitalize()})"})
    return {**message, "content": parts}


def _thin(metadata: Any) -> dict[str, Any]:
    found = {}
    for key, value in metadata.items() if isinstance(metadata, dict) else ():
        # Our own key is large and of no use in a list of samples.
        if key == "pantrace":
            continue
        if isinstance(value, str):
            found[key] = _shorten(value)
        elif isinstance(value, (dict, list)) and len(encode(value)) > _TEXT:
            found[key] = "Key removed from summary (> 1k)"
        else:
            found[key] = value
    return found


def _shorten(text: str) -> str:
    words = " ".join(text[: _TEXT * 8].split())
    return words if len(words) <= _TEXT else words[: _TEXT - 3].rsplit(" ", 1)[0] + "..."


def _thin_score(score: Any) -> Any:
    if not isinstance(score, dict):
        return score
    found: dict[str, Any] = {"value": score.get("value"), "history": []}
    for key in ("answer", "explanation", "reason"):
        if isinstance(score.get(key), str):
            found[key] = _shorten(score[key])
    if isinstance(score.get("metadata"), dict):
        found["metadata"] = _thin(score["metadata"])
    return found


class Collector:
    """Collects summaries and counts while samples are written; it stays small, however large they are."""

    def __init__(self) -> None:
        self.summaries: list[bytes] = []
        self.flushes: dict[int, list[bytes]] = {}
        """The summaries in the log's journal, by the number of their file."""
        self.counted = Counted()
        self._ids: dict[Any, None] = {}
        self._hash = hashlib.sha256()
        self._values: dict[str, list[tuple[Any, Any]]] = {}
        self._models: dict[str, int] = {}

    def add(self, written_row: Row) -> None:
        row, kept = written_row.value, own_extra(written_row.sample.extra)
        listed = apply_difference(summary(row), kept[SUMMARY]) if SUMMARY in kept else summary(row)
        # Encoded at once, because they take less memory as bytes.
        self.summaries.append(encode(listed))
        if (flush := kept.get(FLUSH, 1)) > 0:
            flushed = encode(apply_difference(listed, kept[FLUSHED])) if FLUSHED in kept else self.summaries[-1]
            self.flushes.setdefault(flush, []).append(flushed)
        counted = self.counted
        counted.samples += 1
        counted.epochs = max(counted.epochs, row["epoch"])
        counted.failed += row.get("error") is not None
        self._ids[row["id"]] = None
        self._hash.update(encode([row["id"], row["epoch"], row.get("uuid")]))
        begin, end = row.get("started_at"), row.get("completed_at")
        counted.first = min(filter(None, (counted.first, begin)), default=None)
        counted.last = max(filter(None, (counted.last, end)), default=None)
        usage = row.get("model_usage")
        for model, counts in usage.items() if isinstance(usage, dict) else ():
            self._models[model] = self._models.get(model, 0) + 1
            total = counted.usage.setdefault(model, {})
            for key, value in counts.items() if isinstance(counts, dict) else ():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    total[key] = total.get(key, 0) + value
        # Without token counts, the sample's output still names its model.
        if not usage and (model := (row.get("output") or {}).get("model")):
            self._models[model] = self._models.get(model, 0) + 1
        scores = row.get("scores")
        for name, score in scores.items() if isinstance(scores, dict) else ():
            value = score.get("value") if isinstance(score, dict) else score
            self._values.setdefault(name, []).append((row["id"], value))

    def finish(self) -> Counted:
        """The counts, after the last sample."""
        counted = self.counted
        counted.ids = list(self._ids)
        counted.digest = self._hash.hexdigest()
        # "none/none" stands for the whole log only if no sample names a model.
        named = {name: times for name, times in self._models.items() if name != NO_MODEL} or self._models
        counted.model = max(named, key=lambda name: named[name]) if named else None
        counted.scores = [_eval_score(name, [value for _, value in pairs]) for name, pairs in self._values.items()]
        return counted

    def reductions(self) -> list[dict[str, Any]]:
        """One value per sample and scorer: the mean over epochs if there are several."""
        found = []
        for name, pairs in self._values.items():
            by_id: dict[Any, list[Any]] = {}
            for sample, value in pairs:
                by_id.setdefault(sample, []).append(value)
            reduction: dict[str, Any] = {"scorer": name}
            if self.counted.epochs > 1:
                reduction["reducer"] = "mean"
            reduction["samples"] = [
                {"value": _reduce(values), "history": [], "sample_id": sample} for sample, values in by_id.items()
            ]
            found.append(reduction)
        return found


def as_array(summaries: list[bytes]) -> bytes:
    """Encoded summaries as one JSON array."""
    return b"[" + b",".join(summaries) + b"]"


def _reduce(values: list[Any]) -> Any:
    numbers = [each for value in values if (each := number(value)) is not None]
    # A mean over epochs needs numbers; texts and objects have none.
    if len(numbers) != len(values) or not numbers:
        return values[0]
    return math.fsum(numbers) / len(numbers)


def _eval_score(name: str, values: list[Any]) -> dict[str, Any]:
    numbers = [each for value in values if (each := number(value)) is not None]
    unscored = sum(isinstance(value, float) and not math.isfinite(value) for value in values)
    score: dict[str, Any] = {
        "name": name,
        "scorer": name,
        "scored_samples": len(values) - unscored,
        "unscored_samples": unscored,
        "params": {},
        "metrics": {},
    }
    if numbers:
        score["metrics"]["mean"] = {"name": "mean", "value": math.fsum(numbers) / len(numbers), "params": {}}
    return score
