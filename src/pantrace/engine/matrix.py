"""Matrix: what each conversion between formats keeps and loses, measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pantrace.errors import PantraceError
from pantrace.formats import by_name

from .convert import convert
from .loss_report import Report, percent


@dataclass(frozen=True)
class Cell:
    """One source written as one format."""

    source: str
    to: str
    report: Report | None
    refusal: str | None = None

    @property
    def lost(self) -> int:
        """How many values the target could not carry."""
        return sum(self.report.losses.values()) if self.report else 0

    def words(self) -> str:
        """A few words for a table."""
        if self.report is None:
            return "cannot be written"
        left_out = len(self.report.refused)
        said = f"{self.report.samples} samples" + (f", {left_out} refused" if left_out else "")
        shares = self.report.shares
        if shares is None:
            return said
        return f"{said}: {' · '.join(percent(share) for share in shares.values())}"


def cells(sources: Iterable[tuple[str, Path]], targets: Iterable[str], out: Path | None = None) -> list[Cell]:
    """Write every source as every target, into a folder or for measuring only."""
    found = []
    with TemporaryDirectory(prefix="pantrace-") as temporary:
        for name, path in sources:
            for to in targets:
                format_ = by_name(to)
                one_per_file = format_.layout == "document" and format_.save is None
                target = (out or Path(temporary)) / (f"{name}.{to}" if one_per_file else f"{name}.{to}{format_.suffix}")
                try:
                    found.append(Cell(name, to, convert(path, target, to=to)))
                except PantraceError as error:
                    found.append(Cell(name, to, None, str(error)))
    return found
