"""`pantrace measure`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from .engine_options import engine_options
from .output import print_data, say, table
from .progress import progress

if TYPE_CHECKING:
    from pantrace.engine.executor import Engine
    from pantrace.engine.measure import Row
    from pantrace.engine.overview import Line, Overview
    from pantrace.engine.reduce import Total
    from pantrace.engine.select import Selection
    from pantrace.library.measure import Measuring
    from pantrace.stats.moments import Moments

GUI = "gui"
PER = ("sample", "turn")
SUFFIXES = {".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}


@click.command("measure")
@sources
@from_format
@metric_names("Only this metric, or one measure of it (token_usage.total_tokens, cost); repeat for more.")
@click.option(
    "--reference", metavar="PATH", help="Expected results, matched by sample or case id, otherwise by prompt."
)
@click.option("--per", type=click.Choice(PER), help="Show one row for each sample, or for each turn.")
@click.option("--by", metavar="FIELD", help="Show the numbers by group: agent, model, format, label.NAME ...")
@click.option("--set", "settings", multiple=True, metavar="METRIC.KEY=VALUE", help="A metric's setting.")
@click.option("--prices", metavar="FILE", help="Price table for token_usage (TOML) instead of the built-in one.")
@click.option("--milestones", metavar="FILE", help="Milestones of GUI tasks (JSON or TOML) for the metric gui.")
@click.option("--plugin", "plugins", multiple=True, metavar="FILE", help="Also use the metrics in this Python file.")
@click.option("--no-stored", is_flag=True, help="Leave out the scores that the source itself stores.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "jsonl", "csv", "parquet", "openadapt-eval"]),
    help="Format of the result; by default a table, or taken from the name of -o.",
)
@click.option(
    "--option", "options", multiple=True, metavar="K=V", help="With openadapt-eval: config_path, backend, device ..."
)
@output("File to write; its suffix sets the format: .json, .jsonl, .csv or .parquet.")
@sub_agents
@selecting
@engine_options
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
    engine: Engine,
    verbose: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Measure recordings with deterministic metrics: tokens, latency, tool use, accuracy, behaviour.

    The table has the mean over cases. A metric that cannot be computed is `not_applicable` with a reason, never
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
    from time import time

    from pantrace.engine.executor import ONE_PROCESS
    from pantrace.library.measure import measuring

    from .gui_evaluation import evaluation_options, write_evaluation
    from .left_out import tell_left_out

    if by in PER:  # `--by turn` is the old spelling of `--per turn`
        per, by = by, None
    kind = _kind(format_, out, as_json, as_csv)
    recordings, others = ([out], []) if kind == "openadapt-eval" else ([], [out])
    keep_inputs(sources, beside=[reference, prices, milestones, *plugins], recordings=recordings, others=others)
    if options and kind != "openadapt-eval":
        raise UsageError("--option sets fields of --format openadapt-eval")
    given = evaluation_options(options) if kind == "openadapt-eval" else None
    if (mode := getattr(given, "dsl_mode", None)) is not None:
        settings = (*settings, f"{GUI}.dsl_mode={mode}")  # the file must state the mode that was measured
    begun = time()
    found = measuring(
        expand(sources),
        metrics=metrics,
        reference=reference,
        per=per,
        settings=settings,
        prices=prices,
        milestones=milestones,
        plugins=plugins,
        stored=not no_stored,
        sub_agents=sub_agents,
        selection=chosen,
        format=from_,
        # The evaluation JSON needs the run's header, which only this process reads.
        engine=engine if given is None else ONE_PROCESS,
        by=by,
        # A table needs only sums: workers then send a few numbers instead of every row.
        in_sums=kind == "table" and per is None,
    )
    if kind == "openadapt-eval" and GUI not in [check.name for check, _ in found.checks]:
        raise UsageError(f"--format openadapt-eval holds the metrics of GUI agents: measure {GUI}, too")
    with progress("sample", total=chosen.limit, printing=out is None and kind != "table") as count:
        if given is not None:
            assert out is not None
            gui = [each for each in found.checks if each[0].name == GUI]
            tell = write_evaluation(found.rows(count), out, gui, found.run, given, begun)
        else:
            tell = _write(found, found.rows(count), kind, out, _Shape(per, by, verbose))
    tell()
    for told in found.remarks():
        say(told)
    tell_left_out(found.notes)
    for words in found.by:
        say(f"done by {words}")
    for metric, reasons in found.failed.items():
        say(f"{metric} failed on {few(len(reasons), 'sample')} or turn{'s' * (len(reasons) > 1)}: {reasons[0]}")
    # 3, not 1: nothing was found wanting, but a number is missing.
    raise click.exceptions.Exit(3 if found.failed else 0)


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
            f"-o {out}: its suffix does not name a format; use {', '.join(SUFFIXES)}, or name the format with --format"
        )
    return kind


@dataclass(frozen=True)
class _Shape:
    """How the table is divided."""

    per: str | None
    by: str | None
    verbose: bool


def _write(measuring: Measuring, rows: Iterator[Row], kind: str, out: str | None, shape: _Shape) -> Callable[[], None]:
    """Measure and write all rows; returns a function that prints the rest once the progress line is gone."""
    from pathlib import Path

    from pantrace.engine.measure import COLUMNS, only_measures
    from pantrace.engine.overview import Overview
    from pantrace.engine.tables import encode_table, write_table

    checks, wanted = measuring.checks, tuple(measuring.wanted)
    if kind == "table" and shape.per is not None:
        from .measured_rows import tell_rows

        return tell_rows(rows, wanted, shape.per, checks, shape.by)
    if kind == "table":
        groups = measuring.groups
        for each in rows:
            # Stored results of a subset would count the same samples twice.
            if not each.details.get("labels"):
                if (overview := groups.get(each.group)) is None:
                    # Not `setdefault`: making an overview of all metrics costs more than adding a row to one.
                    overview = groups[each.group] = Overview(checks)
                overview.add(each)
        return lambda: _print_tables(groups, wanted, measuring.samples, shape)
    columns: Sequence[str] = (*COLUMNS, *(["group"] if shape.by else []))
    rows = only_measures(rows, wanted) if wanted else rows
    if kind == "csv" and shape.per is not None:
        from .measured_rows import wide

        columns, rows = wide(rows, shape.per, grouped=shape.by is not None)  # type: ignore[assignment]
    if out is not None:
        written = write_table(rows, Path(out), kind, columns)  # type: ignore[arg-type]
        return lambda: say(f"Wrote {few(written, 'row')} to {out}.")
    for piece in encode_table(rows, kind, columns, indent=2):  # type: ignore[arg-type]
        print_data(piece.decode(), "csv" if kind == "csv" else "json")
    return lambda: None


def _print_tables(groups: dict[str | None, Overview], wanted: tuple[str, ...], samples: int, shape: _Shape) -> None:
    if not samples and not groups:
        return
    sentence(f"{few(samples, 'sample')} measured.")
    from pantrace.metrics import ALIASES

    absent: dict[str, tuple[str, bool]] = {}
    rows: list[list[str]] = []
    for group, found in groups.items():
        before = len(rows)
        for line, moments, total in found.shown([*wanted, *(ALIASES[name] for name in wanted if name in ALIASES)]):
            if moments is None and not line.scored:
                if line.unscored and not line.main_reason:
                    continue  # it could not be run, which is reported separately
                absent.setdefault(line.measure, (line.main_reason, bool(line.unscored and not line.not_applicable)))
            else:
                absent[line.measure] = ("", False)
                rows.append(
                    [*([group or ""] if shape.by else []), *_cells(line, moments, total, samples, shape.by is None)]
                )
        if shape.by and len(rows) == before:
            rows.append([group or "", "no value", "", "", "", "0", ""])  # a group must not disappear if nothing applies
    if not any(row[-2] != "0" for row in rows):
        rows = [row for row in rows if not shape.by]
    columns = [*([shape.by] if shape.by else []), "metric", "mean", "min", "max", "samples", "all together"]
    if rows:
        click.echo()
        table(
            columns,
            rows,
            right=("mean", "min", "max", "samples"),
            spare=("all together", "min", "max", "samples"),
            firm=True,
        )
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
        # The mean shows the unit already.
        numbers[1:] = [text.removesuffix(f" {unit}").removesuffix(" %") for text in numbers[1:]]
    count = f"{line.scored:,} of {samples:,}" if whole and line.scored < samples else f"{line.scored:,}"
    return [short_name(line.measure), *numbers, count, total_words(total, unit, briefly=True).removesuffix(" sum")]
