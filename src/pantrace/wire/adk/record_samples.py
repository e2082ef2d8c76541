"""The samples of a file with many records, and the places of those that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from pantrace.errors import ReadError
from pantrace.model import RunHeader, Sample, Source
from pantrace.wire.json import in_words
from pantrace.wire.rows import OnBroken
from pantrace.wire.source import with_source

MISSHAPEN = (LookupError, TypeError, ValueError, AttributeError, msgspec.ValidationError)
"""What readers raise for a record that does not have the shape of its format."""


def samples_of(
    records: Iterable[tuple[str | None, Callable[[], Sample]]], what: str, source: Source, on_broken: OnBroken
) -> Iterator[Sample]:
    """The samples of records, each made by a function for its place in the file. One that is not `what` it should be
    goes to `on_broken`."""
    for place, made in records:
        try:
            sample = made()
        except ReadError as error:
            on_broken(error.at(path=source.path, place=place))
        except MISSHAPEN as error:
            # Hand-edited files break in ways that no reader foresees; one bad case must not end the file.
            on_broken(ReadError(f"not {what}: {_explain(error)}", path=source.path, place=place))
        else:
            yield with_source(sample, msgspec.structs.replace(source, place=place))


def _explain(error: Exception) -> str:
    """An unexpected error of a reader, in words."""
    if isinstance(error, msgspec.ValidationError):
        return in_words(error)
    return f"key {error} is missing" if isinstance(error, KeyError) else str(error)


def header_of_file(made: Callable[[], RunHeader], source: Source) -> RunHeader:
    """A file's header with its source; ReadError if it does not fit."""
    try:
        return msgspec.structs.replace(made(), source=source)
    except ReadError as error:
        raise error.at(path=source.path) from None
    except MISSHAPEN as error:
        raise ReadError(f"the header is not valid: {error}", path=source.path) from None
