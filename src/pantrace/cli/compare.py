"""`pantrace compare`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pantrace.errors import UsageError
from pantrace.wire.markdown_text import as_text as escaped

from .answer import few, sentence, short_name
from .arguments import as_json, expand, keep_inputs, metric_names, unfold, verbose, within_limits
from .compare_brief import MOST_EXPLAINED, gaps_briefly, headline, in_front, methods_briefly
from .compare_judging import Judging, judging
from .output import harmless, print_json, say, table

if TYPE_CHECKING:
    from pantrace.engine.compare_result import Comparison, Flip
    from pantrace.engine.compare_runs import Comparisons
    from pantrace.engine.trend import History


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, metavar="A B...")
@metric_names("Only this metric; repeat for more.")
@click.option(
    "--pair-by", type=click.Choice(["case", "sample"]), default="case", show_default=True, help="What makes a pair."
)
@click.option("--cluster", metavar="NAME", help="Cases that belong together: task, scenario, agent or a label's name.")
@click.option(
    "--split",
    metavar="NAME",
    help="Compare parts of one run: agent, or a label's name. Pairs share scenario or question.",
)
@click.option("--all-pairs", is_flag=True, help="Compare each run with each, not only with the first.")
@click.option("--trend", is_flag=True, help="Show the history of the runs, and which changes hold up.")
@click.option(
    "--rubric",
    "rubrics",
    multiple=True,
    metavar="NAME|FILE",
    help="Ask a judge which answer is better (pairwise_quality): without names, in both orders.",
)
@judging
@click.option(
    "--margin",
    "margins",
    multiple=True,
    metavar="X|X%|NAME=X",
    help="A difference that does not matter: a number, or a share of A's mean; for all metrics, or for one.",
)
@click.option("--gate", is_flag=True, help="Exit 0 no worse than A by more than the margin, 1 worse, 3 not proven.")
@click.option("--markdown", metavar="FILE", help="Write the result as Markdown.")
@click.option(
    "--flips",
    type=click.IntRange(min=0),
    metavar="N",
    help="List up to N changed cases each way (5; with -v 10 per metric).",
)
@verbose
@as_json
@within_limits
def command(
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    pair_by: str,
    cluster: str | None,
    split: str | None,
    all_pairs: bool,
    trend: bool,
    rubrics: tuple[str, ...],
    judge: Judging,
    margins: tuple[str, ...],
    gate: bool,
    markdown: str | None,
    flips: int | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Say whether run B is better than run A, or whether it is noise.

    Runs are run directories or any recordings with scores. Cases are paired. For each metric you get a sentence, then
    both means and their difference with its interval and p-value (adjusted over all tests), the method's name, and a
    verdict: better, worse, equivalent (only with --margin), inconclusive, or no change. Further runs are compared with
    the first, too. A single run is split: comparative cases by their workflow, others by --split.

    \b
    pantrace compare results/monday results/tuesday
    pantrace compare results/baseline results/new --metric accuracy \\
        --margin 0.02 --gate
    pantrace compare --trend results/*
    pantrace compare results/both --split agent
    pantrace compare runs/a runs/b --rubric pairwise_quality \\
        --judge openai:gpt-4.1-mini
    """
    from pathlib import Path

    from pantrace.engine.compare_runs import exit_code
    from pantrace.engine.trend import trend_of_sources
    from pantrace.library.compare import compare_named, pairwise
    from pantrace.wire.output import writing

    from .judge import tell_judging

    # Refused instead of ignored: a gate that silently does nothing would always be green.
    if trend and (gate or margins or all_pairs or markdown or split or rubrics):
        raise UsageError("--trend can be combined only with --metric, --cluster, --pair-by and --json")
    keep_inputs(runs, others=[markdown])
    # A pattern in one name is one run of several files; patterns in URLs are several runs, as a shell would make them.
    sources = [(path, expand((path,))) for path in unfold(runs)]
    if trend:
        history = trend_of_sources(sources, metrics=metrics, cluster=cluster, pair_by=pair_by)
        if as_json:
            print_json(history.to_dict())
        else:
            _tell_history(history)
        return
    asked = pairwise(
        rubrics,
        judge.model,
        base_url=judge.base_url,
        cache=judge.cache,
        replay=judge.replay,
        redact=not judge.no_redact,
    )
    found = compare_named(
        sources,
        asked,
        metrics=metrics,
        pair_by=pair_by,
        cluster=cluster,
        split=split,
        all_pairs=all_pairs,
        margins=margins,
    )
    for note in asked.notes:
        say(note)
    if asked.bench is not None:
        tell_judging(asked.bench)
    if markdown:
        with writing(Path(markdown)) as file:
            file.write(as_markdown(found).encode())
    if as_json:
        print_json(found.to_dict())
    else:
        tell_comparisons(found, flips, verbose=verbose)
    for told in found.unfinished:
        say(f"warning: {told}")
    if not gate:
        return
    code = exit_code(found.comparisons) if not found.unfinished else 3
    # On stderr, after the table, so that it is the last line in a build log.
    say(f"gate: {GATE[code]}")
    raise click.exceptions.Exit(code)


GATE = {0: "passed", 1: "failed: proven worse", 3: "could not decide, which is not a pass"}


# None: the default number; 0: none at all.
def tell_comparisons(found: Comparisons, flips: int | None = 0, *, verbose: bool = False) -> None:
    """Print sentences, table, methods and changed cases; for many metrics, only what fits one screen."""
    from pantrace.engine.compare_result import SHOWS_NOTHING

    briefly = not verbose and len(found.comparisons) > MOST_EXPLAINED
    shown = in_front(found.comparisons) if briefly else found.comparisons
    _tell_answers(found.comparisons)
    for told in gaps_briefly(found.comparisons) if briefly else ():
        sentence(told)
    click.echo()
    columns, rows = _rows(found, shown, briefly=True)
    if len({each.verdict for each in found.comparisons}) == 1 and briefly:
        columns, rows = columns[:-1], [row[:-1] for row in rows]  # the sentence says it for all of them
    spare = ("could have seen", "won/lost/tied", "p (Holm)", "pairs")
    # One of two means follows from the other and the difference.
    last = found.runs if len(found.runs) == 2 else ()
    table(columns, rows, right=("pairs",), spare=spare, last=last, firm=True)
    if len(shown) < len(found.comparisons):
        sentence(f"and {few(len(found.comparisons) - len(shown), 'more metric')}")
    only = {(one, two): (first, second) for one, two, first, second in found.only}
    if found.comparisons[0].tests > 1:
        sentence(f"p: {found.correction}")
    for told in methods_briefly(found.comparisons) if briefly else ():
        sentence(told)
    for each in found.comparisons if not briefly else ():
        method = each.difference.method if each.difference else "none"
        notes = [*([method] if method != "none" else []), *each.notes]
        if each.left_out:
            notes.append(f"{few(each.left_out, 'score')} without a number, left out")
        of = f" ({' against '.join(reversed(each.runs))})" if len(found.runs) > 2 else ""
        sentence(f"{each.metric}{of}: {'; '.join(notes)}")
    for (one, two), (first, second) in only.items():
        if first or second:
            paired = any(each.common for each in found.comparisons if each.runs == (one, two))
            left = ", left out of pairs" if paired else ""
            sentence(f"cases only in {one}: {first}, only in {two}: {second}{left}")
    changed = [each for each in found.comparisons if each.flips and flips != 0]
    # Proven differences first: without -v, only the first list is printed.
    changed.sort(key=lambda each: each.verdict in SHOWS_NOTHING)
    for each in changed if verbose else changed[:1]:
        _tell_flips(each, flips or (10 if verbose else MOST_FLIPS))
    if not verbose and len(changed) > 1:
        others = ", ".join(each.metric for each in changed[1:4]) + (", …" if len(changed) > 4 else "")
        sentence(f"Cases also changed on {few(len(changed) - 1, 'other metric')} ({others}): -v lists them.")


MOST_FLIPS = 5
FEW = 4
"""Up to this many comparisons, each gets a sentence; with more, only the main one and those with a clear verdict."""


def _tell_answers(found: Sequence[Comparison]) -> None:
    from pantrace.engine.compare_result import SHOWS_NOTHING

    always = headline(found)
    told = [each for each in found if len(found) <= FEW or each in always or each.verdict not in SHOWS_NOTHING]
    for each in told:
        sentence(each.sentence)
    words = {"inconclusive": "not proven", "equivalent": "equivalent", "no change": "without any change"}
    counts = {verdict: sum(each.verdict == verdict and each not in told for each in found) for verdict in words}
    if listed := [f"{count} {words[verdict]}" for verdict, count in counts.items() if count]:
        others = few(sum(counts.values()), "comparison")
        told_once = listed[0].partition(" ")[2] if len(listed) == 1 else ", ".join(listed)
        sentence(f"The other {others}: {told_once} (--metric NAME or --json shows each)")


def _rows(
    found: Comparisons, shown: Sequence[Comparison] | None = None, *, briefly: bool = False
) -> tuple[list[str], list[list[str]]]:
    """The table; if brief, means have no intervals, because only that of the difference counts."""
    from pantrace.engine.compare_words import difference_words, size_words
    from pantrace.engine.estimate_words import estimate_words

    several = len(found.runs) > 2
    means = ["run", "mean", "against", "its mean"] if several else list(found.runs)
    pairs = ["pairs"] * briefly
    columns = ["metric", *means, "difference", *pairs, "p (Holm)", "won/lost/tied", "could have seen", "verdict"]
    rows = []
    for each in found.comparisons if shown is None else shown:
        one, two = estimate_words(each.first, each.unit), estimate_words(each.second, each.unit)
        words, common = difference_words(each), f"{each.common:,}"
        if briefly:
            one, two = one.partition(" [")[0].partition(" n=")[0], two.partition(" [")[0].partition(" n=")[0]
        rows.append(
            [
                short_name(each.metric) if briefly else each.metric,
                *([each.runs[1], two, each.runs[0], one] if several else [one, two]),
                *([words.rpartition(" n=")[0] or words, common] if briefly else [words]),
                "" if each.p_adjusted is None else f"{each.p_adjusted:.3g}",
                "" if each.wins is None else f"{each.wins}/{each.losses}/{each.ties}",
                "" if each.detectable is None else f"±{size_words(each, each.detectable)}",
                each.verdict,
            ]
        )
    return columns, rows


def _tell_flips(each: Comparison, most: int) -> None:
    down = -1 if each.better == "lower" else 1
    ways = [[flip for flip in each.flips if way * down * (flip.after - flip.before) > 0] for way in (-1, 1)]
    names = ("got worse", "got better") if each.better else ("went down", "went up")
    one, two = each.runs
    for name, flips in zip(names, (ways[0], ways[1][::-1]), strict=True):
        if flips:
            click.echo()
            click.echo(
                harmless(f"{len(flips)} case{'' if len(flips) == 1 else 's'} {name} on {each.metric} ({one} to {two}):")
            )
            table(["case", one, two], [_flip(flip) for flip in flips[:most]])
            if len(flips) > most:
                say(f"and {len(flips) - most} more; --flips N lists them")


def _flip(flip: Flip) -> list[str]:
    return [flip.case, f"{flip.before:.3g}", f"{flip.after:.3g}"]


def _tell_history(found: History) -> None:
    from pantrace.engine.compare_words import difference_words
    from pantrace.engine.estimate_words import estimate_words
    from pantrace.wire.times import time_text

    dated = any(point.created is not None for each in found.trends for point in each.points)
    for each in found.trends:
        click.echo(harmless(each.metric))
        rows = []
        for point in each.points:
            change = point.change
            when = (time_text(point.created) or "")[:16].replace("T", " ")
            rows.append(
                [
                    point.run,
                    *([when] if dated else []),
                    estimate_words(point.estimate, each.unit),
                    "" if change is None else difference_words(change),
                    "" if change is None else change.runs[0],
                    f"<- {change.verdict}" if change is not None and point.holds_up else "",
                ]
            )
        made = ["made"] if dated else []
        table(["run", *made, "value", "change", "since", "holds up"], rows, spare=("made",))
    told = "" if found.in_time else " Runs are in the order given, because some have no time."
    sentence(f"A mark shows a proven change since the last mark ({found.correction}).{told}")


def as_markdown(found: Comparisons) -> str:
    """The comparison as Markdown: the sentences, then the table."""
    from pantrace.normalise.secrets import Redactor

    redactor = Redactor()  # a Markdown file is usually posted for others to read

    def as_text(text: str) -> str:
        return escaped(redactor.text(text)[0])

    columns, rows = _rows(found)
    kept = [place for place, name in enumerate(columns) if name not in ("won/lost/tied", "could have seen")]
    lines = [f"## {as_text(', '.join(found.runs[1:]))} against {as_text(found.runs[0])}", ""]
    lines += [f"- {as_text(each.sentence)}" for each in found.comparisons]
    lines += ["", f"| {' | '.join(as_text(columns[place]) for place in kept)} |", "|---" * len(kept) + "|"]
    for row in rows:
        cells = [f"**{row[place]}**" if place == len(columns) - 1 else as_text(row[place]) for place in kept]
        lines.append(f"| {' | '.join(cells)} |")
    methods = sorted({each.difference.method for each in found.comparisons if each.difference is not None})
    told = f"Methods: {'; '.join(methods) or 'none'}. 95 % intervals. Adjusted p: {found.correction}."
    return "\n".join([*lines, "", told, ""])
