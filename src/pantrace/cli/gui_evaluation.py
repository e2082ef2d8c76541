"""`pantrace measure --format openadapt-eval`: the evaluation JSON of GUI agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import time
from typing import TYPE_CHECKING

from pantrace.errors import UsageError

from .output import say

if TYPE_CHECKING:
    from pantrace.engine.measure import Chosen, Row
    from pantrace.model import Record, Run

FORMAT = "openadapt-eval"


def evaluation_options(texts: tuple[str, ...]) -> Record:
    """The fields that were set; a UsageError lists the existing ones."""
    from pantrace.engine.target import parse_options
    from pantrace.formats import by_name

    pairs = [text.partition("=") for text in texts]
    if wrong := next((name for name, sign, _ in pairs if not sign), None):
        raise UsageError(f"--option {wrong!r} must be NAME=VALUE")
    return parse_options(by_name(FORMAT), {name: value for name, _, value in pairs})


def write_evaluation(
    rows: Iterator[Row], out: str, gui: list[Chosen], run: Run, options: Record, begun: float
) -> Callable[[], None]:
    """Measure and write; returns a function that prints the messages. The time and duration of the evaluation are
    measured here, but not the machine on which the policy ran."""
    from pantrace.engine.convert import write
    from pantrace.engine.overview import Overview
    from pantrace.model import Run, Source

    overview = Overview(gui, whole=True).add_all(rows)
    results = overview.aggregates()
    config = {**run.config, "dsl_mode": getattr(gui[0][1], "dsl_mode")}  # noqa: B009 -- the settings' type is not known here
    config["eval_duration_seconds"] = round(time() - begun, 3)
    header = Run(
        name=run.name,
        created=begun,
        results=tuple(results),
        config=config,
        model=run.model,
        checkpoint=run.checkpoint,
        # Only as recorded: this machine is not the one that the policy ran on.
        environment={name: run.environment[name] for name in ("device", "gpu", "memory_gb") if name in run.environment},
        source=Source(format=FORMAT),
    )
    write(header, out, to=FORMAT, options=options)
    known = {"config_path": run.config.get("config_path"), "backend": run.model}
    # The document requires both, but a recording cannot know them; a warning, because the file is readable without.
    absent = [name for name, value in known.items() if value is None and getattr(options, name) is None]

    def tell() -> None:
        say(f"wrote {len(results)} metrics to {out}")
        line = next((each for each, _, _ in overview.shown([]) if each.known is not None), None)
        if line is not None and not line.scored:
            say(f"no episode was measured: {line.main_reason}")
        if absent:
            told = " ".join(f"--option {name}=..." for name in absent)
            say(f"warning: {' and '.join(absent)} left out, because the recordings do not say: {told}")

    return tell
