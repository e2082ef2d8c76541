"""The pytest fixture `pantrace_eval`: evaluate recordings in a test, which fails if they are not good enough."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .results import Results


@pytest.fixture
def pantrace_eval(tmp_path: Path) -> Callable[..., Results]:
    """A function that evaluates recordings by a plan and makes the test fail unless they pass.

    pantrace_eval("runs/", plan="eval.toml") takes the arguments of `pantrace.evaluate`, and `profile`, `min_pass_rate`
    and `complete` of the gate; `gate=False` only evaluates. It returns the results, for your own assertions."""
    made: list[Path] = []

    def evaluated(
        *sources: str | PathLike[str],
        gate: bool = True,
        profile: str | PathLike[str] | None = None,
        min_pass_rate: float | None = None,
        complete: bool = False,
        out: str | PathLike[str] | None = None,
        **options: Any,
    ) -> Results:
        # Imported late: every run of pytest in the environment imports this file, whether it uses the fixture or not.
        from pantrace.errors import PantraceError

        from .evaluate import evaluate

        made.append(Path(out) if out is not None else tmp_path / f"pantrace-{len(made) + 1}")
        try:
            results = evaluate(*sources, out=made[-1], **options)
            decided = results.gate(profile, min_pass_rate=min_pass_rate, complete=complete) if gate else None
        except PantraceError as error:
            pytest.fail(f"pantrace: {error}", pytrace=False)
        if decided is not None and not decided:
            pytest.fail(f"{decided}\nresults: {made[-1]} (pantrace view {made[-1]})", pytrace=False)
        return results

    return evaluated
