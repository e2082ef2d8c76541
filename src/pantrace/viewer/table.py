"""The table of a run's samples, by columns: 100,000 rows in a few megabytes."""

from __future__ import annotations

from collections import Counter
from math import isfinite
from typing import Any

from pantrace.model import Decision, Score, numbers_of
from pantrace.wire.sample_name import sample_name

from .shown import ShownSample

COLUMNS = ("steps", "calls", "errors", "tokens", "cost", "estimated", "seconds", "created", "agent", "model", "outcome")
REASONS = 200
"""Maximum number of different failure reasons."""
WHYS = 8
"""Maximum number of reasons listed for a metric without a value."""


class Table:
    """The table; it grows by one row for each sample."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.rows: dict[str, list[Any]] = {name: [] for name in ("id", "epoch", "title", "block", "status", *COLUMNS)}
        self._scores: dict[str, list[Any]] = {}
        self._whys: dict[str, Counter[tuple[str, str]]] = {}
        self._labels: dict[str, dict[int, str]] = {}
        self._tools: list[list[int]] = []
        self._reasons: list[list[int]] = []
        self._names: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._seen: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.scored: dict[str, Counter[str]] = {}

    def key_for(self, shown: ShownSample) -> str:
        """A unique name for the sample within the run."""
        sample = shown.sample
        key = sample_name(sample.id, sample.epoch)
        # Half of a surrogate pair cannot be part of a URL.
        key = key.encode("utf-8", "replace").decode()
        self._seen[key] += 1
        return key if self._seen[key] == 1 else f"{key} #{self._seen[key]}"

    def add(self, key: str, shown: ShownSample, title: str, block: str, counts: dict[str, Any]) -> None:
        """One more row."""
        place, sample = len(self.keys), shown.sample
        self.keys.append(key)
        status = status_of(shown, counts.get("outcome"))
        self.statuses[status or "none"] += 1
        values = {"id": sample.id, "epoch": sample.epoch, "title": title, "block": block, "status": status, **counts}
        for name, column in self.rows.items():
            column.append(values.get(name))
        for score in sample.scores:
            self._add_score(place, score)
        for name, label in (sample.case.labels if sample.case is not None else {}).items():
            self._labels.setdefault(name, {})[place] = str(label)
        self._tools.append([self._names.setdefault(name, len(self._names)) for name in counts.get("tools", ())])
        found = _reasons(shown.decisions, counts) if status in ("failed", "error", "undecided", "limit") else []
        self._reasons.append([self._words.setdefault(word, len(self._words)) for word in found if self._known(word)])

    def _known(self, word: str) -> bool:
        return word in self._words or len(self._words) < REASONS

    def _add_score(self, place: int, score: Score) -> None:
        self.scored.setdefault(score.name, Counter())[score.status] += 1
        if score.status != "scored":
            self._whys.setdefault(score.name, Counter())[(score.status, (score.explanation or "")[:200])] += 1
        # A metric with several measures has a column for each, under the name that gates and queries use.
        values = dict(numbers_of(score)) if score.values else {score.name: _shown_value(score)}
        for name, value in values.items():
            column = self._scores.setdefault(name, [])
            column += [None] * (place + 1 - len(column))
            column[place] = value

    def block(self) -> dict[str, Any]:
        """The table as the page reads it."""
        size = len(self.keys)
        parents = {name.rpartition(".")[0] for name in self._scores}
        scores = {name: column + [None] * (size - len(column)) for name, column in self._scores.items()}
        return {
            "key": self.keys,
            **{name: column for name, column in self.rows.items() if any(each is not None for each in column)},
            "scores": {name: column for name, column in scores.items() if any(each is not None for each in column)},
            "empty": [
                name for name, column in scores.items() if all(each is None for each in column) and name not in parents
            ],
            "labels": {name: [found.get(place) for place in range(size)] for name, found in self._labels.items()},
            "toolNames": list(self._names),
            "tools": self._tools,
            "reasonWords": list(self._words),
            "reasons": self._reasons,
            "whys": {name: [[*key, n] for key, n in found.most_common(WHYS)] for name, found in self._whys.items()},
            "size": size,
        }

    def total(self, name: str) -> float | None:
        """The sum of a column; None where nothing was reported."""
        found = [value for value in self.rows[name] if value is not None]
        return sum(found) if found else None


def status_of(shown: ShownSample, outcome: str | None) -> str | None:
    """How a sample ended: by its decisions, otherwise by the recording's outcome, otherwise by its scores; None if
    there is none of these."""
    decided = [each.passed for each in shown.decisions]
    if decided:
        return "failed" if False in decided else "passed" if all(each is True for each in decided) else "undecided"
    if outcome is not None and outcome != "unscored":
        return outcome
    verdicts = [verdict for score in shown.sample.scores if (verdict := _verdict(score)) is not None]
    if verdicts:
        return "passed" if all(verdicts) else "failed"
    return outcome


def _verdict(score: Score) -> bool | None:
    if score.passed is not None:
        return score.passed
    # Our own scores have no pass or fail without a profile; only a stored letter is the source's verdict.
    if score.maker is not None and score.maker.kind != "stored":
        return None
    return {"C": True, "I": False}.get(score.value) if isinstance(score.value, str) else None


def _shown_value(score: Score) -> float | bool | str | None:
    if score.status != "scored":
        return None
    value = score.value
    if isinstance(value, float) and not isfinite(value):
        return None
    return value[:60] if isinstance(value, str) else value


def _reasons(decisions: tuple[Decision, ...], counts: dict[str, Any]) -> list[str]:
    """Why a sample did not pass, in words that several samples can share: what follows a colon in a long one is cut."""
    found = [reason for each in decisions if each.passed is not True for reason in each.reasons]
    if not found and counts.get("reason"):
        found = [str(counts["reason"])]
    if not found and counts.get("failing"):
        found = [f"tool error: {name}" for name in counts["failing"]]
    return list(dict.fromkeys(reason.partition(":")[0] if len(reason) > 90 else reason for reason in found))
