"""`pantrace measure`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from time import time

import click

from pantrace.engine.measure import (
    Chosen,
    References,
    Row,
    choose,
    kind_of,
    measure_samples,
    only_measures,
    row,
    stored_row,
)
from pantrace.engine.overview import Overview
from pantrace.engine.read import Notes, read_pile, split_children
from pantrace.engine.reduce import total_words
from pantrace.engine.select import Selection
from pantrace.engine.tables import encode_table, write_table
from pantrace.errors import UsageError
from pantrace.metrics import ALIASES, full_address
from pantrace.model import Sample, in_words

from .arguments import as_json, expand, from_format, keep_inputs, selecting, sources, sub_agents
from .gui_evaluation import evaluation_options, write_evaluation
from .left_out import tell_left_out
from .output import say, table
from .progress import progress

COLUMNS = Row.__struct_fields__
GUI = "gui"


@click.command("measure")
@sources
@from_format
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Only this metric, or one measure of it (token_usage.total_tokens, cost); repeat for more.",
)
@click.option("--reference", metavar="PATH", help="What is expected, joined by sample or case id, else by prompt.")
@click.option("--by", type=click.Choice(["sample", "turn"]), default="sample", help="Measure whole samples or turns.")
@click.option("--set", "settings", multiple=True, metavar="METRIC.KEY=VALUE", help="A metric's setting.")
@click.option("--prices", metavar="FILE", help="Price table for token_usage (TOML) instead of the built-in one.")
@click.option("--milestones", metavar="FILE", help="Milestones of GUI tasks (JSON or TOML) for the metric gui.")
@click.option("--plugin", "plugins", multiple=True, metavar="FILE", help="Also the metrics of this Python file.")
@click.option("--no-stored", is_flag=True, help="Leave out the scores that the source itself stores.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "jsonl", "csv", "parquet", "openadapt-eval"]),
    help="How to write the result; by default a table, or what the name of -o says.",
)
@click.option(
    "--option", "options", multiple=True, metavar="K=V", help="With openadapt-eval: config_path, backend, device ..."
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
    options: tuple[str, ...],
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
    pantrace measure predictions.json --reference episodes/ --format openadapt-eval -o x.json \
      --option config_path=configs/dev.yaml --option backend=qwen3
    """
    for option, file, setting in (
        ("--prices", prices, "token_usage.prices"),
        ("--milestones", milestones, f"{GUI}.milestones"),
    ):
        metric = setting.partition(".")[0]
        if file and metrics and metric not in [full_address(name).partition(".")[0] for name in metrics]:
            raise UsageError(f"{option} is for the metric {metric}, which is not among those measured")
        settings = (*settings, f"{setting}={file}") if file else settings
    kind = _kind(format_, out, as_json)
    recordings, others = ([out], []) if kind == "openadapt-eval" else ([], [out])
    keep_inputs(sources, beside=[reference, prices, milestones, *plugins], recordings=recordings, others=others)
    if options and kind != "openadapt-eval":
        raise UsageError("--option sets fields of --format openadapt-eval")
    given = evaluation_options(options) if kind == "openadapt-eval" else None
    if (mode := getattr(given, "dsl_mode", None)) is not None:
        settings = (*settings, f"{GUI}.dsl_mode={mode}")  # what is written is what was compared
    begun = time()
    checks = choose(metrics, settings, [Path(path) for path in plugins])
    if kind == "openadapt-eval" and GUI not in [check.name for check, _ in checks]:
        raise UsageError(f"--format openadapt-eval holds the metrics of GUI agents: measure {GUI}, too")
    notes = Notes.keeping()
    run = read_pile(expand(sources), format=from_, notes=notes)
    samples = chosen.apply(split_children(run.samples) if sub_agents else run.samples)
    references = References.of(read_pile([Path(reference)], notes=Notes())) if reference else None
    if references is not None:
        samples = map(references.join, samples)
        if not chosen.narrows:
            # Asked for behind the samples: by then it is known which references nobody ran.
            samples = chain(samples, _when_asked(references.not_run))
    measuring = _Measuring(checks, notes, chosen, by == "turn", not no_stored and by != "turn", set(metrics))
    failed: dict[str, list[str]] = {}
    with progress("samples", printing=out is None and kind != "table") as count:
        rows = chain(measuring.rows(samples, count), *([] if chosen.narrows else [measuring.stored_rows()]))
        if given is not None:
            assert out is not None
            gui = [each for each in checks if each[0].name == GUI]
            tell = write_evaluation(_noting(rows, failed), out, gui, run, given, begun)
        else:
            tell = _write(_noting(rows, failed), kind, out, checks, metrics)
    tell()
    if references is not None:
        for told in references.to_tell(reference):
            say(told)
    for told in measuring.to_tell():
        say(told)
    tell_left_out(notes)
    for metric, reasons in failed.items():
        say(f"{metric} failed on {len(reasons)} samples or turns: {reasons[0]}")
    raise click.exceptions.Exit(3 if failed else 0)


def _when_asked(make: Callable[[], Iterator[Sample]]) -> Iterator[Sample]:
    """The samples that a function gives, called when the first of them is wanted."""
    yield from make()


def _noting(rows: Iterable[Row], failed: dict[str, list[str]]) -> Iterator[Row]:
    """The same rows; our metrics that could not be run are noted by metric, with the reasons."""
    for each in rows:
        if each.status == "failed" and kind_of(each) == "check":
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
    if kind in ("parquet", "openadapt-eval") and out is None:
        raise UsageError(f"--format {kind} needs a file: -o OUT")
    if kind == "table" and out is not None:
        raise UsageError(f"-o {out}: a table is only printed; say --format json, jsonl, csv, parquet or openadapt-eval")
    return kind


@dataclass
class _Measuring:
    """What is measured, and what is left to be told when it is done."""

    checks: list[Chosen]
    notes: Notes
    chosen: Selection
    by_turn: bool
    stored: bool
    wanted: set[str]
    samples: int = 0
    without_turn: int = 0

    def rows(self, samples: Iterable[Sample], count: Callable[[Sample], None]) -> Iterator[Row]:
        seen: Sample | None = None
        for sample, turn, scores in measure_samples(samples, self.checks, by_turn=self.by_turn):
            if sample is not seen:
                seen, self.samples = sample, self.samples + 1
                count(sample)
            self.without_turn += self.by_turn and turn is None
            for score in scores:
                yield row(self.notes.reading, sample, turn, score)
            if self.stored:
                for score in sample.scores:
                    if not self.wanted or score.name in self.wanted:
                        yield row(self.notes.reading, sample, None, score)

    def stored_rows(self) -> Iterator[Row]:
        """What the sources store for whole runs; to be asked behind the samples."""
        for run, found in self.notes.results if self.stored else ():
            if not self.wanted or found.name in self.wanted:
                yield stored_row(run, found)

    def to_tell(self) -> Iterator[str]:
        if not self.samples and not self.chosen.found_nothing:
            yield "there was no sample to measure"
        if self.without_turn:
            yield f"{self.without_turn} samples have no turn and are left out (--by turn): nothing of them was recorded"
        whole = [check.name for check, _ in self.checks if self.by_turn and not check.per_turn]
        if whole and (self.wanted or len(whole) == len(self.checks)):
            yield f"left out by --by turn, since only whole samples can be measured by it: {', '.join(whole)}"


def _write(
    rows: Iterator[Row], kind: str, out: str | None, checks: list[Chosen], wanted: tuple[str, ...]
) -> Callable[[], None]:
    """Measure and write all rows; gives what is to be said of them when the progress is gone."""
    if kind == "table":
        found = Overview(checks).add_all(each for each in rows if not each.details.get("labels"))
        return lambda: _print_table(found, wanted)
    rows = only_measures(rows, wanted) if wanted else rows
    if out is not None:
        written = write_table(rows, Path(out), kind, COLUMNS)  # type: ignore[arg-type]
        return lambda: say(f"wrote {written} rows to {out}")
    for piece in encode_table(rows, kind, COLUMNS, indent=2):  # type: ignore[arg-type]
        sys.stdout.write(piece.decode())
    return lambda: None


def _print_table(found: Overview, wanted: tuple[str, ...]) -> None:
    lines = []
    for line, moments, total in found.shown([*wanted, *(ALIASES[name] for name in wanted if name in ALIASES)]):
        unit = line.known.unit if line.known is not None else None
        numbers = [""] * 3
        if moments is not None and moments.lowest is not None and moments.highest is not None:
            numbers = [in_words(number, unit) for number in (moments.mean, moments.lowest, moments.highest)]
            # The unit stands behind the mean already.
            numbers[1:] = [text.removesuffix(f" {unit}") for text in numbers[1:]]
        counts = [str(line.scored), str(line.not_applicable), str(line.unscored)]
        why = line.usual_reason if moments is None else ""
        lines.append([line.measure, line.kind, *counts, *numbers, total_words(total, unit, briefly=True), why])
    columns = ["metric", "maker", "scored", "n/a", "unscored", "mean", "min", "max", "together", "why not"]
    table(columns, lines, right=("scored", "n/a", "unscored", "mean", "min", "max"), spare=("min", "max", "maker"))
