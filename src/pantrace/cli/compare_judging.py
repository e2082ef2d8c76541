"""The judge of `pantrace compare`: how it is reached, and what it is asked of two runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from pantrace.errors import UsageError

from .output import say

if TYPE_CHECKING:
    from pantrace.engine.compare import Side
    from pantrace.engine.judge import Bench
    from pantrace.judges import Rubric
    from pantrace.model import Sample


@dataclass(frozen=True)
class Judging:
    """What the options say."""

    model: str | None
    base_url: str | None
    cache: str | None
    replay: bool
    no_redact: bool


def judging(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that reach a judge, as one argument `judge`."""

    @click.option("--judge", "model", metavar="PROVIDER:MODEL", help="With --rubric: the judge.")
    @click.option("--base-url", metavar="URL", help="Server of the judge (any that speaks OpenAI's protocol).")
    @click.option("--cache", metavar="FILE", help="Where replies are kept; by default in the user's cache folder.")
    @click.option("--replay", is_flag=True, help="Answer from the cache only.")
    @click.option("--no-redact", is_flag=True, help="Send texts as they are, secrets included.")
    @wraps(command)
    def with_judge(
        model: str | None, base_url: str | None, cache: str | None, replay: bool, no_redact: bool, **rest: Any
    ) -> Any:
        return command(judge=Judging(model, base_url, cache, replay, no_redact), **rest)

    return with_judge


@dataclass
class Pairwise:
    """Rubrics that compare two answers, and the bench that is asked; without rubrics nobody is."""

    rubrics: list[Rubric]
    bench: Bench | None = None

    @classmethod
    def of(cls, names: Sequence[str], given: Judging) -> Pairwise:
        """What was asked for; a UsageError where a rubric or the judge is missing."""
        if not names:
            if given.model:
                raise UsageError("--judge needs --rubric: which answer is better by what (pairwise_quality)?")
            return cls([])
        from pantrace.engine.judge import Access, bench
        from pantrace.engine.pairwise import pairwise_rubrics
        from pantrace.engine.rubric_selection import select_rubrics
        from pantrace.judges import Settings
        from pantrace.library.access import cache_file, reach

        rubrics = pairwise_rubrics(select_rubrics(names).rubrics)
        if given.model is None:
            raise UsageError(f"--rubric {names[0]} needs --judge PROVIDER:MODEL")
        judges = reach((given.model,), given.base_url, asking=not given.replay)
        access = Access(keys=judges.keys, secrets=judges.secrets, base_url=judges.base_url)
        asked = bench(
            Settings(models=judges.models),
            access,
            cache=cache_file(given.cache),
            replay=given.replay,
            redact=not given.no_redact,
        )
        return cls(rubrics, asked)

    def ask(self, sides: list[Side], samples: Sequence[Iterable[Sample]], pair_by: str) -> None:
        """Add to both sides what share of its comparisons each of them won."""
        if self.bench is None:
            return
        from pantrace.engine.compare import case_of
        from pantrace.engine.pairwise import add_preferences, prefer

        from .judge import tell_judging

        if len(sides) != 2:
            raise UsageError("--rubric compares two runs, not more: name two")
        answers = [list(each) for each in samples]
        for rubric in self.rubrics:
            found = prefer(answers[0], answers[1], lambda sample: case_of(sample, pair_by), rubric, self.bench)
            if not found.preferred:
                why = "no case was answered by both" if not found.pairs else "the judge gave no usable verdict"
                raise UsageError(f"{rubric.name}: nothing to compare: {why}")
            add_preferences(sides, found, rubric, self.bench.settings.models[0])
            if found.swayed:
                say(f"{rubric.name}: {found.swayed} of {found.pairs} verdicts changed with the order of the answers; "
                    "they count as equal")  # fmt: skip
        tell_judging(self.bench)
