"""Target: which format to write, and with which options, from what the user gave."""

from __future__ import annotations

from os import PathLike, fspath

import msgspec

from pantrace.errors import UsageError
from pantrace.formats import Format
from pantrace.model import Record

SUFFIXES = {".eval": "inspect", ".trace.jsonl": "native", ".trace.jsonl.zst": "native"}
"""Suffixes that determine the format to write."""


def format_named_by(output: str | PathLike[str]) -> str | None:
    """The format by the suffix of an output; None if it has no known one."""
    return next((form for suffix, form in SUFFIXES.items() if fspath(output).endswith(suffix)), None)


def no_format(output: str | PathLike[str] | None) -> UsageError:
    """The error if neither the user nor the output's name says which format to write."""
    named = f"{fspath(output)} does not say which format to write" if output else "no format to write is named"
    known = ", ".join(f"{suffix} is {name}" for suffix, name in SUFFIXES.items())
    return UsageError(f"{named}: add --to FORMAT (`pantrace formats` lists them; {known})")


def parse_options(target: Format, given: dict[str, str]) -> Record:
    """The writer's options from their texts; a UsageError that lists the known options."""
    known = {each.name: each for each in msgspec.structs.fields(target.options)}
    for name in given:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise UsageError(f"{target.name} has no option {name!r}; its options: {listed}")
    try:
        return msgspec.convert(given, target.options, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"wrong option for {target.name}: {error}") from None
