"""Shell completion: names of formats, metrics and profiles, and the sample ids in a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

MOST = 2000
"""Maximum number of ids that are read: the user is waiting for the completion."""


def complete_formats(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """Formats by name."""
    from pantrace.formats import names

    return [name for name in names() if name.startswith(typed)]


def complete_metrics(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """Metrics by name and, after a dot, by measure."""
    from pantrace.metrics import measures, names

    known = [*names(), *(each.address for each in measures())] if "." in typed else names()
    return [name for name in dict.fromkeys(known) if name.startswith(typed)]


def complete_profiles(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """Built-in profiles."""
    from pantrace.policy import profile_names

    return [name for name in profile_names() if name.startswith(typed)]


def complete_samples(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """Ids of the samples in the recordings that are already on the command line."""
    from itertools import islice
    from pathlib import Path

    from pantrace.engine.read import Notes, read_pile
    from pantrace.errors import PantraceError

    # While an option has no value yet, click leaves the paths among the words that it could not parse.
    given = [path for each in (*(context.params.get("sources") or ()), *context.args) if (path := Path(each)).exists()]
    try:
        # Notes of its own: nothing may be printed while the shell completes.
        run = read_pile(given, format=context.params.get("from_"), notes=Notes.keeping())
        return [each.id for each in islice(run.samples, MOST) if each.id.startswith(typed)]
    except (PantraceError, OSError):
        return []  # an error message would be printed into the middle of the command line
