"""Compares two lists of tool calls: which calls match, which are missing, which are extra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from .align import common_subsequence, subsequence
from .argument_score import argument_score
from .call import Call, Rules
from .relation import Relation
from .tally import tally
from .values import canonical

Order = Literal["exact", "in_order", "any_order"]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The result of comparing two lists of calls. None: nothing to divide by."""

    exact: bool
    """The same calls in the same order and nothing else."""
    in_order: bool
    """All reference calls occur in their order; there may be others between them."""
    any_order: bool
    """All reference calls occur, each matched by a call of its own."""
    matched: int
    """Pairs under the chosen order: by place, by longest common subsequence, or by best assignment."""
    precision: float | None
    recall: float | None
    f1: float | None
    name_f1: float | None
    """F1 of the names alone, in any order."""
    argument_f1: float | None
    """F1 of the single arguments in calls paired by name so that most arguments agree; None: no pair."""
    extra: int
    missing: int
    duplicates: int
    """Predicted calls that repeat an earlier one, with the same arguments."""
    pairs: tuple[tuple[int, int], ...]
    approximate: bool
    """There were too many differing calls to find the best pairing; the numbers may be too low."""


def compare(
    predicted: Sequence[Call], reference: Sequence[Call], rules: Rules | None = None, order: Order = "in_order"
) -> Comparison:
    """Compare two lists of calls in every way."""
    rules = rules or Rules()
    relation = Relation(predicted, reference, rules)
    masks = relation.masks
    # Needed under every order: `any_order` is one of the measures.
    best, sure = relation.any_order()
    by_place = [(place, place) for place, mask in enumerate(masks) if mask >> place & 1]
    if order == "any_order":
        pairs = best
    else:
        pairs = common_subsequence(masks) if order == "in_order" else by_place
    arguments, arguments_sure = argument_score(predicted, reference, rules, relation)
    matched = len(pairs)
    return Comparison(
        exact=len(predicted) == len(reference) == len(by_place),
        in_order=subsequence(masks, len(reference)),
        any_order=len(best) == len(reference),
        matched=matched,
        precision=matched / len(predicted) if predicted else None,
        recall=matched / len(reference) if reference else None,
        f1=f1(matched, len(predicted), len(reference)),
        name_f1=name_f1([call.name for call in predicted], [call.name for call in reference]),
        argument_f1=arguments,
        extra=len(predicted) - matched,
        missing=len(reference) - matched,
        duplicates=_repetitions(predicted),
        pairs=tuple(pairs),
        approximate=not (sure and arguments_sure and relation.complete),
    )


def _repetitions(calls: Sequence[Call]) -> int:
    # By value and not by the rule: a repetition is one even if arguments are ignored.
    if len({call.name for call in calls}) == len(calls):
        return 0
    return len(calls) - len({(call.name, canonical(call.arguments)) for call in calls})


def f1(matched: int, predicted: int, reference: int) -> float | None:
    """Harmonic mean of precision and recall; None if both lists are empty."""
    return 2 * matched / (predicted + reference) if predicted + reference else None


def name_f1(predicted: Sequence[str], reference: Sequence[str]) -> float | None:
    """F1 of two lists of names in any order."""
    theirs = tally(reference)
    shared = sum([min(count, theirs.get(name, 0)) for name, count in tally(predicted).items()])
    return f1(shared, len(predicted), len(reference))
