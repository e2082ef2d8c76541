"""`pantrace show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from pantrace.errors import UsageError

from .arguments import as_csv, as_json, expand, from_format, kept_at_home, selecting, sources_or_home, sub_agents
from .output import print_data, print_json, put, say, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pantrace.engine.listing import Listed
    from pantrace.engine.select import Selection
    from pantrace.engine.sessions import Batch, ToolUse
    from pantrace.model import Sample

_ADVISED = 8
"""Maximum number of commands that are suggested for samples with the same id."""
T = TypeVar("T")
SORTS = ("id", "time", "agent", "model", "turns", "calls", "errors", "tokens", "cost", "outcome", "title")


class Order(NamedTuple):
    """How a list is sorted, and how many lines of it are wanted."""

    by: str
    reverse: bool
    limit: int | None


@click.command("show")
@sources_or_home
@from_format
@click.option("--sort", type=click.Choice(SORTS), help="Sort the list; numbers come largest first.")
@click.option("--reverse", is_flag=True, help="Reverse the order.")
@click.option("--full", is_flag=True, help="Print long texts in full.")
@click.option("--gap", metavar="TIME", help="List sessions in batches, split at pauses longer than this: 30m, 2h.")
@click.option("--tools", is_flag=True, help="List the tools that were called, instead of samples.")
@click.option(
    "--tool-map", metavar="FILE", help="With --tools: show the logical name of each tool, and tools that the map lacks."
)
@sub_agents
@click.option("--no-pager", is_flag=True, help="Print long transcripts without a pager.")
@selecting
@as_csv
@as_json
def command(
    sources: tuple[str, ...],
    from_: str | None,
    sort: str | None,
    reverse: bool,
    full: bool,
    gap: str | None,
    tools: bool,
    tool_map: str | None,
    sub_agents: bool,
    no_pager: bool,
    chosen: Selection,
    as_csv: bool,
    as_json: bool,
) -> None:
    """List the samples of recordings, or print one as a readable transcript.

    Lists the samples if there are several: time, agent, turns, tool calls, errors, tokens, cost and outcome, with
    totals at the end. Prints a single sample in full: turns, thoughts, tool calls, results, usage. --sample chooses
    one; the start of its id is enough. --json prints samples in the native form, each with its line of the list.
    Without a path, lists the sessions of the tools on this machine that `pantrace detect` finds.

    \b
    pantrace show --since 1d --sort cost
    pantrace show runs/ --sort cost
    pantrace show session.json
    pantrace show opencode.db --sample ses_e1f90 --full
    pantrace show opencode.db --where directory=/home/alex/shop --gap 2h
    pantrace show opencode.db --tools --tool-map eval_config.yaml
    """
    from pantrace.engine.read import Notes, read_pile, split_children
    from pantrace.engine.select import parse_gap
    from pantrace.engine.sessions import tool_uses
    from pantrace.wire.tool_map import tool_names

    from .left_out import tell_left_out

    if tool_map is not None and not tools:
        raise UsageError("--tool-map needs --tools")
    # Batches are stretches of time; sorted by cost, they would be torn apart.
    if gap is not None and sort is not None:
        raise UsageError("--gap lists sessions by time: it cannot be combined with --sort")
    pause = parse_gap(gap) if gap is not None else None
    names = tool_names(tool_map, "--tool-map") if tool_map is not None else None
    notes = Notes.keeping()
    # Without a path, folders without a known format are left out: they are listed by `detect`.
    home = [] if sources else [each.path for each in kept_at_home(chosen.since) if each.format]
    paths = expand(sources) or home
    run = read_pile(paths, format=from_, notes=notes)
    # Sorted first, then limited: otherwise the first few that are read would be sorted, not the most expensive ones.
    order = Order(sort, reverse, chosen.limit) if sort is not None else None
    if order is not None:
        chosen.limit = None
    samples = _chosen(split_children(run.samples) if sub_agents else run.samples, chosen)
    if tools:
        _print_tools(tool_uses(samples, names), names is not None, as_json)
    elif as_json:
        print_json([_with_line(sample, row) for row, sample in _lines(samples, order, keep=lambda sample: sample)])
    elif as_csv:
        _print_csv([row for row, _ in _lines(samples, order, keep=lambda _: None)])
    else:
        _print(samples, sources, full, pause, order, paged=not no_pager)
    tell_left_out(notes)
    if home:
        more = f" and {len(home) - _ADVISED:,} more" if len(home) > _ADVISED else ""
        places = ", ".join(map(_from_here, home[:_ADVISED]))
        say(f"no path was given; read: {places}{more} (`pantrace detect` lists them)")


def _from_here(path: Path) -> str:
    """A path as a person in the current folder would type it."""
    from pathlib import Path

    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _chosen(samples: Iterable[Sample], chosen: Selection) -> Iterator[Sample]:
    """The chosen samples; a sub-agent can be chosen by its own id, and is then shown alone."""
    from pantrace.model import Sample, all_trajectories

    if len(chosen.sessions) != 1:
        yield from chosen.apply(samples)
        return
    [wanted] = chosen.sessions
    inside: list[Sample] = []

    def looking(pile: Iterable[Sample]) -> Iterator[Sample]:
        for sample in pile:
            children = all_trajectories(sample.trajectory) if sample.trajectory is not None else ()
            for child in children:
                if child.id == wanted and child is not sample.trajectory and sample.id != wanted:
                    inside.append(Sample(id=wanted, trajectory=child))
            yield sample

    try:
        yield from chosen.apply(looking(samples))
    # No sample has this id, but a sub-agent has it.
    except UsageError:
        if not inside:
            raise
        yield inside[0]
        chosen.taken = 1


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


def _lines(samples: Iterable[Sample], order: Order | None, keep: Callable[[Sample], T]) -> list[tuple[Listed, T]]:
    """The line of each sample, with what is kept of it, in the wanted order."""
    from pantrace.engine.listing import listed, ordered

    lines = ((listed(sample), keep(sample)) for sample in samples)
    return list(lines) if order is None else ordered(lines, order.by, reverse=order.reverse, limit=order.limit)


def _with_line(sample: Sample, row: Listed) -> dict[str, Any]:
    """A sample in the native form, with its line of the list."""
    from pantrace.wire.json import decode, encode

    return {**decode(encode(sample)), "listed": row}


def _print_csv(rows: list[Listed]) -> None:
    from pantrace.engine.listing import Listed
    from pantrace.engine.tables import csv_line

    names = Listed.__struct_fields__
    print_data(csv_line(names).decode(), "csv")
    for row in rows:
        cells = ["" if (value := getattr(row, name)) is None else str(value) for name in names]
        print_data(csv_line(cells).decode(), "csv")


def _print(
    samples: Iterator[Sample],
    sources: tuple[str, ...],
    full: bool,
    gap: float | None,
    order: Order | None,
    *,
    paged: bool,
) -> None:
    from itertools import chain, islice

    from pantrace.engine.listing import listed
    from pantrace.engine.sessions import batches

    from .sample_list import short_ids, tell_list

    if order is not None and order.limit == 1:
        samples = iter([sample for _, sample in _lines(samples, order, keep=lambda sample: sample)])
    # Two are enough to decide between a transcript and a list; the rest is read one by one.
    first = list(islice(samples, 2))
    if not first:
        return
    if len(first) == 1:
        from .pager import through_pager
        from .transcript import transcript

        through_pager(lambda out: transcript(first[0], out, full=full), paged=paged)
        return
    every = chain(first, samples)
    if order is not None:
        # Without steps, so that sorting a long list does not keep all recordings in memory.
        lines = _lines(every, order, keep=_without_steps)
        kept = [sample for _, sample in lines]
        tell_list([row for row, _ in lines], short_ids(sample.id for sample in kept))
    else:
        found = batches(every, gap)
        kept = [sample for batch in found for sample in batch.samples]
        # Over all batches: --sample looks in all of them.
        names = short_ids(sample.id for sample in kept)
        for number, batch in enumerate(found, 1):
            if gap is not None or batch.directory is not None:
                if number > 1:
                    click.echo()
                for line in _heading(batch, number if gap is not None else None):
                    put(line)
            tell_list([listed(sample) for sample in batch.samples], names)
    if len({sample.id for sample in kept}) == 1:
        say(f"{len(kept):,} samples have this id; to print one of them:")
        for sample in kept[:_ADVISED]:
            say(f"  pantrace show {_one_of(sample, kept, sources)}")
        return
    say("--sample ID prints one" + (", --sort cost puts the most expensive first" if order is None else ""))


def _without_steps(sample: Sample) -> Sample:
    from pantrace.model import Sample, Trajectory

    source = sample.trajectory.source if sample.trajectory is not None else None
    return Sample(id=sample.id, epoch=sample.epoch, trajectory=Trajectory(source=source))


def _one_of(sample: Sample, alike: list[Sample], sources: tuple[str, ...]) -> str:
    """The arguments that print one of several samples with the same id: by its epoch, otherwise by its file."""
    from shlex import join

    if sample.epoch is not None and sum(each.epoch == sample.epoch for each in alike) == 1:
        return join([*sources, "--sample", sample.id, "--where", f"epoch={sample.epoch}"])
    place = sample.trajectory.source if sample.trajectory is not None else None
    path = place.path if place is not None and place.path is not None else None
    return join([path or " ".join(sources) or "FILE", "--sample", sample.id])


def _heading(batch: Batch, number: int | None) -> list[str]:
    """Where and when a batch was recorded, as options that choose it."""
    from pantrace.wire.times import time_text

    named = [] if number is None else [f"batch {number}"]
    named += [batch.directory] if batch.directory is not None else []
    heading = f"{': '.join(named)} ({len(batch.samples)} sample{'s' * (len(batch.samples) > 1)})"
    if batch.since is None or batch.until is None:
        return [heading]
    since, until = (str(time_text(each)).replace("+00:00", "Z") for each in (batch.since, batch.until))
    return [heading, f"--since {since} --until {until}"]
