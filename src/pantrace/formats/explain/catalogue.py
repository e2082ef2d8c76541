"""Scenarios: rows of a scenario catalogue, and their labels joined to the cases that name them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Case, Sample
from pantrace.wire.extra_keys import as_extra, rest_in
from pantrace.wire.head import Head
from pantrace.wire.rows import OnBroken, read_rows

from .keys import NAME, is_text, restore, split_known, vocabulary

FILE = "scenario-catalog.jsonl"

ORDER = (
    "topic_family",
    "learner_level",
    "duration_profile",
    "weekly_hours",
    "duration_weeks",
    "ambiguity",
    "noise_factor",
    "target_exam",
)

OWN = frozenset({"duration_profile", "weekly_hours", "duration_weeks", "ambiguity", "noise_factor", "target_exam"})
"""Keys that a case does not have."""

SCENARIO = vocabulary({"scenario_id": is_text})

Catalogue = dict[str, dict[str, Any]]
"""Scenario id -> its row without the id."""


def is_scenario(row: dict[str, Any]) -> bool:
    """Whether an object is a row of a catalogue."""
    keys = {key.lower() for key in row}
    # Cases name their scenario too; only a catalogue describes it.
    return "scenario_id" in keys and "case_id" not in keys and len(keys & OWN) >= 2


def load(row: dict[str, Any]) -> Sample:
    """A scenario as a sample that only has a case: nothing has been asked yet."""
    values, note = split_known(row, SCENARIO)
    if "scenario_id" not in values:
        raise ReadError("a scenario needs a scenario_id that is text")
    rest = note.pop("unknown", {})
    labels = {name: value for name, value in rest.items() if isinstance(value, str)}
    if others := {name: value for name, value in rest.items() if not isinstance(value, str)}:
        note["scenario"] = others
    name = values["scenario_id"]
    case = Case(id=name, scenario=name, labels=labels, extra=as_extra(NAME, note))
    return Sample(id=name, case=case, extra={NAME: {"kind": "catalogue"}})


def dump(sample: Sample) -> dict[str, Any]:
    case = sample.case or Case()
    note = rest_in(case.extra, NAME)
    rest = {**case.labels, **note.get("scenario", {})}
    ordered = {name: rest[name] for name in ORDER if name in rest}
    # Unlike a case, a scenario may have any keys, so a null is data and is kept.
    return {**restore({"scenario_id": sample.id}, note), **ordered, **rest}


def catalogue_beside(dataset: Path) -> Path | None:
    """The catalogue of a dataset: in `common/` beside or inside its folder, or in the same folder."""
    dataset = dataset.absolute()
    folder = dataset.parent
    fixed = (folder.parent / "common" / FILE, folder / "common" / FILE, folder / FILE)
    for path in (*fixed, *sorted(folder.glob("*scenario*.jsonl"))):
        try:
            # By content: a dataset of cases may be named *scenario*, too.
            if path != dataset and path.is_file() and is_scenario(Head(path).record):
                return path
        except (ReadError, OSError):
            continue
    return None


def read_catalogue(path: Path, on_broken: OnBroken) -> Catalogue:
    """All scenarios of a catalogue by id."""
    found: Catalogue = {}
    for place, row in read_rows(path, on_broken):
        if not isinstance(row, dict) or not isinstance(name := _scenario_id(row), str):
            on_broken(ReadError("a scenario needs a scenario_id that is text", path=str(path), place=place))
            continue
        # If two scenarios have one id, the last counts; `validate` reports the second.
        found[name] = {key: value for key, value in row.items() if key.lower() != "scenario_id"}
    return found


def _scenario_id(row: dict[str, Any]) -> Any:
    return split_known(row, SCENARIO)[0].get("scenario_id")


def join_scenario(sample: Sample, catalogue: Catalogue) -> Sample:
    """A case with its scenario's labels: text as labels, numbers in `extra`. The case's own labels win."""
    case = sample.case
    if case is None or case.scenario not in catalogue:
        return sample
    scenario = catalogue[case.scenario]
    note = rest_in(case.extra, NAME)
    words = {name: value for name, value in scenario.items() if isinstance(value, str)}
    others = {name: value for name, value in scenario.items() if not isinstance(value, str) and name not in case.labels}
    if others:
        note = {**note, "scenario": {**others, **note.get("scenario", {})}}
    known = note.get("scenario", {})
    labels = {**case.labels, **{name: value for name, value in words.items() if name not in known | case.labels}}
    extra = {**case.extra, NAME: note} if note else case.extra
    return msgspec.structs.replace(sample, case=msgspec.structs.replace(case, labels=labels, extra=extra))
