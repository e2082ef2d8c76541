"""Check: applies rule files to samples, and counts the results per rule and per sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import Sample, Score, ToolCall, all_trajectories
from pantrace.normalise.secrets import Redactor
from pantrace.rules import RuleFile, rule_scores
from pantrace.wire.times import time_text
from pantrace.wire.xml_text import xml_text

from .measure import Chosen, scores_of
from .read import Notes
from .rule_warnings import rule_warnings, unknown_tools
from .table import Table, Tabular


@dataclass(repr=False)
class CheckReport(Tabular):
    """The results of rules. A rule that does not apply counts neither as passed nor as failed, unless requested."""

    inputs: list[str]
    not_applicable_passes: bool = False
    sessions: list[tuple[Sample, list[Score]]] = field(default_factory=list)
    tools_seen: dict[str, set[str]] = field(default_factory=dict)
    """The tools that were called, with the names of their arguments."""
    rules: list[RuleFile] = field(default_factory=list)
    min_pass_rate: float = 1.0
    """The share of checks that must pass."""
    notes: Notes = field(default_factory=Notes.keeping)

    @property
    def broken(self) -> list[ReadError]:
        """Records that could not be read and are left out."""
        return self.notes.broken

    @property
    def scores(self) -> list[Score]:
        return [score for _, scores in self.sessions for score in scores]

    def count(self, scores: Iterable[Score]) -> dict[str, int]:
        """How many passed, failed, did not apply, and could not be evaluated."""
        counts = {"passed": 0, "failed": 0, "not_applicable": 0, "errored": 0}
        for score in scores:
            counts[self.verdict(score)] += 1
        return counts

    def verdict(self, score: Score) -> str:
        if score.status == "not_applicable":
            return "passed" if self.not_applicable_passes else "not_applicable"
        if score.status != "scored":
            return "errored"
        return "passed" if score.passed is True or (score.passed is None and score.value is True) else "failed"

    def pass_rate(self, scores: Iterable[Score]) -> float | None:
        """Share of passed checks among those that applied; None if none did."""
        counts = self.count(scores)
        judged = counts["passed"] + counts["failed"]
        return counts["passed"] / judged if judged else None

    @property
    def passed(self) -> bool | None:
        """Whether enough checks passed; None if none applied, or if one could not be evaluated or a record not read."""
        # A gate fails closed: a rule that crashed is not a pass.
        rate = self.pass_rate(self.scores)
        if rate is None or self.count(self.scores)["errored"]:
            return None
        if rate < self.min_pass_rate:
            return False
        return None if self.broken else True

    def unknown_tools(self) -> list[str]:
        """Tool names in the rules that no recording has: perhaps misspelt. Empty if there are no recordings."""
        recorded = any(sample.trajectory is not None for sample, _ in self.sessions)
        return unknown_tools(self.rules, self.tools_seen) if recorded else []

    def warnings(self) -> list[str]:
        """Names in the rules that no recording has: such a rule can never fail, or never applies."""
        recorded = any(sample.trajectory is not None for sample, _ in self.sessions)
        return rule_warnings(self.rules, self.tools_seen) if recorded else []

    def see(self, tools: dict[str, set[str]]) -> None:
        """Add the tools of a sample, or of a part of the input."""
        for name, given in tools.items():
            self.tools_seen.setdefault(name, set()).update(given)

    def to_dict(self) -> dict[str, Any]:
        """The report, as `pantrace check --json` prints it."""
        return as_json(self)

    def table(self) -> Table:
        """One row for each rule and sample."""
        columns: dict[str, type] = {"sample": str, "epoch": int, "rule": str, "name": str, "verdict": str}
        columns |= {"reason": str, "steps": str}
        return Table(
            columns,
            [(sample.id, sample.epoch, *self._row(score)) for sample, scores in self.sessions for score in scores],
        )

    def _row(self, score: Score) -> tuple[str | None, ...]:
        steps = ", ".join(score.evidence) or None
        return score.name, _title(score), self.verdict(score), score.explanation, steps

    def overview(self) -> Table:
        """Checks that failed or could not be evaluated."""
        every = self.table()
        columns = {name: every.columns[name] for name in ("sample", "rule", "verdict", "reason")}
        rows = [(row[0], row[2], row[4], row[5]) for row in every.rows if row[4] in ("failed", "errored")]
        counts = {name.replace("_", " "): count for name, count in self.count(self.scores).items() if count}
        listed = ", ".join(f"{count} {name}" for name, count in counts.items()) or "nothing to check"
        sentence = f"{len(self.sessions)} {'sample' if len(self.sessions) == 1 else 'samples'}: {listed}"
        notes = [*self.warnings(), *(f"left out: {each}" for each in self.broken)]
        return Table(columns, [*rows], sentence=sentence, notes=notes)


def run_rules(
    samples: Iterable[Sample], rules: list[RuleFile], checks: list[Chosen], report: CheckReport
) -> CheckReport:
    """Apply rules, and metrics that answer true or false, to every sample."""
    for sample in samples:
        scores = [score for each in rules for score in rule_scores(sample, each)]
        scores += [_decided(score) for score in scores_of(sample, checks)]
        # The whole sample would keep its recording in memory until the end.
        report.sessions.append((_light(sample), scores))
        report.see(_tools(sample))
    return report


def _decided(score: Score) -> Score:
    """A score that passes or fails. A number does neither; it becomes an error, not a failed check."""
    if score.status != "scored" or score.passed is not None or isinstance(score.value, bool):
        return score
    # A number as a failed check would look like a broken rule.
    why = f"it gives {score.value!r}, neither true nor false; `pantrace measure` shows numbers, `eval` gates them"
    return replace(score, status="failed", value=None, explanation=why, details={**score.details, "value": score.value})


def _light(sample: Sample) -> Sample:
    """The part of a sample that a report needs, so that memory does not grow with the recordings."""
    trajectory = sample.trajectory
    return Sample(
        id=sample.id,
        epoch=sample.epoch,
        trajectory=replace(trajectory, steps=(), children=(), extra={}) if trajectory else None,
    )


def _tools(sample: Sample) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for trajectory in all_trajectories(sample.trajectory) if sample.trajectory is not None else ():
        for step in trajectory.steps:
            for part in step.parts:
                if isinstance(part, ToolCall):
                    given = part.arguments if isinstance(part.arguments, dict) else ()
                    found.setdefault(part.name, set()).update(given)
    return found


def as_json(report: CheckReport) -> dict[str, Any]:
    """The report of the original Layer 1 (seed document 1), with statuses added."""
    by_id = _by_rule(report.scores)
    total = report.count(report.scores)
    return {
        "input_file": ", ".join(report.inputs),
        "summary": {
            "total_sessions": len(report.sessions),
            "total_checks": len(report.scores),
            "total_passed": total["passed"],
            "total_failed": total["failed"],
            "total_not_applicable": total["not_applicable"],
            "total_errored": total["errored"],
            "pass_rate": report.pass_rate(report.scores),
            "passed": report.passed,
            "records_refused": len(report.broken),
        },
        "checks_by_id": {
            name: {**report.count(scores), "name": _title(scores[0]), "pass_rate": report.pass_rate(scores)}
            for name, scores in by_id.items()
        },
        "sessions": [_session(report, sample, scores) for sample, scores in report.sessions],
    }


def _by_rule(scores: list[Score]) -> dict[str, list[Score]]:
    """Scores by the id of their rule. If rules of several files share an id, the name of the file is added."""
    # Adding up two different rules under one id would hide which of them fails.
    by_maker: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        by_maker.setdefault((score.name, score.maker.name if score.maker else score.name), []).append(score)
    shared = Counter(name for name, _ in by_maker)
    return {maker if shared[name] > 1 else name: found for (name, maker), found in by_maker.items()}


def _session(report: CheckReport, sample: Sample, scores: list[Score]) -> dict[str, Any]:
    created = sample.trajectory.created if sample.trajectory else None
    source = sample.trajectory.source if sample.trajectory else None
    return {
        "session_id": sample.id,
        "source": source.path if source else None,
        "created": time_text(created),
        "pass_rate": report.pass_rate(scores),
        "checks": [
            {
                "check_id": score.name,
                "check_name": _title(score),
                "passed": {"passed": True, "failed": False}.get(report.verdict(score)),
                "status": score.status,
                "message": score.explanation,
                "evidence": score.evidence,
                "details": score.details or None,
                "maker": f"{score.maker.name}@{score.maker.version}" if score.maker else None,
            }
            for score in scores
        ],
    }


def _title(score: Score) -> str:
    return str(score.details.get("rule", score.name))


def as_junit(report: CheckReport) -> bytes:
    """JUnit XML: one suite for each sample, one case for each rule."""
    total = report.count(report.scores)
    root = ElementTree.Element(
        "testsuites",
        name="pantrace check",
        tests=str(len(report.scores) + len(report.broken)),
        failures=str(total["failed"]),
        errors=str(total["errored"] + len(report.broken)),
        skipped=str(total["not_applicable"]),
    )
    # CI systems publish these files, and explanations can quote secrets from a recording.
    redactor = Redactor()
    for sample, scores in report.sessions:
        counts = report.count(scores)
        name = xml_text(redactor.text(sample.id)[0])
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=name,
            tests=str(len(scores)),
            failures=str(counts["failed"]),
            errors=str(counts["errored"]),
            skipped=str(counts["not_applicable"]),
        )
        for score in scores:
            case = ElementTree.SubElement(
                suite, "testcase", classname=name, name=xml_text(f"{score.name} {_title(score)}")
            )
            kind = {"failed": "failure", "errored": "error", "not_applicable": "skipped"}.get(report.verdict(score))
            if kind:
                ElementTree.SubElement(case, kind, message=xml_text(redactor.text(score.explanation or "")[0]))
    if refused := [redactor.text(str(each))[0] for each in report.broken]:
        number = str(len(refused))
        suite = ElementTree.SubElement(
            root, "testsuite", name="not read", tests=number, failures="0", errors=number, skipped="0"
        )
        for told in refused:
            case = ElementTree.SubElement(suite, "testcase", classname="not read", name=xml_text(told))
            ElementTree.SubElement(case, "error", message=xml_text(told))
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"
