"""Draw evaluations, as `pantrace plot` does."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from pantrace.engine.metric_values import Evaluation, read_evaluations, warnings_of
from pantrace.engine.overwriting import Output, refuse_overwriting
from pantrace.engine.plot import Kind, figure, kind_of, label_names, save
from pantrace.engine.read import Notes
from pantrace.engine.table import Table, Tabular
from pantrace.errors import UsageError
from pantrace.metrics import full_address
from pantrace.normalise.secrets import Redactor
from pantrace.places import path_at
from pantrace.plots import DPI, render

from .sources import listed, refuse_other


@dataclass(repr=False)
class Figure:
    """A chart; notebooks show it."""

    kind: Kind
    spec: dict[str, Any]
    """The Vega-Lite specification."""
    sources: tuple[Path, ...] = ()
    evaluations: tuple[tuple[str, Evaluation], ...] = ()
    """What was drawn, with the labels in the picture."""
    warnings: tuple[str, ...] = ()
    notes: Notes = field(default_factory=Notes.keeping)
    output: Path | None = None
    """Where it was last saved."""

    def save(
        self,
        out: str | PathLike[str],
        *,
        kind: str | None = None,
        width: float | None = None,
        height: float | None = None,
        dpi: int = DPI,
    ) -> Path:
        """Write it: .png, .svg, .pdf, .html (which needs no network) or .vl.json; `kind` if the name does not say so.
        Width and height are in points."""
        target = Path(out)
        refuse_overwriting(self.sources, [Output(target)])
        save(self.spec, target, kind or kind_of(target), width=width, height=height, dpi=dpi)
        self.output = target
        return target

    def to_dict(self) -> dict[str, Any]:
        """What was drawn, as `pantrace plot --json` prints it; `.spec` is the Vega-Lite specification."""
        return {
            "output": str(self.output) if self.output is not None else None,
            "kind": self.kind,
            "evaluations": [
                {"label": label, "path": each.path, "format": each.format, "metrics": [*each.metrics]}
                for label, each in self.evaluations
            ],
        }

    def table(self) -> Table:
        """One row for each metric of each evaluation."""
        columns: dict[str, type] = {"label": str, "metric": str, "value": float, "low": float, "high": float, "n": int}
        rows = [
            (label, name, *((None,) * 4 if at is None else (at.value, at.low, at.high, at.n)))
            for label, each in self.evaluations
            for name, at in ((name, found.estimate) for name, found in each.metrics.items())
        ]
        return Table(columns, [*rows])

    # Not inherited: a notebook would show the table instead of the picture.
    overview = Tabular.overview
    to_pandas = Tabular.to_pandas
    to_polars = Tabular.to_polars
    to_arrow = Tabular.to_arrow
    __rich__ = Tabular.__rich__

    def __repr__(self) -> str:
        return f"<{self.kind} plot of {', '.join(map(str, self.sources))}; .save('plot.svg') writes it>"

    def _repr_svg_(self) -> str:
        return render(self.spec, "svg").decode()


def plot(
    *sources: str | PathLike[str],
    kind: Kind = "comparison",
    metrics: str | Iterable[str] = (),
    labels: str | Iterable[str] = (),
    cluster: str | None = None,
    title: str | None = None,
    format: str | None = None,  # noqa: A002
    redact: bool = True,
) -> Figure:
    """Draw evaluations: eval JSON files, run directories, recordings whose samples have scores.

    comparison: bars of all metrics; distribution: of samples' scores; paired: case by case between two evaluations;
    passk: all of k trials succeed. What is null is a gap, never a bar of zero. `labels` are names for the evaluations,
    in order, as a list or separated by commas. Secrets in names are replaced, unless `redact` is False. `.save(FILE)`
    writes the picture."""
    refuse_other("kind", kind, get_args(Kind))
    paths = [path_at(each) for each in sources]
    notes = Notes.keeping()
    found = read_evaluations(paths, format=format, cluster=cluster, notes=notes)
    if not found:
        raise UsageError(f"nothing to draw: no input has a stored result or a score{notes.unread_words()}")
    asked = [full_address(name) for name in listed(metrics)]
    try:
        # CSV, so that a label in quotes may contain a comma.
        words = [name.strip() for row in csv.reader(listed(labels)) for name in row]
    except csv.Error:
        raise UsageError("labels must be names separated by commas, without line breaks") from None
    named = label_names(found, words)
    drawn = figure(kind, found, named, asked, title, cluster)
    if redact:
        drawn = Redactor().value(drawn)  # it contains names of runs, metrics and cases
    drawn_of = tuple(zip(named, found, strict=True))
    return Figure(kind, drawn, tuple(paths), drawn_of, tuple(warnings_of(found)), notes)
