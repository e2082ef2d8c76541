"""Profiles: thresholds, weights, hard fails, and what missing scores mean. Versioned data, never code."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import resources
from math import isfinite, isnan
from pathlib import Path
from typing import Literal

import msgspec

from pantrace.errors import UsageError
from pantrace.wire import toml
from pantrace.wire.text_file import exists


class HardFail(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What fails a sample, whatever its other scores are."""

    below: float | None = None
    metrics: list[str] = []
    contract: bool = False
    """A broken output contract is a hard fail."""


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How scores become a decision."""

    name: str
    version: str
    description: str = ""
    scale: tuple[float, float] | None = None
    """The scale of thresholds and composite; scores that declare another one are brought to it. Without a scale, scores
    are taken as they are, and a composite over different scales is refused."""
    as_stored: bool = False
    """Take numbers as the source stores them: nothing is rescaled, and a sentinel such as -1 counts. For parity with
    the original reports."""
    thresholds: dict[str, float] = {}
    """A score below its threshold fails the sample."""
    limits: dict[str, float] = {}
    """A score above its limit fails the sample. A number without an upper end (cost, tokens, seconds, counts) is
    compared as it is, whatever the scale."""
    weights: dict[str, float] = {}
    composite_min: float | None = None
    """The smallest weighted mean, over the metrics present, that passes."""
    hard_fail: HardFail = HardFail()
    unscored: Literal["undecided", "fail", "ignore"] = "undecided"
    """What a score that could not be computed (unscored, failed) means."""
    not_applicable: Literal["ignore", "undecided"] = "undecided"
    """What it means if a metric with a threshold, a limit or a hard fail does not apply. A metric that only has a
    weight is left out of the composite."""
    missing: Literal["ignore", "undecided"] = "undecided"
    """What it means if the sample has no score for a metric that the profile demands. Metrics that the case requires
    are never ignored."""
    optional: list[str] = []
    """Metrics that count if there is a score; it is no problem if there is none, or if they do not apply."""
    # Unset and not empty: a profile without it keeps its hash, and run directories of earlier versions continue.
    allow_contrary: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Metrics whose bound is meant although it contradicts their direction: a minimum of tokens, a maximum of a success
    rate. Otherwise such a bound is refused."""
    demands: Literal["profile", "case"] = "profile"
    """profile: every sample needs a score for each metric that the profile demands. case: if a case lists its required
    evals, its sample needs only these."""
    complete: bool = False
    """The gate does not pass if a case was not run, not read or left out."""
    require_calibrated: bool = False
    """Refuse to decide by a judge that was not calibrated against labels."""

    @property
    def metrics(self) -> list[str]:
        """Every metric that can decide."""
        named = (*self.thresholds, *self.limits, *self.weights, *self.hard_fail.metrics)
        return list(dict.fromkeys(named))

    @property
    def contrary(self) -> list[str]:
        """The metrics listed in `allow_contrary`."""
        return [] if self.allow_contrary is msgspec.UNSET else self.allow_contrary

    def only_weighs(self, metric: str) -> bool:
        """Whether a metric only counts in the composite."""
        return metric not in (*self.thresholds, *self.limits, *self.hard_fail.metrics)

    @property
    def demanded(self) -> list[str]:
        """Metrics without which there is no decision: those with a threshold, a limit or a hard fail, and those of the
        composite, if it has a minimum."""
        weighed = self.weights if self.composite_min is not None else {}
        named = dict.fromkeys((*self.thresholds, *self.limits, *weighed, *self.hard_fail.metrics))
        return [name for name in named if name not in self.optional]


@cache
def _built_in() -> dict[str, Profile]:
    folder = resources.files(__package__).joinpath("profiles")
    found = {}
    for each in folder.iterdir():
        if each.name.endswith(".toml"):
            profile = toml.load(each.read_text("utf-8"), each.name, Profile)
            found[profile.name] = profile
    return found


def profile_names() -> list[str]:
    """The names of the profiles that come with pantrace."""
    return sorted(_built_in())


def load_profile(name_or_path: str) -> Profile:
    """A profile by its name, or from a file: TOML, ADK's test_config.json, or a criteria file in YAML."""
    if name_or_path in _built_in():
        return _built_in()[name_or_path]
    path = Path(name_or_path)
    if path.suffix in _FILES or exists(path):
        profile = _from_file(path)
        _check(profile, str(path))
        return profile
    close = get_close_matches(name_or_path, profile_names(), n=1)
    hint = f"did you mean {close[0]}?" if close else f"built in: {', '.join(profile_names())}, or name a .toml file"
    raise UsageError(f"no profile {name_or_path!r}; {hint}")


_FILES = (".toml", ".json", ".yaml", ".yml")


def _from_file(path: Path) -> Profile:
    from . import foreign_profiles

    if path.suffix == ".json":
        return foreign_profiles.from_criteria(path)
    return foreign_profiles.from_rubric(path) if path.suffix in _FILES[2:] else toml.load_file(path, Profile)


def _check(profile: Profile, name: str) -> None:
    numbers = [*profile.thresholds.values(), *profile.limits.values(), *profile.weights.values()]
    numbers += [*(profile.scale or ()), *(each for each in (profile.composite_min, profile.hard_fail.below) if each)]
    # No number is below NaN or above infinity: such a bound would pass everything, or nothing.
    if strange := [number for number in numbers if not isfinite(number)]:
        raise UsageError(
            f"{name}: {strange[0]} cannot be a threshold, limit, weight or scale, because nothing could ever miss it"
            if isnan(strange[0])
            else f"{name}: {strange[0]} is no threshold, limit, weight or scale; write a number that a score can reach"
        )
    if negative := [metric for metric, weight in profile.weights.items() if weight < 0]:
        raise UsageError(f"{name}: the weight of {negative[0]} is negative")
    if not profile.metrics and not profile.hard_fail.contract:
        raise UsageError(f"{name}: the profile names no metric, so it could never decide")
    can_fail = (profile.thresholds, profile.limits, profile.hard_fail.metrics, profile.hard_fail.contract)
    if not any(can_fail) and profile.composite_min is None:
        raise UsageError(
            f"{name}: weights alone can never fail; add composite_min, [thresholds], [limits] or [hard_fail]"
        )
    if profile.composite_min is not None and not profile.weights:
        raise UsageError(f"{name}: composite_min needs weights")
    if profile.weights and sum(profile.weights.values()) <= 0:
        raise UsageError(f"{name}: the weights sum to 0")
    if profile.hard_fail.metrics and profile.hard_fail.below is None:
        raise UsageError(f"{name}: hard_fail.metrics needs hard_fail.below")
    if profile.scale is not None and profile.scale[0] >= profile.scale[1]:
        raise UsageError(f"{name}: the scale must go from low to high")
    # A misspelt name would have no effect, and the metric that was meant would still be demanded.
    for listed, words in ((profile.optional, "is optional"), (profile.contrary, "is in allow_contrary")):
        if idle := [metric for metric in listed if metric not in profile.metrics]:
            close = get_close_matches(idle[0], profile.metrics, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise UsageError(f"{name}: {idle[0]} {words}, but the profile decides nothing by it{hint}")
