"""Say why samples failed, as `pantrace diagnose` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from pantrace.diagnosis import Diagnosis, Group, as_json
from pantrace.diagnosis.agent_code import read_code
from pantrace.diagnosis.question import BUDGET, Question
from pantrace.engine.diagnose import EXAMPLES, diagnose_pile
from pantrace.engine.diagnose_judge import questions_for, with_opinions
from pantrace.engine.judge import Bench
from pantrace.engine.measure import References
from pantrace.engine.plan import JudgeTable
from pantrace.engine.read import Notes, read_pile
from pantrace.engine.select import Selection
from pantrace.engine.table import Table, Tabular
from pantrace.errors import ReadError, UsageError
from pantrace.model import Sample
from pantrace.places import path_at

from .judging import bench_of
from .sources import outside_loop


class DiagnosisResult(Diagnosis, Tabular, frozen=True, kw_only=True):
    """Why samples failed: groups of failures that share a cause."""

    notes: Notes
    remarks: tuple[str, ...] = ()
    """Remarks for the reader: references without a run, runs that have not finished."""
    judging: Bench | None = None
    questions: tuple[Question, ...] = ()
    """What a judge was asked, or would be asked."""

    __repr__ = Tabular.__repr__

    @property
    def broken(self) -> list[ReadError]:
        """Records that could not be read and are left out."""
        return self.notes.broken

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `pantrace diagnose --json` prints it."""
        return as_json(self) | self.notes.left_out()

    def table(self) -> Table:
        """One row for each group of failures with one cause."""
        columns: dict[str, type] = {"samples": int, "share": float, "cause": str, "subject": str, "title": str}
        columns |= {"certain": bool, "example": str}
        rows = [
            (each.samples, each.share, each.cause, each.subject, each.title, each.certain, _first(each))
            for each in self.groups
        ]
        left_out = [f"left out: {error}" for error in self.broken]
        return Table(columns, [*rows], sentence=self.sentence, notes=[*self.remarks, *left_out])


def _first(group: Group) -> str | None:
    return group.examples[0].sample if group.examples else None


def diagnose(
    *sources: str | PathLike[str],
    reference: str | PathLike[str] | None = None,
    examples: int = EXAMPLES,
    judge: str | None = None,
    base_url: str | None = None,
    source: str | PathLike[str] | None = None,
    max_chars: int = BUDGET,
    keys: Mapping[str, str] | None = None,
    cache: str | PathLike[str] | None = None,
    replay: bool = False,
    budget_calls: int | None = None,
    timeout: float = 120.0,
    retries: int = 4,
    redact: bool = True,
    dry_run: bool = False,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
    on_sample: Callable[[Sample], None] = lambda _: None,
) -> DiagnosisResult:
    """Say why samples failed, grouped by cause.

    With a `judge` (PROVIDER:MODEL), that model is asked for the root cause of each group and what to change; `source`
    is a directory with the agent's code, to be shown to it. With `dry_run` nobody is asked; `.questions` has what would
    be sent. docs/diagnose.md says how a cause is found."""
    if judge is None and (source or replay) and not dry_run:
        raise UsageError(f"{'--source' if source else '--replay'} needs --judge (--dry-run shows what would be asked)")
    # Examples are what the judge reads.
    if examples == 0 and (judge or dry_run):
        raise UsageError("--examples 0 leaves a judge nothing to look at")
    table = JudgeTable(
        models=[judge] if judge is not None else [],
        base_url=base_url,
        max_chars=max_chars,
        budget_calls=budget_calls,
        timeout=timeout,
        retries=retries,
        redact=redact,
    )
    paths = [path_at(each) for each in sources]

    def work() -> DiagnosisResult:
        judging = None
        if judge is not None or dry_run:
            judging = bench_of(table, cache=cache, replay=replay and not dry_run, keys=keys, dry_run=dry_run)
        return diagnose_with(
            paths,
            judging,
            reference=reference,
            examples=examples,
            source=source,
            selection=selection,
            format=format,
            on_sample=on_sample,
            asking=not dry_run,
        )

    return outside_loop(work)


def diagnose_with(
    paths: Sequence[Path],
    judging: Bench | None,
    *,
    reference: str | PathLike[str] | None = None,
    examples: int = EXAMPLES,
    source: str | PathLike[str] | None = None,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
    on_sample: Callable[[Sample], None] = lambda _: None,
    asking: bool = True,
) -> DiagnosisResult:
    """What `diagnose` does, with an existing judge or none."""
    notes = Notes.keeping()
    # Notes of their own: a broken reference is not a broken sample.
    references = References.of(read_pile([path_at(reference)], notes=Notes())) if reference is not None else None
    code = read_code(Path(source), judging.clean) if source is not None and judging is not None else None
    found = diagnose_pile(
        paths,
        notes,
        format=format,
        references=references,
        selection=selection,
        examples=examples,
        on_sample=on_sample,
    )
    questions: Sequence[Question] = ()
    if judging is not None and found.groups:
        questions = questions_for(
            found, paths, judging, format=format, references=references, selection=selection, code=code
        )
        if asking:
            found = with_opinions(found, questions, judging)
    remarks = [*references.to_tell(str(reference))] if references is not None else []
    # Field by field: to_builtins would turn the structs inside into dictionaries.
    every = {name: getattr(found, name) for name in found.__struct_fields__}
    return DiagnosisResult(**every, notes=notes, remarks=tuple(remarks), judging=judging, questions=tuple(questions))
