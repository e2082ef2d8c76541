"""Leaving out: the last resort for a value that is still wrong after all repairs, if its record can do without it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from pantrace.model import Violation
from pantrace.wire.repairs import note_repair

_ROUNDS = 20
"""Leaving a value out may reveal another wrong one; a record that is still wrong after so many rounds is refused."""
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def without_wrong(record: dict[str, Any], check: Callable[[dict[str, Any]], Iterable[Violation]]) -> dict[str, Any]:
    """A record without its wrong values; a missing value cannot be left out."""
    for number in range(_ROUNDS):
        places = [each.place for each in check(record) if each.level == "error" and each.place]
        if not places:
            break
        # The sample's own data must not change.
        record = deepcopy(record) if number == 0 else record
        # From the last to the first, so that the numbers of earlier list items stay the same.
        left_out = [place for place in reversed(places) if _leave_out(record, place)]
        for place in left_out:
            note_repair(place, "is not valid, and was left out")
        if not left_out:
            break
    return record


def _leave_out(record: Any, place: str) -> bool:
    steps = [int(number) if number else name for number, name in _STEP.findall(place)]
    while steps:
        if isinstance(record, list):
            if not isinstance(steps[0], int) or steps[0] >= len(record):
                return False
            if len(steps) == 1:
                del record[steps[0]]
                return True
            record, steps = record[steps[0]], steps[1:]
        elif isinstance(record, dict):
            # A key may contain dots, as names of models do.
            names = [".".join(map(str, steps[:count])) for count in range(len(steps), 0, -1)]
            name = next((each for each in names if each in record), None)
            if name is None:
                return False
            rest = steps[len(name.split(".")) :]
            if not rest:
                del record[name]
                return True
            record, steps = record[name], rest
        else:
            return False
    return False
