"""`pantrace show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pantrace.engine.read import Notes, read_pile, split_children
from pantrace.engine.select import Selection, parse_gap
from pantrace.engine.sessions import Batch, ToolUse, batches, tool_uses
from pantrace.errors import UsageError
from pantrace.model import Sample, call_pairs, usage_total
from pantrace.wire.times import time_text
from pantrace.wire.tool_map import tool_names

from .arguments import as_json, expand, from_format, selecting, sources, sub_agents
from .left_out import tell_left_out
from .output import console, harmless, print_json, say, table

if TYPE_CHECKING:
    from collections.abc import Iterable


@click.command("show")
@sources
@from_format
@click.option("--sample", "wanted", metavar="ID", help="Print this sample.")
@click.option("--full", is_flag=True, help="Print long texts in full.")
@click.option("--gap", metavar="TIME", help="List sessions in batches, parted by pauses longer than this: 30m, 2h.")
@click.option("--tools", is_flag=True, help="List the tools that were called instead.")
@click.option(
    "--tool-map", metavar="FILE", help="With --tools: which logical name each has, and which the map does not know."
)
@sub_agents
@selecting
@as_json
def command(
    sources: tuple[str, ...],
    from_: str | None,
    wanted: str | None,
    full: bool,
    gap: str | None,
    tools: bool,
    tool_map: str | None,
    sub_agents: bool,
    chosen: Selection,
    as_json: bool,
) -> None:
    """Print a recording as a readable transcript: turns, thoughts, tool calls, results, usage.

    Of a file with several samples it prints their list, by the directory they were made in where that is known;
    --sample picks one. --json prints them in the native form.

    \b
    pantrace show session.json
    pantrace show opencode.db --sample ses_e1f901162ffesXODlT1I2RwJdD --full
    pantrace show opencode.db --where directory=/home/alex/shop --gap 2h
    pantrace show opencode.db --tools --tool-map eval_config.yaml
    """
    if tool_map is not None and not tools:
        raise UsageError("--tool-map belongs to --tools")
    pause = parse_gap(gap) if gap is not None else None
    names = tool_names(tool_map, "--tool-map") if tool_map is not None else None
    notes = Notes.keeping()
    run = read_pile(expand(sources), format=from_, notes=notes)
    samples: Iterable[Sample] = chosen.apply(split_children(run.samples) if sub_agents else run.samples)
    if wanted is not None:
        samples = _pick(samples, wanted)
    if tools:
        _print_tools(tool_uses(samples, names), names is not None, as_json)
    elif as_json:
        print_json(list(samples))
    else:
        _print(list(samples), full, pause)
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


def _print_tools(uses: list[ToolUse], mapped: bool, as_json: bool) -> None:
    if as_json:
        print_json(uses)
        return
    rows = [
        [use.tool, str(use.calls), str(use.failed), str(use.samples), *([use.logical or "(not in the map)"] * mapped)]
        for use in uses
    ]
    columns = ["tool", "calls", "failed", "samples", *(["logical name"] * mapped)]
    table(columns, rows, right=("calls", "failed", "samples"), spare=("samples", "failed"))
    unknown = [use.tool for use in uses if use.logical is None]
    if mapped:
        say(f"{len(unknown)} of {len(uses)} tools are not in the map" + (f": {', '.join(unknown)}" if unknown else ""))


def _print(samples: list[Sample], full: bool, gap: float | None) -> None:
    if not samples:
        return
    if len(samples) == 1:
        from .transcript import transcript

        transcript(samples[0], console(), full=full)
        return
    for number, batch in enumerate(batches(samples, gap), 1):
        if gap is not None or batch.directory is not None:
            click.echo(("\n" if number > 1 else "") + harmless(_heading(batch, number if gap is not None else None)))
        _print_list(batch.samples)
    say(f"{len(samples)} samples; --sample ID prints one")


def _heading(batch: Batch, number: int | None) -> str:
    """Where a batch was held and when, in the words of the options that choose it."""
    named = [] if number is None else [f"batch {number}"]
    named += [batch.directory] if batch.directory is not None else []
    heading = f"{': '.join(named)} ({len(batch.samples)} sample{'s' * (len(batch.samples) > 1)})"
    if batch.since is None or batch.until is None:
        return heading
    since, until = (str(time_text(each)).replace("+00:00", "Z") for each in (batch.since, batch.until))
    return f"{heading}\n--since {since} --until {until}"


def _print_list(samples: list[Sample]) -> None:
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


def _tokens(tokens_in: int | None, tokens_out: int | None) -> str:
    if tokens_in is None and tokens_out is None:
        return ""
    return f"{'?' if tokens_in is None else tokens_in}/{'?' if tokens_out is None else tokens_out}"
