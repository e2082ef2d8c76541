"""A trial to ask an agent in, with nothing around it."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event

from pantrace.agents import Trial
from pantrace.engine.run import read_recording
from pantrace.model import Case


def trial(folder: Path, *, case: Case | None = None, seconds: float = 30.0, most_output: int = 1_000_000) -> Trial:
    workspace, notes = folder / "workspace", folder / "notes"
    for each in (workspace, notes):
        each.mkdir(parents=True, exist_ok=True)
    return Trial(
        case=case or Case(id="c"),
        number=1,
        workspace=workspace,
        notes=notes,
        seconds=seconds,
        most_output=most_output,
        environment=dict(os.environ),
        read=read_recording,
        stopped=Event(),
    )
