"""Share of the prompt that came from a cache."""

from __future__ import annotations

from pantrace.matching.recorded_data import recording_of
from pantrace.model import Measure, Sample

from .metric import Found, Measurement, NoSettings, NotApplicable, metric


@metric(
    measures=(
        Measure(
            name="cache_hit_rate",
            unit="share",
            better="higher",
            high=1.0,
            pooling="ratio",
            over=("total_cached_tokens", "total_input_tokens"),
            headline=True,
            what="prompt tokens that came from a cache",
        ),
        Measure(name="total_cached_tokens", unit="tokens", pooling="sum", what="prompt tokens from a cache"),
        Measure(name="total_fresh_prompt_tokens", unit="tokens", pooling="sum", what="prompt tokens not from a cache"),
        Measure(name="total_input_tokens", unit="tokens", pooling="sum", what="prompt tokens"),
        Measure(
            name="calls_missing_cached", unit="count", pooling="sum", what="calls that do not report cached tokens"
        ),
    )
)
def cache_efficiency(sample: Sample, settings: NoSettings) -> Found:
    """Share of the prompt tokens that came from a cache.

    Formula: sum of cached tokens / sum of prompt tokens over all model calls; cached tokens are part of the prompt. A
    call that does not report cached tokens counts as 0 (`calls_missing_cached`). Over many samples: the same ratio of
    sums.

    Not applicable when: no call reports cached tokens, or no prompt tokens are reported.

    Source: the metric of the same name in the ADK evaluation workshop, corrected: it divided by prompt + cached.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    tokens = recording_of(sample.trajectory).tokens
    hits, missing = tokens.cached
    # Not 0 %: providers without a cache, and older ones, do not report it.
    if hits is None:
        return NotApplicable("no model call reports cached tokens")
    # Cached tokens are inside the prompt; the original divided by prompt + cached, which never reaches 1.
    prompt = sum(filter(None, tokens.prompts))
    if prompt <= 0:
        return NotApplicable("no model call reports prompt tokens")
    return Measurement(
        value=hits / prompt,
        explanation=f"{hits} of {prompt} prompt tokens came from a cache",
        values={
            "total_cached_tokens": hits,
            "total_fresh_prompt_tokens": prompt - hits,
            "total_input_tokens": prompt,
            "calls_missing_cached": missing,
        },
    )
