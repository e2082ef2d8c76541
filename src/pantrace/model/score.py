"""Scores and decisions."""

from __future__ import annotations

from typing import Any, Literal

from .record import Extra, Number, Record


class Scale(Record, frozen=True, kw_only=True):
    """The range of a score and which end is good."""

    low: Number | None = None
    high: Number | None = None
    better: Literal["higher", "lower"] = "higher"


class Maker(Record, frozen=True, kw_only=True):
    """What made a score: the source (stored), a metric or rule (check), a rubric with its judge model, a human."""

    name: str
    kind: Literal["stored", "check", "rubric", "human"] = "stored"
    version: str | None = None
    model: str | None = None


class Score(Record, frozen=True, kw_only=True):
    """One measurement or judgement of one sample."""

    name: str
    value: Number | bool | str | None = None
    """None unless `status` is scored; a composite value (a mapping, a list) is in `details`."""
    scale: Scale | None = None
    # Words instead of -1, 0 or NaN: the original Explain evals store -1 for a failed verdict, and average it.
    status: Literal["scored", "not_applicable", "failed", "unscored"] = "scored"
    explanation: str | None = None
    """Reason for the value, or why there is none."""
    values: dict[str, Number | None] = {}
    """All measures of the metric by name, the main one too; None: not applicable. Empty: `value` is the only one."""
    step: str | None = None
    """Id of the step that it is about; None: it is about the whole sample."""
    evidence: tuple[str, ...] = ()
    """Ids of the steps that support it."""
    details: dict[str, Any] = {}
    maker: Maker | None = None
    threshold: Number | None = None
    passed: bool | None = None
    extra: Extra = {}


class Aggregate(Record, frozen=True, kw_only=True):
    """A number over many samples, as a source stores it or as pantrace computed it."""

    name: str
    value: Number | bool | str | None = None
    """None: not applicable, or withdrawn."""
    # OpenAdapt stores such numbers as a sentinel; read as a value, it would be drawn and averaged.
    withdrawn: bool = False
    """The source has withdrawn this number and stores a sentinel instead."""
    metric: str | None = None
    """How it was aggregated: mean, accuracy, stderr."""
    n: int | None = None
    low: Number | None = None
    high: Number | None = None
    labels: dict[str, str] = {}
    extra: Extra = {}


class Decision(Record, frozen=True, kw_only=True):
    """Pass or fail of one sample under one profile."""

    sample: str
    profile: str
    passed: bool | None = None
    """None: could not decide."""
    composite: Number | None = None
    reasons: tuple[str, ...] = ()
    deciding: tuple[str, ...] = ()
    """Names of the scores that decided."""
