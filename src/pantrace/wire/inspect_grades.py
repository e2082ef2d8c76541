"""Grades: the letters of Inspect's scorers, and the numbers that Inspect uses for them."""

from __future__ import annotations

GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Correct, incorrect, partially correct, no answer."""
