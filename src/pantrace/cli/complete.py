"""What the shell may complete: names of formats, metrics and profiles, and the ids in a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

MOST = 2000
"""Ids that are read for a completion: whoever presses the key waits."""


def complete_formats(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """Formats by name."""
    from pantrace.formats import names

    return [name for name in names() if name.startswith(typed)]


def complete_metrics(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """Metrics by name and, behind a dot, by measure."""
    from pantrace.metrics import measures, names

    known = [*names(), *(each.address for each in measures())] if "." in typed else names()
    return [name for name in dict.fromkeys(known) if name.startswith(typed)]


def complete_profiles(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """Profiles that are built in."""
    from pantrace.policy import profile_names

    return [name for name in profile_names() if name.startswith(typed)]


def complete_samples(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """Ids of the samples in the recordings that stand on the line already."""
    from itertools import islice
    from pathlib import Path

    from pantrace.engine.read import Notes, read_pile
    from pantrace.errors import PantraceError

    # Behind an option that has no value yet, click leaves the paths among the words that it could not place.
    given = [path for each in (*(context.params.get("sources") or ()), *context.args) if (path := Path(each)).exists()]
    try:
        run = read_pile(given, format=context.params.get("from_"), notes=Notes.keeping())
        return [each.id for each in islice(run.samples, MOST) if each.id.startswith(typed)]
    except (PantraceError, OSError):
        return []  # a shell shows nothing of what went wrong
