"""The viewer: recordings and results as pages. One front end, for a file that contains its data and for a server."""

from __future__ import annotations

from .report import write_report
from .shown import Comparison, Plot, Shown, ShownRun, ShownSample

__all__ = ["Comparison", "Plot", "Shown", "ShownRun", "ShownSample", "write_report"]
