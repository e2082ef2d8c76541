"""Known names: what a profile may decide by. A misspelt name has no score, so it would never miss its threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pantrace.errors import UsageError
from pantrace.judges import managed_names, rubric_names
from pantrace.metrics import ALIASES, measure_named, measures
from pantrace.metrics import names as check_names
from pantrace.model import Case, Sample
from pantrace.policy import Profile
from pantrace.rules import load_rules, packs
from pantrace.store import query
from pantrace.wire import toml
from pantrace.wire.closest_name import closest_name
from pantrace.wire.text_file import read_text

from .plan import Ready, profile_for


def refuse_unknown(profile: Profile, out: Path, *, file: Path | None = None, own: Iterable[str] = ()) -> None:
    """A UsageError unless each name in a profile is a metric, a rule or a rubric (built in or `own`), or the name of a
    score in the run directory. `file` is the profile's file, for the line number."""
    known = dict.fromkeys((*own, *_built_in()))
    unknown = [(table, name) for table, name in _spoken_of(profile) if name not in known]
    if not unknown:
        return
    # Only now, because listing the names of all scores means reading all of them.
    question = "select distinct measure from measures union select distinct name from scores order by 1"
    known = dict.fromkeys((*own, *(name for (name,) in query(out, question).rows if name is not None), *_built_in()))
    unknown = [(table, name) for table, name in unknown if name not in known]
    if not unknown:
        return
    place = _places(file) if file is not None else {}
    found = []
    for table, name in unknown:
        line = place.get(f"{table}.{name}", place.get(table))
        found.append(f"{f'line {line}: ' if line else ''}unknown metric {name!r} in {table}{_hint(name, list(known))}")
    where = str(file) if file is not None else f"profile {profile.name!r}"
    raise UsageError(f"{where}: {'; '.join(found)}")


def refuse_unknown_of(ready: Ready, out: Path) -> None:
    """The same for every profile of a plan that decided a sample."""
    if not ready.profiles:
        return
    # Only profiles that decided something: a plan may list others, for samples that are not in this run.
    used = {name for (name,) in query(out, "select distinct profile from decisions").rows}
    checks = (check.name for check, _ in ready.checks)
    rules = (rule.id for each in ready.rules for rule in each.rule)
    own = [*checks, *rules, *(rubric.name for rubric in ready.rubrics)]
    for profile in ready.profiles.values():
        if profile.name in used:
            try:
                refuse_unknown(profile, out, own=own)
            except UsageError as error:
                remedy = f"scores are kept: `pantrace gate {out} --profile FILE` decides by the corrected profile"
                raise UsageError(f"{error}; {remedy}") from None


def refuse_unmeasured(ready: Ready, read: Callable[[], Iterable[Sample]]) -> None:
    """A UsageError if the plan's profile decides by a deterministic metric that the plan does not measure: every sample
    would be undecided. Samples are read only if there is such a metric, since they may bring its score themselves."""
    profile = ready.default
    if profile is None or profile.missing == "ignore":
        return
    measured = {check.name for check, _ in ready.checks}
    lacking = {name: metric for name in profile.demanded if (metric := _metric_of(name)) not in (None, *measured)}
    needed = False
    for sample in read() if lacking else ():
        case = sample.case or Case()
        by_case = bool(case.required_evals) and profile.demands == "case"
        needed |= profile_for(ready, case.profile) is profile and not by_case
        brought = {score.name for score in sample.scores}
        lacking = {name: metric for name, metric in lacking.items() if brought.isdisjoint((name, metric))}
        if not lacking:
            return
    if needed:
        named = ", ".join(lacking)
        raise UsageError(
            f"the profile {profile.name!r} decides by {named}, which the plan does not measure and no recording brings"
            f"; add {', '.join(dict.fromkeys(map(str, lacking.values())))} to [measure] metrics in the plan, or name "
            f"{'it' if len(lacking) == 1 else 'them'} as optional in the profile"
        )


def _metric_of(name: str) -> str | None:
    """The deterministic metric that a name in a profile means; None if it means a rule, a rubric or a stored score."""
    if (measure := measure_named(name)) is not None:
        return measure.metric
    return name if name in check_names() else None


def _spoken_of(profile: Profile) -> Iterator[tuple[str, str]]:
    for table in ("thresholds", "limits", "weights"):
        yield from ((table, name) for name in getattr(profile, table))
    yield from (("hard_fail.metrics", name) for name in profile.hard_fail.metrics)


def _built_in() -> list[str]:
    rules = [rule.id for pack in packs() for rule in load_rules(pack).rule]
    numbers = [each.address for each in measures()]
    return [*check_names(), *ALIASES, *numbers, *rules, *rubric_names(), *managed_names()]


def _places(file: Path) -> dict[str, int]:
    return toml.key_lines(read_text(file))


def _hint(name: str, known: list[str]) -> str:
    if (meant := closest_name(name, known)) is not None:
        return f" (did you mean {meant}?)"
    return " (no sample has such a score, and neither `pantrace metrics` nor `pantrace rubrics` lists it)"
