"""What every format must do, as functions of a format: tests ask them of real formats and of broken ones."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pantrace.engine.balance import Balance
from pantrace.engine.loss_report import Report
from pantrace.engine.read import open_run, split_children
from pantrace.engine.weigh import Scales
from pantrace.formats import Format
from pantrace.model import Loss, Sample
from pantrace.wire.output_row import Row
from pantrace.wire.rows import raise_broken

VISIBLE = 0.3
"""So much of a recording a writer of its own format says in the format's own words, not under a key of ours."""


def unread(format_: Format, path: Path) -> Balance:
    """What a reader leaves out of a file."""
    found = Balance()
    run = found.open(path, format_, "", raise_broken, lambda broken: open_run(path, format_, "", broken))
    for _ in run.samples:
        pass
    return found


@dataclass
class Written:
    """How samples fared that were written and read back row by row."""

    report: Report
    losses: list[Loss]

    @property
    def kept(self) -> float:
        shares = self.report.shares
        return 1.0 if shares is None else shares["kept"]


def write_and_weigh(format_: Format, samples: list[Sample], options: Any) -> Written:
    """Write samples as rows and weigh each, as a conversion does; rows of a container alone, too."""
    format_ = replace(format_, open=None, save=None)
    losses: list[Loss] = []
    report = Report(to=format_.name)

    def lose(loss: Loss) -> None:
        losses.append(loss)
        report.add(loss)

    assert format_.dump is not None
    with closing(Scales(format_, report, lose, on_loss=lambda _: None)) as scales:
        for sample in samples if format_.nests else split_children(samples):
            scales.add(Row(sample, format_.dump(sample, options)))
        scales.tell_counts()
    return Written(report, losses)
