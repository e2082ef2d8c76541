"""Files of many records: what can be read of them, and where what cannot be read stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from pantrace.errors import ReadError
from pantrace.model import RunHeader, Sample, Source
from pantrace.wire.json import in_words
from pantrace.wire.rows import OnBroken
from pantrace.wire.source import with_source

MISSHAPEN = (LookupError, TypeError, ValueError, AttributeError, msgspec.ValidationError)
"""What reading a record raises that has not the outline of its format."""


def samples_of(
    records: Iterable[tuple[str | None, Callable[[], Sample]]], what: str, source: Source, on_broken: OnBroken
) -> Iterator[Sample]:
    """The samples of records, each made by a function at its place in a file; one that is not `what` it should be goes
    to `on_broken`."""
    for place, made in records:
        try:
            sample = made()
        except ReadError as error:
            on_broken(error.at(path=source.path, place=place))
        except MISSHAPEN as error:
            on_broken(ReadError(f"not {what}: {_told(error)}", path=source.path, place=place))
        else:
            yield with_source(sample, msgspec.structs.replace(source, place=place))


def _told(error: Exception) -> str:
    """What is wrong with a record that its reader did not foresee."""
    if isinstance(error, msgspec.ValidationError):
        return in_words(error)
    return f"key {error} is missing" if isinstance(error, KeyError) else str(error)


def header_of_file(made: Callable[[], RunHeader], source: Source) -> RunHeader:
    """The header of a file with its source; ReadError when it does not fit."""
    try:
        return msgspec.structs.replace(made(), source=source)
    except ReadError as error:
        raise error.at(path=source.path) from None
    except MISSHAPEN as error:
        raise ReadError(f"the header does not fit: {error}", path=source.path) from None
