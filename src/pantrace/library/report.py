"""Write runs as one file to look at, as `pantrace report` does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from pantrace.engine.overwriting import Output, refuse_overwriting
from pantrace.engine.read import Notes
from pantrace.engine.select import Selection
from pantrace.errors import NothingWritten, UsageError
from pantrace.normalise.secrets import Redactor
from pantrace.viewer import write_report
from pantrace.wire.output import writing

from .shown import Wanted, gather
from .sources import listed


@dataclass
class ReportFile:
    """A report that was written."""

    path: Path
    runs: int
    samples: int
    dropped: list[str]
    """What was left out to stay below `max_size`."""
    notes: list[str]

    def __fspath__(self) -> str:
        return str(self.path)


def report(
    *sources: str | PathLike[str],
    out: str | PathLike[str],
    sample: str | Iterable[str] = (),
    failed_only: bool = False,
    redact: bool = False,
    max_size: int | None = None,
    plots: bool = True,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
) -> ReportFile:
    """Write runs and recordings as one HTML file that opens in any browser without a server, or as Markdown (.md).

    `max_size` is in bytes; `redact` replaces secrets."""
    target, paths = Path(out), [Path(each) for each in sources]
    ending = target.suffix.lower()
    if ending not in (".html", ".htm", ".md"):
        raise UsageError(f"{target}: the name must end in .html or .md")
    refuse_overwriting(paths, [Output(target)])
    chosen = selection or Selection()
    wanted = Wanted(
        paths=paths,
        format=format,
        selection=chosen,
        sample=tuple(listed(sample)),
        failed_only=failed_only,
        redactor=Redactor() if redact else None,
        drawing=plots and ending != ".md",
    )
    shown = gather(wanted, Notes.keeping())
    dropped: list[str] = []
    with writing(target) as file:
        if ending == ".md":
            from pantrace.viewer.markdown import as_markdown

            text, samples = as_markdown(shown)
            file.write(text.encode("utf-8", "replace"))
        else:
            index = write_report(shown, file, max_size=max_size)
            samples, dropped = sum(run["samples"] for run in index["runs"]), index["dropped"]
        if not samples and (wanted.sample or failed_only or chosen.narrows):
            raise NothingWritten("no sample is wanted, so no report was written")
    notes = [*shown.notes, *(note for run in shown.runs for note in run.notes)]
    return ReportFile(target, len(shown.runs), samples, dropped, notes)
