"""Numbers over all samples together that are no means of theirs: ratios of sums, sums, rates over episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pantrace.checks import Check, all_checks
from pantrace.model import Aggregate, Record, Score
from pantrace.store import RunDirectory

from .measure import Chosen

IN_TABLES = ("pooled", "sum")
"""What stands in tables. GUI metrics have many aggregates of other names; JSON and eval JSON hold them."""

Place = tuple[str, int]
"""Part and number of a sample in a run directory."""


class Together(Record, frozen=True, kw_only=True):
    """One number of a metric over all samples together."""

    name: str
    """The metric's name, or that of one of its parts (GUI metrics)."""
    how: str
    """pooled: a ratio of sums; sum; count, rate and mean of GUI metrics; failed: it could not be computed."""
    value: float | bool | str | None
    """None: there is nothing to take a ratio of, or it failed."""
    n: int | None = None
    """What the number rests on: samples, for a ratio of sums and for a sum."""
    without: int
    """Samples that have no number for it. They are left out, not counted as zero."""
    labels: dict[str, str] = {}
    """Of which part of the metric: {"action_type": "click"}."""
    why_not: str | None = None
    """What went wrong, if it failed."""


def pooled_numbers(check: Check, scores: Sequence[Score]) -> tuple[Together, ...]:
    """What a check makes of its scores together; nothing where none of them has a value."""
    if check.aggregate is None or not any(score.status == "scored" for score in scores):
        return ()
    without = sum(score.status != "scored" for score in scores)
    try:
        return tuple([_told(each, without) for each in check.aggregate(scores)])
    except Exception as error:  # noqa: BLE001 -- a check, perhaps a user's own, must not end the run
        why = f"its aggregate raised {type(error).__name__}: {error}"
        return (Together(name=check.name, how="failed", value=None, without=without, why_not=why),)


def _told(found: Aggregate, without: int) -> Together:
    if not isinstance(found, Aggregate):
        raise TypeError(f"it returned {found!r:.80} among its aggregates")
    labels = dict(found.labels)
    # A sum knows better: a value that is a word is no number either.
    told = labels.pop("samples_without", None)
    return Together(
        name=found.name,
        how=found.metric or "",
        value=found.value,
        n=found.n,
        without=without if told is None else int(told),
        labels=labels,
    )


def stored_numbers(
    out: Path, groups: Mapping[Place, Iterable[str]], own: Iterable[Chosen] = ()
) -> dict[tuple[str, str | None], tuple[Together, ...]]:
    """The same from the scores that a run directory holds, by metric and group; None stands for all samples.

    Checks are the built-in ones and one's own. Scores of others, or of another version of a check, do not count."""
    checks = {each.name: each for each in all_checks()} | {each.name: each for each, _ in own}
    found: dict[tuple[str, str | None], list[Score]] = {}
    for metric, scores in _scores(out, {name: each for name, each in checks.items() if each.aggregate}).items():
        for place, score in scores:
            found.setdefault((metric, None), []).append(score)
            for group in groups.get(place, ()):
                found.setdefault((metric, group), []).append(score)
    return {key: pooled_numbers(checks[key[0]], scores) for key, scores in found.items()}


def _scores(out: Path, checks: Mapping[str, Check]) -> dict[str, list[tuple[Place, Score]]]:
    """The scores of these checks: those of the run, else those that an earlier run left in the input, never both."""
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
    return Score(name=score.name, value=score.value, status=score.status, details=score.details)
