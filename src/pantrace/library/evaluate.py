"""Evaluate recordings into a run directory, as `pantrace eval` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.intake import Done
from pantrace.engine.overwriting import Output, refuse_overwriting
from pantrace.engine.plan import load_plan, prepare
from pantrace.engine.select import Selection
from pantrace.errors import UsageError

from .judging import bench_of
from .results import Results
from .sources import listed, outside_loop


def evaluate(
    *sources: str | PathLike[str],
    out: str | PathLike[str],
    plan: str | PathLike[str] | None = None,
    judges: str | Iterable[str] = (),
    base_url: str | None = None,
    keys: Mapping[str, str] | None = None,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    budget_calls: int | None = None,
    redact: bool = True,
    calibrations: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    cache: str | PathLike[str] | None = None,
    replay: bool = False,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
) -> Results:
    """Evaluate recordings by a plan (a TOML file; without one, everything deterministic) into the run directory `out`.

    The same call again goes on where it was, and measures nothing twice. `.gate()` of what it gives says whether it is
    good enough. Judges are asked only where the plan or `judges` names some."""
    path = Path(plan) if plan is not None else None
    loaded, text, folder = load_plan(path)
    known = [*map(Path, listed(calibrations))]
    ready = prepare(loaded, folder, text, str(path or "plan"), calibrations=known)
    paths = [Path(each) for each in sources]
    if not paths:
        raise UsageError("name what to evaluate: a file or a directory")
    beside = [each for each in (path, ready.reference, *known) if each is not None]
    refuse_overwriting([*paths, *beside], [Output(Path(out), recording=True)])
    given: dict[str, Any] = {
        "models": listed(judges) or None,
        "base_url": base_url,
        "budget_tokens": budget_tokens,
        "budget_usd": budget_usd,
        "budget_calls": budget_calls,
        "redact": False if not redact else None,
    }
    asked = replace(loaded.judge, **{name: value for name, value in given.items() if value is not None})

    def work() -> Done:
        # Made here, since its cache can be used only by the thread that opened it.
        judging = bench_of(asked, cache=cache, replay=replay, keys=keys) if asked.models or ready.rubrics else None
        return evaluate_into(paths, Path(out), ready, text, format=format, selection=selection, judging=judging)

    done = outside_loop(work)
    return Results(out, done.notes.broken, complete=any(each.complete for each in ready.profiles.values()))
