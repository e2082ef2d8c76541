"""ADK's ToolTrajectoryCriterion: match or no match per invocation. Anything matches an empty reference, except that
EXACT requires an empty list, too."""

from __future__ import annotations

from collections.abc import Sequence

from pantrace.matching.call import Call


def exact(predicted: Sequence[Call], reference: Sequence[Call], *, ignore_arguments: bool = False) -> bool:
    """EXACT: the same calls in the same order."""
    same = len(predicted) == len(reference)
    return same and all(_equal(*both, ignore_arguments) for both in zip(predicted, reference, strict=True))


def in_order(predicted: Sequence[Call], reference: Sequence[Call], *, ignore_arguments: bool = False) -> bool:
    """IN_ORDER: the reference is a subsequence."""
    wanted = 0
    for call in predicted:
        if wanted < len(reference) and _equal(call, reference[wanted], ignore_arguments):
            wanted += 1
    return wanted == len(reference)


def any_order(predicted: Sequence[Call], reference: Sequence[Call], *, ignore_arguments: bool = False) -> bool:
    """ANY_ORDER: every reference call is found, each in a different call."""
    left = list(predicted)
    for wanted in reference:
        place = next((i for i, call in enumerate(left) if _equal(call, wanted, ignore_arguments)), None)
        if place is None:
            return False
        del left[place]
    return True


def _equal(call: Call, wanted: Call, ignore_arguments: bool) -> bool:
    # Python's ==, as ADK compares: here True equals 1.
    return call.name == wanted.name and (ignore_arguments or call.arguments == wanted.arguments)
