"""How `eval` and `gate` print decisions: the verdict, what failed and why, the numbers."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import click

from .answer import LISTED, few, joined, named_reasons, sentence, short_name, verdict, without_value
from .output import say, table

if TYPE_CHECKING:
    from pathlib import Path

    from pantrace.engine.summary import EvalSummary, MetricSummary
    from pantrace.judges import Calibrations

_GATE = {0: "Passed", 1: "Failed", 3: "Could not decide, which is not a pass"}


def tell_verdict(summary: EvalSummary, code: int | None, rate: float, out: str) -> None:
    """Print the first sentence; with the exit code of a gate, its verdict."""
    from pantrace.engine.decided_words import decision_words, rate_words, why_none_decided
    from pantrace.policy.share import must_words

    decisions = summary.decisions
    # No profile is the usual state of a first run: say what to do next instead of "failed".
    if not decisions:
        told = why_none_decided(summary)
        # Another profile does not help where there is no sample.
        if summary.samples:
            told = f"{few(summary.samples, 'sample')}, none decided: {told}"
            told += f" (`pantrace gate {out} --profile NAME` decides, `pantrace profiles` lists them)"
        if code is None:
            sentence(f"{told}.")
        else:
            verdict(f"{_GATE[code]}: {told}.", None)
        return
    words = decision_words(decisions)
    if code is not None and summary.denominator.unfinished:
        verdict(f"{_GATE[code]}: {summary.denominator.unfinished}.", None)
        sentence(f"{words}.")
    elif code is not None:
        unread = summary.denominator.refused
        also = f"; {few(unread, 'record')} could not be read, so not decided" if unread else ""
        # At a rate of 1 the counts say everything.
        must = (rate_words(summary), must_words(rate)) if rate != 1 else ()
        words = "; ".join(filter(None, (f"{words}{also}", *must)))
        verdict(f"{_GATE[code]}: {words}.", {0: True, 1: False, 3: None}[code])
    else:
        sentence(f"{words}.")


def tell_failures(summary: EvalSummary, out: Path, verbose: bool) -> None:
    """Print the samples that did not pass, by name, with every reason."""
    from pantrace.engine.reports import decided_samples
    from pantrace.wire.sample_name import sample_name

    decisions = summary.decisions
    several = len(decisions) > 1
    for passed, words, attribute in ((False, "failed", "failed"), (None, "could not be decided", "undecided")):
        total = sum(getattr(each, attribute) for each in decisions)
        if not total:
            continue
        # The limit goes into the query: a run may have a hundred thousand failures.
        most = None if verbose else LISTED
        rows = [
            (
                sample_name(each.sample, each.epoch) + (f" ({each.profile})" if several else ""),
                (each.reasons if verbose else joined(each.reasons)) or ("no reason given",),
            )
            for each in decided_samples(out, summary.profiles, passed=(passed,), limit=most)
        ]
        named_reasons(f"{few(total, 'sample')} {words}:", rows, total, "-v lists all of them")


def tell_numbers(
    summary: EvalSummary, verbose: bool, by: str | None = None, only: Collection[str] | None = None
) -> None:
    """Print the table of metrics (`only` these), one line for those without a number, and groups if wanted."""
    from pantrace.engine.denominator import denominator_words
    from pantrace.engine.reports import repeats

    chosen = [each for each in summary.metrics if _is_shown(each, only)]
    if numbers := [each for each in chosen if each.scored]:
        click.echo()
        _table(numbers, summary.samples)
    absent = [each for each in chosen if not each.scored]
    if absent:
        click.echo()
    short = [(short_name(each.metric), each.why_not or "", bool(each.unscored)) for each in absent]
    without_value("do not apply", [(name, why) for name, why, judged in short if not judged], verbose)
    without_value("are not scored", [(name, why) for name, why, judged in short if judged], verbose)
    if by is not None:
        _tell_groups(summary, by)
    if told := list(repeats(summary)):
        click.echo()
    for name, words in told:
        sentence(f"repeats, {name}: {words}")
    click.echo()
    sentence(denominator_words(summary.denominator))


def _tell_groups(summary: EvalSummary, by: str) -> None:
    from pantrace.errors import UsageError

    known = dict.fromkeys(each.group.partition("=")[0] for each in summary.groups if each.group)
    # A misspelt label would otherwise print an empty table.
    if by not in known:
        from difflib import get_close_matches

        close = get_close_matches(by, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"samples can be grouped by {', '.join(known) or 'nothing'}"
        raise UsageError(f"--by {by!r}: no sample has such a label, or all have the same value; {hint}")
    rows = [each for each in summary.groups if each.group and each.group.partition("=")[0] == by and each.headline]
    click.echo()
    _table([each for each in rows if each.estimate is not None], None, by)


def _is_shown(found: MetricSummary, only: Collection[str] | None) -> bool:
    """Whether a measure has a row: the main ones, or what a profile names, also by a short name such as `tokens`."""
    if only is None:
        return found.headline
    from pantrace.metrics import full_address

    named = {*only, *map(full_address, only)}
    return found.metric in named or (found.headline and found.metric.partition(".")[0] in named)


def _table(metrics: list[MetricSummary], samples: int | None, by: str | None = None) -> None:
    from pantrace.engine.reduce import total_words

    columns = [*([by] if by else []), "metric", "mean", "95 % interval", "samples", "all together"]
    rows = []
    for each in metrics:
        mean, interval = estimate_cells(each)
        group = [(each.group or "").partition("=")[2]] if by else []
        count = f"{each.scored:,}" if samples in (None, each.scored) else f"{each.scored:,} of {samples:,}"
        together = total_words(each.together, each.unit, briefly=True).removesuffix(" sum")
        rows.append([*group, short_name(each.metric), mean, interval, count, together])
    # A column that is empty for all metrics only takes room.
    for name in ("all together", "95 % interval"):
        place = columns.index(name)
        if not any(row[place] for row in rows):
            columns, *rows = [[*row[:place], *row[place + 1 :]] for row in (columns, *rows)]
    table(columns, rows, right=("mean", "samples"), spare=("all together", "samples", "95 % interval"), firm=True)


def estimate_cells(each: MetricSummary) -> tuple[str, str]:
    """The mean and its interval, for two columns."""
    from pantrace.engine.estimate_words import estimate_words

    words = estimate_words(each.estimate, each.unit, scored=each.estimate.n if each.estimate else None)
    mean, bracket, interval = words.partition(" [")
    return mean, interval.rstrip("]").replace(", ", " to ") if bracket else ""


def tell_doubts(
    out: Path, summary: EvalSummary, calibrations: Calibrations, profile: str | None, complete: bool
) -> None:
    """Warn about uncalibrated judges that a gate rests on, and about missing cases that it requires."""
    from pantrace.engine.calibration_files import uncalibrated
    from pantrace.engine.denominator import denominator_words

    if doubtful := uncalibrated(out, calibrations, profile):
        named = ", ".join(dict.fromkeys(each.metric for each in doubtful))
        say(f"warning: decided by judges that were not calibrated: {named} (`pantrace calibrate`)")
    if complete and not summary.denominator.complete:
        say(f"not complete, but the gate requires it: {denominator_words(summary.denominator)}")
