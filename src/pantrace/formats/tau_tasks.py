"""Tasks of tau-bench and tau2-bench: what a simulated user wants, and the calls that a good agent makes.

Spec: github.com/sierra-research/tau2-bench, `Task` of src/tau2/data_model/tasks.py; tau_bench/types.py's as JSON.
Detect: an object `user_scenario`; or `instruction` beside an array `actions`.
Lost: nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Case, ExpectedCall, Sample, Violation
from pantrace.wire.head import Head
from pantrace.wire.json import encode, unknown_keys
from pantrace.wire.optional import text_of
from pantrace.wire.rest import as_extra, rest_of
from pantrace.wire.shape import ANY, violations

from .format import Format

NAME = "tau-tasks"
TOLD = {
    "reason_for_call": "Why you call: ",
    "known_info": "What you know: ",
    "unknown_info": "What you do not know: ",
    "task_instructions": "How you behave: ",
}
"""The parts of a scenario, in the order in which they are told to whoever plays it."""


def detect(head: Head) -> str | None:
    row = head.record
    if isinstance(row.get("user_scenario"), dict):
        return "2"
    fits = isinstance(row.get("instruction"), str) and isinstance(row.get("actions"), list)
    return "1" if fits and "traj" not in row else None


def load(row: Any) -> Sample:
    if not isinstance(row, dict):
        raise ReadError("a task must be an object")
    if "user_scenario" in row:
        return _second(row)
    if not isinstance(row.get("instruction"), str):
        raise ReadError("a task needs user_scenario, or instruction and actions")
    return _first(row)


def _first(row: dict[str, Any]) -> Sample:
    """A task of tau-bench. It has no id: the user and what is asked make one that stays when tasks are added."""
    who = row.get("user_id")
    mark = sha256(encode([row["instruction"], row.get("actions")])).hexdigest()[:6]
    name = f"{who}-{mark}" if isinstance(who, str) and who else mark
    calls = _calls(row.get("actions"), "kwargs")
    extra = as_extra(NAME, unknown_keys(row, {"instruction", "actions"}))
    case = Case(
        id=name, goal=row["instruction"], reference=_told(row.get("outputs")), expected_calls=calls, extra=extra
    )
    return Sample(id=name, case=case)


def _second(row: dict[str, Any]) -> Sample:
    """A task of tau2-bench."""
    if not isinstance(row.get("id"), str | int):
        raise ReadError("a task needs an id")
    name, scenario, wanted = str(row["id"]), row["user_scenario"], row.get("evaluation_criteria") or {}
    if not isinstance(scenario, dict) or not isinstance(wanted, dict):
        raise ReadError("user_scenario and evaluation_criteria must be objects")
    goal, rest, labels = _scenario(scenario)
    actions = wanted.get("actions")
    # Some tasks have the user press buttons, too; these are no calls of the agent's.
    own = [each for each in actions if _requestor(each) != "user"] if isinstance(actions, list) else None
    by_user = [each for each in actions if _requestor(each) == "user"] if isinstance(actions, list) else []
    criteria = unknown_keys(wanted, {"actions"}) | ({"user_actions": by_user} if by_user else {})
    extra = unknown_keys(row, {"id", "user_scenario", "evaluation_criteria"})
    extra |= ({"user_scenario": rest} if rest else {}) | ({"evaluation_criteria": criteria} if criteria else {})
    case = Case(
        id=name,
        goal=goal,
        reference=_told(wanted.get("communicate_info")),
        expected_calls=_calls(own, "arguments"),
        labels=labels,
        extra=as_extra(NAME, extra),
    )
    return Sample(id=name, case=case)


def _scenario(scenario: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, str]]:
    """What the user wants, what else is said of it, and labels."""
    told = scenario.get("instructions")
    rest = unknown_keys(scenario, {"instructions", "persona"})
    labels = {"persona": scenario["persona"]} if isinstance(scenario.get("persona"), str) else {}
    if isinstance(told, str):
        return told, rest, labels
    if not isinstance(told, dict):
        raise ReadError("user_scenario.instructions must be a text or an object")
    if isinstance(told.get("domain"), str):
        labels["domain"] = told["domain"]
    lines = {key: f"{words}{told[key]}" for key, words in TOLD.items() if isinstance(told.get(key), str) and told[key]}
    if more := rest_of(told, {*lines, "domain"}):
        rest["instructions"] = more
    return "\n".join(lines.values()), rest, labels


def _requestor(action: Any) -> Any:
    return action.get("requestor") if isinstance(action, dict) else None


def _calls(actions: Any, arguments: str) -> tuple[ExpectedCall, ...] | None:
    if not isinstance(actions, list):
        return None
    found = []
    for each in actions:
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            raise ReadError("an action has no name")
        why = text_of(each.get("info"))
        rest = unknown_keys(each, {"name", arguments} | ({"info"} if why is not None else set()))
        found.append(
            ExpectedCall(name=each["name"], arguments=each.get(arguments), reason=why, extra=as_extra(NAME, rest))
        )
    return tuple(found)


def _told(outputs: Any) -> str | None:
    """What the agent has to tell the user. Several pieces are no one answer: they stay with the rest."""
    return str(outputs[0]) if isinstance(outputs, list) and len(outputs) == 1 else None


_ACTIONS = [{"name": str}]
_SECOND: dict[str, Any] = {
    "id": (str, int),
    "user_scenario": {"instructions": ANY, "persona?": (str, None)},
    "evaluation_criteria?": ({"actions?": (_ACTIONS, None), "communicate_info?": ([str], None)}, None),
}
_FIRST: dict[str, Any] = {"instruction": str, "actions": [{"name": str, "kwargs": dict}], "outputs?": [str]}


def check(row: Any) -> Iterable[Violation]:
    yield from violations(row, _SECOND if isinstance(row, dict) and "user_scenario" in row else _FIRST)


FORMAT = Format(
    name=NAME,
    title="Tasks of tau-bench and tau2-bench: what a simulated user wants, and the expected calls",
    spec="github.com/sierra-research/tau2-bench, src/tau2/data_model/tasks.py",
    detect=detect,
    load=load,
    check=check,
    layout="array",
    suffix=".json",
)
