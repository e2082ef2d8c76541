"""Evaluate recordings into a run directory, as `pantrace eval` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.executor import ONE_PROCESS, Engine
from pantrace.engine.intake import Done
from pantrace.engine.judge import Bench
from pantrace.engine.overwriting import Output, refuse_overwriting
from pantrace.engine.plan import JudgeTable, Plan, Ready, load_plan, prepare
from pantrace.engine.select import Selection
from pantrace.errors import UsageError
from pantrace.judges import Managed
from pantrace.model import Sample
from pantrace.places import path_at, run_path_at

from .access import named_project
from .judging import bench_of
from .results import Results
from .sources import listed, outside_loop


@dataclass(frozen=True)
class Planned:
    """A plan, and what it needs from other files."""

    plan: Plan
    text: str
    ready: Ready
    beside: list[Path]
    """Files that are read in addition to the recordings, and must not be overwritten."""
    folder: Path
    """Where the plan's other files are."""

    @property
    def datasets(self) -> list[Path]:
        """The datasets that the plan names."""
        return [self.folder / each for each in self.plan.run.dataset]

    def judge_table(
        self,
        *,
        judges: Sequence[str] = (),
        base_url: str | None = None,
        budget_tokens: int | None = None,
        budget_usd: float | None = None,
        budget_calls: int | None = None,
        redact: bool = True,
    ) -> JudgeTable:
        """The plan's settings for judges; arguments given here take precedence."""
        given: dict[str, Any] = {
            "models": list(dict.fromkeys(judges)) or None,
            "base_url": base_url,
            "budget_tokens": budget_tokens,
            "budget_usd": budget_usd,
            "budget_calls": budget_calls,
            # None leaves the plan's value: only switching it off is an explicit wish.
            "redact": None if redact else False,
        }
        return replace(self.plan.judge, **{name: value for name, value in given.items() if value is not None})


def read_plan(plan: str | PathLike[str] | None, calibrations: Iterable[str | PathLike[str]] = ()) -> Planned:
    """A plan from its file; without one, a plan that measures everything deterministic."""
    path = Path(plan) if plan is not None else None
    known = [Path(each) for each in calibrations]
    loaded, text, folder = load_plan(path)
    ready = prepare(loaded, folder, text, str(path or "plan"), calibrations=known)
    beside = [each for each in (path, ready.reference, *known) if each is not None]
    return Planned(loaded, text, ready, beside, folder)


def evaluate_planned(
    planned: Planned,
    paths: Sequence[Path],
    out: Path,
    table: JudgeTable,
    *,
    project: str | None = None,
    location: str | None = None,
    keys: Mapping[str, str] | None = None,
    cache: str | PathLike[str] | None = None,
    replay: bool = False,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
    on_sample: Callable[[Sample], None] = lambda _: None,
    engine: Engine = ONE_PROCESS,
) -> Results:
    """What `evaluate` and `pantrace eval` do with a plan."""
    if not paths:
        raise UsageError("name what to evaluate: a file or a directory")
    # Before anything is read: a run directory inside an input would be read by the next run.
    refuse_overwriting([*paths, *planned.beside], [Output(out, recording=True)])
    ready = planned.ready
    managed = any(isinstance(rubric, Managed) for rubric in ready.rubrics)
    # Cases may require managed metrics, too: a user who names a project wants them judged.
    vertex = named_project(project, location, table.base_url) if managed or project or location else None
    chosen = None if selection is None or selection == Selection() else selection

    def work() -> tuple[Done, Bench | None]:
        # Created inside `work`: SQLite's cache can be used only by the thread that opened it.
        judging = None
        if replay or table.models or ready.rubrics or vertex is not None:
            judging = bench_of(table, cache=cache, replay=replay, keys=keys, vertex=vertex, manages=managed)
        done = evaluate_into(
            [*paths],
            out,
            ready,
            planned.text,
            format=format,
            selection=chosen,
            on_sample=on_sample,
            judging=judging,
            engine=engine,
        )
        return done, judging

    done, judging = outside_loop(work)
    return Results(out, done, judging=judging, ready=ready)


def evaluate(
    *sources: str | PathLike[str],
    out: str | PathLike[str],
    plan: str | PathLike[str] | None = None,
    judges: str | Iterable[str] = (),
    base_url: str | None = None,
    project: str | None = None,
    location: str | None = None,
    keys: Mapping[str, str] | None = None,
    cache: str | PathLike[str] | None = None,
    replay: bool = False,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    budget_calls: int | None = None,
    redact: bool = True,
    calibrations: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
    engine: Engine = ONE_PROCESS,
    on_sample: Callable[[Sample], None] = lambda _: None,
) -> Results:
    """Evaluate recordings by a plan into the run directory `out`: measure, check, judge, decide, keep.

    The plan is a TOML file; without one, everything deterministic is measured. Judges are asked only if the plan or
    `judges` names some. Call it again after an interruption and it continues; nothing is measured twice. `.gate()` of
    the result says whether the run is good enough."""
    planned = read_plan(plan, listed(calibrations))
    table = planned.judge_table(
        judges=listed(judges),
        base_url=base_url,
        budget_tokens=budget_tokens,
        budget_usd=budget_usd,
        budget_calls=budget_calls,
        redact=redact,
    )
    return evaluate_planned(
        planned,
        [path_at(each) for each in sources],
        run_path_at(out),
        table,
        project=project,
        location=location,
        keys=keys,
        cache=cache,
        replay=replay,
        selection=selection,
        format=format,
        on_sample=on_sample,
        engine=engine,
    )
