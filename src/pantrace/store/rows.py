"""Rows: the results of a run, on their way into the columns of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from pantrace.model import (
    CallPair,
    Decision,
    Record,
    Sample,
    Score,
    Step,
    Trajectory,
    all_trajectories,
    call_pairs,
    turns,
)

from .absent import Placed, absent_text, is_bare
from .json_text import exact_json, from_exact_json
from .schema import SampleRow, columns


class Result(Record, frozen=True, kw_only=True):
    """What a run computed for one sample."""

    sample: Sample
    """As it was read, with the scores of its source."""
    scores: tuple[Score, ...] = ()
    """Those that the run computed."""
    decisions: tuple[Decision, ...] = ()
    text: bytes | None = None
    """The sample in the native format, if it has been encoded already."""


class Kept(Record, frozen=True, kw_only=True):
    """The rows of a result from an existing part. They are copied unchanged, so they stay the same to the byte."""

    rows: dict[str, list[tuple[Any, ...]]]
    """By table; each row has all columns in their order."""

    @property
    def json(self) -> str:
        """Its sample in the native format."""
        (row,) = self.rows["samples"]
        found = row[_JSON]
        assert isinstance(found, str)
        return found

    @property
    def hash(self) -> str:
        """Of its sample."""
        return json_hash(self.json)


_JSON = list(columns(SampleRow)).index("json")


def json_hash(json: str) -> str:
    """The hash of one sample, computed from its stored text."""
    return sha256(json.encode() + b"\n").hexdigest()


class SampleTexts:
    """Samples as they will be stored, one after the other, and the hash that names their part."""

    def __init__(self) -> None:
        self._texts: list[bytes] = []
        self._digest = sha256()
        self.bytes = 0
        """Of all texts."""

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, sample: Sample) -> None:
        """Add a sample."""
        # Kept as text, which is needed anyway for the hash and the column: as objects, the garbage collector would
        # scan all of them again and again.
        text = exact_json(sample)
        self._texts.append(text)
        self._digest.update(text)
        self._digest.update(b"\n")
        self.bytes += len(text)

    @property
    def hash(self) -> str:
        """Of all samples."""
        return self._digest.hexdigest()

    def hashes(self) -> list[str]:
        """Of each sample."""
        return [sha256(text + b"\n").hexdigest() for text in self._texts]

    def texts(self, first: int, last: int) -> list[bytes]:
        """A slice of the texts."""
        return self._texts[first:last]


def sample_of(text: bytes) -> Sample:
    """The sample in such a text."""
    try:
        return _sample(text)
    # NaN and Infinity are stored as they were recorded; only the slower reader accepts them.
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return from_exact_json(text, Sample)


_sample = msgspec.json.Decoder(Sample).decode


class Address(NamedTuple):
    """The first columns of every row: which sample it belongs to."""

    part: str
    number: int
    sample: str
    epoch: int | None


class SampleItem(NamedTuple):
    """What a row of `samples` is made of."""

    address: Address
    sample: Sample
    trajectories: list[Trajectory]
    steps: int
    calls: int
    absent: str | None
    json: str


class StepItem(NamedTuple):
    """What a row of `steps` is made of."""

    address: Address
    place: int
    """Of its trajectory."""
    trajectory: Trajectory
    at: int
    turn: int
    step: Step


class CallItem(NamedTuple):
    """What a row of `calls` is made of."""

    address: Address
    place: int
    """Of its trajectory."""
    step: int
    number: int
    pair: CallPair


class ScoreItem(NamedTuple):
    """What a row of `scores` is made of."""

    address: Address
    origin: str
    score: Score


class DecisionItem(NamedTuple):
    """What a row of `decisions` is made of."""

    address: Address
    decision: Decision
    json: str


Items = dict[str, list[Any]]
"""The material for rows that are still to be written, by table."""


def take(items: Items, part: str, number: int, result: Result) -> int:
    """Put a result into the items of each table; returns the length of its sample's JSON."""
    sample = result.sample
    address = Address(part, number, sample.id, sample.epoch)
    trajectories = list(all_trajectories(sample.trajectory)) if sample.trajectory is not None else []
    steps = [*_steps(address, trajectories)]
    calls = [*_calls(address, trajectories)]
    scores, absent = _scores(address, sample.scores, result.scores)
    json = (exact_json(sample) if result.text is None else result.text).decode()
    items["samples"].append(SampleItem(address, sample, trajectories, len(steps), len(calls), absent, json))
    items["steps"] += steps
    items["calls"] += calls
    items["scores"] += scores
    items["decisions"] += [decision_item(address, decision) for decision in result.decisions]
    return len(json)


def decision_item(address: Address, decision: Decision) -> DecisionItem:
    """A decision on the sample at that address."""
    return DecisionItem(address, decision, exact_json(decision).decode())


def _steps(address: Address, trajectories: list[Trajectory]) -> Iterator[StepItem]:
    for place, trajectory in enumerate(trajectories):
        index = 0
        for turn in turns(trajectory):
            for step in turn.steps:
                yield StepItem(address, place, trajectory, index, turn.number if step.turn is None else step.turn, step)
                index += 1


def _calls(address: Address, trajectories: list[Trajectory]) -> Iterator[CallItem]:
    for place, trajectory in enumerate(trajectories):
        # Including calls of simulated users and graders: the table has what was recorded, and metrics choose from it.
        pairs = call_pairs(trajectory, agent_only=False)
        # By identity: steps may have no id, and two of them can be equal.
        indices = {id(step): index for index, step in enumerate(trajectory.steps)} if pairs else {}
        for number, pair in enumerate(pairs):
            yield CallItem(address, place, indices[id(pair.step)], number, pair)


def _scores(
    address: Address, stored: tuple[Score, ...], ours: tuple[Score, ...], *, briefly: bool = True
) -> tuple[list[ScoreItem], str | None]:
    """Each score once: a score of ours that equals one of the source is left out. `briefly`: scores that only say that
    they do not apply become a text."""
    found = [ScoreItem(address, "source", score) for score in stored]
    in_rows = {score.name for score in stored}
    # What the source has scored, too, gets a row, so that equal scores are stored once.
    names = set(in_rows)
    absent: list[Placed] = []
    place = 0
    for score in ours:
        if briefly and is_bare(score) and score.name not in names:
            names.add(score.name)
            absent.append((place, score))
        elif score.name not in in_rows or exact_json(score) not in _told(found, score.name):
            in_rows.add(score.name)
            found.append(ScoreItem(address, "run", score))
        else:
            continue
        place += 1
    text = absent_text(absent)
    # SQL could not read the text (an escape in a reason): then all of them become rows, because positions matter.
    if absent and text is None:
        return _scores(address, stored, ours, briefly=False)
    return found, text


def _told(found: list[ScoreItem], name: str) -> set[bytes]:
    return {exact_json(each.score) for each in found if each.score.name == name}
