"""Matrix: what each conversion between formats keeps and loses, measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pantrace.engine.convert import convert
from pantrace.engine.loss_report import Report
from pantrace.errors import PantraceError
from pantrace.formats import by_name


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
        """Three shares in percent: kept for the target's own tools, kept for pantrace only, lost."""
        shares = self.report.shares if self.report is not None else None
        if self.report is None or shares is None:
            return "cannot be written"
        refused = f" ({len(self.report.refused)} refused)" if self.report.refused else ""
        return " · ".join(_whole(share) for share in shares.values()) + refused


def _whole(share: float) -> str:
    """Percent without a fraction; a little is not none, and almost all is not all."""
    if share in (0, 1):
        return f"{share * 100:.0f}"
    return "<1" if share < 0.01 else ">99" if share > 0.99 else f"{share * 100:.0f}"


def cells(sources: Iterable[tuple[str, Path]], targets: Iterable[str], out: Path | None = None) -> list[Cell]:
    """Write every source as every target, into a folder or for measuring only."""
    found = []
    with TemporaryDirectory(prefix="pantrace-") as temporary:
        for name, path in sources:
            for to in targets:
                format_ = by_name(to)
                one_per_file = format_.is_split
                target = (out or Path(temporary)) / (f"{name}.{to}" if one_per_file else f"{name}.{to}{format_.suffix}")
                try:
                    found.append(Cell(name, to, convert(path, target, to=to)))
                except PantraceError as error:
                    found.append(Cell(name, to, None, str(error)))
    return found
