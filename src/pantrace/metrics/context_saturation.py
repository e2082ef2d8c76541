"""How full the context window got."""

from __future__ import annotations

from pantrace.catalog import catalog
from pantrace.matching.recorded_data import recording_of
from pantrace.model import Measure, Record, Sample, Step, Usage

from .metric import Found, Measurement, NotApplicable, metric


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings."""

    models: str | None = None
    """Path of a table of models with their context windows (TOML, as for prices)."""

    def __post_init__(self) -> None:
        # Loaded now, so that a wrong file is reported once and not by every sample.
        catalog(self.models)


@metric(
    settings=Settings,
    measures=(
        Measure(
            name="max_total_tokens", unit="tokens", better="lower", headline=True, what="tokens of the largest call"
        ),
        Measure(name="peak_input_tokens", unit="tokens", better="lower", what="input tokens of the largest call"),
        Measure(name="context_window", unit="tokens", what="window of the model that was fullest"),
        Measure(name="saturation", unit="share", better="lower", what="how full the window was at most"),
    ),
)
def context_saturation(sample: Sample, settings: Settings) -> Found:
    """Largest number of tokens in one model call, and how full the model's window was.

    Formula: max over model calls of the call's total tokens; `saturation` is the max over calls of
    input / context window, for models whose window is known.

    Not applicable when: no single call reports usage.

    Source: the metric of the same name in the ADK evaluation workshop; the window is ours.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    recording = recording_of(sample.trajectory)
    calls = recording.model_calls
    totals = recording.tokens.totals
    known = [total for total in totals if total is not None]
    if not known:
        return NotApplicable("no model call reports its usage")
    peak = max(known)
    peak_step = calls[totals.index(peak)][1]
    table = catalog(settings.models)
    windows = {model: found.window for model in {model for model, _, _ in calls} if (found := table.find(model))}
    # Per call: with several models, the largest call need not be the one that filled its window most.
    saturation, window = max(_shares(calls, windows), default=(None, None)) if windows else (None, None)
    inputs = [usage.input for usage in recording.usages if usage.input is not None]
    filled = "" if saturation is None else f", {saturation:.1%} of the window"
    return Measurement(
        value=peak,
        explanation=f"{peak} tokens in the largest of {len(known)} calls{filled}",
        values={
            "peak_input_tokens": max(inputs, default=None),
            "context_window": window,
            "saturation": saturation,
        },
        details={"peak_usage_span": peak_step.id},
        evidence=(peak_step.id,) if peak_step.id is not None else (),
    )


def _shares(
    calls: list[tuple[str | None, Step, Usage]], windows: dict[str | None, int | None]
) -> list[tuple[float, int]]:
    """The share of its window that each call filled, and the window."""
    return [
        (usage.input / window, window)
        for model, _, usage in calls
        if usage.input is not None and (window := windows.get(model)) is not None
    ]
