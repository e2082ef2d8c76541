"""Known names: what a profile may decide by. A name that nobody scores would never miss its threshold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pantrace.errors import UsageError
from pantrace.judges import managed_names, rubric_names
from pantrace.metrics import ALIASES, measures
from pantrace.metrics import names as check_names
from pantrace.policy import Profile
from pantrace.rules import load_rules, packs
from pantrace.store import query
from pantrace.wire import toml
from pantrace.wire.closest_name import closest_name
from pantrace.wire.text_file import read_text

from .plan import Ready


def refuse_unknown(profile: Profile, out: Path, *, file: Path | None = None, own: Iterable[str] = ()) -> None:
    """A UsageError unless each name in a profile is a metric, a rule or a rubric (built in or one's `own`), or the name
    of a score that the run directory holds. `file` is where the profile stands, for the line."""
    known = dict.fromkeys((*own, *_built_in()))
    unknown = [(table, name) for table, name in _spoken_of(profile) if name not in known]
    if not unknown:
        return
    # Only now: the names of all scores are a walk over all of them.
    question = "select distinct measure from measures union select distinct name from scores order by 1"
    known = dict.fromkeys((*own, *(name for (name,) in query(out, question).rows if name is not None), *_built_in()))
    unknown = [(table, name) for table, name in unknown if name not in known]
    if not unknown:
        return
    place = _places(file) if file is not None else {}
    told = []
    for table, name in unknown:
        line = place.get(f"{table}.{name}", place.get(table))
        told.append(f"{f'line {line}: ' if line else ''}unknown metric {name!r} in {table}{_hint(name, list(known))}")
    where = str(file) if file is not None else f"profile {profile.name!r}"
    raise UsageError(f"{where}: {'; '.join(told)}")


def refuse_unknown_of(ready: Ready, out: Path) -> None:
    """The same for every profile of a plan that decided a sample."""
    if not ready.profiles:
        return
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
