"""Draw evaluations, as `pantrace plot` does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from pantrace.engine.metric_values import read_evaluations, warnings_of
from pantrace.engine.overwriting import Output, refuse_overwriting
from pantrace.engine.plot import Kind, figure, label_names, save
from pantrace.engine.read import Notes
from pantrace.errors import UsageError
from pantrace.metrics import full_address
from pantrace.plots import DPI, render

from .sources import listed, refuse_other


@dataclass(repr=False)
class Figure:
    """A picture; a notebook shows it."""

    kind: Kind
    spec: dict[str, Any]
    """As Vega-Lite has it."""
    sources: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()

    def save(
        self,
        path: str | PathLike[str],
        *,
        width: float | None = None,
        height: float | None = None,
        dpi: int = DPI,
    ) -> Path:
        """Write it: .png, .svg, .pdf, .html (which needs no network) or .vl.json; width and height in points."""
        target = Path(path)
        refuse_overwriting(self.sources, [Output(target)])
        save(self.spec, target, width=width, height=height, dpi=dpi)
        return target

    def to_dict(self) -> dict[str, Any]:
        """The Vega-Lite specification."""
        return self.spec

    def __repr__(self) -> str:
        return f"<{self.kind} plot of {', '.join(map(str, self.sources))}; .save('plot.svg') writes it>"

    def _repr_svg_(self) -> str:
        return render(self.spec, "svg").decode()


def plot(
    *sources: str | PathLike[str],
    kind: Kind = "comparison",
    metrics: str | Iterable[str] = (),
    labels: Iterable[str] = (),
    cluster: str | None = None,
    title: str | None = None,
    format: str | None = None,  # noqa: A002
) -> Figure:
    """Draw evaluations: eval JSON files, run directories, recordings whose samples have scores.

    comparison: bars of all metrics; distribution: of samples' scores; paired: case by case between two evaluations;
    passk: all of k trials succeed. What is null is a gap, never a bar of zero."""
    refuse_other("kind", kind, get_args(Kind))
    paths = [Path(each) for each in sources]
    found = read_evaluations(paths, format=format, cluster=cluster, notes=Notes.keeping())
    if not found:
        raise UsageError("nothing to draw: no input has a stored result or a score")
    asked = [full_address(name) for name in listed(metrics)]
    drawn = figure(kind, found, label_names(found, [*labels]), asked, title, cluster)
    return Figure(kind, drawn, tuple(paths), tuple(warnings_of(found)))
