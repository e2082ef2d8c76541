"""Numbers over all samples together, from the scores that a run directory holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pantrace.metrics import Metric, all_metrics
from pantrace.model import Score
from pantrace.store import RunDirectory

from .measure import Chosen
from .totals import Total, totals_of

Place = tuple[str, int]
"""Part and number of a sample in a run directory."""


def stored_numbers(
    out: Path, groups: Mapping[Place, Iterable[str]], own: Iterable[Chosen] = ()
) -> dict[tuple[str, str | None], tuple[Total, ...]]:
    """What the metrics make of their scores, by metric and group; None stands for all samples.

    Metrics are the built-in ones and one's own. Scores of others, or of another version of a metric, do not count."""
    checks = {each.name: each for each in all_metrics()} | {each.name: each for each, _ in own}
    found: dict[tuple[str, str | None], list[Score]] = {}
    for metric, scores in _scores(out, checks).items():
        for place, score in scores:
            found.setdefault((metric, None), []).append(score)
            for group in groups.get(place, ()):
                found.setdefault((metric, group), []).append(score)
    return {key: totals_of(checks[key[0]], scores) for key, scores in found.items()}


def _scores(out: Path, checks: Mapping[str, Metric]) -> dict[str, list[tuple[Place, Score]]]:
    """The scores of these metrics: those of the run, else those that an earlier run left in the input, never both."""
    makers = {name: check.maker for name, check in checks.items()}
    ours: dict[str, list[tuple[Place, Score]]] = {name: [] for name in checks}
    left: dict[str, list[tuple[Place, Score]]] = {name: [] for name in checks}
    for each in RunDirectory.open(out).scores(checks):
        score = each.score
        if score.maker == makers[score.name]:
            chosen = ours if each.origin == "run" else left
            chosen[score.name].append(((each.part, each.number), _slim(score)))
    for name, scores in left.items():
        if scores:
            measured = {place for place, _ in ours[name]}
            ours[name] += [(place, score) for place, score in scores if place not in measured]
    return ours


def _slim(score: Score) -> Score:
    """Only what aggregates are made of: all of them are in memory at once."""
    return Score(name=score.name, value=score.value, status=score.status, values=score.values, details=score.details)
