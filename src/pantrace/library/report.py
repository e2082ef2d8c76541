"""Write runs as one file to look at, as `pantrace report` does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from pantrace.engine.overwriting import Output, refuse_overwriting
from pantrace.engine.read import Notes, read_pile
from pantrace.engine.select import Selection
from pantrace.engine.table import Table, Tabular
from pantrace.errors import NothingWritten, ReadError, UsageError
from pantrace.model import Sample
from pantrace.normalise.secrets import Redactor
from pantrace.places import path_at
from pantrace.viewer import write_report
from pantrace.wire.output import writing

from .shown import LEFT_OUT, Wanted, gather


@dataclass(repr=False)
class ReportFile(Tabular):
    """A report that was written. It can be used wherever a path can."""

    path: Path
    runs: int
    samples: int
    dropped: list[str]
    """What was left out to stay below `max_size`."""
    remarks: list[str]
    notes: Notes
    replaced: int = 0
    """Number of secrets that were replaced."""

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def size(self) -> int:
        """Bytes of the file as it is now."""
        return self.path.stat().st_size

    def to_dict(self) -> dict[str, Any]:
        """What was written, as `pantrace report --json` prints it."""
        found = {"output": str(self.path), "runs": self.runs, "samples": self.samples, "bytes": self.size}
        return {**found, "replaced": self.replaced, "dropped": self.dropped, "notes": self.remarks}

    def table(self) -> Table:
        """One row: the file."""
        columns: dict[str, type] = {"output": str, "runs": int, "samples": int, "bytes": int}
        notes = [*self.remarks, *(f"left out to stay below max_size: {words}" for words in self.dropped)]
        return Table(columns, [(str(self.path), self.runs, self.samples, self.size)], notes=notes)


def report(
    *sources: str | PathLike[str],
    out: str | PathLike[str],
    failed_only: bool = False,
    redact: bool = True,
    max_size: int | None = None,
    plots: bool = True,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
    on_sample: Callable[[Sample], None] = lambda _: None,
) -> ReportFile:
    """Write runs and recordings as one HTML file that opens in any browser without a server, or as Markdown (.md).

    `max_size` is in bytes: pictures are left out first, then long texts, then the steps of samples that passed.
    Secrets are replaced, unless `redact` is False."""
    target, paths = Path(out), [path_at(each) for each in sources]
    ending = target.suffix.lower()
    if ending not in (".html", ".htm", ".md"):
        raise UsageError(f"{target}: the name must end in .html or .md")
    refuse_overwriting(paths, [Output(target)])
    chosen = selection if selection is not None else Selection()
    # A misspelt id is found before the report is built, which may take minutes.
    chosen.look_up(lambda: read_pile(paths, format=format, notes=Notes.keeping()).samples)
    wanted = Wanted(
        paths=paths,
        format=format,
        selection=chosen,
        sample=chosen.sessions,
        failed_only=failed_only,
        redactor=Redactor() if redact else None,
        drawing=plots and ending != ".md",
        on_sample=on_sample,
    )
    notes = Notes.keeping()
    shown = gather(wanted, notes)
    dropped: list[str] = []
    with writing(target) as file:
        if ending == ".md":
            from pantrace.viewer.markdown import as_markdown

            text, samples = as_markdown(shown)
            file.write(text.encode("utf-8", "replace"))
        else:
            index = write_report(shown, file, max_size=max_size)
            samples, dropped = sum(run["samples"] for run in index["runs"]), index["dropped"]
        # Raised inside `writing`, so that no empty file is left behind.
        lost = [note for run in shown.runs for note in run.notes if note.startswith(LEFT_OUT)]
        if not samples and lost:
            raise ReadError(lost[0].removeprefix(LEFT_OUT))
        if not samples and (failed_only or chosen.narrows):
            what = "none of the samples failed" if failed_only and not chosen.sessions else "no sample was chosen"
            raise NothingWritten(f"{what}, so no report was written")
    remarks = [*shown.notes, *(note for run in shown.runs for note in run.notes)]
    return ReportFile(target, len(shown.runs), samples, dropped, remarks, notes, wanted.replaced)
