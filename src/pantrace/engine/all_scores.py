"""All scores of a sample: those that a run computed and those of its source."""

from __future__ import annotations

from collections.abc import Iterable

from pantrace.model import Sample, Score


def all_scores(sample: Sample, scores: Iterable[Score]) -> list[Score]:
    """Our scores and those of the source. If both have a name, ours counts, unless there was no judge to give it."""
    ours = list(scores)
    taken = {score.name for score in ours if not _yields(score)}
    return [*(score for score in sample.scores if score.name not in taken), *_unless_stored(ours, sample)]


def _unless_stored(ours: list[Score], sample: Sample) -> list[Score]:
    stored = {score.name for score in sample.scores}
    return [score for score in ours if not _yields(score) or score.name not in stored]


def _yields(score: Score) -> bool:
    """Whether a score of the source replaces this one. Not if our judge was asked and failed: another judge's grade
    cannot take its place."""
    if score.status != "unscored":
        return False
    from pantrace.judges import NO_JUDGE  # only here: slow to load, and a comparison needs nothing else of it

    asked = score.maker is not None and score.maker.kind == "rubric"
    return not asked or (score.explanation or "").startswith(NO_JUDGE)
