"""Check recordings against rules, as `pantrace check` does."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from pantrace.engine.check import CheckReport, run_rules
from pantrace.engine.measure import load_plugins
from pantrace.engine.read import Notes, split_children
from pantrace.engine.select import Selection
from pantrace.errors import UsageError
from pantrace.model import Run
from pantrace.rules import load_rules

from .sources import Recordings, listed, pile_of


def check(
    *sources: Recordings,
    rules: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    plugins: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    sub_agents: bool = False,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
) -> CheckReport:
    """Check recordings against rule files or packs: what must be said, called, or called first.

    A rule that does not apply to a recording is not a pass. `.passed` is True when every rule that applied was kept,
    None when none applied or one could not be evaluated."""
    loaded = [load_rules(name) for name in listed(rules)]
    checks = [(each, each.settings()) for each in load_plugins([*map(Path, listed(plugins))]).values()]
    if not loaded and not checks:
        raise UsageError("name a rule file or a pack: rules=..., or metrics of your own: plugins=...")
    notes = Notes.keeping()
    run = pile_of(sources, format, notes)
    samples = split_children(run.samples) if sub_agents else run.samples
    report = CheckReport(inputs=[str(each.name if isinstance(each, Run) else each) for each in sources])
    run_rules(selection.apply(samples) if selection is not None else samples, loaded, checks, report)
    report.broken = notes.broken
    return report
