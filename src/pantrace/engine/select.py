"""Select: which samples are wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from pantrace.errors import UsageError
from pantrace.model import Sample, all_trajectories
from pantrace.wire.closest_name import closest_name
from pantrace.wire.plural import few
from pantrace.wire.times import time_text

from .where import Condition

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_REMEMBERED = 10_000
"""At most this many names are kept for suggestions."""
_LISTED = 8
"""At most this many values are listed if none fits."""


@dataclass
class Selection:
    """Which samples are wanted. With a time limit, samples without a time are left out and counted."""

    since: float | None = None
    until: float | None = None
    sessions: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    limit: int | None = None
    sub_agents: bool = True
    """Whether samples keep the trajectories of their sub-agents."""
    read: int = 0
    """Samples looked at so far."""
    taken: int = 0
    undated: int = 0
    """Samples left out because `since` or `until` was given and they have no time."""
    _ids: dict[str, None] = field(init=False, repr=False)
    _met: set[str] = field(init=False, repr=False)
    _begun: dict[str, dict[str, list[Sample]]] = field(init=False, repr=False)
    """For each requested id that was not found: the samples whose ids begin with it; if there are several ids, only
    these."""
    _callers: dict[str, str] = field(init=False, repr=False)
    """Sub-agents that were requested by id, and the samples they are in."""
    _beside: dict[Condition, dict[str, None]] = field(init=False, repr=False)
    """Conditions whose field no sample has had yet, and the names that there were instead."""
    _seen: dict[Condition, dict[str, None]] = field(init=False, repr=False)
    """The values of a condition's field in samples that did not match."""

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget what was seen and counted, because reading starts again."""
        self.read = self.taken = self.undated = 0
        self._ids, self._met, self._callers, self._seen, self._begun = {}, set(), {}, {}, {}
        self._beside = {condition: {} for condition in self.where if condition.open}

    def fresh(self) -> Selection:
        """The same selection with nothing counted, for one part of the input and the rest of the limit."""
        left = None if self.limit is None else self.limit - self.taken
        return Selection(self.since, self.until, self.sessions, self.where, left, self.sub_agents)

    def absorb(self, other: Selection) -> None:
        """Add the counts of another part, and what was seen there."""
        self.read += other.read
        self.taken += other.taken
        self.undated += other.undated
        self._met |= other._met
        self._callers |= other._callers
        for condition in [*self._beside]:
            if condition in other._beside:
                self._beside[condition] |= other._beside[condition]
            else:
                del self._beside[condition]
        for condition, seen in other._seen.items():
            self._seen.setdefault(condition, {}).update(seen)
        for name in [*other._ids][: max(0, _REMEMBERED - len(self._ids))]:
            self._ids[name] = None

    @property
    def is_by_part(self) -> bool:
        """Whether samples can be selected from each part separately: not with a limit, nor with ids that may be
        prefixes."""
        # Which samples are the first N, or whether a prefix is unique, only the whole input shows.
        return self.limit is None and not self.sessions

    @property
    def narrows(self) -> bool:
        """Whether some samples may be left out."""
        # Used to decide whether a missing case was not run or just not selected.
        timed = self.since is not None or self.until is not None
        return bool(timed or self.sessions or self.where or self.limit is not None or not self.sub_agents)

    def apply(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """The wanted samples of all; at the end, a UsageError for a name that no sample has."""
        self.begin()
        yield from self.wanted(samples)
        yield from self._by_prefix()
        self.settle()

    def _by_prefix(self) -> Iterator[Sample]:
        """At the end: the samples for which only a prefix of the id was given. Only then is it known to be unique."""
        for wanted, found in self._begun.items():
            if wanted in self._met or len(found) != 1:
                continue
            self._met.add(wanted)
            for sample in next(iter(found.values())):
                # The conditions were not checked before, because it was not known that the sample is meant.
                if self.taken != self.limit and self._holds(sample):
                    self.taken += 1
                    yield sample if self.sub_agents else alone(sample)

    def wanted(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """The wanted samples of some; the limit is for all calls together."""
        for sample in samples if self.taken != self.limit else ():
            self.read += 1
            if self._wants(sample):
                self.taken += 1
                yield sample if self.sub_agents else alone(sample)
                if self.taken == self.limit:
                    return

    def settle(self) -> None:
        """At the end: refuse a sample that was not found, and a label or key that no sample has."""
        # The limit ended the reading early, so the rest was never seen.
        if self.taken == self.limit:
            return
        for wanted in self.sessions:
            if wanted not in self._met and len(several := sorted(self._begun.get(wanted, ()))) > 1:
                more = f" and {len(several) - 3:,} more" if len(several) > 3 else ""
                listed = f"{', '.join(several[:3])}{more}"
                raise UsageError(f"{len(several):,} samples begin with {wanted!r}: {listed}; give more of the id")
            if wanted not in self._met:
                raise UsageError(f"no sample {wanted!r} among the {self.read} that were read{self._instead(wanted)}")
        for condition, beside in self._beside.items() if self.read else ():
            hint = _did_you_mean(condition.name, beside) or "."
            listed = f" There are {', '.join(sorted(beside)[:20])}" if beside else ""
            raise UsageError(f"--where {condition.text!r}: no sample has {condition.name}{hint}{listed}")

    def look_up(self, read: Callable[[], Iterable[Sample]]) -> None:
        """Refuse a name that no sample has before anything is done, if the end would be too late: judges cost money.
        Reads everything once, if there are such names."""
        if self.sessions or self._beside:
            found = Selection(sessions=self.sessions, where=self.where)
            for _ in found.apply(read()):
                pass
            whole = {wanted: next(iter(ids)) for wanted, ids in found._begun.items() if len(ids) == 1}
            self.sessions = tuple(dict.fromkeys(whole.get(each, each) for each in self.sessions))

    @property
    def found_nothing(self) -> str | None:
        """A sentence if samples were read and none was selected."""
        if not self.read or self.taken:
            return None
        asked = [
            *([f"--since {time_text(int(self.since))}"] if self.since is not None else []),
            *([f"--until {time_text(int(self.until))}"] if self.until is not None else []),
            *(f"--sample {each}" for each in self.sessions),
            *(f"--where {each.text!r}{self._instead_of(each)}" for each in self.where),
        ]
        read = f"{few(self.read, 'sample')} {'was' if self.read == 1 else 'were'} read"
        return f"nothing was selected: {read}, but none matches {' '.join(asked)}"

    def _wants(self, sample: Sample) -> bool:
        # Only until a sample has the field: then the name is right, and nothing more has to be remembered.
        for condition in [each for each in self._beside if self._has(sample, each)]:
            del self._beside[condition]
        return (not self.sessions or self._is_named(sample)) and self._holds(sample)

    def _holds(self, sample: Sample) -> bool:
        """Whether a sample matches everything except the requested ids."""
        if self.since is not None or self.until is not None:
            created = sample.trajectory.created if sample.trajectory else None
            # It cannot be known whether such a sample is meant. Counted, so that the user learns about it.
            if created is None:
                self.undated += 1
                return False
            if self.since is not None and created < self.since:
                return False
            if self.until is not None and created > self.until:
                return False
        return all(self._fits(sample, condition) for condition in self.where)

    def _fits(self, sample: Sample, condition: Condition) -> bool:
        values = condition.values(sample)
        fits = condition.fits(values)
        seen = self._seen.setdefault(condition, {})
        if not fits and len(seen) <= _LISTED:
            seen.update(dict.fromkeys(" ".join(str(value).split())[:60] for value in values))
        return fits

    def _has(self, sample: Sample, condition: Condition) -> bool:
        if condition.values(sample):
            return True
        beside = self._beside[condition]
        if len(beside) < _REMEMBERED:
            beside.update(dict.fromkeys(condition.names_beside(sample)))
        return False

    def _is_named(self, sample: Sample) -> bool:
        trajectory = sample.trajectory
        named = {sample.id, trajectory.id if trajectory else None} & set(self.sessions)
        self._met |= {each for each in named if each is not None}
        if not named and len(self._ids) < _REMEMBERED:
            self._ids[sample.id] = None
        if not named:
            self._note_beginning(sample)
        if trajectory is not None and trajectory.children:
            inside = {each.id: sample.id for each in all_trajectories(trajectory) if each.id in self.sessions}
            self._callers |= {name: caller for name, caller in inside.items() if name is not None}
        return bool(named)

    def _note_beginning(self, sample: Sample) -> None:
        for wanted in self.sessions:
            if wanted and wanted not in self._met and sample.id.startswith(wanted):
                found = self._begun.setdefault(wanted, {})
                if len(found) < _REMEMBERED:
                    found.setdefault(sample.id, []).append(sample)
                if len(found) > 1:
                    for kept in found.values():
                        # An ambiguous prefix is refused at the end, so the samples need not stay in memory.
                        kept.clear()

    def _instead_of(self, condition: Condition) -> str:
        """What the field of a condition has instead."""
        if condition not in self._seen or condition.op not in ("=", "~"):
            return ""
        seen = sorted(self._seen[condition])
        listed = ", ".join(seen[:_LISTED]) + (" and others" if len(seen) > _LISTED else "")
        return f" ({condition.name} is {listed})" if seen else f" (no sample has {condition.name})"

    def _instead(self, wanted: str) -> str:
        if wanted in self._callers:
            return f": it is a sub-agent of {self._callers[wanted]}"
        return _did_you_mean(wanted, self._ids)


def alone(sample: Sample) -> Sample:
    """A sample without the trajectories of its sub-agents; the calls that started them are kept."""
    if sample.trajectory is None or not sample.trajectory.children:
        return sample
    return replace(sample, trajectory=replace(sample.trajectory, children=()))


def _did_you_mean(given: str, names: Iterable[str]) -> str:
    meant = closest_name(given, names)
    return f"; did you mean {meant}?" if meant else ""


def parse_since(text: str, now: datetime, option: str = "--since") -> float:
    """30m, 2h, 7d, 1w, today, yesterday, 2026-11-15 or 2026-11-15T08:00 (local time unless a zone is given)."""
    try:
        return _moment(text, now).timestamp()
    except ValueError:
        raise UsageError(
            f"{option} {text!r} is not a time; try 30m, 2h, 7d, today, 2026-11-15 or 2026-11-15T08:00"
        ) from None
    except OverflowError:
        raise UsageError(f"{option} {text!r} is not a date in the calendar") from None


def parse_gap(text: str) -> float:
    """The seconds in 30m, 2h, 1d, 1w."""
    if (match := re.fullmatch(r"(\d{1,6})([mhdw])", text)) is None or not int(match[1]):
        raise UsageError(f"--gap {text!r} is not a length of time; try 30m, 2h or 1d")
    return timedelta(**{_UNITS[match[2]]: int(match[1])}).total_seconds()


def _moment(text: str, now: datetime) -> datetime:
    if (match := re.fullmatch(r"(\d+)([mhdw])", text)) is not None:
        return now - timedelta(**{_UNITS[match[2]]: int(match[1])})
    # "today" means the user's day, not the day in UTC.
    midnight = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    if text == "today":
        return midnight
    if text == "yesterday":
        return midnight - timedelta(days=1)
    return datetime.fromisoformat(text).astimezone(UTC)
