"""Judge one sample by one rubric: ask one or several judges, once or several times, and make one score."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from fractions import Fraction
from statistics import fmean, pstdev
from typing import Any, Literal

import msgspec

from pantrace.errors import Unanswered
from pantrace.model import Maker, Record, Sample, Score

from .ask import Judge, Reply, Request
from .citing import cited
from .cut import Absent, Material
from .defined import Defined, RowOf
from .frame import COMPLAINT
from .inputs import asked_as, gather
from .patience import tokens_of
from .prompt import BUDGET, Clean, Prompt, prompt_for
from .rubric import Rubric
from .verdict import Unusable, Verdict, verdict_of
from .weigh import probabilities, weighted_mean

NO_JUDGE = "no judge configured"
UNSURE = "the judge cannot tell, because evidence was cut or never recorded"


class Settings(Record, frozen=True, kw_only=True):
    """Settings of a judgement."""

    models: tuple[str, ...] = ()
    """PROVIDER:MODEL; several form a panel, in which each judge has the same weight."""
    samples: int = 1
    """How often each judge is asked."""
    combine: Literal["mean", "majority"] | None = None
    """How several verdicts become one: None means the mean of grades and the majority of pass and fail."""
    temperature: float | None = None
    """None: 0 for one sample, 0.7 for several."""
    max_tokens: int = 2_000
    seed: int | None = None
    """Sent with each question, plus the number of the sample; None sends none."""
    weighted: bool = False
    """Ask for log-probabilities and weigh the grades by them."""
    characters: int = BUDGET
    """Maximum characters of material in one prompt."""


class Given(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One verdict of one judge, or why there is none."""

    model: str
    index: int
    score: float | bool | None = None
    grade: int | None = None
    """The grade that the judge named, if `score` is the mean over likely ones."""
    reason: str | None = None
    thoughts: str | None = None
    problem: str | None = None
    """Why there is no score."""
    unsure: bool = False
    """The judge answered that it cannot tell."""
    unasked: bool = False
    """No judge was asked, so a later run may still get a verdict."""
    replies: list[str] = []
    """Replies that could not be used."""
    answered_by: str | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    probabilities: dict[int, float] | None = None
    evidence: list[str] = []
    """Ids of the steps that it names or quotes."""
    claims: list[dict[str, str]] = []
    absent_steps: list[int] = []
    """Steps that it names but was not shown."""
    absent_quotes: list[str] = []
    """Passages that it quotes but was not shown."""


async def judged(
    sample: Sample,
    rubric: Rubric,
    judge: Judge | None,
    settings: Settings,
    clean: Clean = str,
    row_of: RowOf | None = None,
) -> Score:
    """The score of one sample: not applicable if it cannot be judged, unscored if there is no usable verdict."""
    named, rubric = rubric, asked_as(sample, rubric)
    material = gather(sample, rubric, row_of)
    if isinstance(material, Absent):
        return Score(
            name=rubric.name,
            status="not_applicable",
            explanation=material.reason,
            details={"rubric_hash": rubric.hash},
            maker=_maker(rubric, settings),
        )
    score = await judged_material(material, rubric, judge, settings, clean)
    if isinstance(rubric, Defined):
        return score
    more: dict[str, str] = {"scope": rubric.judges}
    if rubric is not named and rubric.variant != rubric.judges:
        more["variant"] = rubric.variant
    return msgspec.structs.replace(score, details={**score.details, **more})


async def judged_material(
    material: Material, rubric: Rubric, judge: Judge | None, settings: Settings, clean: Clean = str
) -> Score:
    """The score of material, however it was gathered."""
    # The rubric's hash is stored all the same, so that a later run with a judge knows what is missing.
    if judge is None or not settings.models:
        return _unscored(rubric, settings, NO_JUDGE, {"rubric_hash": rubric.hash})
    prompt = prompt_for(rubric, material, budget=settings.characters, clean=clean)
    requests = requests_for(prompt, settings)
    # All at once: `AtMost` around the judge limits how many are really sent at a time.
    given = await asyncio.gather(*(_ask(request, rubric, judge, prompt) for request in requests))
    return _combined(list(given), rubric, settings, prompt)


def requests_for(prompt: Prompt, settings: Settings) -> list[Request]:
    """All requests for one prompt: one for each judge and each sample."""
    temperature = settings.temperature
    if temperature is None:
        # At temperature 0 a judge gives the same answer each time, and there would be no spread to measure.
        temperature = 0.0 if settings.samples == 1 else 0.7
    return [
        Request(
            model=model,
            system=prompt.system,
            prompt=prompt.text,
            schema=prompt.schema,
            temperature=temperature,
            max_tokens=settings.max_tokens,
            # Each sample has its own seed; otherwise they would all be the same.
            seed=None if settings.seed is None else settings.seed + index,
            logprobs=settings.weighted,
            index=index,
        )
        for model in settings.models
        for index in range(settings.samples)
    ]


async def _ask(request: Request, rubric: Rubric, judge: Judge, prompt: Prompt) -> Given:
    """One verdict. After an unusable reply, the judge is told once what is wrong with it."""
    replies: list[Reply] = []
    problem = ""
    for attempt in (1, 2):
        try:
            reply = await judge.ask(request)
        except Unanswered as error:
            reason = error.reason if attempt == 1 else f"{problem}; then {error.reason}"
            return _given(request, replies, problem=reason, unasked=error.unasked)
        replies.append(reply)
        try:
            # Checked before parsing: a reply that was cut off may contain a score from the judge's first thoughts.
            if reply.stop == "length":
                raise Unusable(f"the reply was cut off at {request.max_tokens} tokens")
            verdict = verdict_of(reply.text, rubric, partial=prompt.partial)
            return _with_citations(_given(request, replies, verdict=verdict, rubric=rubric), verdict, prompt, rubric)
        except Unusable as error:
            problem = str(error)
            complaint = COMPLAINT.format(problem=problem, shape=prompt.shape)
            # The complaint is now part of the question, and thus of its key in the cache; the unusable reply stays
            # under the old key.
            request = msgspec.structs.replace(request, exchanges=((reply.text, complaint),))
    return _given(request, replies, problem=problem)


def _with_citations(given: Given, verdict: Verdict, prompt: Prompt, rubric: Rubric) -> Given:
    asked = "\n".join([prompt.system, rubric.template, *rubric.grades.values()])
    found = cited(verdict.reason, verdict.steps, verdict.quotes, prompt.shown, asked)
    return msgspec.structs.replace(
        given,
        claims=list(verdict.claims),
        evidence=list(found.evidence),
        absent_steps=list(found.absent_steps),
        absent_quotes=list(found.absent_quotes),
    )


def _given(
    request: Request,
    replies: list[Reply],
    *,
    verdict: Verdict | None = None,
    problem: str | None = None,
    rubric: Rubric | None = None,
    unasked: bool = False,
) -> Given:
    last = replies[-1] if replies else None
    weights = None
    score = None if verdict is None else verdict.score
    if verdict is not None and score is None:
        problem = f"{UNSURE}: {verdict.reason}" if verdict.reason else UNSURE
    if score is not None and rubric is not None and request.logprobs and last is not None and last.logprobs:
        weights = probabilities(last.logprobs, score, rubric)
    costs = [reply.usage.cost_usd for reply in replies if reply.usage is not None]
    tokens = [tokens_of(reply) for reply in replies]
    return Given(
        model=request.model,
        index=request.index,
        score=weighted_mean(weights) if weights else score,
        grade=score if weights else None,
        reason=verdict.reason if verdict else None,
        thoughts=verdict.thoughts if verdict else None,
        problem=problem,
        unsure=verdict is not None and score is None,
        unasked=unasked,
        replies=[reply.text for reply in (replies if verdict is None else replies[:-1])],
        answered_by=last.model if last is not None and last.model != request.model.partition(":")[2] else None,
        tokens=_sum(tokens),
        cost_usd=_sum(costs),
        probabilities=weights,
    )


def _sum(numbers: list[Any]) -> Any:
    """The sum; None if any number is unknown, because a partial sum would look like the whole."""
    return sum(numbers) if numbers and None not in numbers else None


def _combined(given: list[Given], rubric: Rubric, settings: Settings, prompt: Prompt) -> Score:
    details: dict[str, Any] = {
        "rubric_hash": rubric.hash,
        "samples": [msgspec.to_builtins(each, str_keys=True) for each in given],
        "tokens": _sum([each.tokens for each in given if each.tokens is not None]),
        "cost_usd": _sum([each.cost_usd for each in given]),
        "cut": prompt.cut,
    }
    details = {name: value for name, value in details.items() if value not in (None, [])}
    valid = [each for each in given if each.score is not None]
    unasked = [each for each in given if each.unasked]
    if not valid or unasked:
        # A later run will get the missing verdicts, and then the number would change.
        problems = list(dict.fromkeys(each.problem or "no verdict" for each in unasked or given))
        return _unscored(rubric, settings, "; ".join(problems), details)
    if len(given) > 1:
        details["spread"] = _spread(valid, len(given))
    if len(settings.models) > 1:
        details["by_judge"] = {model: _centre(model, valid) for model in settings.models}
    if any(each.probabilities for each in valid) and settings.weighted:
        details["weighted"] = sum(each.probabilities is not None for each in valid)
    combine = settings.combine or ("majority" if rubric.passes else "mean")
    value = _majority(valid, rubric) if combine == "majority" else _mean(valid)
    # The reason shown is that of the verdict nearest to the score.
    nearest = min(valid, key=lambda each: abs(float(each.score or 0) - float(value)))
    if nearest.thoughts:
        details["chain_of_thought"] = nearest.thoughts
    if nearest.claims:
        details["claims"] = nearest.claims
    if absent := [quote for each in valid for quote in each.absent_quotes]:
        details["quotes_not_found"] = list(dict.fromkeys(absent))
    return Score(
        name=rubric.name,
        value=value,
        scale=rubric.scale,
        explanation=nearest.reason,
        evidence=tuple(nearest.evidence) or _judged_steps(prompt),
        details=details,
        maker=_maker(rubric, settings),
    )


def _judged_steps(prompt: Prompt) -> tuple[str, ...]:
    """The judged steps if the verdict names none: that of the answer."""
    return tuple(block.id for block in prompt.shown if block.id is not None and block.step is None)


def _mean(valid: list[Given]) -> float:
    """The mean. Each judge of a panel has the same weight, however many of its verdicts failed."""
    models = dict.fromkeys(each.model for each in valid)
    return fmean(_centre(model, valid) or 0.0 for model in models)


def _centre(model: str, valid: list[Given]) -> float | None:
    scores = [float(each.score or 0) for each in valid if each.model == model]
    return fmean(scores) if scores else None


def _majority(valid: list[Given], rubric: Rubric) -> float | bool:
    """The most frequent grade, with the same weight for each judge of a panel; in a tie, the worst."""
    verdicts = Counter(each.model for each in valid)
    counts: dict[float | bool, Fraction] = {}
    for each in valid:
        grade = _grade(each)
        # Fractions: three thirds must be exactly one, or rounding would break a tie between three judges.
        counts[grade] = counts.get(grade, Fraction()) + Fraction(1, verdicts[each.model])
    most = max(counts.values())
    tied = [score for score, count in counts.items() if count == most]
    # If judges are split, the better grade is not proven (ADK breaks ties in the same way).
    worst = min(tied) if rubric.better == "higher" else max(tied)
    return bool(worst) if rubric.passes else float(worst)


def _grade(given: Given) -> float | bool:
    """The grade that a verdict named, even if its score is weighted."""
    assert given.score is not None
    return given.score if given.grade is None else given.grade


def _spread(valid: list[Given], asked: int) -> dict[str, Any]:
    scores = [float(each.score or 0) for each in valid]
    common = Counter(map(_grade, valid)).most_common(1)[0][1]
    return {
        "asked": asked,
        "scored": len(scores),
        "low": min(scores),
        "high": max(scores),
        "stdev": round(pstdev(scores), 6) if len(scores) > 1 and math.isfinite(sum(scores)) else 0.0,
        "agreement": common / len(scores),
    }


def _maker(rubric: Rubric, settings: Settings) -> Maker:
    model = ", ".join(settings.models) or None
    return Maker(name=rubric.name, kind="rubric", version=rubric.version, model=model)


def _unscored(rubric: Rubric, settings: Settings, why: str, details: dict[str, Any]) -> Score:
    return Score(
        name=rubric.name,
        status="unscored",
        scale=rubric.scale,
        explanation=why,
        details=details,
        maker=_maker(rubric, settings),
    )
