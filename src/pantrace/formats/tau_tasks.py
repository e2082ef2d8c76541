"""Tasks of tau-bench and tau2-bench: what a simulated user wants, and the calls that a good agent makes.

Spec: github.com/sierra-research/tau2-bench, `Task` of src/tau2/data_model/tasks.py; tau_bench/types.py as JSON.
Detect: an object `user_scenario`; or `instruction` beside an array `actions`.
Lost: nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Case, Sample, Violation
from pantrace.wire.extra_keys import as_extra
from pantrace.wire.head import Head
from pantrace.wire.json import encode, unknown_keys
from pantrace.wire.shape import ANY, violations
from pantrace.wire.tau_task import calls_from, case_from, only_one

from .format import Format

NAME = "tau-tasks"


def detect(head: Head) -> str | None:
    row = head.record
    if isinstance(row.get("user_scenario"), dict):
        return "2"
    fits = isinstance(row.get("instruction"), str) and isinstance(row.get("actions"), list)
    # With `traj` it is a result of a run, and read as `tau-bench`.
    return "1" if fits and "traj" not in row else None


def load(row: Any) -> Sample:
    if not isinstance(row, dict):
        raise ReadError("a task must be an object")
    if "user_scenario" in row:
        case = case_from(row, NAME)
        assert case.id is not None
        return Sample(id=case.id, case=case)
    if not isinstance(row.get("instruction"), str):
        raise ReadError("a task needs user_scenario, or instruction and actions")
    return _first(row)


def _first(row: dict[str, Any]) -> Sample:
    """A task of tau-bench, which has no id. Its user and text give it one that stays the same when tasks are added."""
    who = row.get("user_id")
    # Six digits are enough to distinguish the tasks of one user.
    mark = sha256(encode([row["instruction"], row.get("actions")])).hexdigest()[:6]
    name = f"{who}-{mark}" if isinstance(who, str) and who else mark
    calls = calls_from(row.get("actions"), "kwargs", NAME)
    extra = as_extra(NAME, unknown_keys(row, {"instruction", "actions"}))
    case = Case(
        id=name, goal=row["instruction"], reference=only_one(row.get("outputs")), expected_calls=calls, extra=extra
    )
    return Sample(id=name, case=case)


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
