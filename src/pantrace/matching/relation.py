"""Finds which predicted call matches which reference call, and the largest set of pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from .align import Pairs, largest_matching
from .arguments import agree, signature
from .call import Call, Rules

COMPARISONS = 250_000
"""The most pairs of differing calls of one tool that are compared; if there are more, only equal calls match."""

Key = tuple[str, Hashable]


class Relation:
    """The matches between two lists of calls; each pair of differing calls is compared once."""

    left: list[Key]
    """Name and signature of each predicted call: equal ones are equal calls under the rules."""
    right: list[Key | None]
    """The same of each reference call; None if it states no arguments."""
    masks: list[int]
    """One integer per predicted call; bit j is set if it matches reference call j."""
    complete: bool
    """Whether every pair was compared."""

    def __init__(self, predicted: Sequence[Call], reference: Sequence[Call], rules: Rules) -> None:
        self.left = [_key(call, rules) for call in predicted]
        self.right = [_key(call, rules) if call.arguments is not None else None for call in reference]
        self._transitive = {call.name: rules.of(call.name).transitive for call in predicted}
        self.complete = True
        places: dict[Key, int] = {}
        kinds: dict[str, dict[Key, Any]] = {}
        unstated: dict[str, int] = {}
        for place, (call, key) in enumerate(zip(reference, self.right, strict=True)):
            if key is None:
                unstated[call.name] = unstated.get(call.name, 0) | 1 << place
            else:
                places[key] = places.get(key, 0) | 1 << place
                # Equal reference calls share a key, so each different call is compared once.
                kinds.setdefault(call.name, {})[key] = call.arguments
        differing = Counter(name for name, _ in set(self.left))
        found: dict[Key, int] = {}
        for call, key in zip(predicted, self.left, strict=True):
            if key in found:
                continue
            rule = rules.of(call.name)
            mask = unstated.get(call.name, 0)
            # There the reference holds lists of allowed values, so equal arguments do not agree.
            if rule.mode != "allowed":
                mask |= places.get(key, 0)
            others = {} if rule.by_signature else kinds.get(call.name, {})
            # Bounds the work, which grows with the product of both lists.
            if differing[call.name] * len(others) > COMPARISONS:
                self.complete = False
                others = {}
            for other, arguments in others.items():
                if agree(rule, call.arguments, arguments):
                    mask |= places[other]
            found[key] = mask
        self.masks = [found[key] for key in self.left]

    def any_order(self) -> tuple[Pairs, bool]:
        """The largest set of pairs, and whether it is certainly the largest.

        If the rule is transitive, equal calls are paired first: pairs (x, z) and (y, x) can then always be replaced by
        (x, x) and (y, z)."""
        pairs: Pairs = []
        rest: list[int] = []
        taken = 0
        waiting: dict[Key, list[int]] = {}
        for place in reversed(range(len(self.right))):
            key = self.right[place]
            if key is not None and self._transitive.get(key[0]):
                waiting.setdefault(key, []).append(place)
        for place, key in enumerate(self.left):
            if same := waiting.get(key):
                pairs.append((place, same.pop()))
                taken |= 1 << pairs[-1][1]
            elif self.masks[place]:
                rest.append(place)
        choices = [self.masks[place] & ~taken for place in rest]
        few = sum(mask.bit_count() for mask in choices) <= COMPARISONS
        found = largest_matching([_places(mask) for mask in choices]) if few else _first_fit(choices)
        possible = min(len(rest), len(self.right) - len(pairs))
        pairs += [(rest[left], right) for left, right in found]
        return sorted(pairs), few or len(found) == possible


def _key(call: Call, rules: Rules) -> Key:
    return call.name, signature(rules.of(call.name), call.arguments)


def _places(mask: int) -> list[int]:
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found


def _first_fit(masks: Sequence[int]) -> Pairs:
    taken = 0
    pairs: Pairs = []
    for left, mask in enumerate(masks):
        free = mask & ~taken
        if free:
            taken |= free & -free
            pairs.append((left, (free & -free).bit_length() - 1))
    return pairs
