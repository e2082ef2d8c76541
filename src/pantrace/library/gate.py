"""Gates: whether a run directory is good enough, by a profile or against a baseline, as `pantrace gate` decides."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from pantrace.engine.calibration_files import calibrations_for
from pantrace.engine.compare_runs import Comparisons, compare_sources, exit_code
from pantrace.engine.decided_words import rate_words, verdict_words, why_none_decided
from pantrace.engine.denominator import denominator_words
from pantrace.engine.evaluate import COMPLETE, decide_again
from pantrace.engine.known_names import refuse_unknown
from pantrace.engine.plan import GateTable
from pantrace.engine.profile_sense import load_sensible
from pantrace.engine.reports import DecidedSample, decided_samples
from pantrace.engine.rule_warnings import unseen_in_run
from pantrace.engine.summary import EvalSummary, gate_code, summarise
from pantrace.engine.table import Table, Tabular
from pantrace.errors import ReadError
from pantrace.judges import Calibrations
from pantrace.model import Record
from pantrace.places import path_at
from pantrace.policy import Profile, profile_names
from pantrace.policy.share import demanded_rate
from pantrace.store import RunDirectory
from pantrace.wire.toml import parse

_PASSED = {0: True, 1: False}
_WORDS = {True: "passed", False: "failed", None: "could not decide, which is not a pass"}


class Gate(Record, Tabular, frozen=True, kw_only=True):
    """Whether an evaluation is good enough. True in a condition only if it passed."""

    passed: bool | None
    """None: could not be decided, which is not a pass."""
    sentence: str
    failures: tuple[DecidedSample, ...] = ()
    """Samples that failed or could not be decided, with the reasons."""
    profile: Profile | None = None
    """The named profile; None if the run's own decisions count."""
    min_pass_rate: float = 1.0
    complete: bool = False
    """Whether every case had to be present."""
    summary: EvalSummary | None = None
    decisions: tuple[DecidedSample, ...] = ()
    baseline: Comparisons | None = None
    """The comparison with the baseline, if one was named."""
    calibrations: Calibrations = Calibrations()
    unseen: tuple[str, ...] = ()
    """Rules that are kept only because no recording has the tool that they forbid: the gate does not pass by them."""

    def __bool__(self) -> bool:
        return self.passed is True

    def __repr__(self) -> str:
        words = {False: "failed", None: "could not be decided"}
        told = [f"  {each.sample}: {words[each.passed]}: {'; '.join(each.reasons)}" for each in self.failures]
        return "\n".join([self.sentence, *told])

    def table(self) -> Table:
        """One row for each decision, failures first."""
        return decision_table(self.decisions, self.sentence)

    @property
    def exit_code(self) -> int:
        """The command's exit code: 0 passed, 1 failed, 3 could not decide."""
        return {True: 0, False: 1, None: 3}[self.passed]

    def verdict(self) -> dict[str, Any]:
        """The result alone, as `--json` prints it under `gate`."""
        found: dict[str, Any] = {"passed": self.passed, "exit_code": self.exit_code, "sentence": self.sentence}
        if self.summary is not None:  # a comparison with a baseline knows neither
            found |= {"min_pass_rate": self.min_pass_rate, "complete": self.complete}
        return found

    def to_dict(self) -> dict[str, Any]:
        """Result, summary and decisions, as `pantrace gate --json` prints them."""
        found: dict[str, Any] = {"gate": self.verdict()}
        if self.summary is not None:
            name = self.profile.name if self.profile is not None else None
            found |= {"profile": name, "profiles": profile_names(), "summary": self.summary}
            found["decisions"] = self.decisions
        if self.baseline is not None:
            found["baseline"] = self.baseline.to_dict()
        plain: dict[str, Any] = msgspec.to_builtins(found)
        return plain


def decision_table(decisions: Iterable[DecidedSample], sentence: str = "") -> Table:
    """Decisions with their reasons."""
    columns: dict[str, type] = {"sample": str, "epoch": int, "case": str, "profile": str, "passed": bool}
    columns |= {"composite": float, "reasons": str}
    rows = [
        (each.sample, each.epoch, each.case, each.profile, each.passed, each.composite, "; ".join(each.reasons))
        for each in decisions
    ]
    return Table(columns, [*rows], sentence=sentence)


def planned_gate(out: Path) -> GateTable:
    """What the evaluation in a run directory demands of the whole: the `[gate]` of its plan, and every case if one of
    its profiles demands that."""
    content = RunDirectory.open(out).content
    try:
        table = parse(content.plan).get("gate")
    except tomllib.TOMLDecodeError:  # the plan was an ADK eval_config.yaml, which has no gate
        table = None
    found = GateTable() if table is None else msgspec.convert(table, GateTable)
    demands = content.run.config.get(COMPLETE) is True
    return msgspec.structs.replace(found, complete=found.complete or demands)


def decide_by_profile(
    out: Path,
    profile: str | PathLike[str],
    *,
    min_pass_rate: float | None = None,
    complete: bool = False,
    calibrations: Iterable[str | PathLike[str]] = (),
) -> Gate:
    """Decide every sample again by a profile; nothing is measured or judged again. The rate is the given one, otherwise
    that of the run's plan, otherwise 1."""
    chosen = load_sensible(str(profile), run=out)
    # A misspelt metric in a profile would never be present, and the gate could pass without it.
    refuse_unknown(chosen, out, file=None if str(profile) in profile_names() else Path(profile))
    known = calibrations_for(out, [Path(each) for each in calibrations])
    decide_again(out, chosen, known)
    planned = planned_gate(out)
    demanded = complete or chosen.complete or planned.complete
    rate = demanded_rate(min_pass_rate, planned.min_pass_rate)
    return _gate(out, summarise(out).only_by({chosen.name}), rate, demanded, chosen, known)


def decide_as_stored(
    out: Path,
    *,
    min_pass_rate: float | None = None,
    complete: bool = False,
    calibrations: Iterable[str | PathLike[str]] = (),
) -> Gate | None:
    """Decide by the profiles and the `[gate]` that the plan or the cases of a run name; None if they name no profile.
    Profiles that only an earlier gate tried on the directory do not count."""
    # A profile that was only tried out must not decide a build.
    own = RunDirectory.open(out).evaluated_profiles()
    if not own:
        return None
    known = calibrations_for(out, [Path(each) for each in calibrations])
    summary = summarise(out).only_by(own)
    if not summary.profiles:
        raise ReadError(f"its decisions by {', '.join(own)} belong to none of its samples", path=str(out))
    planned = planned_gate(out)
    rate = demanded_rate(min_pass_rate, planned.min_pass_rate)
    return _gate(out, summary, rate, complete or planned.complete, None, known)


def decide_as_planned(
    out: Path,
    summary: EvalSummary,
    planned: GateTable,
    *,
    min_pass_rate: float | None = None,
    complete: bool = False,
    calibrations: Calibrations | None = None,
) -> Gate:
    """Decide by the evaluation's own decisions. The rate is the given one, otherwise the plan's, otherwise 1."""
    rate = demanded_rate(min_pass_rate, planned.min_pass_rate)
    return _gate(out, summary, rate, complete or planned.complete, None, calibrations or Calibrations())


def against_baseline(
    out: Path,
    baseline: str | PathLike[str],
    *,
    margins: Iterable[str | float] = (),
    metrics: Iterable[str] = (),
    cluster: str | None = None,
) -> Gate:
    """Demand that no metric is worse than in the baseline by more than its margin. Both runs are only read."""
    sources = [(str(baseline), [path_at(baseline)]), (str(out), [out])]
    found = compare_sources(sources, metrics=[*metrics], margins=[*margins], cluster=cluster)
    # Any other code means undecided: a gate fails closed.
    passed = _PASSED.get(exit_code(found.comparisons)) if not found.unfinished else None
    words = "failed: proven worse" if passed is False else _WORDS[passed]
    words += f" ({'; '.join(found.unfinished)})" if found.unfinished else ""
    return Gate(passed=passed, sentence=f"gate (no worse than {baseline}): {words}", baseline=found)


def both(first: Gate, second: Gate) -> Gate:
    """Two gates as one: failed wins over undecided, and both win over passed."""
    if False in (first.passed, second.passed):
        passed: bool | None = False
    else:
        passed = None if None in (first.passed, second.passed) else True
    sentence = f"{first.sentence}\n{second.sentence}"
    return msgspec.structs.replace(first, passed=passed, sentence=sentence, baseline=second.baseline)


def _gate(
    out: Path,
    summary: EvalSummary,
    rate: float,
    complete: bool,
    profile: Profile | None,
    calibrations: Calibrations,
) -> Gate:
    passed = _PASSED.get(gate_code(summary, rate, complete=complete))
    unseen = unseen_in_run(out, summary.profiles) if passed else []
    if unseen:
        passed = None
    decided = tuple(decided_samples(out, summary.profiles))
    told = "; ".join(verdict_words(each) for each in summary.decisions)
    why = told or f"no sample was decided: {why_none_decided(summary)}"
    # At a rate of 1 the counts say everything.
    if rate != 1 and (shares := rate_words(summary)):
        why += f"; {shares}"
    if summary.denominator.unfinished:
        why = f"{summary.denominator.unfinished}; {why}"
    # Records that could not be read are in no sample; a gate must not overlook them.
    if summary.denominator.refused:
        why += f"; {summary.denominator.refused:,} could not be read, so not decided"
    if complete and not summary.denominator.complete:
        why += f"; not complete: {denominator_words(summary.denominator)}"
    why += "".join(f"; {each}" for each in unseen)
    return Gate(
        passed=passed,
        unseen=tuple(unseen),
        sentence=f"gate (at least {rate * 100:.12g}% must pass): {_WORDS[passed]} ({why})",
        failures=tuple(each for each in decided if each.passed is not True),
        profile=profile,
        min_pass_rate=rate,
        complete=complete,
        summary=summary,
        decisions=decided,
        calibrations=calibrations,
    )
