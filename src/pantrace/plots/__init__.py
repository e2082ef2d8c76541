"""Figures, one per file: numbers in, a Vega-Lite dict out. `render` draws it. A missing value is a gap with a mark."""

from __future__ import annotations

from .comparison import Bar, comparison
from .distribution import Values, distribution
from .paired import CasePair, paired
from .passk import Curve, pass_curve
from .render import DPI, KINDS, render

__all__ = [
    "DPI",
    "KINDS",
    "Bar",
    "CasePair",
    "Curve",
    "Values",
    "comparison",
    "distribution",
    "paired",
    "pass_curve",
    "render",
]
