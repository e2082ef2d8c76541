"""F1 of single arguments over calls that are paired by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .align import heaviest_assignment
from .arguments import ArgumentRule, Shared, shared_arguments
from .call import Call, Rules
from .relation import Key, Relation
from .tally import tally

_Keyed = tuple[Key, Any]
"""Arguments behind a key that equal ones share."""
STEPS = 2_000_000
"""The most work for the best pairing of one tool's differing calls; beyond it they are paired in order."""


def argument_score(
    predicted: Sequence[Call], reference: Sequence[Call], rules: Rules, keys: Relation
) -> tuple[float | None, bool]:
    """F1 of single arguments, if as many calls as possible are paired by name so that most arguments agree; None
    without a pair, 1 for pairs without arguments. Also whether the pairing is certainly the best one."""
    sure = True
    pairs = 0
    found: list[Shared] = []
    ours = _by_name(predicted, keys.left)
    # A reference call without arguments does not state any, so there is nothing to score.
    for name, right in _by_name(reference, keys.right).items():
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


def _paired(left: list[_Keyed], right: list[_Keyed], rule: ArgumentRule) -> tuple[list[Shared], bool]:
    if rule.mode == "ignore":
        return [], True
    many = min(len(left), len(right)) * len(left) * len(right) > STEPS
    equal: list[Any] = []
    if rule.transitive or many:
        # |y ∩ z| >= |y ∩ x| + |x ∩ z| - |x| for sets of arguments: pairing x with x first loses nothing.
        left, right, equal = _without_equal(left, right)
    found = [shared_arguments(rule, arguments, arguments) for _, arguments in equal]
    if min(len(left), len(right)) * len(left) * len(right) > STEPS:
        both = zip(left, right, strict=False)
        return found + [shared_arguments(rule, mine, theirs) for (_, mine), (_, theirs) in both], False
    if not left or not right:
        return found, rule.transitive or not equal
    table = [[shared_arguments(rule, mine, theirs) for _, theirs in right] for _, mine in left]
    best = heaviest_assignment(_weights(table))
    return found + [table[row][column] for row, column in best], rule.transitive or not equal


def _weights(table: list[list[Shared]]) -> list[list[float]]:
    """Weights that prefer most agreement, and among equals the fewest arguments that do not agree."""
    largest = max((cell.predicted + cell.reference for row in table for cell in row), default=0)
    scale = 1 + largest * len(table)
    return [[scale * cell.agreeing - cell.predicted - cell.reference for cell in row] for row in table]


def _without_equal(left: list[_Keyed], right: list[_Keyed]) -> tuple[list[_Keyed], list[_Keyed], list[_Keyed]]:
    """Both lists without their common items, and the common items."""
    waiting = tally([key for key, _ in right])
    rest: list[_Keyed] = []
    equal: list[_Keyed] = []
    for each in left:
        if count := waiting.get(each[0], 0):
            waiting[each[0]] = count - 1
            equal.append(each)
        else:
            rest.append(each)
    missing: list[_Keyed] = []
    for each in right if len(equal) < len(right) else ():
        if count := waiting[each[0]]:
            waiting[each[0]] = count - 1
            missing.append(each)
    return rest, missing, equal


def _by_name(calls: Sequence[Call], keys: Sequence[Key | None]) -> dict[str, list[_Keyed]]:
    found: dict[str, list[_Keyed]] = {}
    for call, key in zip(calls, keys, strict=True):
        if key is not None:
            found.setdefault(call.name, []).append((key, call.arguments))
    return found
