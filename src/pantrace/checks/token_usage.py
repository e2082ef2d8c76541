"""Cost of a run, with its token totals."""

from __future__ import annotations

from typing import Any

from pantrace.catalog import Model, catalog, cost_usd, list_cost_usd
from pantrace.model import (
    Record,
    Sample,
    Text,
    Thinking,
    ToolCall,
    Trajectory,
    Usage,
    all_trajectories,
    answer_tokens,
    model_calls,
    prompt_tokens,
    tool_prompt_tokens,
    total_tokens,
)

from .check import Found, Measured, NotApplicable, check
from .pooling import summed

UNNAMED = "(not named)"


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set."""

    prices: str | None = None
    """Path of a price table (TOML) whose models stand in front of the shipped ones."""


@check(settings=Settings, low=0, better="lower", aggregate=summed)
def token_usage(sample: Sample, settings: Settings) -> Found:
    """Cost of the run in US dollars, with its tokens.

    Formula: sum over model calls, sub-agents included, of (fresh input * input rate + cached input * cache rate +
    written cache * write rate + output * output rate), reasoning billed as output. Without a known cache rate cached
    tokens cost the full rate and `cache_discount` is "none"; `list_cost_usd` is the cost without any cache rate. When
    a model has no price but every call reports its own cost, the score is that sum and `cost_source` is "reported".

    Not applicable when: no call reports usage; or a model has no price and the source reports no cost (the tokens are
    in the details then, and `unpriced_models` names the models).

    Source: the metric of the same name in the ADK evaluation workshop, corrected: it lost calls with null fields, did
    not bill reasoning and priced unknown models by a default.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    calls = [(model or UNNAMED, usage) for model, _, usage in model_calls(sample.trajectory)]
    counted = bool(calls)
    if not calls:
        calls = _totals(sample.trajectory)
    if not calls:
        return NotApplicable("no model call reports its usage")
    table = catalog(settings.prices)
    models = dict.fromkeys(model for model, _ in calls)
    priced = {model: found for model in models if (found := table.find(model)) is not None}
    details = _tokens([usage for _, usage in calls])
    details |= {
        "llm_calls": len(calls) if counted else None,
        "models_used": list(models),
        "calls_missing_usage": _silent(sample.trajectory) if counted else None,
        "unpriced_models": [model for model in models if model not in priced],
        "price_table": table.version,
    }
    traced = _traced(sample, sample.trajectory) if counted else None
    if traced is not None:
        details |= {"calls_in_session": len(calls), "calls_in_trace": traced}
    return _costed(calls, priced, details)


def _costed(calls: list[tuple[str, Usage]], priced: dict[str, Model], details: dict[str, Any]) -> Found:
    reported = [usage.cost_usd for _, usage in calls if usage.cost_usd is not None]
    details["reported_cost_usd"] = sum(reported) if reported else None
    unpriced = details["unpriced_models"]
    if not unpriced:
        cost = sum(cost_usd(usage, priced[model]) for model, usage in calls)
        cached = [model for model, usage in calls if usage.cache_read]
        discounted = [model for model in cached if priced[model].cache_read is not None]
        details |= {
            "estimated_cost_usd": cost,
            "list_cost_usd": sum(list_cost_usd(usage, priced[model]) for model, usage in calls),
            "cache_discount": "table" if len(discounted) == len(cached) > 0 else "partial" if discounted else "none",
            "cost_source": "table",
        }
        return Measured(
            value=cost, explanation=f"{len(calls)} model calls, {details['total_tokens']} tokens", details=details
        )
    details |= {"estimated_cost_usd": None, "list_cost_usd": None, "cache_discount": None}
    if len(reported) == len(calls):
        details["cost_source"] = "reported"
        names = ", ".join(unpriced)
        return Measured(
            value=sum(reported), explanation=f"as the source reports it; no price for {names}", details=details
        )
    return NotApplicable(f"unknown cost: no price for {', '.join(unpriced)}", details)


def _tokens(usages: list[Usage]) -> dict[str, Any]:
    """Sums; a field that a call leaves out counts as 0 where others report it, and how many leave it out is told."""
    fields = {
        "prompt_tokens": [prompt_tokens(usage) for usage in usages],
        "completion_tokens": [answer_tokens(usage) for usage in usages],
        "cached_tokens": [usage.cache_read for usage in usages],
        "thinking_tokens": [usage.reasoning for usage in usages],
        "tool_use_prompt_tokens": [tool_prompt_tokens(usage) for usage in usages],
        "input_tokens": [usage.input for usage in usages],
        "output_tokens": [usage.output for usage in usages],
    }
    found: dict[str, Any] = {}
    for name, counts in fields.items():
        known = [count for count in counts if count is not None]
        found[name] = sum(known) if known else None
    for name in ("prompt", "completion", "cached", "thinking"):
        found[f"calls_missing_{name}"] = fields[f"{name}_tokens"].count(None)
    found["total_tokens"] = sum(total_tokens(usage) or 0 for usage in usages)
    return found


def _totals(trajectory: Trajectory) -> list[tuple[str, Usage]]:
    """What the source reports in total where no step has its own usage."""
    return [
        (name or UNNAMED, usage) for each in all_trajectories(trajectory) for name, usage in (each.usage or {}).items()
    ]


def _silent(trajectory: Trajectory) -> int:
    """Responses of the model that report nothing."""
    return sum(
        step.usage is None and any(isinstance(part, (Text, Thinking, ToolCall)) for part in step.parts)
        for each in all_trajectories(trajectory)
        for step in each.steps
        if step.role == "agent" and step.kind in ("message", "compaction")
    )


def _traced(sample: Sample, trajectory: Trajectory) -> int | None:
    """Model calls in the measured trace that came with the recording; it also shows those of agents called as tools."""
    if not any(each.seconds is not None for each in trajectory.invocations):
        return None
    for kept in sample.extra.values():
        spans = kept.get("session_trace") if isinstance(kept, dict) else None
        if isinstance(spans, list):
            names = [str(span.get("name")) for span in spans if isinstance(span, dict)]
            return sum(name == "call_llm" or name.startswith("generate_content") for name in names)
    return None
