"""`pantrace judge`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from pantrace.errors import UsageError

from .arguments import (
    FiniteRange,
    as_json,
    expand,
    from_format,
    keep_inputs,
    option,
    output,
    selecting,
    sources,
    sub_agents,
)
from .engine_options import engine_options
from .google_cloud import google_cloud
from .output import harmless, harmless_lines, print_json, put, say, table
from .progress import progress

if TYPE_CHECKING:
    from pathlib import Path

    from pantrace.engine.executor import Engine
    from pantrace.engine.judge import Bench
    from pantrace.engine.measure import Row
    from pantrace.engine.select import Selection
    from pantrace.judges import AnyRubric
    from pantrace.library.judge import Grading
    from pantrace.model import Sample, Score

MAX_CHARS = 100_000
"""What the engine takes where nobody says otherwise."""
STATUSES = {"scored": "scored", "not_applicable": "n/a", "unscored": "unscored"}
KINDS = ("json", "jsonl", "csv", "parquet", "native")
"""What `-o` may hold: scores, or as native the samples with them."""


@click.command("judge")
@sources
@from_format
@click.option(
    "--rubric",
    "names",
    multiple=True,
    required=True,
    metavar="NAME|FILE",
    help="Also metric definitions (FILE.json, or FILE.json:NAME for one) and criteria (FILE.yaml, FILE.yaml:ID). "
    "Repeat for more.",
)
@click.option(
    "--guidelines",
    metavar="FILE|TEXT",
    help="Guidelines for Vertex AI rubrics that accept them: a text, a text file, or criteria (.yaml).",
)
@click.option(
    "--judge",
    "models",
    multiple=True,
    metavar="PROVIDER:MODEL",
    help="openai:MODEL, anthropic:MODEL or google:MODEL; with --base-url, only MODEL. Several make a panel.",
)
@click.option("--base-url", metavar="URL", help="Another server that speaks the provider's protocol.")
@google_cloud
@option(
    "--repeats",
    "repeats",
    old=("--samples",),
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="How often each judge is asked.",
)
@click.option(
    "--combine",
    type=click.Choice(["mean", "majority"]),
    help="How verdicts are combined; by default grades by mean, pass and fail by majority.",
)
@click.option("--temperature", type=float, metavar="T", help="By default 0 for one repeat, 0.7 for more.")
@click.option("--seed", type=int, metavar="N", help="Sent to the provider, plus the number of the repeat.")
@click.option("--weighted", is_flag=True, help="Weight grades by log-probabilities, if the provider returns them.")
@click.option(
    "--max-tokens",
    type=click.IntRange(min=16),
    default=2000,
    show_default=True,
    help="Maximum number of tokens in a reply.",
)
@click.option(
    "--max-chars",
    type=click.IntRange(min=2000),
    default=MAX_CHARS,
    show_default=True,
    help="Maximum number of characters in a prompt.",
)
@click.option("--cache", metavar="FILE", help="File that stores replies; by default in the user's cache folder.")
@click.option("--replay", is_flag=True, help="Answer from the cache only, and say what is missing.")
@click.option("--budget-tokens", type=click.IntRange(min=1), metavar="N", help="Stop after N tokens.")
@click.option("--budget-usd", type=FiniteRange(min=0, min_open=True), metavar="X", help="Stop at this cost.")
@click.option("--budget-calls", type=click.IntRange(min=1), metavar="N", help="Stop after N calls.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 256),
    default=8,
    show_default=True,
    help="Number of questions at the same time.",
)
@click.option("--timeout", type=FiniteRange(min=0.1), default=120.0, show_default=True, help="Seconds for a reply.")
@click.option("--retries", type=click.IntRange(0, 20), default=4, show_default=True, help="Number of retries.")
@click.option("--no-redact", is_flag=True, help="Send texts unchanged, including secrets.")
@click.option("--dry-run", is_flag=True, help="Show the prompts, the number of calls and the tokens; ask nothing.")
@output("Write the scores (.json, .jsonl, .csv, .parquet), or the samples with them (.trace.jsonl).")
@click.option(
    "--format", "format_", type=click.Choice(KINDS), help="Format to write; by default taken from the name of -o."
)
@sub_agents
@selecting
@engine_options
@as_json
def command(
    sources: tuple[str, ...],
    from_: str | None,
    names: tuple[str, ...],
    guidelines: str | None,
    models: tuple[str, ...],
    base_url: str | None,
    project: str | None,
    location: str | None,
    repeats: int,
    combine: str | None,
    temperature: float | None,
    seed: int | None,
    weighted: bool,
    max_tokens: int,
    max_chars: int,
    cache: str | None,
    replay: bool,
    budget_tokens: int | None,
    budget_usd: float | None,
    budget_calls: int | None,
    concurrency: int,
    timeout: float,
    retries: int,
    no_redact: bool,
    dry_run: bool,
    out: str | None,
    format_: str | None,
    sub_agents: bool,
    chosen: Selection,
    engine: Engine,
    as_json: bool,
) -> None:
    """Grade recordings by rubrics, with a language model as judge.

    Without --judge nothing is sent, and every score is unscored. Replies are cached: a second run asks nothing, and an
    interrupted run continues. Without a usable verdict, a score is unscored, with the reason; it is never a number.
    Secrets are replaced before anything is sent. See docs/judges.md.

    Rubrics named vertex:NAME_VERSION are run by Vertex AI in your project, without --judge.

    Exit code: 0, or 3 if nothing could be judged.

    \b
    pantrace judge runs/ --rubric HelpfulnessExplain --judge openai:gpt-4.1-mini
    pantrace judge runs/ --rubric my.toml --judge openai:qwen3 \\
        --base-url http://127.0.0.1:8000/v1 --repeats 5
    pantrace judge runs/ --rubric tool_use_quality --dry-run
    pantrace judge rows.jsonl \\
        --rubric metric_definitions.json:recommendation_quality \\
        --judge google:gemini-2.5-flash
    pantrace judge runs/ --rubric pair-programming.yaml \\
        --judge openai:gpt-4.1-mini
    pantrace judge runs/ --rubric vertex:general_quality_v1 \\
        --guidelines pair-programming.yaml --project my-project
    """
    from pantrace.engine.plan import JudgeTable
    from pantrace.library.access import cache_file
    from pantrace.library.judge import grading

    from .left_out import tell_left_out

    kind = None if out is None or dry_run else format_ or _kind_of(out)
    if not dry_run:
        _refuse_outputs(sources, names, out, kind, cache)
    table = JudgeTable(
        models=list(models),
        base_url=base_url,
        samples=repeats,
        combine=combine,  # type: ignore[arg-type]
        temperature=temperature,
        seed=seed,
        weighted=weighted,
        max_tokens=max_tokens,
        max_chars=max_chars,
        redact=not no_redact,
        timeout=timeout,
        retries=retries,
        concurrency=concurrency,
        budget_tokens=budget_tokens,
        budget_usd=budget_usd,
        budget_calls=budget_calls,
    )
    ready = grading(
        expand(sources),
        names,
        table,
        guidelines=guidelines,
        project=project,
        location=location,
        cache=cache,
        replay=replay,
        dry_run=dry_run,
        sub_agents=sub_agents,
        selection=chosen,
        format=from_,
        engine=engine,
    )
    if ready.measured:
        say(f"not judged but measured, by `pantrace measure` and `pantrace eval`: {', '.join(ready.measured)}")
    if dry_run:
        _dry_run(ready, cache_file(cache), as_json)
    else:
        _judge(ready, out, kind, chosen.limit, as_json)
    tell_left_out(ready.notes)
    if not dry_run and ready.judges.counts.statuses["unscored"] and not ready.judges.counts.statuses["scored"]:
        raise click.exceptions.Exit(3)


def _refuse_outputs(
    sources: tuple[str, ...], rubrics: tuple[str, ...], out: str | None, kind: str | None, cache: str | None
) -> None:
    """Asked before anything is judged, since judging costs."""
    beside = [part for name in rubrics for part in (name, name.rpartition(":")[0])]
    if kind == "native":
        keep_inputs(sources, beside=beside, recordings=[out], others=[cache])
    else:
        keep_inputs(sources, beside=beside, others=[out, cache])


def _judge(ready: Grading, out: str | None, kind: Any, limit: int | None, as_json: bool) -> None:
    from pathlib import Path

    import msgspec

    from pantrace.engine.convert import write_run
    from pantrace.engine.measure import Row
    from pantrace.engine.tables import write_table
    from pantrace.library.scores import Scores
    from pantrace.model import with_samples

    rows: list[Row] = []
    native = out is not None and kind == "native"
    with progress("sample", total=limit) as count:

        def told() -> Iterator[tuple[Sample, list[Score]]]:
            for sample, scores, found in ready.judged(whole=native):
                rows.extend(found)
                count(sample)
                yield sample, scores

        if native:
            scored = (msgspec.structs.replace(sample, scores=(*sample.scores, *scores)) for sample, scores in told())
            write_run(with_samples(ready.run, scored), Path(str(out)), to="native", measure=False)
        else:
            for _ in told():
                pass
    if native:
        say(f"wrote the samples with their scores to {out}")
    elif out is not None:
        say(f"wrote {write_table(rows, Path(out), kind, Row.__struct_fields__)} scores to {out}")
    if as_json:
        print_json(Scores(rows, judging=ready.judges.summary()).to_dict())
        return
    _print(rows, ready.rubrics)
    tell_judging(ready.judges, reasons=False)  # they stand under the table, with their rubrics
    for words in ready.by:
        say(f"done by {words}")


def _kind_of(out: str) -> str:
    """What a file's name says of its content."""
    from pathlib import Path

    if ".trace.jsonl" in Path(out).name:
        return "native"
    kind = Path(out).suffix.removeprefix(".")
    if kind not in KINDS[:-1]:
        raise UsageError(
            f"-o {out}: the name must end in .json, .jsonl, .csv, .parquet or .trace.jsonl, "
            "or --format must name the format"
        )
    return kind


def _print(rows: list[Row], rubrics: Sequence[AnyRubric]) -> None:
    lines, missing = [], []
    for rubric in rubrics:
        found = [each for each in rows if each.metric == rubric.name]
        numbers = [float(each.value) for each in found if isinstance(each.value, (int, float))]
        counts = {status: sum(each.status == status for each in found) for status in STATUSES}
        mean = f"{sum(numbers) / len(numbers):.3g}" if numbers else ""
        ends = [f"{min(numbers):g}", f"{max(numbers):g}"] if numbers else ["", ""]
        lines.append([rubric.name, *map(str, counts.values()), mean, *ends])
        for status, word in STATUSES.items():
            reasons = Counter(each.explanation or "no reason is given" for each in found if each.status == status)
            if status != "scored" and reasons:
                mostly = ", mostly" if len(reasons) > 1 else ""
                missing.append(f"{rubric.name}: {counts[status]} {word}{mostly}: {reasons.most_common(1)[0][0]}")
    columns = ["rubric", *STATUSES.values(), "mean", "min", "max"]
    table(columns, lines, right=tuple(columns[1:]), spare=("min", "max"))
    for line in missing:
        put(line)


def tell_judging(judging: Bench, *, reasons: bool = True) -> None:
    """Calls, tokens and cost, and why scores are missing."""
    found = judging.summary()
    cost = f", {found['cost_usd']:.4f} USD" if found["cost_usd"] else ""
    if found["calls"] or found["cached"]:
        say(
            f"{found['calls']} calls ({found['retries']} retries), {found['cached']} from the cache, "
            f"{'about ' if found['tokens_estimated'] else ''}{found['tokens']} tokens{cost}"
        )
    if found["missing"]:
        say(f"{found['missing']} replies are missing in the cache")
    for problem, count in judging.counts.problems.most_common(5 if reasons else 0):
        say(f"{count} unscored: {problem}")


def _dry_run(ready: Grading, cache: Path, as_json: bool) -> None:
    import msgspec

    from pantrace.engine.judge import plan_questions

    found = list(plan_questions(ready.run.samples, ready.rubrics, ready.judges, cache))
    total = {
        "calls": sum(each.calls for each in found),
        "cached": sum(each.cached for each in found),
        "estimated_tokens": sum(each.estimated_tokens for each in found),
        "not_applicable": sum(each.not_applicable is not None for each in found),
    }
    if as_json:
        print_json({**total, "prompts": [msgspec.to_builtins(each) for each in found]})
        return
    for each in found:
        click.echo(harmless(f"=== {each.sample} · {each.rubric}"))
        if each.prompt is None:
            click.echo(harmless(f"not applicable: {each.not_applicable}") + "\n")
        else:
            click.echo(harmless_lines(f"--- system\n{each.prompt.system}\n--- prompt\n{each.prompt.text}\n"))
    say(
        f"{total['calls']} calls, about {total['estimated_tokens']} tokens; {total['cached']} more are in the cache; "
        f"{total['not_applicable']} do not apply. Nothing was sent."
    )
