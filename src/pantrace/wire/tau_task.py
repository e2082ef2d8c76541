"""A tau2-bench task: what a simulated user wants, and the calls that a good agent makes.

`owner` is the format that uses it."""

from __future__ import annotations

from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Case, ExpectedCall

from .extra_keys import as_extra, rest_of, texts_in
from .json import unknown_keys

TOLD = {
    "reason_for_call": "Why you call: ",
    "known_info": "What you know: ",
    "unknown_info": "What you do not know: ",
    "task_instructions": "How you behave: ",
}
"""The parts of a scenario, in the order in which the simulated user reads them."""


def case_from(row: dict[str, Any], owner: str) -> Case:
    """A task as a case."""
    if not isinstance(row.get("id"), str | int):
        raise ReadError("a task needs an id")
    name, scenario, wanted = str(row["id"]), row["user_scenario"], row.get("evaluation_criteria") or {}
    if not isinstance(scenario, dict) or not isinstance(wanted, dict):
        raise ReadError("user_scenario and evaluation_criteria must be objects")
    goal, rest, labels = _scenario(scenario)
    actions = wanted.get("actions")
    # In some tasks the user acts, too (on a phone, for example); these are not calls of the agent.
    own = [each for each in actions if _requestor(each) != "user"] if isinstance(actions, list) else None
    by_user = [each for each in actions if _requestor(each) == "user"] if isinstance(actions, list) else []
    criteria = unknown_keys(wanted, {"actions"}) | ({"user_actions": by_user} if by_user else {})
    extra = unknown_keys(row, {"id", "user_scenario", "evaluation_criteria"})
    extra |= ({"user_scenario": rest} if rest else {}) | ({"evaluation_criteria": criteria} if criteria else {})
    return Case(
        id=name,
        goal=goal,
        reference=only_one(wanted.get("communicate_info")),
        expected_calls=calls_from(own, "arguments", owner),
        labels=labels,
        extra=as_extra(owner, extra),
    )


def _scenario(scenario: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, str]]:
    """The user's goal, the rest of the scenario, and its labels."""
    told = scenario.get("instructions")
    rest = rest_of(scenario, ("instructions", *texts_in(scenario, "persona")))
    labels = {"persona": scenario["persona"]} if isinstance(scenario.get("persona"), str) else {}
    if isinstance(told, str):
        return told, rest, labels
    if not isinstance(told, dict):
        raise ReadError("user_scenario.instructions must be a text or an object")
    if isinstance(told.get("domain"), str):
        labels["domain"] = told["domain"]
    lines = {key: f"{words}{told[key]}" for key, words in TOLD.items() if isinstance(told.get(key), str) and told[key]}
    if more := rest_of(told, (*lines, *texts_in(told, "domain"))):
        rest["instructions"] = more
    return "\n".join(lines.values()), rest, labels


def _requestor(action: Any) -> Any:
    return action.get("requestor") if isinstance(action, dict) else None


def calls_from(actions: Any, arguments: str, owner: str) -> tuple[ExpectedCall, ...] | None:
    """The expected calls of a task's actions; `arguments` is the key of their arguments."""
    if not isinstance(actions, list):
        return None
    found = []
    for each in actions:
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            raise ReadError("an action has no name")
        why = each.get("info") if isinstance(each.get("info"), str) else None
        rest = unknown_keys(each, {"name", arguments} | ({"info"} if why is not None else set()))
        found.append(
            ExpectedCall(name=each["name"], arguments=each.get(arguments), reason=why, extra=as_extra(owner, rest))
        )
    return tuple(found)


def only_one(outputs: Any) -> str | None:
    """What the agent must tell the user. Several pieces are not one answer, so they stay in `extra`."""
    return str(outputs[0]) if isinstance(outputs, list) and len(outputs) == 1 else None
