"""Validation of datasets, reports and scenario catalogues."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pantrace.model import Violation
from pantrace.wire.optional import list_of
from pantrace.wire.shape import document, one_of, violations
from pantrace.wire.violation import error, under, warning

from . import catalogue, report
from .bundle import EVALS
from .bundle_validation import check_bundle, supplied_fields
from .dataset import CASE, LABELS
from .keys import Vocabulary, split_known
from .scored_case import METRIC, SCORED, scale_of

_TEXT = document(str)
_CALL = {"tool": str, "arguments?": (dict, list, str, None), "reason?": (_TEXT, None)}

_CASE_SHAPE = {
    "case_id": str,
    "scenario_id": document(str),
    "agent_name": str,
    "phase?": document(one_of("preparation", "assessment", None)),
    "difficulty?": document(one_of("easy", "medium", "hard", None)),
    "quality_band?": document(one_of("excellent", "good", "mixed", "poor", None)),
    "learner_level?": document(one_of("beginner", "intermediate", "advanced", None)),
    "topic_family?": (str, None),
    "workflow_mode?": document(one_of("multi-agent", "single-agent", None)),
    "question?": (str, None),
    "context?": (str, None),
    "model_answer?": (str, None),
    "reference_answer?": (str, None),
    "task_goal?": (str, None),
    "relevant_context?": (str, None),
    "available_tools?": ([str], None),
    "expected_tool_calls?": ([_CALL], None),
    "invoked_tool_calls?": ([_CALL], None),
    "explain_inputs?": (dict, None),
    "required_evals?": ([str], None),
    "threshold_profile?": (str, None),
    "expected_contract?": (str, None),
}

_FULL = tuple(key.removesuffix("?") for key in _CASE_SHAPE if key.endswith("?") and key != "workflow_mode?")
_COMPARATIVE = ("question", "required_evals", "threshold_profile")

_NEEDS = {
    "RelevanceExplain": ("context",),
    "IntentResolutionExplain": ("relevant_context",),
    "ToolCallAccuracyExplain": ("available_tools", "invoked_tool_calls"),
    "TaskAdherenceExplain": ("task_goal",),
}

PROFILES = ("prep_default", "assessment_strict")
AGENTS = (
    "learning-path-curator",
    "study-plan-generator",
    "engagement-agent",
    "readiness-assessment-agent",
    "preparation-workflow-multi-agent",
    "preparation-workflow-single-agent",
)
"""The agents that the original program's factory makes; we write "unknown" if a case has no known agent."""

_METRIC_SHAPE = {
    "metricName": str,
    "evalName?": (str, None),
    # Null where a judge failed; the original always writes a number.
    "score": (float, None),
    "probScore?": (float, None),
    "reasoning?": (str, None),
    "chainOfThought?": (str, None),
}

_SCORED_SHAPE = {
    "caseId": str,
    "agentName": document(str),
    "scenarioId?": (str, None),
    "thresholdProfile?": (str, None),
    "compositeScore": document(float),
    "passed": document(bool),
    "failureReason?": (str, None),
    "metrics": [dict],
}

_AGENT_SHAPE = {
    "totalCases": int,
    "passedCases": int,
    "passRate": float,
    "compositeAverage?": (float, None),
    "explanation?": (str, None),
    "metricAverages": dict,
}

_REPORT_SHAPE = {
    "generatedAtUtc": document(str),
    "totalCases": int,
    "totalPassed": int,
    "overallPassRate": float,
    "perAgent": dict,
    "cases": list,
}

_SCENARIO_SHAPE = {
    "scenario_id": str,
    "topic_family": _TEXT,
    "learner_level": document(one_of("beginner", "intermediate", "advanced")),
    "duration_profile": _TEXT,
    "weekly_hours": document(float),
    "duration_weeks": document(float),
    "ambiguity": _TEXT,
    "noise_factor": _TEXT,
    "target_exam": _TEXT,
}


def check(row: Any) -> Iterator[Violation]:
    """Every violation of one decoded record: a case, a scenario, a scored case or a whole report."""
    if not isinstance(row, dict):
        yield error("a record is an object")
    elif report.is_report(row):
        yield from check_report(row)
    elif catalogue.is_scenario(row):
        yield from violations(row, _SCENARIO_SHAPE)
    elif "caseid" in {key.lower() for key in row}:
        yield from check_scored(row)
    else:
        yield from check_case(row)


def check_case(row: dict[str, Any]) -> Iterator[Violation]:
    """Violations of one case. A comparative case has yet to be run and needs no answer."""
    row = _canonical(row, CASE)
    yield from violations(row, _CASE_SHAPE)
    stated = {key for key, value in row.items() if value is not None}
    # Nothing else marks a case that has yet to be run.
    comparative = "workflow_mode" in stated and "model_answer" not in stated
    for key in _COMPARATIVE if comparative else _FULL:
        if key not in stated:
            yield warning("is missing", key)
    yield from _check_id(row, comparative)
    required = row.get("required_evals")
    evals = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    for index, name in enumerate(evals):
        if name not in EVALS:
            yield warning(f"{name!r} is not one of the nine evals", f"required_evals[{index}]")
    values = split_known(row, CASE)[0]
    # A case that has yet to be run gets its answer and its calls later.
    if not comparative:
        yield from _check_needs(evals, stated, values)
    yield from check_bundle(values, evals)
    profile = row.get("threshold_profile")
    if isinstance(profile, str) and profile not in PROFILES:
        yield warning(f"{profile!r} is not a profile of the scoring policy", "threshold_profile")


def _check_id(row: dict[str, Any], comparative: bool) -> Iterator[Violation]:
    name, agent = row.get("case_id"), row.get("agent_name")
    if not isinstance(name, str) or not isinstance(agent, str):
        return
    # Comparative cases are named after a workflow, not after their agent.
    wanted = r".+" if comparative else re.escape(agent)
    if not re.fullmatch(rf"{wanted}-\d{{3,}}", name):
        yield warning(f"{name!r} is not an agent's name and a number of three digits ({agent}-001)", "case_id")


def _check_needs(evals: list[str], stated: set[str], values: dict[str, Any]) -> Iterator[Violation]:
    for name in evals:
        if name in EVALS:
            there = stated | supplied_fields(values, name)
            for key in ("question", "model_answer", *_NEEDS.get(name, ())):
                if key not in there:
                    yield error(f"{name} is required and cannot run without it", key)


def check_scored(row: dict[str, Any]) -> Iterator[Violation]:
    """Violations of one case of a report."""
    row = _canonical(row, SCORED)
    yield from violations(row, _SCORED_SHAPE)
    metrics = row.get("metrics")
    for index, metric in enumerate(metrics if isinstance(metrics, list) else ()):
        if isinstance(metric, dict):
            yield from under(f"metrics[{index}]", _check_metric(_canonical(metric, METRIC)))


def _check_metric(metric: dict[str, Any]) -> Iterator[Violation]:
    yield from violations(metric, _METRIC_SHAPE)
    name, score = metric.get("metricName"), metric.get("score")
    scale = scale_of(name) if isinstance(name, str) else None
    if not isinstance(score, (int, float)) or scale is None or scale.low is None or scale.high is None:
        return
    if score == -1:
        yield warning("-1 means that a reply could not be read; it is treated as unscored", "score")
    elif not scale.low <= score <= scale.high:
        yield warning(f"{score} is outside {scale.low:g} to {scale.high:g}", "score")


def check_report(row: dict[str, Any]) -> Iterator[Violation]:
    """Violations of a report, and stored numbers that its cases do not add up to."""
    row = _canonical(row, report.REPORT)
    yield from violations(row, _REPORT_SHAPE)
    agents, cases = row.get("perAgent"), row.get("cases")
    for agent, numbers in agents.items() if isinstance(agents, dict) else ():
        inner = _canonical(numbers, report.AGENT) if isinstance(numbers, dict) else numbers
        yield from violations(inner, _AGENT_SHAPE, f"perAgent.{agent}")
    names: list[Any] = []
    for index, case in enumerate(cases if isinstance(cases, list) else ()):
        if not isinstance(case, dict):
            yield error("a case of a report is an object", f"cases[{index}]")
            continue
        yield from under(f"cases[{index}]", check_scored(case))
        names.append(split_known(case, SCORED)[0].get("caseId"))
    for name, count in Counter(names).items():
        if count > 1 and name is not None:
            yield error(f"case id {name!r} occurs {count} times", "cases")
    yield from _check_scales(list_of(cases))
    # Only a warning: one published report stores an average that its cases do not give.
    for path, stored, given in report.differences(row):
        yield warning(f"stored {stored}, its cases give {'none' if given is None else given}", path)


def _check_scales(cases: list[Any]) -> Iterator[Violation]:
    """One warning about composites over metrics of different scales."""
    mixed = []
    for case in cases:
        metrics = case.get("metrics") if isinstance(case, dict) else None
        names = (
            [each.get("metricName") for each in metrics if isinstance(each, dict)] if isinstance(metrics, list) else []
        )
        scales = [scale for name in names if isinstance(name, str) and (scale := scale_of(name)) is not None]
        if len({(scale.low, scale.high) for scale in scales}) > 1:
            mixed.append(case)
    if mixed:
        yield warning(
            f"{len(mixed)} composites mix scales: PerceivedIntelligenceExplain is graded 1 to 10, the others 1 to 5",
            "cases",
        )


def check_cases(rows: Iterable[tuple[str | None, Any]], scenarios: Path | None) -> Iterator[Violation]:
    """Violations of all rows, including those that need several rows to show: repeated ids, and scenarios that the
    catalogue lacks or describes differently."""
    # Errors of the catalogue are reported when the catalogue itself is validated.
    known = catalogue.read_catalogue(scenarios, lambda error: None) if scenarios is not None else None
    seen: dict[str, str | None] = {}
    agents: set[str] = set()
    for place, row in rows:
        yield from under(place, check(row), ", ")
        if not isinstance(row, dict):
            continue
        scenario = catalogue.is_scenario(row)
        values = split_known(row, catalogue.SCENARIO if scenario else CASE)[0]
        name = values.get("scenario_id" if scenario else "case_id")
        if name in seen:
            word = "scenario" if scenario else "case"
            yield error(f"{word} id {name!r} occurs twice, first in {seen[name]}", place)
        elif name is not None:
            seen[name] = place
        agent = values.get("agent_name")
        if isinstance(agent, str) and agent.lower() not in (*AGENTS, "unknown") and agent not in agents:
            agents.add(agent)  # reported once, because other teams have other agents
            why = f"{agent!r} is not one of the factory's agents: {', '.join(AGENTS)}"
            yield from under(place, [warning(why, "agent_name")], ", ")
        if known is not None and scenarios is not None and not scenario and "scenario_id" in values:
            yield from under(place, _check_scenario(values, known, scenarios.name), ", ")


def _check_scenario(values: dict[str, Any], known: catalogue.Catalogue, file: str) -> Iterator[Violation]:
    name = values["scenario_id"]
    if name not in known:
        yield warning(f"{name!r} is not in the scenario catalogue {file}", "scenario_id")
        return
    for label in LABELS:
        other = known[name].get(label)
        if label in values and isinstance(other, str) and other != values[label]:
            yield warning(f"{values[label]!r} here, {other!r} in the scenario catalogue {file}", label)


def _canonical(row: dict[str, Any], words: Vocabulary) -> dict[str, Any]:
    """An object with its keys spelled as the shapes know them."""
    found: dict[str, Any] = {}
    for key, value in row.items():
        found.setdefault(key if key in words.fits else words.by_lower.get(key.lower(), key), value)
    return found
