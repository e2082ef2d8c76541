"""`pantrace convert`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from pantrace.errors import LossRefused, NothingWritten, UsageError

from .arguments import as_json, expand, from_format, keep_inputs, output, selecting, sources, to_format, verbose
from .engine_options import engine_options
from .output import data_stream, print_json, say, table
from .progress import progress

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from pantrace.engine.executor import Engine
    from pantrace.engine.loss_report import Report
    from pantrace.engine.select import Selection
    from pantrace.model import Loss

SOME = 3
"""Number of messages of one kind that are printed without -v."""


@click.command("convert")
@sources
@to_format("The format to write (`pantrace formats` lists them); not needed if the output's name implies it: log.eval.")
@output("File to write; a directory for formats with one sample per file; - is stdout.", default=None)
@from_format
@click.option("--option", "options", multiple=True, metavar="K=V", help="A writer's option; repeat for more.")
@click.option(
    "--loss",
    metavar="FILE",
    help="Write every loss, and every value that only pantrace can read, as a JSON line {sample, path, what, why}.",
)
@click.option("--no-loss", is_flag=True, help="Do not measure what is lost (faster).")
@click.option("--no-carry", is_flag=True, help="Write plain files, without extra data under a `pantrace` key.")
@click.option("--strict", is_flag=True, help="Refuse to lose anything (exit 1) or to skip a broken record (exit 2).")
@click.option(
    "--no-sub-agents",
    is_flag=True,
    help="Leave out sub-agents. By default they are written inside their sample, or as separate samples.",
)
@selecting
@engine_options
@verbose
@as_json
def command(
    sources: tuple[str, ...],
    to: str | None,
    out: str | None,
    from_: str | None,
    options: tuple[str, ...],
    loss: str | None,
    no_loss: bool,
    no_carry: bool,
    strict: bool,
    no_sub_agents: bool,
    chosen: Selection,
    engine: Engine,
    verbose: bool,
    as_json: bool,
) -> None:
    """Write recordings as another format and report what was lost.

    PATH is a file, a directory or a pattern; several are read as one run. The last one may be the output, if it does
    not exist yet. The loss is measured by reading back what was written: the summary says what was not kept, --loss
    FILE lists every value. Broken records are named and left out. Inputs are never changed; an output appears only when
    it is complete and measured.

    \b
    pantrace convert session.json log.eval
    pantrace convert opencode.db --to vertex -o sessions.jsonl
    pantrace convert runs/ --to native -o all.trace.jsonl.zst --since 7d \\
        --loss lost.jsonl
    pantrace convert session.json --to opencode -o - --strict

    Exit code: 0, 1 if nothing could be written or --strict refuses a loss, 2 on unreadable input.
    """
    from contextlib import ExitStack
    from pathlib import Path

    from pantrace.engine.convert import convert, to_stream
    from pantrace.engine.target import parse_options
    from pantrace.formats import by_name

    sources, out, to = _target(sources, out, to)
    target = by_name(to)
    to = target.name
    given = parse_options(target, dict(_pair(text) for text in options))
    # Two documents on one stream could be read by nobody.
    if as_json and out == "-":
        raise UsageError("--json and the output cannot both go to stdout: name a file with -o")
    if (loss or strict) and no_loss:
        raise UsageError(f"{'--loss' if loss else '--strict'} needs the measurement that --no-loss turns off")
    # Binary output would garble the terminal.
    if out == "-" and not target.suffix.endswith(("json", "jsonl")) and sys.stdout.isatty():
        raise UsageError(f"{to} is binary and cannot be shown in a terminal: name a file with -o")
    keep_inputs(sources, recordings=[out], others=[loss])
    paths = expand(sources)
    chosen.sub_agents = not no_sub_agents  # in place: the decorator reports afterwards what it left out
    refusal: LossRefused | NothingWritten | None = None
    with ExitStack() as stack:
        on_loss = _loss_writer(stack, Path(loss)) if loss else None

        def run_to(path: Path) -> Report:
            with progress("sample", total=chosen.limit) as count:
                return convert(
                    paths,
                    path,
                    to=to,
                    format=from_,
                    options=given,
                    selection=chosen,
                    strict=strict,
                    measure=not no_loss,
                    carry=not no_carry,
                    on_loss=on_loss,
                    on_sample=count,
                    engine=engine,
                )

        try:
            report = to_stream(run_to, data_stream(), target.suffix) if out == "-" else run_to(Path(out))
        except (LossRefused, NothingWritten) as error:
            refusal = error  # raised below: the list of losses says why, so it must be complete first
    if refusal is not None:
        raise refusal
    if as_json:
        print_json(report.to_dict())
    else:
        tell(report, verbose=verbose, listed=loss is not None)


def _target(sources: tuple[str, ...], out: str | None, to: str | None) -> tuple[tuple[str, ...], str, str]:
    """Inputs, output and format; the last path is the output if it does not exist and -o is not given."""
    from pathlib import Path

    if out is None and len(sources) > 1 and not Path(sources[-1]).exists() and _format_of(sources[-1], to) is not None:
        *inputs, out = sources
        sources = tuple(inputs)
    to = to or (_format_of(out, None) if out else None)
    if to is None:
        if out is None and len(sources) > 1 and Path(sources[-1]).is_file() and _format_of(sources[-1], None):
            raise UsageError(f"{sources[-1]} already exists; name it with -o to overwrite it")
        from pantrace.engine.target import no_format

        raise no_format(out)
    return sources, "-" if out is None else out, to


def _format_of(name: str, to: str | None) -> str | None:
    from pathlib import Path

    from pantrace.engine.target import format_named_by

    if to is not None:
        return to if Path(name).suffix else None
    return format_named_by(name)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--option {text!r} is not NAME=VALUE")
    return name, value


def _loss_writer(stack: ExitStack, path: Path) -> Callable[[Loss], None]:
    from pantrace.wire.json import encode
    from pantrace.wire.output import writing

    # Opened for the whole conversion: losses are written as they are found, and never kept in memory.
    file = stack.enter_context(writing(path))
    return lambda loss: void(file.write(encode(loss) + b"\n"))


def void(_: Any) -> None:
    """Ignore a value."""


def tell(report: Report, *, verbose: bool = False, listed: bool = False) -> None:
    """Print the report on stderr: what was written, what was not kept, then everything else."""
    from pantrace.engine.loss_words import loss_lines, reasons

    from .answer import few
    from .left_out import tell_left_out

    read = ", ".join(f"{count} {name}" for name, count in report.notes.formats.items())
    # In a target without sub-agents, each is a separate sample, and the counts would not seem to match.
    if (split := report.samples - sum(report.notes.formats.values())) > 0:
        read += f", with {few(split, 'sub-agent')}"
    say(f"Wrote {few(report.samples, 'sample')} as {report.to}{_where(report.outputs)} (read {read or 'nothing'}).")
    for line in loss_lines(report, None if verbose else 6):
        say(line)
    if report.losses:
        why = reasons(report, None if verbose else 3)
        more = "" if listed or verbose else " -v shows the paths, --loss FILE lists every place."
        say(f"Why: {'; '.join(why)}.{more}")
    if verbose and report.losses:
        rows = [[f"{count:,}", path, what] for (path, what, _), count in report.losses.most_common()]
        table(["values", "path", "what happened"], rows, right=("values",), err=True)
    if verbose and report.carried:
        rows = [[f"{count:,}", path] for path, count in report.carried.most_common()]
        table(["values", "kept only for pantrace"], rows, right=("values",), err=True)
    # Some producers record only structure (OTLP without content): an empty output would look like our fault.
    if report.wordless:
        named = f"{report.wordless[0]}{f' and {len(report.wordless) - 1:,} more' if report.wordless[1:] else ''}"
        say(f"warning: the recording has no texts, so the output has none either: {named}")
    if report.notes.unread is not None and (told := report.notes.unread.sentence()) is not None:
        say(told)
    for sample, why_not in report.refused:
        say(f"not written: {sample}: {why_not}")
    if report.repairs:
        say(f"repaired, so that the tools of {report.to} can read it:")
        for (path, what), count in report.repairs.most_common():
            say(f"  {path} {what}{f' ({count} times)' if count > 1 else ''}")
    for sample, what in report.faults:
        say(f"not valid {report.to}, like its source: {sample}: {what}")
    _tell_some([f"renamed: {old} occurs more than once; this one is now {new}" for old, new in report.renamed], verbose)
    unnameable = "cannot be a file name, so it was written to"
    files = [f"{id_} {unnameable} {file}; its id in the file is unchanged" for id_, file in report.named]
    _tell_some(files, verbose)
    tell_left_out(report.notes)
    for words in report.by:
        say(f"done by {words}")


def _tell_some(told: list[str], verbose: bool) -> None:
    """Messages of one kind: a folder of copies has hundreds, which would push the result off the screen."""
    some = len(told) if verbose or len(told) <= SOME + 1 else SOME
    for each in told[:some]:
        say(each)
    if more := len(told) - some:
        say(f"and {more:,} more of these: -v lists all of them")


def _where(outputs: list[Path]) -> str:
    if not outputs:
        return ""
    if len(outputs) == 1:
        return f" to {outputs[0]}"
    return f" to {len(outputs)} files in {outputs[0].parent}"
