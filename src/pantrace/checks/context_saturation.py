"""How full the context got."""

from __future__ import annotations

from operator import itemgetter

from pantrace.catalog import catalog
from pantrace.matching.recorded import recorded
from pantrace.model import Record, Sample, total_tokens

from .check import Found, Measured, NotApplicable, check


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set."""

    models: str | None = None
    """Path of a table of models (TOML, as for prices) that knows their windows."""


@check(settings=Settings, low=0, better="lower")
def context_saturation(sample: Sample, settings: Settings) -> Found:
    """Largest number of tokens in one model call, and how full the model's window was.

    Formula: max over model calls of the call's total tokens; `saturation` in the details is the max over calls of
    input / context window, for models whose window is known.

    Not applicable when: no single call reports usage.

    Source: the metric of the same name in the ADK evaluation workshop; the window is ours.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    calls = recorded(sample.trajectory).model_calls
    known = [(total, step) for _, step, usage in calls if (total := total_tokens(usage)) is not None]
    if not known:
        return NotApplicable("no model call reports its usage")
    peak, peak_step = max(known, key=itemgetter(0))
    inputs = [(usage.input, model) for model, _, usage in calls if usage.input is not None]
    table = catalog(settings.models)
    windows = {model: found.window for model in {model for _, model in inputs} if (found := table.find(model))}
    shares = [(count / window, window) for count, model in inputs if (window := windows.get(model)) is not None]
    saturation, window = max(shares, default=(None, None))
    filled = "" if saturation is None else f", {saturation:.1%} of the window"
    return Measured(
        value=peak,
        explanation=f"{peak} tokens in the largest of {len(known)} calls{filled}",
        details={
            "max_total_tokens": peak,
            "peak_usage_span": peak_step.id,
            "peak_input_tokens": max([count for count, _ in inputs], default=None),
            "context_window": window,
            "saturation": saturation,
        },
        evidence=(peak_step.id,) if peak_step.id is not None else (),
    )
