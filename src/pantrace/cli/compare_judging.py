"""The options of `pantrace compare` for a judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click


@dataclass(frozen=True)
class Judging:
    """The values of the options."""

    model: str | None
    base_url: str | None
    cache: str | None
    replay: bool
    no_redact: bool


def judging(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for a judge; the command gets them as one argument `judge`."""

    @click.option("--judge", "model", metavar="PROVIDER:MODEL", help="With --rubric: the judge.")
    @click.option("--base-url", metavar="URL", help="Server of the judge (any that speaks OpenAI's protocol).")
    @click.option("--cache", metavar="FILE", help="File that stores replies; by default in the user's cache folder.")
    @click.option("--replay", is_flag=True, help="Answer from the cache only.")
    @click.option("--no-redact", is_flag=True, help="Send texts unchanged, including secrets.")
    @wraps(command)
    def with_judge(
        model: str | None, base_url: str | None, cache: str | None, replay: bool, no_redact: bool, **rest: Any
    ) -> Any:
        return command(judge=Judging(model, base_url, cache, replay, no_redact), **rest)

    return with_judge
