"""Milestones: the steps of a task that weak success requires."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import PantraceError
from pantrace.model import Record, Sample
from pantrace.wire.json import decode_document
from pantrace.wire.text_file import bytes_of
from pantrace.wire.toml import parse

from .outcome import StepOutcome

EVERY_TASK = "*"


class Milestone(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A milestone is reached if truth and prediction have the expected type at this place."""

    name: str
    step_index: int
    """Position among the steps of the ground truth, from 0."""
    expected_type: str
    coord_threshold: float | None = None
    """How close the click must be; None: any distance."""


Milestones = dict[str, tuple[Milestone, ...]]
"""By task: the case's id or scenario, the sample's or the episode's id, or * for every task."""

LOGIN = (
    Milestone(name="typed_username", step_index=1, expected_type="type"),
    Milestone(name="typed_password", step_index=3, expected_type="type"),
    Milestone(name="clicked_login", step_index=4, expected_type="click", coord_threshold=0.10),
    Milestone(name="emitted_done", step_index=5, expected_type="done"),
)
"""The milestones that OpenAdapt's evaluation uses for every episode, whatever its task."""


def read_milestones(path: str) -> Milestones:
    """The milestones in a JSON or TOML file; a ValueError says what is wrong with it."""
    file = Path(path)
    try:
        data = bytes_of(file)
        content: Any = parse(data.decode()) if file.suffix == ".toml" else decode_document(data)
        return msgspec.convert(content, Milestones)
    except (PantraceError, tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ValueError(f"the milestones {path} are not valid: {error}") from None


def milestones_of(sample: Sample, milestones: Milestones) -> tuple[Milestone, ...] | None:
    """The milestones of the sample's task; None if there are none for it."""
    case, expected = sample.case, sample.expected
    names = (case.id if case else None, case.scenario if case else None, sample.id, expected.id if expected else None)
    # From the most specific name to the wildcard.
    for name in (*names, EVERY_TASK):
        if name is not None and name in milestones:
            return milestones[name]
    return None


def reached_milestones(
    wanted: Sequence[Milestone],
    outcomes: Mapping[int, StepOutcome],
    near_enough: Callable[[StepOutcome, float | None], bool],
) -> dict[str, bool]:
    """Each milestone and whether it was reached."""
    found = {}
    for each in wanted:
        outcome = outcomes.get(each.step_index)
        # A milestone beyond the end of the episode was not reached.
        same = outcome is not None and outcome.type_match and outcome.kind == each.expected_type
        found[each.name] = same and outcome is not None and near_enough(outcome, each.coord_threshold)
    return found
