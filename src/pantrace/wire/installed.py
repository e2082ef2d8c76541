"""Installed: what other packages add by an entry point (formats, metrics, agents)."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from pantrace.errors import UsageError


@cache
def installed(group: str) -> dict[str, str]:
    """The entry points of a group, name -> "module:attribute"."""
    return {point.name: point.value for point in entry_points(group=group)}


def load_installed(kind: str, name: str, place: str, attribute: str) -> Any:
    """What an entry point stands for. A package that cannot be loaded is reported with its place: otherwise it would
    look like a fault of pantrace. `kind` is the word for it, `attribute` its name if the entry point gives none."""
    module, _, own = place.partition(":")
    try:
        return getattr(import_module(module), own or attribute)
    except Exception as error:
        raise broken_package(kind, name, place, f"cannot be loaded: {_in_words(error)}") from error


def broken_package(kind: str, name: str, place: str, why: str) -> UsageError:
    return UsageError(f"the {kind} {name!r} of an installed package ({place}) {why}")


def _in_words(error: Exception) -> str:
    # The text of a SyntaxError has only the file's name, and most packages have an __init__.py.
    where = f"{error.filename}: " if isinstance(error, SyntaxError) and error.filename else ""
    return f"{type(error).__name__}: {where}{error}"
