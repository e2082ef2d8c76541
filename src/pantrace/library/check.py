"""Check recordings against rules, as `pantrace check` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Literal

from pantrace.engine.check import CheckReport, run_rules
from pantrace.engine.check_part import CheckParts
from pantrace.engine.executor import ONE_PROCESS, Engine, InProcess
from pantrace.engine.measure import load_plugins
from pantrace.engine.pile_parts import done_parts
from pantrace.engine.read import split_children, watch
from pantrace.engine.select import Selection
from pantrace.errors import UsageError
from pantrace.model import Run, Sample
from pantrace.policy.share import demanded_rate
from pantrace.rules import load_rules, packs

from .sources import Recordings, engine_for, listed, paths_of, pile_of, refuse_other


def check(
    *sources: Recordings,
    rules: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    plugins: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    min_pass_rate: float | None = None,
    count_not_applicable_as: Literal["nothing", "pass"] = "nothing",
    sub_agents: bool = False,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
    on_sample: Callable[[Sample], None] = lambda _: None,
    engine: Engine = ONE_PROCESS,
    on_start: Callable[[str], None] = lambda _: None,
) -> CheckReport:
    """Check recordings against rule files or packs: what must be said, called, or called first.

    A rule that does not apply to a recording is not a pass. `.passed` says whether every rule that applied was kept, or
    the share `min_pass_rate` of them. It is None if no rule applied or one could not be evaluated."""
    refuse_other("count_not_applicable_as", count_not_applicable_as, ("nothing", "pass"))
    loaded = [load_rules(name) for name in listed(rules)]
    checks = [(each, each.settings()) for each in load_plugins([*map(Path, listed(plugins))]).values()]
    if not loaded and not checks:
        known = ", ".join(packs())
        raise UsageError(f"name a rule file or a pack ({known}) as rules, or a file with checks of your own as plugins")
    report = CheckReport(
        inputs=[str(each.name if isinstance(each, Run) else each) for each in sources],
        not_applicable_passes=count_not_applicable_as == "pass",
        rules=loaded,
        min_pass_rate=demanded_rate(min_pass_rate),
    )
    # Other processes get names of rules, not rules: each loads them itself, which is cheaper than sending them.
    executor = engine_for(sources, engine, selection, on_start, CheckParts)
    if not isinstance(executor, InProcess):
        task = CheckParts(
            rules=tuple(map(str, listed(rules))),
            plugins=tuple(map(Path, listed(plugins))),
            selection=selection if selection is not None else Selection(),
            sub_agents=sub_agents,
        )
        with executor:
            for found in done_parts(paths_of(sources), format, task, executor, report.notes):
                report.sessions += found.sessions
                report.see(found.tools_seen)
                for sample, _ in found.sessions:
                    on_sample(sample)
        return report
    run = pile_of(sources, format, report.notes)
    samples = split_children(run.samples) if sub_agents else run.samples
    chosen = selection.apply(samples) if selection is not None else samples
    return run_rules(watch(chosen, on_sample), loaded, checks, report)
