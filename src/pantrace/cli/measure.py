"""`pantrace measure`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from pantrace.engine.intervals import with_intervals
from pantrace.engine.measure import Chosen, References, Row, choose, measured, row
from pantrace.engine.pooled import pooled_numbers
from pantrace.engine.read import Notes, read_pile, split_children
from pantrace.engine.reports import number_words, together_words
from pantrace.engine.select import Selection
from pantrace.engine.tables import write_table
from pantrace.errors import UsageError
from pantrace.model import Aggregate, Run, Score

from .arguments import as_json, expand, from_format, selecting, sources, sub_agents
from .output import print_json, progress, say, table

COLUMNS = Row.__struct_fields__


@click.command("measure")
@sources
@from_format
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Only this metric; repeat for more.")
@click.option("--reference", metavar="PATH", help="Recordings to take as expected, joined by sample or case id.")
@click.option("--by", type=click.Choice(["sample", "turn"]), default="sample", help="Measure whole samples or turns.")
@click.option("--set", "settings", multiple=True, metavar="METRIC.KEY=VALUE", help="A metric's setting.")
@click.option("--prices", metavar="FILE", help="Price table for token_usage (TOML) instead of the built-in one.")
@click.option("--milestones", metavar="FILE", help="Milestones of GUI tasks (JSON or TOML) for the metric gui.")
@click.option("--plugin", "plugins", multiple=True, metavar="FILE", help="Also the checks of this Python file.")
@click.option("--no-stored", is_flag=True, help="Leave out the scores that the source itself stores.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "jsonl", "csv", "parquet", "openadapt-eval"]),
    help="How to write the result; by default a table, or what the name of -o says.",
)
@click.option("-o", "out", metavar="OUT", help="File to write.")
@sub_agents
@selecting
@as_json
def command(
    sources: tuple[str, ...],
    from_: str | None,
    metrics: tuple[str, ...],
    reference: str | None,
    by: str,
    settings: tuple[str, ...],
    prices: str | None,
    milestones: str | None,
    plugins: tuple[str, ...],
    no_stored: bool,
    format_: str | None,
    out: str | None,
    sub_agents: bool,
    chosen: Selection,
    as_json: bool,
) -> None:
    """Measure recordings with deterministic metrics: tokens, latency, tool use, accuracy, behaviour.

    What the data does not allow to be measured is `not_applicable` with a reason, never zero. Scores that the source
    stores come along, marked as stored. Exit code: 0, or 3 if a metric (a plugin) could not be run on some sample.

    \b
    pantrace measure runs/
    pantrace measure runs/ --metric tool_success_rate --metric token_usage --by turn --format csv -o turns.csv
    pantrace measure predictions.json --reference episodes/ --set gui.profile=strict --format openadapt-eval -o x.json
    """
    if prices:
        settings = (*settings, f"token_usage.prices={prices}")
    if milestones:
        settings = (*settings, f"gui.milestones={milestones}")
    checks = choose(metrics, settings, [Path(path) for path in plugins])
    notes = Notes.keeping()
    run = read_pile(expand(sources), format=from_, notes=notes)
    samples = chosen.apply(split_children(run.samples) if sub_agents else run.samples)
    references = References.of(read_pile([Path(reference)], notes=Notes())) if reference else None
    if references is not None:
        samples = map(references.join, samples)
    kind = _kind(format_, out, as_json)
    failed: dict[str, list[str]] = {}
    with progress("samples") as count:
        rows = _rows(run, samples, checks, by == "turn", not no_stored, set(metrics), count)
        _write(_noting(rows, failed), kind, out, checks, run)
    if references is not None and references.unmatched:
        say(f"{references.unmatched} samples have no counterpart in {reference}")
    for error in notes.broken:
        say(f"left out: {error}")
    for metric, reasons in failed.items():
        say(f"{metric} failed on {len(reasons)} samples or turns: {reasons[0]}")
    raise click.exceptions.Exit(3 if failed else 0)


def _noting(rows: Iterable[Row], failed: dict[str, list[str]]) -> Iterator[Row]:
    """The same rows; our checks that could not be run are noted by metric, with the reasons."""
    for each in rows:
        if each.status == "failed" and (each.maker or {}).get("kind") == "check":
            failed.setdefault(each.metric, []).append(each.explanation or "")
        yield each


def _kind(format_: str | None, out: str | None, as_json: bool) -> str:
    if format_ is not None:
        kind = format_
    elif as_json:
        kind = "json"
    else:
        kind = {".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}.get(
            Path(out or "").suffix, "table"
        )
    if kind in ("csv", "parquet", "openadapt-eval") and out is None:
        raise UsageError(f"--format {kind} needs a file: -o OUT")
    if kind == "table" and out is not None:
        raise UsageError(f"-o {out}: a table is only printed; say --format json, jsonl, csv, parquet or openadapt-eval")
    return kind


def _rows(
    run: Run, samples: Iterable[Any], checks: list[Chosen], by_turn: bool, stored: bool, wanted: set[str], count: Any
) -> Iterator[Row]:
    for sample, turn, scores in measured(samples, checks, by_turn=by_turn):
        if turn in (None, 1):
            count(sample)
        for score in scores:
            yield row(run.name, sample, turn, score)
        if stored and turn is None:
            for score in sample.scores:
                if not wanted or score.name in wanted:
                    yield row(run.name, sample, None, score)


def _write(rows: Iterator[Row], kind: str, out: str | None, checks: list[Chosen], run: Run) -> None:
    if kind == "openadapt-eval":
        from pantrace.engine.convert import write

        assert out is not None
        results = aggregates(list(rows), checks)
        write(Run(name=run.name, results=tuple(results), config=run.config, model=run.model), out, to="openadapt-eval")
        say(f"wrote {len(results)} metrics to {out}")
    elif kind == "table":
        _print_table(list(rows), checks)
    elif out is not None:
        say(f"wrote {write_table(rows, Path(out), kind, COLUMNS)} rows to {out}")  # type: ignore[arg-type]
    elif kind == "jsonl":
        from pantrace.engine.tables import full_json

        for each in rows:
            click.echo(full_json(each, COLUMNS).decode())
    else:
        print_json([{name: getattr(each, name) for name in COLUMNS} for each in rows])


def aggregates(rows: list[Row], checks: list[Chosen]) -> list[Aggregate]:
    """The numbers over all samples that the checks themselves define."""
    found: list[Aggregate] = []
    for check, _ in checks:
        if check.aggregate is not None:
            scores = _scores(rows, check.name)
            found += with_intervals(check.aggregate(scores), scores)
    return found


def _scores(rows: list[Row], metric: str) -> list[Score]:
    """The scores of one of our checks."""
    return [
        Score(name=each.metric, value=each.value, status=each.status, details=each.details)  # type: ignore[arg-type]
        for each in rows
        if each.metric == metric and (each.maker or {}).get("kind") == "check"
    ]


def _print_table(rows: list[Row], checks: list[Chosen]) -> None:
    together = {
        check.name: together_words(pooled_numbers(check, _scores(rows, check.name)))
        for check, _ in checks
        if check.aggregate is not None
    }
    by_metric: dict[tuple[str, str], list[Row]] = {}
    for each in rows:
        by_metric.setdefault((each.metric, (each.maker or {}).get("kind", "")), []).append(each)
    lines = []
    for (metric, kind), found in by_metric.items():
        numbers = [float(each.value) for each in found if isinstance(each.value, (int, float))]
        reasons = [each.explanation or "" for each in found if each.status == "not_applicable"]
        lines.append(
            [
                metric,
                kind,
                str(sum(each.status == "scored" for each in found)),
                str(len(reasons)),
                str(sum(each.status in ("failed", "unscored") for each in found)),
                number_words(sum(numbers) / len(numbers)) if numbers else "",
                number_words(min(numbers)) if numbers else "",
                number_words(max(numbers)) if numbers else "",
                together.get(metric, "") if kind == "check" else "",
                max(set(reasons), key=reasons.count) if reasons and not numbers else "",
            ]
        )
    columns = ["metric", "maker", "scored", "n/a", "unscored", "mean", "min", "max", "together", "why not"]
    table(columns, lines, right=("scored", "n/a", "unscored", "mean", "min", "max"))
