"""Validate: finds every place where a file breaks the rules of its format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError, UsageError
from pantrace.formats import Format, by_name, detect
from pantrace.model import Sample, Violation
from pantrace.places import path_at
from pantrace.wire.json import UNFIT, first_misfit
from pantrace.wire.rows import OnBroken, rows_in

from .balance import Balance
from .doubts import doubts
from .nothing_read import nothing_read
from .read import UNFORESEEN, Notes, inputs, not_of_format, open_run
from .run_format import RUN_DIRECTORY
from .table import Table, Tabular


class Violations(list[Violation], Tabular):
    """Where files break the rules of their format; empty if they do not."""

    def __init__(self, found: Iterable[Violation] = (), files: Iterable[Path] = ()):
        super().__init__(found)
        self.files = [*files]
        self.unreadable: list[ReadError] = []
        """Files that could not be read at all."""
        self.notes = Notes(unread=Balance())

    __repr__ = Tabular.__repr__

    @property
    def errors(self) -> list[Violation]:
        """Those that a reader would fail on or misread; the others are warnings."""
        return [each for each in self if each.level == "error"]

    def to_dict(self) -> dict[str, Any]:
        """Counts and violations, as `pantrace validate --json` prints them."""
        count = len(self.errors)
        unread = self.notes.unread
        plain: dict[str, Any] = msgspec.to_builtins(
            {
                "files": [str(path) for path in self.files],
                "errors": count,
                "warnings": len(self) - count,
                "violations": list(self),
                "unreadable": [
                    {"path": each.path, "place": each.place, "message": each.message} for each in self.unreadable
                ],
                "reading": unread.plain() if unread is not None else None,
                "ignored": self.notes.left_out()["ignored"],
                "unfinished": self.notes.unfinished,
            }
        )
        return plain

    def table(self) -> Table:
        """One row for each violation."""
        columns: dict[str, type] = {"level": str, "path": str, "place": str, "message": str}
        rows = [(each.level, each.path, each.place, each.message) for each in self]
        count = len(self.errors)
        return Table(columns, [*rows], sentence=f"{count} errors, {len(self) - count} warnings")


def validate(path_or_data: str | PathLike[str] | Any, format: str | None = None) -> Violations:  # noqa: A002
    """Check a file or a directory against the rules of its format, and name every place that breaks them.

    A decoded record can be checked before it is written, too; then `format` must be given. A file that cannot be read
    raises a ReadError."""
    if isinstance(path_or_data, (str, PathLike)):
        found = validate_files([path_at(path_or_data)], format)
        if found.unreadable:
            raise found.unreadable[0]
        return found
    if format is None:
        raise UsageError("validating data needs the name of its format")
    chosen = by_name(format)
    return Violations(
        chosen.check(path_or_data) if chosen.check is not None else _load_violations(chosen, path_or_data)
    )


def validate_files(paths: Sequence[Path], format: str | None = None) -> Violations:  # noqa: A002
    """The violations of several files or directories; those that cannot be read at all are listed as such."""
    found = Violations()
    for path in paths:
        try:
            found.extend(_file_violations(path, format, found.notes, found.files))
        except ReadError as error:
            found.unreadable.append(error.at(path=str(path)))
            # A file that cannot be opened still belongs to the answer.
            if path not in found.files:
                found.files.append(path)
    return found


def _file_violations(path: Path, format_name: str | None, notes: Notes, files: list[Path]) -> Iterator[Violation]:
    """Violations of a file, or of all recordings in a directory; ReadError if nothing can be read. Each recording that
    is checked is added to `files`; other files, and values without a place in the model, are noted."""
    if path.is_dir():
        yield from _directory_violations(path, format_name, notes, files)
        return
    if not path.exists():
        raise ReadError("no such file or directory", path=str(path))
    files.append(path)
    yield from _violations(path, by_name(format_name) if format_name else detect(path)[0], notes.unread)


def _directory_violations(folder: Path, format_name: str | None, all_: Notes, files: list[Path]) -> Iterator[Violation]:
    notes = Notes.keeping()
    notes.ignored, notes.unfinished = all_.ignored, all_.unfinished
    found = list(inputs([folder], format_name, notes))
    if not found and not notes.broken:
        raise nothing_read([folder], notes.broken)
    for path, chosen, _ in found:
        files.append(path)
        try:
            yield from _violations(path, chosen, all_.unread)
        except ReadError as error:
            notes.on_broken(error.at(path=str(path)))
    for each in notes.broken:
        yield _violation(each)


def _violation(error: ReadError) -> Violation:
    """A record that cannot be read, with what to do about it."""
    message = f"{error.message} ({error.remedy})" if error.remedy else error.message
    return Violation(level="error", message=message, place=error.place, path=error.path)


MOST = 10_000
"""After this many errors, the rest of a file is not checked."""


def _violations(path: Path, chosen: Format, unread: Balance | None) -> Iterator[Violation]:
    errors: list[Violation] = []
    for violation in _in_words(_of(path, chosen), chosen):
        # A part of a run directory is a file of its own, and has been named.
        yield msgspec.structs.replace(violation, path=violation.path or str(path))
        if violation.level == "error":
            errors.append(violation)
        # A file of the wrong format would otherwise give an error for each of a million rows.
        if len(errors) == MOST:
            message = f"{MOST:,} errors: the rest of the file is not checked"
            yield Violation(level="error", message=message, path=str(path))
            return
    # Reads the file a second time, so not for a file that was given up above.
    broken: list[ReadError] = []
    for violation in _doubts(path, chosen, unread, broken.append):
        yield msgspec.structs.replace(violation, path=str(path))
    for violation in _unreported(broken, errors):
        yield msgspec.structs.replace(violation, path=str(path))


def _unreported(broken: list[ReadError], errors: list[Violation]) -> Iterator[Violation]:
    """Records that cannot be read although their format's own check, if it has one, found nothing wrong with them."""
    places = {each.place.partition(", ")[0] if each.place else None for each in errors}
    messages = {each.message for each in errors}
    for error in broken:
        found = _violation(error)
        if error.place not in places and found.message not in messages:
            yield found


def _in_words(found: Iterator[Violation], chosen: Format) -> Iterator[Violation]:
    """The same violations; a value on which the check itself fails is one, too."""
    try:
        yield from found
    except UNFORESEEN as error:
        message = f"{not_of_format(chosen.name, error).message}; the rest is not checked"
        yield Violation(level="error", message=message)


def _doubts(path: Path, chosen: Format, unread: Balance | None, on_broken: OnBroken) -> Iterator[Violation]:
    """Warnings that are the same for all formats: contradictions in what was read. Values without a place in the model
    are measured on the way."""
    try:
        opening = partial(open_run, path, chosen, "")
        # The run file's own keys, such as the hash of the plan, are in no sample, and are not lost either.
        measured = unread if chosen is not RUN_DIRECTORY else None
        run = opening(on_broken) if measured is None else measured.open(path, chosen, "", on_broken, opening)
        for sample in run.samples:
            for place, doubt in doubts(sample):
                yield Violation(level="warning", message=doubt, place=f"sample {sample.id}, {place}")
    except ReadError as error:
        on_broken(error)


def _of(path: Path, chosen: Format) -> Iterator[Violation]:
    several = chosen.holds_several(path)
    if chosen.validate is not None and not several:
        yield from chosen.validate(path)
        return
    broken: list[ReadError] = []
    if chosen.load is None or (chosen.open is not None and chosen.check is None):
        # A container without a check of its own is valid if all of it can be read.
        for _ in open_run(path, chosen, "", broken.append).samples:
            pass
        yield from map(_violation, broken)
        return
    for place, row in rows_in(path, "lines" if several else chosen.layout, broken.append):
        yield from map(_violation, broken)
        broken.clear()
        checked = chosen.check(row) if chosen.check else _load_violations(chosen, row)
        for violation in checked:
            inner = ", ".join(part for part in (place, violation.place) if part)
            yield msgspec.structs.replace(violation, place=inner or None)
    yield from map(_violation, broken)


def _load_violations(chosen: Format, row: Any) -> Iterator[Violation]:
    assert chosen.load is not None
    try:
        sample: Sample = chosen.load(row)
    except ReadError as error:
        yield _violation(error)
    except UNFORESEEN as error:
        yield _violation(not_of_format(chosen.name, error))
    else:
        if not chosen.typed and (why := first_misfit(sample, Sample)) is not None:
            yield _violation(ReadError(why, remedy=UNFIT))
        elif not sample.id:
            yield Violation(level="warning", message="the record has no id")
