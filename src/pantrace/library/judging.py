"""Judging: the judges of a run, built from the settings of a plan. Every command and function that asks a judge gets it
here."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

from msgspec.structs import replace

from pantrace.engine.judge import Access, Bench, bench
from pantrace.engine.plan import JudgeTable
from pantrace.errors import UsageError
from pantrace.judges import Project, Settings
from pantrace.normalise.secrets import Redactor

from .access import cache_file, reach


def bench_of(
    table: JudgeTable,
    *,
    cache: str | PathLike[str] | None = None,
    replay: bool = False,
    keys: Mapping[str, str] | None = None,
    vertex: Project | None = None,
    manages: bool = False,
    dry_run: bool = False,
) -> Bench:
    """The judges that a table names. `keys` by provider take precedence over the environment. `vertex` is the project
    for managed metrics, `manages` whether there are any. With `dry_run` no judge can be asked."""
    if replay and not table.models and not manages:
        raise UsageError("--replay needs a judge: replies are kept under its name")
    given = dict(keys or {})
    judges = reach(table.models, table.base_url, asking=not replay and not dry_run, known=given)
    secrets = (*judges.secrets, *given.values())
    settings = Settings(
        models=judges.models,
        samples=table.samples,
        combine=table.combine,
        temperature=table.temperature,
        max_tokens=table.max_tokens,
        seed=table.seed,
        weighted=table.weighted,
        characters=table.max_chars,
    )
    if dry_run:
        return Bench(None, settings, Redactor(known=secrets) if table.redact else None)
    access = Access(
        keys=judges.keys,
        secrets=secrets,
        base_url=judges.base_url,
        timeout=table.timeout,
        attempts=table.retries + 1,
        # --base-url is the address of the other judges then; Google's credentials must not be sent there.
        vertex=replace(vertex, base_url=None) if vertex and judges.models else vertex,
        concurrency=table.concurrency,
        tokens=table.budget_tokens,
        dollars=table.budget_usd,
        calls=table.budget_calls,
    )
    found = bench(settings, access, cache=cache_file(cache), replay=replay, redact=table.redact)
    # Now, not at the first question: a missing extra or credential ends the command before anything is read.
    found.open()
    return found
