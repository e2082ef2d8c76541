"""What agents are asked: the cases of a dataset, or the prompts of existing recordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from pantrace.errors import UsageError
from pantrace.model import Case, Record, Sample, Trajectory, is_prompt, step_text
from pantrace.model.views import active_steps
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.json import encode

from .inspect_dataset import not_done, said_in, with_choices
from .read import Notes, read_pile
from .run_table import NAME as TABLE
from .run_table import is_table, table


class Asked(Record, frozen=True, kw_only=True):
    """A case, with the prompts for the agent in order."""

    id: str
    case: Case
    turns: tuple[str, ...]
    expected: Trajectory | None = None
    is_scenario: bool = False
    """Whether a simulated user continues after the turns; without turns, the user speaks first."""
    beside: str | None = None
    """Folder of the dataset, which contains the files that the case names."""
    remarks: tuple[str, ...] = ()
    """Warnings about what the case asks for and we do not do."""

    @property
    def hash(self) -> str:
        """Changes if the prompts or what is expected change."""
        return sha256(encode([self.case, self.turns, self.expected])).hexdigest()[:16]


def dataset(paths: Iterable[Path], columns: dict[str, str], notes: Notes) -> Iterator[Sample]:
    """The samples of datasets; tables without a known format are read by their columns."""
    recognised: list[Path] = []
    for path in paths:
        if not path.is_dir() and (columns or is_table(path)):
            yield from table(path, columns)
        else:
            recognised.append(path)
    if recognised:
        yield from read_pile(recognised, notes=notes).samples


def questions(samples: Iterable[Sample], *, follow_up: bool) -> Iterator[Asked]:
    """What to ask for each sample; `follow_up`: all prompts of a recording, not only the first."""
    seen: dict[str, tuple[str | None, ...]] = {}
    for sample in samples:
        asked = _asked(sample, follow_up)
        about = asked.turns[:1] or (asked.case.goal,)
        if asked.id in seen:
            # Several recorded trials of one case are one question.
            if seen[asked.id] != about:
                raise UsageError(f"two cases have the id {asked.id} and ask different questions; give each its own id")
            continue
        seen[asked.id] = about
        yield asked


def _asked(sample: Sample, follow_up: bool) -> Asked:
    case = sample.case or Case()
    name = case.id or sample.id
    scenario = "scenario" in (case.extra.get("adk") or {})
    # The most explicit source first: an expected conversation, messages of Inspect, a question, a recording's prompts.
    turns = _prompts(sample.expected) if sample.expected is not None and not scenario else ()
    turns = turns or said_in(case)
    if not turns and case.question:
        turns = (case.question,)
    if not turns and sample.trajectory is not None:
        prompts = _prompts(sample.trajectory)
        turns = prompts if follow_up else prompts[:1]
    if not turns and not case.goal:
        raise UsageError(f"the case {name} has no question; name its column with --column question=NAME")
    question = case.question if case.question is not None else turns[0] if turns else None
    whole = msgspec.structs.replace(case, id=name, question=question)
    return Asked(
        id=name,
        case=whole,
        turns=with_choices(turns, case.choices),
        expected=sample.expected,
        # A goal says what a person wants but not in which words, so a simulated user has to play that person.
        is_scenario=scenario or not turns,
        beside=rest_in(sample.extra, TABLE).get("folder"),
        remarks=not_done(case),
    )


def _prompts(trajectory: Trajectory | None) -> tuple[str, ...]:
    steps = active_steps(trajectory) if trajectory is not None else ()
    return tuple(text for step in steps if is_prompt(step) and (text := step_text(step)))
