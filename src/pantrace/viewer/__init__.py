"""The viewer: recordings and results as pages. One front end, two doors: a file that holds its data, and a server."""

from __future__ import annotations

from .report import write_report
from .shown import Comparison, Plot, Shown, ShownRun, ShownSample

__all__ = ["Comparison", "Plot", "Shown", "ShownRun", "ShownSample", "write_report"]
