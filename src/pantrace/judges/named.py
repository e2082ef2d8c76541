"""Rubrics of both kinds by name: our own, and those that a service keeps."""

from __future__ import annotations

from .managed import Managed, is_managed, managed_metric
from .rubric import Rubric, load_rubric

AnyRubric = Rubric | Managed


def load_any_rubric(name_or_path: str) -> AnyRubric:
    """A rubric by name or file, or a managed metric as vertex:NAME_VERSION."""
    return managed_metric(name_or_path) if is_managed(name_or_path) else load_rubric(name_or_path)
