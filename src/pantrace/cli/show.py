"""`pantrace show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pantrace.engine.read import Notes, read_pile
from pantrace.engine.select import Selection
from pantrace.errors import UsageError
from pantrace.model import Sample, call_pairs, usage_total
from pantrace.wire.times import time_text

from .arguments import as_json, expand, from_format, selecting, sources
from .left_out import tell_left_out
from .output import console, print_json, say, table

if TYPE_CHECKING:
    from collections.abc import Iterable


@click.command("show")
@sources
@from_format
@click.option("--sample", "wanted", metavar="ID", help="Print this sample.")
@click.option("--full", is_flag=True, help="Print long texts in full.")
@selecting
@as_json
def command(
    sources: tuple[str, ...],
    from_: str | None,
    wanted: str | None,
    full: bool,
    chosen: Selection,
    as_json: bool,
) -> None:
    """Print a recording as a readable transcript: turns, thoughts, tool calls, results, usage.

    Of a file with several samples it prints their list; --sample picks one. --json prints them in the native form.

    \b
    pantrace show session.json
    pantrace show opencode.db --sample ses_e1f901162ffesXODlT1I2RwJdD --full
    """
    notes = Notes.keeping()
    run = read_pile(expand(sources), format=from_, notes=notes)
    samples: Iterable[Sample] = chosen.apply(run.samples)
    if wanted is not None:
        samples = _pick(samples, wanted)
    if as_json:
        print_json(list(samples))
    else:
        _print(list(samples), full, wanted)
    tell_left_out(notes)


def _pick(samples: Iterable[Sample], wanted: str) -> list[Sample]:
    close = []
    for sample in samples:
        trajectory = sample.trajectory
        if wanted == sample.id or (trajectory is not None and trajectory.id == wanted):
            return [sample]
        children = trajectory.children if trajectory is not None else ()
        for child in children:
            if child.id == wanted:
                return [Sample(id=wanted, trajectory=child)]
        close.append(sample.id)
    from difflib import get_close_matches

    hint = get_close_matches(wanted, close, n=1)
    raise UsageError(f"no sample {wanted!r}" + (f"; did you mean {hint[0]}?" if hint else ""))


def _print(samples: list[Sample], full: bool, wanted: str | None) -> None:
    if not samples:
        return
    if len(samples) == 1:
        from .transcript import transcript

        transcript(samples[0], console(), full=full)
        return
    rows = []
    for sample in samples:
        trajectory = sample.trajectory
        usage = usage_total(trajectory, children=True) if trajectory else None
        rows.append(
            [
                sample.id if sample.epoch is None else f"{sample.id} (epoch {sample.epoch})",
                (trajectory.title if trajectory else None) or (sample.case.question or "" if sample.case else "")[:60],
                (time_text(trajectory.created if trajectory else None) or "")[:19].replace("T", " "),
                str(len(trajectory.steps)) if trajectory else "",
                str(len(call_pairs(trajectory))) if trajectory else "",
                _tokens(usage.input if usage else None, usage.output if usage else None),
                trajectory.outcome.status if trajectory and trajectory.outcome else "",
            ]
        )
    columns = ["sample", "title", "created (UTC)", "steps", "calls", "tokens in/out", "outcome"]
    table(columns, rows, right=("steps", "calls", "tokens in/out"), spare=("calls", "steps"))
    say(f"{len(samples)} samples; --sample ID prints one")


def _tokens(tokens_in: int | None, tokens_out: int | None) -> str:
    if tokens_in is None and tokens_out is None:
        return ""
    return f"{'?' if tokens_in is None else tokens_in}/{'?' if tokens_out is None else tokens_out}"
