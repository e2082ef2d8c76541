"""`pantrace measure`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from pantrace.errors import UsageError

from .answer import few, sentence, short_name, without_value
from .arguments import (
    as_csv,
    as_json,
    expand,
    from_format,
    keep_inputs,
    metric_names,
    output,
    selecting,
    sources,
    sub_agents,
    verbose,
)
from .output import say, table
from .progress import progress

if TYPE_CHECKING:
    from pantrace.engine.measure import Chosen, Row
    from pantrace.engine.overview import Line, Overview
    from pantrace.engine.read import Notes
    from pantrace.engine.reduce import Total
    from pantrace.engine.select import Selection
    from pantrace.model import Sample
    from pantrace.stats.moments import Moments

GUI = "gui"
PER = ("sample", "turn")
SUFFIXES = {".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}


@click.command("measure")
@sources
@from_format
@metric_names("Only this metric, or one measure of it (token_usage.total_tokens, cost); repeat for more.")
@click.option("--reference", metavar="PATH", help="What is expected, joined by sample or case id, else by prompt.")
@click.option("--per", type=click.Choice(PER), help="Show one row for each sample, or for each turn.")
@click.option("--by", metavar="FIELD", help="Show the numbers by group: agent, model, format, label.NAME ...")
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
@output("File to write; its suffix says in which form: .json, .jsonl, .csv or .parquet.")
@sub_agents
@selecting
@verbose
@as_csv
@as_json
def command(
    sources: tuple[str, ...],
    from_: str | None,
    metrics: tuple[str, ...],
    reference: str | None,
    per: str | None,
    by: str | None,
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
    verbose: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Measure recordings with deterministic metrics: tokens, latency, tool use, accuracy, behaviour.

    The table has the mean over cases. A metric that the data does not allow is `not_applicable` with a reason, never
    zero. Scores that the source stores are shown, too.

    \b
    pantrace measure runs/
    pantrace measure runs/ --metric tool_success_rate --metric token_usage \\
        --per turn -o turns.csv
    pantrace measure runs/ --by model
    pantrace measure predictions.json --reference episodes/ \\
        --format openadapt-eval -o x.json \\
        --option config_path=configs/dev.yaml --option backend=qwen3

    Exit code: 0, or 3 if a metric (a plugin) could not be run on some sample.
    """
    from itertools import chain
    from pathlib import Path
    from time import time

    from pantrace.engine.measure import References, choose
    from pantrace.engine.read import Notes, read_pile, split_children
    from pantrace.metrics import full_address

    from .gui_evaluation import evaluation_options, write_evaluation
    from .left_out import tell_left_out

    if by in PER:  # what --by meant before there were groups
        per, by = by, None
    for option, file, setting in (
        ("--prices", prices, "token_usage.prices"),
        ("--milestones", milestones, f"{GUI}.milestones"),
    ):
        metric = setting.partition(".")[0]
        if file and metrics and metric not in [full_address(name).partition(".")[0] for name in metrics]:
            raise UsageError(f"{option} is for the metric {metric}, which is not among those measured")
        settings = (*settings, f"{setting}={file}") if file else settings
    kind = _kind(format_, out, as_json, as_csv)
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
    group = _grouping(by) if by is not None else None
    turns = per == "turn"
    measuring = _Measuring(checks, notes, chosen, turns, not no_stored and not turns, set(metrics), group)
    failed: dict[str, list[str]] = {}
    with progress("sample", total=chosen.limit, printing=out is None and kind != "table") as count:
        rows = chain(measuring.rows(samples, count), *([] if chosen.narrows else [measuring.stored_rows()]))
        if given is not None:
            assert out is not None
            gui = [each for each in checks if each[0].name == GUI]
            tell = write_evaluation(_noting(rows, failed), out, gui, run, given, begun)
        else:
            tell = _write(_noting(rows, failed), kind, out, checks, metrics, measuring, _Shape(per, by, verbose))
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
        from pantrace.engine.measure import kind_of

        if each.status == "failed" and kind_of(each) == "check":
            failed.setdefault(each.metric, []).append(each.explanation or "")
        yield each


def _kind(format_: str | None, out: str | None, as_json: bool, as_csv: bool) -> str:
    from pathlib import Path

    if format_ is not None:
        kind = format_
    elif as_json or as_csv:
        kind = "json" if as_json else "csv"
    else:
        kind = SUFFIXES.get(Path(out or "").suffix, "table")
    if kind in ("parquet", "openadapt-eval") and out is None:
        raise UsageError(f"--format {kind} needs a file: -o FILE")
    if kind == "table" and out is not None:
        raise UsageError(
            f"-o {out}: its suffix does not say what to write; use {', '.join(SUFFIXES)}, or say it with --format"
        )
    return kind


def _grouping(by: str) -> Callable[[Sample], str]:
    """What a sample is grouped by; a UsageError where there is no such field."""
    from pantrace.engine.fields import field, values_at

    try:
        paths = [path.split(".") for path in field(by).paths]
    except UsageError as error:
        raise UsageError(f"--by {by!r}: {error}") from None

    def group(sample: Sample) -> str:
        found = dict.fromkeys(str(value) for path in paths for value in values_at(sample, path))
        return ", ".join(found) or "(none)"

    return group


@dataclass(frozen=True)
class _Shape:
    """How the table is cut."""

    per: str | None
    by: str | None
    verbose: bool


@dataclass
class _Measuring:
    """What is measured, and what is left to be told when it is done."""

    checks: list[Chosen]
    notes: Notes
    chosen: Selection
    by_turn: bool
    stored: bool
    wanted: set[str]
    group: Callable[[Sample], str] | None = None
    current: str = ""
    """The group of the sample whose rows are being made."""
    samples: int = 0
    without_turn: int = 0

    def rows(self, samples: Iterable[Sample], count: Callable[[Sample], None]) -> Iterator[Row]:
        from pantrace.engine.measure import measure_samples, row

        seen: Sample | None = None
        for sample, turn, scores in measure_samples(samples, self.checks, by_turn=self.by_turn):
            if sample is not seen:
                seen, self.samples = sample, self.samples + 1
                count(sample)
                self.current = self.group(sample) if self.group is not None else ""
            self.without_turn += self.by_turn and turn is None
            for score in scores:
                yield row(self.notes.reading, sample, turn, score)
            if self.stored:
                for score in sample.scores:
                    if not self.wanted or score.name in self.wanted:
                        yield row(self.notes.reading, sample, None, score)

    def stored_rows(self) -> Iterator[Row]:
        """What the sources store for whole runs; to be asked behind the samples."""
        from pantrace.engine.measure import stored_row

        for run, found in self.notes.results if self.stored else ():
            if not self.wanted or found.name in self.wanted:
                yield stored_row(run, found)

    def to_tell(self) -> Iterator[str]:
        if not self.samples and not self.chosen.found_nothing:
            yield "there was no sample to measure"
        if self.without_turn:
            yield f"{self.without_turn} samples were not recorded, have no turn and are left out (--per turn)"
        whole = [check.name for check, _ in self.checks if self.by_turn and not check.per_turn]
        if whole and (self.wanted or len(whole) == len(self.checks)):
            yield f"left out by --per turn, since they measure only whole samples: {', '.join(whole)}"


def _write(
    rows: Iterator[Row],
    kind: str,
    out: str | None,
    checks: list[Chosen],
    wanted: tuple[str, ...],
    measuring: _Measuring,
    shape: _Shape,
) -> Callable[[], None]:
    """Measure and write all rows; gives what is to be said of them when the progress is gone."""
    from pathlib import Path

    from pantrace.engine.measure import Row, only_measures
    from pantrace.engine.overview import Overview
    from pantrace.engine.tables import encode_table, write_table

    if kind == "table" and shape.per is not None:
        from .measured_rows import tell_rows

        return tell_rows(rows, wanted, shape.per, checks)
    if kind == "table":
        groups: dict[str, Overview] = {}
        for each in rows:
            if not each.details.get("labels"):
                groups.setdefault(measuring.current, Overview(checks)).add(each)
        return lambda: _print_tables(groups, wanted, measuring.samples, shape)
    columns = Row.__struct_fields__
    rows = only_measures(rows, wanted) if wanted else rows
    if out is not None:
        written = write_table(rows, Path(out), kind, columns)  # type: ignore[arg-type]
        return lambda: say(f"Wrote {few(written, 'row')} to {out}.")
    for piece in encode_table(rows, kind, columns, indent=2):  # type: ignore[arg-type]
        sys.stdout.write(piece.decode())
    return lambda: None


def _print_tables(groups: dict[str, Overview], wanted: tuple[str, ...], samples: int, shape: _Shape) -> None:
    if not samples and not groups:
        return
    sentence(f"{few(samples, 'sample')} measured.")
    from pantrace.metrics import ALIASES

    absent: dict[str, tuple[str, bool]] = {}
    rows = []
    for group, found in groups.items():
        for line, moments, total in found.shown([*wanted, *(ALIASES[name] for name in wanted if name in ALIASES)]):
            if moments is None and not line.scored:
                if line.unscored and not line.usual_reason:
                    continue  # it could not be run, which is told by itself
                absent.setdefault(line.measure, (line.usual_reason, bool(line.unscored and not line.not_applicable)))
            else:
                absent[line.measure] = ("", False)
                rows.append([*([group] if shape.by else []), *_cells(line, moments, total, samples, shape.by is None)])
    columns = [*([shape.by] if shape.by else []), "metric", "mean", "min", "max", "samples", "all together"]
    if rows:
        click.echo()
        table(columns, rows, right=("mean", "min", "max", "samples"), spare=("all together", "min", "max"), firm=True)
    missing = [(name, why, judged) for name, (why, judged) in absent.items() if why or judged]
    if rows and missing:
        click.echo()
    without_value("do not apply", [(name, why) for name, why, judged in missing if not judged], shape.verbose)
    without_value("are not scored", [(name, why) for name, why, judged in missing if judged], shape.verbose)


def _cells(line: Line, moments: Moments | None, total: Total | None, samples: int, whole: bool) -> list[str]:
    from pantrace.engine.reduce import total_words
    from pantrace.model import in_words

    unit = line.known.unit if line.known is not None else None
    numbers = ["", "", ""]
    if moments is not None and moments.lowest is not None and moments.highest is not None:
        numbers = [in_words(number, unit) for number in (moments.mean, moments.lowest, moments.highest)]
        # The unit stands behind the mean already.
        numbers[1:] = [text.removesuffix(f" {unit}").removesuffix(" %") for text in numbers[1:]]
    count = f"{line.scored:,} of {samples:,}" if whole and line.scored < samples else f"{line.scored:,}"
    return [short_name(line.measure), *numbers, count, total_words(total, unit, briefly=True).removesuffix(" sum")]
