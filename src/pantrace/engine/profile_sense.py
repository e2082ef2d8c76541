"""Profiles that cannot mean what they say: a minimum where less is better, 90 on a scale that ends at 1, a bare name
whose unit nobody can guess. Each would pass or fail everything, and nobody would notice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pantrace.errors import UsageError
from pantrace.metrics import ALIASES, Metric, by_name, measure_named
from pantrace.metrics import names as metric_names
from pantrace.model import Measure
from pantrace.policy import Profile, load_profile, profile_names
from pantrace.store import query
from pantrace.wire import toml
from pantrace.wire.text_file import read_text

_KEYS = {"thresholds": "a minimum", "limits": "a maximum", "hard_fail.below": "a minimum"}


class Declared(NamedTuple):
    """What is known about the numbers of a name."""

    low: float | None = None
    high: float | None = None
    better: str | None = None
    unit: str | None = None


RULE = Declared(0, 1, "higher")


def load_sensible(
    name_or_path: str, *, own: Iterable[Metric] = (), rules: Iterable[str] = (), run: Path | None = None
) -> Profile:
    """A profile; a UsageError if it contradicts what its metrics declare. `own`: metrics of plugins. `rules`: ids of
    rules. `run`: a run directory, whose scores may declare a scale."""
    profile = load_profile(name_or_path)
    if name_or_path not in profile_names():
        known = dict.fromkeys(rules, RULE)
        if run is not None and not profile.as_stored:
            known = {**_stored(profile, run), **known}
        _refuse(profile, Path(name_or_path), list(own), known)
    return profile


def _refuse(profile: Profile, file: Path, own: list[Metric], known: Mapping[str, Declared]) -> None:
    found = []
    # Other files than TOML are ADK's or an older program's; their keys stand elsewhere.
    lines = toml.key_lines(read_text(file)) if file.suffix == ".toml" else {}
    for key, name, number in _bounds(profile):
        line = lines.get(f"{key}.{name}", lines.get(key))
        if (why := _contradiction(profile, key, name, number, own, known)) is not None:
            found.append(f"{f'line {line}: ' if line else ''}{why}")
    if (why := _beyond(profile, own, known)) is not None:
        line = lines.get("composite_min")
        found.append(f"{f'line {line}: ' if line else ''}{why}")
    if found:
        raise UsageError(f"{file}: {'; '.join(found)}")


def _bounds(profile: Profile) -> Iterator[tuple[str, str, float]]:
    yield from (("thresholds", name, number) for name, number in profile.thresholds.items())
    yield from (("limits", name, number) for name, number in profile.limits.items())
    if profile.hard_fail.below is not None:
        yield from (("hard_fail.below", name, profile.hard_fail.below) for name in profile.hard_fail.metrics)


def _contradiction(
    profile: Profile, key: str, name: str, number: float, own: list[Metric], known: Mapping[str, Declared]
) -> str | None:
    """What is wrong with one bound, and what to write instead; None if nothing is."""
    measure = measure_named(name, own)
    if measure is not None and (others := _other_units(name, own)):
        listed = ", ".join(f"{each.address} ({each.unit})" for each in others)
        return f"{key}: {name!r} could mean {listed}; write the full name"
    declared = known.get(name)
    if measure is not None:
        declared = Declared(measure.low, measure.high, measure.better, measure.unit)
    if declared is None:
        return None
    low, high, better, unit = declared
    if low is not None and high is not None and profile.scale is not None and not profile.as_stored:
        # Brought to the profile's scale, where more is always better.
        (low, high), better, unit = profile.scale, "higher", None
    if (low is not None and number < low) or (high is not None and number > high):
        reach = f"{low if low is not None else 0:g} to {high:g}" if high is not None else f"{low:g} upwards"
        share = 100 * (low or 0) <= number <= 100 and (low, high) == (0, 1)
        return f"{key}: {name} = {number:g} is outside its scale ({reach})" + (
            f"; for {number:g} % write {number / 100:g}" if share else "; correct the number"
        )
    wrong = "higher" if key == "limits" else "lower"
    if better == wrong and name not in profile.contrary:
        other = "thresholds" if key == "limits" else "limits"
        of = f" ({unit})" if unit is not None and unit not in ("share", "count") else ""
        return (
            f"{key}: {name} = {number:g} is {_KEYS[key]}, but {better} is better{of}; "
            f'write it under [{other}], or add allow_contrary = ["{name}"] at the top if it is meant'
        )
    return None


def _beyond(profile: Profile, own: list[Metric], known: Mapping[str, Declared]) -> str | None:
    """Why the least composite can never decide: it lies beyond every weighted mean that there can be."""
    if profile.composite_min is None:
        return None
    ends = [profile.scale] if profile.scale is not None else [_ends(name, own, known) for name in profile.weights]
    lows, highs = [low for low, _ in ends], [high for _, high in ends]
    low = None if None in lows else min(each for each in lows if each is not None)
    high = None if None in highs else max(each for each in highs if each is not None)
    below = low is not None and profile.composite_min < low
    if not below and (high is None or profile.composite_min <= high):
        return None
    reach = f"{low:g} upwards" if high is None else f"up to {high:g}" if low is None else f"{low:g} to {high:g}"
    never = "fail" if below else "pass"
    return f"composite_min = {profile.composite_min:g} can never {never}: the composite is {reach}"


def _ends(name: str, own: list[Metric], known: Mapping[str, Declared]) -> tuple[float | None, float | None]:
    """The least and the largest number that a metric can have, as far as that is known."""
    measure = measure_named(name, own)
    declared = measure if measure is not None else known.get(name, Declared())
    return declared.low, declared.high


def _other_units(name: str, own: list[Metric]) -> list[Measure]:
    """The measures that a bare metric name could mean, if they have different units; none for a full address, an alias,
    and where the main measure is beyond doubt."""
    if name in ALIASES or name not in (*metric_names(), *(each.name for each in own)):
        return []
    found = next((each for each in own if each.name == name), None) or by_name(name)
    # A main measure with two ends is recognised by its scale; one without could be any of those with a direction.
    open_end = found.main.high is None
    meant = [each for each in found.measures if each.headline or (open_end and each.better is not None)]
    meant = [each for each in meant if each.unit is not None]
    return meant if len({each.unit for each in meant}) > 1 else []


def _stored(profile: Profile, run: Path) -> dict[str, Declared]:
    """The scales that scores of a run directory declare, by name; without those that declare several."""
    names = [name for name in profile.metrics if measure_named(name) is None]
    if not names:
        return {}
    listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
    rows = query(
        run,
        "select distinct name, scale_low, scale_high from scores "
        f"where scale_low is not null and scale_high is not null and name in ({listed})",
    ).rows
    found: dict[str, list[Declared]] = {}
    for name, low, high in rows:
        # Without its direction: a score that does not say has the default, which is no declaration.
        found.setdefault(name, []).append(Declared(low, high))
    return {name: scales[0] for name, scales in found.items() if len(scales) == 1}
