"""`pantrace judge`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from pantrace.errors import UsageError
from pantrace.library.access import cache_file, reach

from .arguments import as_json, expand, from_format, keep_inputs, option, output, selecting, sources, sub_agents
from .google_cloud import google_cloud, named_project, required_project
from .output import harmless, print_json, say, table
from .progress import progress

if TYPE_CHECKING:
    from pathlib import Path

    from pantrace.engine.judge import Bench
    from pantrace.engine.measure import Row
    from pantrace.engine.read import Notes
    from pantrace.engine.select import Selection
    from pantrace.judges import AnyRubric
    from pantrace.model import Run, Sample, Score

MAX_CHARS = 100_000
"""What the engine takes where nobody says otherwise."""
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
    help="What a rubric of Vertex AI that takes guidelines should look at: words, a text file, or criteria (.yaml).",
)
@click.option(
    "--judge",
    "models",
    multiple=True,
    metavar="PROVIDER:MODEL",
    help="openai:MODEL, anthropic:MODEL or google:MODEL; with --base-url MODEL alone. Several make a panel.",
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
    "--combine", type=click.Choice(["mean", "majority"]), help="By default grades by mean, pass and fail by majority."
)
@click.option("--temperature", type=float, metavar="T", help="By default 0 where a judge is asked once, 0.7 for more.")
@click.option("--seed", type=int, metavar="N", help="Sent to the provider, plus the number of the repeat.")
@click.option("--weighted", is_flag=True, help="Weigh grades by log-probabilities, where the provider tells them.")
@click.option("--max-tokens", type=click.IntRange(min=16), default=2000, show_default=True, help="Of one reply.")
@click.option(
    "--max-chars",
    type=click.IntRange(min=2000),
    default=MAX_CHARS,
    show_default=True,
    help="Of one prompt.",
)
@click.option("--cache", metavar="FILE", help="Where replies are kept; by default in the user's cache folder.")
@click.option("--replay", is_flag=True, help="Answer from the cache only, and say what is missing.")
@click.option("--budget-tokens", type=click.IntRange(min=1), metavar="N", help="Stop asking beyond so many tokens.")
@click.option("--budget-usd", type=click.FloatRange(min=0, min_open=True), metavar="X", help="Stop beyond this cost.")
@click.option("--budget-calls", type=click.IntRange(min=1), metavar="N", help="Stop asking beyond so many calls.")
@click.option("--concurrency", type=click.IntRange(1, 256), default=8, show_default=True, help="Questions at once.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), default=120.0, show_default=True, help="Seconds for a reply."
)
@click.option("--retries", type=click.IntRange(0, 20), default=4, show_default=True, help="How often to ask again.")
@click.option("--no-redact", is_flag=True, help="Send texts as they are, secrets included.")
@click.option("--dry-run", is_flag=True, help="Show the prompts, the number of calls and the tokens; ask nothing.")
@output("Write the scores (.json, .jsonl, .csv, .parquet), or the samples with them (.trace.jsonl).")
@click.option(
    "--format", "format_", type=click.Choice(KINDS), help="What to write; by default what the name of -o says."
)
@sub_agents
@selecting
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
    as_json: bool,
) -> None:
    """Grade recordings by rubrics, with a language model as judge.

    Without --judge nothing is sent, and every score is unscored. Replies are kept in a cache: a second run asks
    nothing, a run that was stopped goes on. What got no usable verdict is unscored with its reason, never a number.
    Secrets are replaced before anything is sent. docs/judges.md says more.

    A rubric vertex:NAME_VERSION is one that Vertex AI keeps: it judges by itself, in your project, without --judge.

    Exit code: 3 when something was to be judged and nothing could be.

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
    from pantrace.engine.judge import Access, Bench, bench
    from pantrace.engine.read import Notes, read_pile, split_children
    from pantrace.engine.rubric_selection import select_rubrics
    from pantrace.judges import Managed, Settings, guidelines_from, is_managed, with_guidelines
    from pantrace.model import with_samples
    from pantrace.normalise.secrets import Redactor

    from .left_out import tell_left_out

    asked = select_rubrics(names)
    if asked.measured:
        listed = ", ".join(asked.measured)
        if not asked.rubrics:
            raise UsageError(f"nothing to judge: `pantrace measure` and `pantrace eval` measure {listed}")
        say(f"not judged but measured, by `pantrace measure` and `pantrace eval`: {listed}")
    rubrics = asked.rubrics
    if guidelines is not None:
        rubrics = with_guidelines(rubrics, guidelines_from(guidelines))
    kind = None if out is None or dry_run else format_ or _kind_of(out)
    if not dry_run:
        _refuse_outputs(sources, names, out, kind, cache)
    managed = any(isinstance(rubric, Managed) for rubric in rubrics)
    judges = reach(models, base_url, asking=not dry_run and not replay)
    settings = Settings(
        models=judges.models,
        samples=repeats,
        combine=combine,  # type: ignore[arg-type]
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        weighted=weighted,
        characters=max_chars,
    )
    if replay and not models and not managed:
        raise UsageError("--replay needs --judge: replies are kept by the name of the judge")
    kept = cache_file(cache)
    vertex = None
    if managed and not dry_run and not replay:
        # Whoever names a managed metric wants it; a definition file may hold some among others.
        find = required_project if any(map(is_managed, names)) else named_project
        vertex = find(project, location, None if models else base_url)
    access = Access(
        keys=judges.keys,
        secrets=judges.secrets,
        base_url=judges.base_url,
        vertex=vertex,
        timeout=timeout,
        attempts=retries + 1,
        concurrency=concurrency,
        tokens=budget_tokens,
        dollars=budget_usd,
        calls=budget_calls,
    )
    if dry_run:
        judging = Bench(None, settings, None if no_redact else Redactor(known=judges.secrets))
    else:
        judging = bench(settings, access, cache=kept, replay=replay, redact=not no_redact)
        judging.open()
    notes = Notes.keeping()
    paths = expand(sources)

    def read(notes: Notes) -> Run:
        run = read_pile(paths, format=from_, notes=notes)
        return with_samples(run, split_children(run.samples)) if sub_agents else run

    if not dry_run:
        chosen.look_up(lambda: read(Notes.keeping()).samples)
    run = read(notes)
    picked = chosen.apply(run.samples)
    if dry_run:
        _dry_run(picked, rubrics, judging, kept, as_json)
    else:
        _judge(with_samples(run, picked), rubrics, judging, out, kind, as_json)
    tell_left_out(notes)
    if not dry_run and judging.statuses["unscored"] and not judging.statuses["scored"]:
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


def _judge(run: Run, rubrics: Sequence[AnyRubric], judging: Bench, out: str | None, kind: Any, as_json: bool) -> None:
    from pathlib import Path

    import msgspec

    from pantrace.engine.convert import write_run
    from pantrace.engine.judge import judge_all
    from pantrace.engine.measure import Row, row
    from pantrace.engine.tables import write_table
    from pantrace.model import with_samples

    rows: list[Row] = []
    native = out is not None and kind == "native"
    with progress("sample") as count:

        def told() -> Iterator[tuple[Sample, list[Score]]]:
            for sample, scores in judge_all(run.samples, rubrics, judging):
                rows.extend(row(run.name, sample, None, score) for score in scores)
                count(sample)
                yield sample, scores

        if native:
            together = (msgspec.structs.replace(sample, scores=(*sample.scores, *scores)) for sample, scores in told())
            write_run(with_samples(run, together), Path(str(out)), to="native", measure=False)
        else:
            for _ in told():
                pass
    if native:
        say(f"wrote the samples with their scores to {out}")
    elif out is not None:
        say(f"wrote {write_table(rows, Path(out), kind, Row.__struct_fields__)} scores to {out}")
    if as_json:
        scores = [{name: getattr(each, name) for name in Row.__struct_fields__} for each in rows]
        print_json({"summary": judging.summary(), "scores": scores})
        return
    _print(rows, rubrics)
    tell_judging(judging)


def _kind_of(out: str) -> str:
    """What a file's name says of its content."""
    from pathlib import Path

    if ".trace.jsonl" in Path(out).name:
        return "native"
    kind = Path(out).suffix.removeprefix(".")
    if kind not in KINDS[:-1]:
        raise UsageError(
            f"-o {out}: the name must end in .json, .jsonl, .csv, .parquet or .trace.jsonl, or --format must say so"
        )
    return kind


def _print(rows: list[Row], rubrics: Sequence[AnyRubric]) -> None:
    lines = []
    for rubric in rubrics:
        found = [each for each in rows if each.metric == rubric.name]
        numbers = [float(each.value) for each in found if isinstance(each.value, (int, float))]
        reasons = [each.explanation or "" for each in found if each.status != "scored"]
        counts = [sum(each.status == status for each in found) for status in ("scored", "not_applicable", "unscored")]
        mean = f"{sum(numbers) / len(numbers):.3g}" if numbers else ""
        ends = [f"{min(numbers):g}", f"{max(numbers):g}"] if numbers else ["", ""]
        why = max(dict.fromkeys(reasons), key=reasons.count) if reasons else ""
        lines.append([rubric.name, *map(str, counts), mean, *ends, why])
    columns = ["rubric", "scored", "n/a", "unscored", "mean", "min", "max", "most frequent reason for none"]
    table(columns, lines, right=("scored", "n/a", "unscored", "mean", "min", "max"), spare=("min", "max"))


def tell_judging(judging: Bench) -> None:
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
    for problem, count in judging.problems.most_common(5):
        say(f"{count} unscored: {problem}")


def _dry_run(
    samples: Iterable[Sample],
    rubrics: Sequence[AnyRubric],
    unasked: Bench,
    cache: Path,
    as_json: bool,
) -> None:
    import msgspec

    from pantrace.engine.judge import plan_questions

    found = list(plan_questions(samples, rubrics, unasked, cache))
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
        click.echo(f"=== {harmless(each.sample)} · {each.rubric}")
        if each.prompt is None:
            click.echo(harmless(f"not applicable: {each.not_applicable}\n"))
        else:
            click.echo(harmless(f"--- system\n{each.prompt.system}\n--- prompt\n{each.prompt.text}\n"))
    say(
        f"{total['calls']} calls, about {total['estimated_tokens']} tokens; {total['cached']} more are in the cache; "
        f"{total['not_applicable']} do not apply. Nothing was sent."
    )
