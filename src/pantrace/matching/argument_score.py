"""F1 of single arguments over calls that are paired by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from .align import heaviest_assignment
from .arguments import ArgumentRule, Shared, shared_arguments, signature
from .call import Call, Rules

STEPS = 2_000_000
"""The most work for the best pairing of one tool's differing calls; beyond it they are paired in order."""


def argument_score(predicted: Sequence[Call], reference: Sequence[Call], rules: Rules) -> tuple[float | None, bool]:
    """F1 of single arguments, if as many calls as possible are paired by name so that most arguments agree; None
    without a pair, 1 for pairs without arguments. Also whether the pairing is certainly the best one."""
    sure = True
    pairs = 0
    found: list[Shared] = []
    ours = _by_name(predicted)
    # A reference call without arguments does not state any, so there is nothing to score.
    for name, right in _by_name(call for call in reference if call.arguments is not None).items():
        left = ours.get(name, [])
        pairs += min(len(left), len(right))
        counted, best = _paired(left, right, rules.of(name))
        found += counted
        sure = sure and best
    if not pairs:
        return None, sure
    agreeing = sum(one.agreeing for one in found)
    total = sum(one.predicted + one.reference for one in found)
    return (2 * agreeing / total if total else 1.0), sure


def _paired(left: list[Any], right: list[Any], rule: ArgumentRule) -> tuple[list[Shared], bool]:
    if rule.mode == "ignore":
        return [], True
    many = min(len(left), len(right)) * len(left) * len(right) > STEPS
    equal: list[Any] = []
    if rule.transitive or many:
        # |y ∩ z| >= |y ∩ x| + |x ∩ z| - |x| for sets of arguments: pairing x with x first loses nothing.
        left, right, equal = _without_equal(left, right, rule)
    found = [shared_arguments(rule, arguments, arguments) for arguments in equal]
    if min(len(left), len(right)) * len(left) * len(right) > STEPS:
        return found + [shared_arguments(rule, *both) for both in zip(left, right, strict=False)], False
    table = [[shared_arguments(rule, mine, theirs) for theirs in right] for mine in left]
    best = heaviest_assignment(_weights(table))
    return found + [table[row][column] for row, column in best], rule.transitive or not equal


def _weights(table: list[list[Shared]]) -> list[list[float]]:
    """Weights that prefer most agreement, and among equals the fewest arguments that do not agree."""
    largest = max((cell.predicted + cell.reference for row in table for cell in row), default=0)
    scale = 1 + largest * len(table)
    return [[scale * cell.agreeing - cell.predicted - cell.reference for cell in row] for row in table]


def _without_equal(left: list[Any], right: list[Any], rule: ArgumentRule) -> tuple[list[Any], list[Any], list[Any]]:
    """Both lists without their common items, and the common items."""
    waiting = Counter(signature(rule, arguments) for arguments in right)
    rest: list[Any] = []
    equal: list[Any] = []
    for arguments in left:
        key = signature(rule, arguments)
        waiting[key] -= 1
        (rest if waiting[key] < 0 else equal).append(arguments)
    missing: list[Any] = []
    for arguments in right:
        key = signature(rule, arguments)
        waiting[key] -= 1
        if waiting[key] >= 0:
            missing.append(arguments)
    return rest, missing, equal


def _by_name(calls: Iterable[Call]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for call in calls:
        found.setdefault(call.name, []).append(call.arguments)
    return found
