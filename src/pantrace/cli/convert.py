"""`pantrace convert`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from pantrace.engine.convert import convert, parse_options, to_stream
from pantrace.engine.loss_report import Report, percent
from pantrace.engine.select import Selection
from pantrace.errors import LossRefused, NothingWritten, UsageError
from pantrace.formats import by_name
from pantrace.model import Loss
from pantrace.wire.json import encode
from pantrace.wire.output import writing

from .arguments import as_json, expand, from_format, keep_inputs, selecting, sources
from .left_out import left_out, tell_left_out
from .output import print_json, say, table
from .progress import progress


@click.command("convert")
@sources
@click.option("--to", required=True, metavar="FORMAT", help="The format to write; `pantrace formats` lists them.")
@click.option(
    "-o",
    "out",
    default="-",
    metavar="OUT",
    help="File to write, a directory for formats with one sample per file, or - for stdout (the default).",
)
@from_format
@click.option("--option", "options", multiple=True, metavar="K=V", help="A writer's option; repeat for more.")
@click.option("--loss", metavar="FILE", help="Write every loss as a JSON line {sample, path, what, why}.")
@click.option("--no-loss", is_flag=True, help="Do not measure what is lost (faster).")
@click.option("--no-carry", is_flag=True, help="Write plain files: keep nothing under a `pantrace` key of ours.")
@click.option("--strict", is_flag=True, help="Refuse to lose anything (exit 1) or to skip a broken record (exit 2).")
@click.option(
    "--no-sub-agents", is_flag=True, help="Leave sub-agents out; else they go where the format has room, or get rows."
)
@selecting
@as_json
def command(
    sources: tuple[str, ...],
    to: str,
    out: str,
    from_: str | None,
    options: tuple[str, ...],
    loss: str | None,
    no_loss: bool,
    no_carry: bool,
    strict: bool,
    no_sub_agents: bool,
    chosen: Selection,
    as_json: bool,
) -> None:
    """Write recordings as another format and report what was lost.

    PATH is a file, a directory or a pattern; several are read as one pile. What the target cannot carry is measured by
    reading back what was written, summed up on stderr, and listed in full with --loss. Broken records are named and
    left out. Inputs are never changed; an output appears only when all of it is written and measured. Exit code 1 if no
    sample could be written.

    \b
    pantrace convert opencode.db --to vertex-seed -o sessions.json
    pantrace convert runs/ --to native -o all.trace.jsonl.zst --since 7d --loss lost.jsonl
    pantrace convert session.json --to opencode -o - --strict
    """
    target = by_name(to)
    given = parse_options(target, dict(_pair(text) for text in options))
    if as_json and out == "-":
        raise UsageError("--json and the output cannot both go to stdout: name a file with -o")
    if (loss or strict) and no_loss:
        raise UsageError(f"{'--loss' if loss else '--strict'} needs the measuring that --no-loss turns off")
    if out == "-" and not target.suffix.endswith(("json", "jsonl")) and sys.stdout.isatty():
        raise UsageError(f"{to} is not text, which a terminal could not show: name a file with -o")
    keep_inputs(sources, recordings=[out], others=[loss])
    paths = expand(sources)
    chosen.sub_agents = not no_sub_agents
    refusal: LossRefused | NothingWritten | None = None
    with ExitStack() as stack:
        on_loss = _loss_writer(stack, Path(loss)) if loss else None

        def run_to(path: Path) -> Report:
            with progress("samples") as count:
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
                )

        try:
            report = to_stream(run_to, sys.stdout.buffer, target.suffix) if out == "-" else run_to(Path(out))
        except (LossRefused, NothingWritten) as error:
            refusal = error  # the list of losses says why, so it is written all the same
    if refusal is not None:
        raise refusal
    if as_json:
        print_json(summary(report))
    else:
        tell(report)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--option {text!r} is not NAME=VALUE")
    return name, value


def _loss_writer(stack: ExitStack, path: Path) -> Callable[[Loss], None]:
    file = stack.enter_context(writing(path))
    return lambda loss: void(file.write(encode(loss) + b"\n"))


def void(_: Any) -> None:
    """Takes a value and gives none."""


def summary(report: Report) -> dict[str, Any]:
    """A report as the JSON of --json."""
    return {
        "to": report.to,
        "read": report.notes.formats,
        "written": report.samples,
        "outputs": [str(path) for path in report.outputs],
        "loss_measured": report.measured,
        "values": report.values,
        "shares": report.shares,
        "losses": [
            {"path": path, "what": what, "why": why, "count": count}
            for (path, what, why), count in report.losses.most_common()
        ],
        "carried": [{"path": path, "count": count} for path, count in report.carried.most_common()],
        "refused": [{"sample": sample, "why": why} for sample, why in report.refused],
        "repairs": [
            {"path": path, "what": what, "count": count} for (path, what), count in report.repairs.most_common()
        ],
        "invalid_as_in_source": [{"sample": sample, "what": what} for sample, what in report.faults],
        "renamed": [{"sample": old, "as": new} for old, new in report.renamed],
        "named": [{"sample": sample, "file": name} for sample, name in report.named],
        "reading": report.notes.unread.plain() if report.notes.unread is not None else None,
        "headers": [{"input": name, "lost": count} for name, count in report.headers.items()],
        **left_out(report.notes),
    }


def tell(report: Report) -> None:
    """A report for a person, on stderr."""
    tell_left_out(report.notes)
    for sample, why in report.refused:
        say(f"refused: {sample}: {why}")
    if report.repairs:
        say(f"repaired, so that {report.to}'s own tools can read it:")
        for (path, what), count in report.repairs.most_common():
            say(f"  {path} {what}{f' ({count} times)' if count > 1 else ''}")
    for sample, what in report.faults:
        say(f"not valid {report.to}, as in its source: {sample}: {what}")
    for old, new in report.renamed:
        say(f"renamed: {old} occurs more than once, here as {new}")
    for sample, name in report.named:
        say(f"named: {sample} is no file name, here in {name}; its id in the file is unchanged")
    read = ", ".join(f"{count} {name}" for name, count in report.notes.formats.items())
    where = _where(report.outputs)
    say(f"read {read or 'nothing'}; wrote {report.samples} samples as {report.to}{where}")
    if report.notes.unread is not None and (sentence := report.notes.unread.sentence()) is not None:
        say(sentence)
    if not report.measured:
        say("loss was not measured (--no-loss)")
    else:
        say(_loss_words(report))
        rows = [[f"{count:,}", path, what, why] for (path, what, why), count in report.losses.most_common(12)]
        if rows:
            table(["values", "path", "what", "why"], rows, right=("values",), err=True)
        if len(report.losses) > 12:
            say(f"and {len(report.losses) - 12} more kinds; --loss FILE lists every one")
        if report.carried:
            kinds = ", ".join(path for path, _ in report.carried.most_common(4))
            more = f" and {len(report.carried) - 4} more kinds" if len(report.carried) > 4 else ""
            say(f"kept under a `pantrace` key, which {report.to}'s own tools ignore: {kinds}{more}")


def _loss_words(report: Report) -> str:
    """The answer, and the three shares where they say more."""
    count = sum(report.losses.values())
    answer = f"lost: {count:,} values of {len(report.losses)} kinds" if count else "nothing was lost"
    shares = report.shares
    if shares is None or shares["kept"] == 1:
        return answer
    kept, ours, lost = (percent(shares[name]) for name in ("kept", "kept_for_pantrace_only", "lost"))
    return f"{answer}; kept for {report.to}'s own tools: {kept}, kept for pantrace only: {ours}, lost: {lost}"


def _where(outputs: list[Path]) -> str:
    if not outputs:
        return ""
    if len(outputs) == 1:
        return f" to {outputs[0]}"
    return f" to {len(outputs)} files in {outputs[0].parent}"
