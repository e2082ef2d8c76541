"""Diagnosis: why samples failed. Deterministic first; a judge can say more about each group."""

from __future__ import annotations

from .choosing import Failure, Tally
from .finding import CAUSES, Finding, Place, Waste
from .groups import Example, Group
from .markdown import as_markdown
from .report import Diagnosis, Opinion, as_json, diagnosis_of
from .sample import Diagnosed, diagnose_sample
from .words import place_words, seen_words, show_words, waste_words

__all__ = [
    "CAUSES",
    "Diagnosed",
    "Diagnosis",
    "Example",
    "Failure",
    "Finding",
    "Group",
    "Opinion",
    "Place",
    "Tally",
    "Waste",
    "as_json",
    "as_markdown",
    "diagnose_sample",
    "diagnosis_of",
    "place_words",
    "seen_words",
    "show_words",
    "waste_words",
]
