"""Calibration: how well a judge agrees with labels, stored for one rubric and the models that were measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from pantrace.errors import UsageError
from pantrace.model import Record, Score
from pantrace.stats import Estimate
from pantrace.wire.output import is_stream
from pantrace.wire.text_file import bytes_of

from .rubric import rubric_names

FILE = "calibration.json"
"""Its name in a run directory."""

LabelKind = Literal["grades", "pass", "bands"]


class Judged(Record, frozen=True, kw_only=True):
    """What makes scores comparable: the same question to the same judges."""

    metric: str
    rubric_hash: str | None = None
    """None: a score that came with the recording."""
    judge: str | None = None
    """The models, or the maker of a stored score."""


class Band(Record, frozen=True, kw_only=True):
    """The scores of the samples with one label."""

    label: str
    n: int
    mean: Estimate


class Pair(Record, frozen=True, kw_only=True):
    """Whether the judge tells the better of two labels from the worse."""

    worse: str
    better: str
    auc: Estimate


class Calibration(Record, frozen=True, kw_only=True):
    """The agreement of one judge with labels."""

    judged: Judged
    labels: LabelKind
    """grades: numbers on the metric's scale; pass: yes or no; bands: words from worst to best."""
    n: int
    """Scores that have a label."""
    samples: int
    """Different samples among them."""
    unscored: int = 0
    """Labelled samples for which the judge has no number."""
    threshold: float | None = None
    """For labels that say pass: the lowest score that counts as passed."""
    accuracy: Estimate | None = None
    kappa: Estimate | None = None
    weighted_kappa: Estimate | None = None
    """Quadratic weights; for grades."""
    auc: Estimate | None = None
    """Of two samples with different labels, how often the better one has the better score; 0.5 is chance."""
    spearman: Estimate | None = None
    sensitivity: Estimate | None = None
    """For labels that say pass: the share of samples passed by people that the judge passes."""
    specificity: Estimate | None = None
    """The share of samples failed by people that the judge fails."""
    counted_rate: Estimate | None = None
    """The share of all judged samples, labelled or not, that the judge passes."""
    corrected_rate: Estimate | None = None
    """The same, corrected for the judge's errors: the share that people would pass."""
    flip_rate: Estimate | None = None
    """How often two verdicts of the same judge on the same sample differ."""
    confusion: dict[str, dict[str, int]] = {}
    """label -> score -> how many."""
    bands: tuple[Band, ...] = ()
    pairs: tuple[Pair, ...] = ()
    """Neighbours, and the worst against the best."""
    calibrated: bool = False
    """Whether a gate may rest on this judge."""
    why_not: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Calibrations(Record, frozen=True, kw_only=True):
    """A calibration file."""

    pantrace: str | None = None
    calibrations: tuple[Calibration, ...] = ()

    def of(self, judged: Judged) -> Calibration | None:
        """The calibration of a judge; if there are several, the last."""
        return next((each for each in reversed(self.calibrations) if each.judged == judged), None)

    def stamped(self, scores: Iterable[Score]) -> list[Score]:
        """Scores with `details.calibrated` if a judge made them."""
        return [self._stamped(score) for score in scores]

    def _stamped(self, score: Score) -> Score:
        if not is_judged(score):
            return score
        found = self.of(judged_by(score))
        details = {**score.details, "calibrated": found is not None and found.calibrated}
        return msgspec.structs.replace(score, details=details)


def is_judged(score: Score) -> bool:
    """Whether a judge made the score: one of ours, or a stored score with the name of a rubric that we know."""
    if score.maker is not None and score.maker.kind != "stored":
        return score.maker.kind == "rubric"
    # A stored score with a rubric's name comes from a judge that we know nothing about, so it needs calibration.
    return score.name in rubric_names()


def judged_by(score: Score) -> Judged:
    """Which judge made a score, with which question."""
    maker = score.maker
    rubric_hash = score.details.get("rubric_hash") if maker is not None and maker.kind == "rubric" else None
    judge = None if maker is None else maker.model if maker.kind == "rubric" else maker.name
    return Judged(metric=score.name, rubric_hash=rubric_hash if isinstance(rubric_hash, str) else None, judge=judge)


def read_calibrations(paths: Sequence[Path]) -> Calibrations:
    """The calibrations of these files together; later ones take precedence."""
    found: list[Calibration] = []
    for path in paths:
        found += _read(path).calibrations
    return Calibrations(calibrations=tuple(found))


def _read(path: Path) -> Calibrations:
    try:
        return msgspec.json.decode(bytes_of(path), type=Calibrations)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise UsageError(f"{path}: not a calibration file (`pantrace calibrate` writes them): {error}") from None


def add_calibrations(path: Path, new: Sequence[Calibration], version: str) -> bytes:
    """The content of a calibration file with new calibrations in place of those of the same judges."""
    # A pipe or /dev/stdout is written to, never read.
    known = _read(path).calibrations if path.exists() and not is_stream(path) else ()
    # Only the same rubric and the same models are replaced: a calibration of another judge stays valid.
    replaced = [each.judged for each in new]
    kept = [each for each in known if each.judged not in replaced]
    content: Any = Calibrations(pantrace=version, calibrations=(*kept, *new))
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"
