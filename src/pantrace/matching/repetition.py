"""Finds repetition: the same few calls or GUI actions again and again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

from pantrace.model import Action

AROUND = 3
"""How many rounds in a row make a loop."""
LONGEST = 3
"""The number of items in the longest loop that is looked for: A B C A B C A B C."""
REPEATED_ON_PURPOSE = ("wait", "scroll", "key", "hotkey")
"""Kinds of actions that are often repeated for a good reason."""
T = TypeVar("T")


def circles(items: Sequence[T], key: Callable[[T], Hashable]) -> Iterator[tuple[int, int, int]]:
    """Stretches in which the same one to three items come at least three times in a row: place, length, times."""
    keys = [key(item) for item in items]
    place = 0
    while place < len(keys):
        best = (0, 0)
        for period in range(1, LONGEST + 1):
            end = place + period
            while end < len(keys) and keys[end] == keys[end - period]:
                end += 1
            times = (end - place) // period
            # The longest stretch wins; of equally long ones the shortest period, so that A A A A is not (A A) twice.
            if times >= AROUND and times * period > best[0] * best[1]:
                best = (period, times)
        if best[0]:
            yield place, *best
        place += best[0] * best[1] or 1


def action_key(action: Action) -> Hashable:
    """A key that equal GUI actions share: kind, target, and what is typed, pressed or opened."""
    target = action.target
    where = (target.point, target.box, target.element, target.description) if target is not None else None
    pressed = (action.key, action.modifiers, action.direction)
    return repr((action.kind, where, action.end, action.text, pressed, action.url, action.app))


def action_circles(actions: Sequence[Action]) -> Iterator[tuple[int, int, int]]:
    """The loops among actions, without actions that are repeated on purpose."""
    for start, period, times in circles(actions, action_key):
        if any(action.kind not in REPEATED_ON_PURPOSE for action in actions[start : start + period]):
            yield start, period, times
