"""Cost of a run, with its token totals."""

from __future__ import annotations

from typing import Any

from pantrace.catalog import Catalog, Model, catalog, cost_usd, costs_usd
from pantrace.matching.recorded_data import Recording, models_by_agent, recording_of
from pantrace.matching.tokens import Tokens, total
from pantrace.model import (
    Measure,
    Record,
    Sample,
    Text,
    Thinking,
    ToolCall,
    Trajectory,
    Usage,
    reports,
    total_tokens,
)

from .metric import Found, Measurement, NotApplicable, Numbers, metric

_TOKENS = {
    "total_tokens": "tokens of all model calls",
    "input_tokens": "all input, including cache and tool prompts",
    "output_tokens": "all output, including reasoning",
    "prompt_tokens": "input without tool prompts",
    "completion_tokens": "output without reasoning",
    "cached_tokens": "input that came from a cache",
    "thinking_tokens": "reasoning",
    "tool_use_prompt_tokens": "what tools added to prompts",
}
_CALLS = {
    "llm_calls": "model calls that report usage",
    "calls_missing_usage": "responses that report none",
    "calls_missing_prompt": "calls that leave out their input",
    "calls_missing_completion": "calls that leave out their output",
    "calls_missing_cached": "calls that leave out cached tokens",
    "calls_missing_thinking": "calls that leave out reasoning",
    "calls_in_session": "model calls in the session",
    "calls_in_trace": "model calls in the measured trace",
}

MEASURES = (
    Measure(
        name="estimated_cost_usd", unit="USD", better="lower", pooling="sum", headline=True, what="cost of the run"
    ),
    *(
        Measure(
            name=name,
            unit="tokens",
            # More from a cache, or more reasoning, is neither good nor bad by itself.
            better="lower" if name in ("total_tokens", "input_tokens", "output_tokens") else None,
            pooling="sum",
            headline=name == "total_tokens",
            what=what,
        )
        for name, what in _TOKENS.items()
    ),
    Measure(
        name="spent_tokens",
        unit="tokens",
        better="lower",
        pooling="sum",
        what="total, including abandoned branches and interrupted responses",
    ),
    Measure(name="spent_usd", unit="USD", better="lower", pooling="sum", what="cost of `spent_tokens`"),
    Measure(name="list_cost_usd", unit="USD", better="lower", pooling="sum", what="cost without any cache rate"),
    Measure(name="reported_cost_usd", unit="USD", better="lower", pooling="sum", what="cost that the source reports"),
    *(Measure(name=name, unit="count", pooling="sum", what=what) for name, what in _CALLS.items()),
)

UNNAMED = "(not named)"
_MADE_BY_MODELS = (Text, Thinking, ToolCall)


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings."""

    prices: str | None = None
    """Path of a price table (TOML); its models take precedence over the built-in ones."""

    def __post_init__(self) -> None:
        # Loaded now, so that a wrong file is reported once and not by every sample.
        catalog(self.prices)


@metric(settings=Settings, measures=MEASURES)
def token_usage(sample: Sample, settings: Settings) -> Found:
    """Cost of the run in US dollars, with its tokens.

    Formula: sum over model calls, sub-agents included, of (fresh input * input rate + cached input * cache rate +
    written cache * write rate + output * output rate), reasoning billed as output. Without a known cache rate cached
    tokens cost the full rate and `cache_discount` is "none"; `list_cost_usd` is the cost without any cache rate. When a
    model has no price but every call reports its own cost, the score is that sum and `cost_source` is "reported". If a
    run reports only its total, that is priced at the rates of short calls. An announced price applies to calls from its
    day on. `spent_tokens` and `spent_usd` are the totals of the recording: they include abandoned branches
    (`given_up_tokens`) and the reported usage of interrupted responses (`interrupted_tokens`, a lower bound). Where a
    measured trace came with the session, `calls_in_session` and `calls_in_trace` give both counts; if the trace has
    more (agents called as tools), tokens and cost are a lower bound.

    Not applicable when: no call reports usage, or all report 0 tokens and no cost; or a model has no price and the
    source reports no cost, or 0 (the tokens are still given, and `unpriced_models` names the models).

    Source: the metric of the same name in the ADK evaluation workshop, corrected: it lost calls with null fields, did
    not bill reasoning and priced unknown models by a default.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    recording = recording_of(sample.trajectory)
    responses = recording.model_calls
    calls = [(model or UNNAMED, usage) for model, _, usage in responses]
    tokens = recording.tokens
    if in_total := _totals(recording):
        calls += in_total
        # One agent may report its calls, another only its total: both count, each once.
        tokens = Tokens([usage for _, usage in calls])
    table = catalog(settings.prices)
    if not calls and (recording.given_up or recording.interrupted):
        return NotApplicable("no response was completed, or all were abandoned", *_spent(recording, table, 0, 0.0))
    if not calls:
        return NotApplicable("no model call reports its usage")
    # Programs that do not count write zeros; a run without any tokens does not exist.
    if not any(tokens.totals) and not any(usage.cost_usd for _, usage in calls):
        return NotApplicable("0 tokens are reported, so none were counted")
    models = dict.fromkeys([model for model, _ in calls])
    priced = {model: found for model in models if (found := table.find(model)) is not None}
    values = _sums(tokens)
    values["llm_calls"] = len(responses) if responses else None
    values["calls_missing_usage"] = _silent(recording) if responses else None
    details: dict[str, Any] = {
        "models_used": list(models),
        "unpriced_models": [model for model in models if model not in priced],
        "price_table": table.version,
    }
    traced = _traced(sample, sample.trajectory) if responses else None
    if traced is not None:
        values |= {"calls_in_session": len(responses), "calls_in_trace": traced}
    score = _costed(calls, priced, values, details, times=[step.at for _, step, _ in responses])
    cost = score.value if isinstance(score, Measurement) else None
    spent, apart = _spent(recording, table, values["total_tokens"], cost)
    # These are the score's own dictionaries, so this completes the score.
    values |= spent
    details |= apart
    return score


def _spent(recording: Recording, table: Catalog, tokens: float | None, cost: Any) -> tuple[Numbers, dict[str, Any]]:
    """What was spent in total, and how much of it does not count for the run: abandoned branches were paid for, too."""
    aside = recording.given_up + recording.interrupted
    if not aside:
        return {"spent_tokens": tokens, "spent_usd": cost}, {}
    apart = {
        "given_up_tokens": sum(total_tokens(usage) or 0 for _, _, usage in recording.given_up),
        "interrupted_tokens": sum(total_tokens(usage) or 0 for _, _, usage in recording.interrupted),
    }
    costs = [_cost_of(usage, table.find(model or UNNAMED), step.at) for model, step, usage in aside]
    known = [each for each in costs if each is not None]
    values: Numbers = {
        "spent_tokens": (tokens or 0) + sum(apart.values()),
        # A sum with an unknown part would look like the whole.
        "spent_usd": None if cost is None or len(known) < len(costs) else cost + sum(known),
    }
    return values, apart


def _cost_of(usage: Usage, model: Model | None, at: float | None) -> float | None:
    return usage.cost_usd if model is None else cost_usd(usage, model, at=at)


def _costed(
    calls: list[tuple[str, Usage]],
    priced: dict[str, Model],
    values: Numbers,
    details: dict[str, Any],
    times: list[float | None],
) -> Found:
    """The score. The first `len(times)` calls are single calls; the others are totals of runs."""
    single = len(times)
    reported = [usage.cost_usd for _, usage in calls if usage.cost_usd is not None]
    values["reported_cost_usd"] = sum(reported) if reported else None
    unpriced = details["unpriced_models"]
    unsplit = len([usage for _, usage in calls if usage.input is None and usage.output is None])
    if not unpriced and not unsplit:
        costs = [costs_usd(usage, priced[model], at=at) for (model, usage), at in zip(calls, times, strict=False)]
        # A total is many calls: the surcharge for one long prompt must not apply to it.
        costs += [costs_usd(usage, priced[model], one_call=False) for model, usage in calls[single:]]
        cost = sum([each for each, _ in costs])
        cached = [model for model, usage in calls if usage.cache_read]
        discounted = [model for model in cached if priced[model].cache_read is not None]
        values["list_cost_usd"] = sum([each for _, each in costs])
        details |= {
            "cache_discount": "table" if len(discounted) == len(cached) > 0 else "partial" if discounted else "none",
            "cost_source": "table",
        }
        what = f"{len(calls)} model calls" if len(calls) == single else "as the source sums it up"
        explanation = f"{what}, {values['total_tokens']} tokens"
        return Measurement(value=cost, explanation=explanation, values=values, details=details)
    why = (
        f"no price for {', '.join(unpriced)}" if unpriced else f"{unsplit} calls report neither input nor output tokens"
    )
    values |= {"estimated_cost_usd": None, "list_cost_usd": None}
    details["cache_discount"] = None
    if len(reported) < len(calls):
        return NotApplicable(f"unknown cost: {why}", values, details)
    if not any(reported) and values["total_tokens"]:
        # Programs write 0 for models whose price they do not know.
        return NotApplicable(f"unknown cost: {why}, and the source reports 0, which may mean unknown", values, details)
    details["cost_source"] = "reported"
    values["estimated_cost_usd"] = cost = sum(reported)
    return Measurement(value=cost, explanation=f"as the source reports it; {why}", values=values, details=details)


def _sums(tokens: Tokens) -> Numbers:
    """The sums of all fields. A field that a call leaves out adds nothing; the number of such calls is counted."""
    given, without_input = tokens.input
    output, without_output = tokens.output
    cached, uncached = tokens.cached
    thinking, unthinking = tokens.reasoning
    tools, _ = tokens.tool_prompt
    return {
        "prompt_tokens": given if tools is None else total(tokens.prompts)[0],
        "completion_tokens": output if thinking is None else total(tokens.answers)[0],
        "cached_tokens": cached,
        "thinking_tokens": thinking,
        "tool_use_prompt_tokens": tools,
        "input_tokens": given,
        "output_tokens": output,
        "calls_missing_prompt": without_input,
        "calls_missing_completion": without_output,
        "calls_missing_cached": uncached,
        "calls_missing_thinking": unthinking,
        "total_tokens": total(tokens.totals)[0],
    }


def cost_of(sample: Sample, *, spent: bool = False) -> tuple[float | None, bool]:
    """Dollars of a sample with its sub-agents, and whether they are estimated: the cost that the source records, if it
    does so for all model calls, otherwise the price table's; None if neither is known. `spent` includes what was paid
    but does not count: abandoned branches and interrupted responses."""
    if sample.trajectory is None:
        return None, False
    recording = recording_of(sample.trajectory)
    usages = [*recording.usages, *(usage for _, usage in _totals(recording))]
    if spent:
        usages += [usage for _, _, usage in recording.given_up + recording.interrupted]
    recorded = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    # Programs write 0 for models whose price they do not know.
    is_known = any(recorded) or not any(total_tokens(usage) for usage in usages)
    if recorded and len(recorded) == len(usages) and is_known:
        return sum(recorded), False
    cost = token_usage.score(sample).values.get("spent_usd" if spent else "estimated_cost_usd")
    return cost, cost is not None


def _totals(recording: Recording) -> list[tuple[str, Usage]]:
    """The source's totals for runs without usage in any step. Otherwise the total would repeat the steps."""
    with_totals = [each for each in recording.trajectories if each.usage]
    if not with_totals:
        return []
    counted = {id(step) for _, step, _ in recording.model_calls}
    return [
        (name or models_by_agent(each).get("") or UNNAMED, usage)
        for each in with_totals
        if each.usage and not any(id(step) in counted for step in each.steps)
        for name, usage in each.usage.items()
        if reports(usage)
    ]


def _silent(recording: Recording) -> int:
    """The number of model responses without usage."""
    return len([step for step in recording.silent if any(type(part) in _MADE_BY_MODELS for part in step.parts)])


def _traced(sample: Sample, trajectory: Trajectory) -> int | None:
    """Model calls in the measured trace of the recording, which includes those of agents called as tools."""
    if not any(each.seconds is not None for each in trajectory.invocations):
        return None
    kept = [each for each in sample.extra.values() if isinstance(each, dict)]
    # The trace is beside the recording, or in the row if that was kept whole.
    rows = [each["row"] for each in kept if isinstance(each.get("row"), dict)]
    traces = [each.get("session_trace") for each in (*kept, *rows)]
    spans = [span for trace in traces if isinstance(trace, list) for span in trace if isinstance(span, dict)]
    roots = sum(span.get("name") == "invocation" and span.get("parent_span_id") is None for span in spans)
    if roots != len(trajectory.invocations):
        return None  # no trace, one of another kind, or that of a run of which this is one turn
    names = [str(span.get("name")) for span in spans]
    return sum(name == "call_llm" or name.startswith("generate_content") for name in names)
