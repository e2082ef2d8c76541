"""Managed metrics: those of a metric-definition file that Vertex AI judges itself."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from pantrace.model import Score


class Managed(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that runs on Vertex."""

    name: str
    """The name that its score carries."""
    metric: str
    """Vertex's own name, in small letters: multi_turn_general_quality."""
    guidelines: str | None = None
    agents: tuple[str, ...] = ()
    """Apps or agents that it is for; empty: all."""


def not_run_here(managed: Managed, rubrics: Collection[str]) -> Score:
    """An unscored score that says where the metric runs, and which rubric can stand in for it."""
    ours = re.sub(r"_v\d+$", "", managed.metric)
    instead = f"; the rubric {ours} of pantrace can stand in for it" if ours in rubrics else ""
    return Score(
        name=managed.name,
        status="unscored",
        explanation=f"{managed.metric} is judged by Vertex AI itself{instead}",
    )
