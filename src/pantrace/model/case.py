"""Case: what was asked, and what is expected."""

from __future__ import annotations

from typing import Any

from .record import Extra, Record


class ExpectedCall(Record, frozen=True, kw_only=True):
    """A tool call that a good answer makes."""

    name: str
    arguments: Any = None
    reason: str | None = None
    outcome: str | None = None
    extra: Extra = {}


class Case(Record, frozen=True, kw_only=True):
    """One task of a dataset. None and empty differ: None was not stated."""

    id: str | None = None
    scenario: str | None = None
    agent: str | None = None
    """The agent under test."""
    question: str | None = None
    context: str | None = None
    relevant_context: str | None = None
    """The part of the context that intent and task depend on."""
    reference: str | None = None
    """The ideal answer."""
    goal: str | None = None
    # None and () differ: no statement, or "call nothing", which a metric can check.
    expected_calls: tuple[ExpectedCall, ...] | None = None
    available_tools: tuple[str, ...] | None = None
    expected_state: dict[str, Any] | None = None
    choices: tuple[str, ...] | None = None
    required_evals: tuple[str, ...] | None = None
    profile: str | None = None
    """Name of the threshold profile that decides the case."""
    contract: str | None = None
    """Name of the output contract that the answer must meet."""
    labels: dict[str, str] = {}
    """phase, difficulty, quality_band, topic, level and the like."""
    extra: Extra = {}
