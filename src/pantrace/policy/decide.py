"""Decide: the scores of one sample against a profile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, isfinite
from typing import Literal

import msgspec
from msgspec.structs import replace

from pantrace.model import Decision, Measure, Scale, Score, apart_in_words
from pantrace.wire.inspect_grades import GRADES

from .profile import Profile

CONTRACT = "output_contract"
"""Name of the metric that checks an answer against its contract."""


class Reading(msgspec.Struct, frozen=True):
    """How a profile reads one score: a number, or the reason why there is none."""

    name: str
    value: float | None
    problem: str | None = None
    means: Literal["undecided", "fail", "ignore"] = "undecided"
    """What a missing value means for the decision."""


def decide(
    sample: str,
    scores: Sequence[Score],
    profile: Profile,
    *,
    required: Iterable[str] = (),
    contract: str | None = None,
    measures: Mapping[str, Measure] | None = None,
) -> Decision:
    """The decision on one sample. A definite failure fails; otherwise what could not be evaluated leaves it undecided.

    `required` and `contract` are what the sample's case names: the evals it requires, its output contract. `measures`
    says which measure a name in the profile means: an address, an alias, or a metric for its main one."""
    known = measures or {}
    scores = [*(_with_ends(score, known) for score in scores), *_measure_scores(scores, profile, known)]
    wanted = profile.metrics
    by_name = {score.name: score for score in scores}
    # The reports of the original policy list metrics in the order of the case; our reasons match them byte for byte.
    order = [score.name for score in scores if score.name in wanted]
    readings = [_only_reading(name, scores, profile) for name in dict.fromkeys(order)]
    values = {reading.name: reading.value for reading in readings if reading.value is not None}
    limited = {name: value for name in dict.fromkeys(order) if (value := _limited(by_name[name], profile)) is not None}

    failures = _hard_fails(values, profile)
    hard = set(failures)
    reasons = []
    if failures:
        below = profile.hard_fail.below
        assert below is not None
        reasons.append(f"Hard-fail metrics (<{below:.2f}): {_list_values(failures)}")
    held = by_name.get(CONTRACT) if profile.hard_fail.contract else None
    if held is not None and held.value is False:
        reasons.append(f"Contract violation: {held.explanation or 'the answer breaks its contract'}")
    # Strictly below, and without the hard fails, which have been listed already: as in the original policy.
    missed = [
        _missed_bound(name, value, "<", profile.thresholds[name], known)
        for name, value in values.items()
        if name in profile.thresholds and name not in hard and value < profile.thresholds[name]
    ]
    if missed:
        reasons.append(f"Below threshold: {', '.join(missed)}")
    exceeded = [
        _missed_bound(name, value, ">", limit, known)
        for name, value in (values | limited).items()
        if (limit := profile.limits.get(name)) is not None and value > limit
    ]
    if exceeded:
        reasons.append(f"Above limit: {', '.join(exceeded)}")
    composite, refusal = _composite(values, by_name, profile)
    if composite is not None and profile.composite_min is not None and composite < profile.composite_min:
        reasons.append(f"Composite={composite:.2f} (<{profile.composite_min:.2f})")
    missing = [
        reading for reading in readings if reading.value is None and not _only_limited(reading, limited, profile)
    ]
    values |= {name: value for name, value in limited.items() if name not in values}
    reasons += [f"{reading.name} {reading.problem}" for reading in missing if reading.means == "fail"]
    # A definite failure stays one, whatever is missing: no further score could turn it into a pass.
    if reasons:
        return _decision(sample, profile, False, composite, reasons, values)
    open_questions = [f"{reading.name} {reading.problem}" for reading in missing if reading.means == "undecided"]
    open_questions += _absent(by_name, profile, required, contract)
    if refusal is not None:
        open_questions.append(refusal)
    if held is not None and held.status in ("failed", "unscored"):
        open_questions.append(f"{CONTRACT} could not be evaluated: {held.explanation or 'no reason given'}")
    # Everything was ignored, so nothing was decided: a sample that nothing measured must not pass.
    if not values and not open_questions:
        open_questions += [f"{reading.name} {reading.problem}" for reading in readings]
        open_questions = open_questions or ["no score that the profile decides by"]
    elif values and composite is None and refusal is None and profile.composite_min is not None:
        open_questions.append("no metric with a weight has a number, so there is no composite")
    return _decision(sample, profile, None if open_questions else True, composite, open_questions, values)


def _measure_scores(scores: Sequence[Score], profile: Profile, known: Mapping[str, Measure]) -> list[Score]:
    """A separate score for each name in the profile that means one measure of a metric."""
    named = {score.name for score in scores}
    by_metric = {score.name: score for score in scores if score.values}
    found = []
    for name in profile.metrics:
        measure = known.get(name)
        metric, _, own = (measure.metric, "", measure.name) if measure is not None else name.rpartition(".")
        score = by_metric.get(metric)
        # A metric's main measure has the metric's name, and is a score already.
        if name in named or score is None or (measure is not None and not measure.name):
            continue
        number = score.values.get(own)
        status = "scored" if number is not None else "not_applicable" if score.status == "scored" else score.status
        found.append(_with_ends(replace(score, name=name, value=number, scale=None, status=status), known))
    return found


def _with_ends(score: Score, known: Mapping[str, Measure]) -> Score:
    """A score with the scale that its measure declares, even if the measure does not say which end is good."""
    measure = known.get(score.name)
    if measure is None or score.scale is not None:
        return score
    return replace(score, scale=Scale(low=measure.low, high=measure.high, better=measure.better or "higher"))


def _limited(score: Score, profile: Profile) -> float | None:
    """The value of a score that has a limit and no upper end; it is compared as it is, whatever the profile's scale."""
    scale, value = score.scale, score.value
    if score.name not in profile.limits or score.status != "scored" or isinstance(value, str | None):
        return None
    open_ended = scale is None or scale.low is None or scale.high is None
    return float(value) if open_ended and isfinite(value) else None


def _only_limited(reading: Reading, limited: Mapping[str, float], profile: Profile) -> bool:
    """Whether the profile only sets a limit for a metric, which needs no scale."""
    others = (*profile.thresholds, *profile.weights, *profile.hard_fail.metrics)
    return reading.name in limited and reading.name not in others


def _missed_bound(name: str, value: float, sign: str, bound: float, known: Mapping[str, Measure]) -> str:
    """The number and the bound it misses, with enough digits to tell them apart."""
    measure = known.get(name)
    unit = measure.unit if measure is not None and measure.unit in ("USD", "tokens", "s") else None
    one, other = apart_in_words(value, bound, unit)
    if unit is None:
        return f"{name}={one} ({sign}{other})"
    return f"{name} {one} {unit}, {'limit' if sign == '>' else 'at least'} {other}"


def _decision(
    sample: str,
    profile: Profile,
    passed: bool | None,
    composite: float | None,
    reasons: list[str],
    values: dict[str, float],
) -> Decision:
    return Decision(
        sample=sample,
        profile=profile.name,
        passed=passed,
        composite=composite,
        reasons=tuple(reasons),
        deciding=tuple(values),
    )


def _only_reading(name: str, scores: Sequence[Score], profile: Profile) -> Reading:
    """The reading of all scores with one name; no number if they differ, because nothing says which is right."""
    named = [score for score in scores if score.name == name]
    # A score counts even if a repeat of it failed.
    made = [score for score in named if score.status == "scored"] or named[-1:]
    if len({(score.value, score.scale) for score in made}) > 1 and not profile.as_stored:
        listed = ", ".join(dict.fromkeys(str(score.value) for score in made))
        return Reading(name, None, f"has several scores that differ ({listed})")
    return _reading(made[-1], profile)


def _reading(score: Score, profile: Profile) -> Reading:
    name, unmade = score.name, _unmade(score, profile)
    if score.status == "not_applicable":
        why = f"is not applicable: {score.explanation or 'no reason given'}"
        means = "ignore" if name in profile.optional or profile.only_weighs(name) else profile.not_applicable
        return Reading(name, None, why, means)
    # A reader turns the original's sentinel -1 into "unscored" and keeps the number; parity needs the number.
    if profile.as_stored and isinstance(raw := score.details.get("stored_value"), (int, float)):
        return Reading(name, float(raw))
    if score.status != "scored" or score.value is None:
        return Reading(name, None, f"is {score.status}: {score.explanation or 'no reason given'}", unmade)
    value = GRADES.get(score.value) if isinstance(score.value, str) else score.value
    if value is None:
        return Reading(name, None, f"is a word ({score.value!r}), not a number", unmade)
    if not isfinite(value):
        # Every comparison with NaN is false, so no threshold could ever fail it.
        return Reading(name, None, f"is {score.value}, which is not a number", unmade)
    if profile.require_calibrated and _is_judged(score) and score.details.get("calibrated") is not True:
        return Reading(name, None, "comes from a judge that was not calibrated")
    return _scaled(score, float(value), profile)


def _unmade(score: Score, profile: Profile) -> Literal["undecided", "fail", "ignore"]:
    """What it means for the decision if a score could not be computed."""
    return "ignore" if score.name in profile.optional else profile.unscored


def _is_judged(score: Score) -> bool:
    return (score.maker is not None and score.maker.kind == "rubric") or "calibrated" in score.details


def _scaled(score: Score, value: float, profile: Profile) -> Reading:
    """The value on the profile's scale."""
    if profile.as_stored or profile.scale is None:
        return Reading(score.name, value)
    low, high = profile.scale
    scale = score.scale
    if scale is None or scale.low is None or scale.high is None:
        counts = scale is not None and score.name not in profile.weights
        if counts or low <= value <= high:
            # A number without an upper end cannot be rescaled, and does not have to be for a threshold.
            return Reading(score.name, value)
        why = f"={value:g} declares no scale and is outside {low:g} to {high:g}"
        return Reading(score.name, None, why, _unmade(score, profile))
    if scale.low == scale.high:
        return Reading(score.name, None, "has a scale without width", _unmade(score, profile))
    share = (value - scale.low) / (scale.high - scale.low)
    if scale.better == "lower":
        share = 1 - share
    # A score on the profile's own scale stays exact: rescaling could move it across a threshold by rounding.
    same = (scale.low, scale.high, scale.better) == (low, high, "higher")
    return Reading(score.name, value if same else low + share * (high - low))


def _hard_fails(values: dict[str, float], profile: Profile) -> dict[str, float]:
    below = profile.hard_fail.below
    if below is None:
        return {}
    return {name: value for name, value in values.items() if name in profile.hard_fail.metrics and value < below}


def _composite(values: dict[str, float], scores: dict[str, Score], profile: Profile) -> tuple[float | None, str | None]:
    """The weighted mean over the metrics present, or why there is none."""
    present = [name for name in values if name in profile.weights]
    total = fsum(profile.weights[name] for name in present)
    if not present or total <= 0:
        return None, None
    # In the published reports, a judge of 1 to 10 among judges of 1 to 5 gave composites above 5.
    if profile.scale is None and not profile.as_stored:
        scales = {(scale.low, scale.high, scale.better) if (scale := scores[name].scale) else None for name in present}
        if len(scales) > 1:
            return None, "the composite would mix scales; the profile must declare one (scale = [low, high])"
    # Renormalised: a metric that does not apply must not count as 0.
    return sum(profile.weights[name] * values[name] for name in present) / total, None


def _absent(scores: dict[str, Score], profile: Profile, required: Iterable[str], contract: str | None) -> list[str]:
    """Metrics that the case requires or the profile demands, and that were not evaluated."""
    needed = list(dict.fromkeys(required))
    found = [f"{name} is required by the case and was not evaluated" for name in needed if name not in scores]
    if profile.unscored == "undecided" and not profile.as_stored:
        # Metrics of the profile are left out: their readings have said so already.
        found += [
            f"{name} is required by the case and is {score.status}: {score.explanation or 'no reason given'}"
            for name in needed
            if (name not in profile.metrics or name in profile.optional)
            and (score := scores.get(name)) is not None
            and score.status in ("unscored", "failed")
        ]
    if profile.missing == "ignore":
        return found
    demanded = [] if needed and profile.demands == "case" else profile.demanded
    found += [f"{name} was not evaluated" for name in demanded if name not in scores and name not in needed]
    if profile.hard_fail.contract and contract is not None and CONTRACT not in scores:
        found.append(f"{CONTRACT} was not evaluated, and the case names the contract {contract}")
    return found


def _list_values(values: dict[str, float]) -> str:
    return ", ".join(f"{name}={value:.2f}" for name, value in values.items())
