"""Lists of calls as an agent under test might make them: repeated, reordered, left out, with other arguments."""

from __future__ import annotations

import random
from typing import Any

from pantrace.matching.call import Call

NAMES = ("search", "read", "fs.read")
VALUES: tuple[Any, ...] = (
    0,
    1,
    True,
    1.0,
    "1",
    "Paris",
    "paris",
    "",
    None,
    [1, 2],
    {"deep": 1},
    {"deep": 1, "more": 2},
)


def arguments(dice: random.Random) -> dict[str, Any]:
    return {key: dice.choice(VALUES) for key in dice.sample(("a", "b", "c"), dice.randrange(3))}


def calls(dice: random.Random, longest: int) -> list[Call]:
    return [Call(dice.choice(NAMES), arguments(dice)) for _ in range(dice.randrange(longest + 1))]


def variation(dice: random.Random, reference: list[Call]) -> list[Call]:
    """The reference after a few accidents, so that near matches are as frequent as far ones."""
    varied = list(reference)
    for _ in range(dice.randrange(4)):
        accident = dice.randrange(5)
        place = dice.randrange(len(varied) + 1)
        if accident == 0:
            varied.insert(place, Call(dice.choice(NAMES), arguments(dice)))
        elif accident == 1 and varied:
            del varied[place % len(varied)]
        elif accident == 2:
            dice.shuffle(varied)
        elif accident == 3 and varied:
            varied.insert(place, dice.choice(varied))
        elif varied:
            old = varied[place % len(varied)]
            varied[place % len(varied)] = Call(old.name, {**old.arguments, **arguments(dice)})
    return varied


def pairs(count: int = 400, longest: int = 5, seed: int = 7) -> list[tuple[list[Call], list[Call]]]:
    """Predictions and references; both kinds of empty lists among them."""
    dice = random.Random(seed)
    found: list[tuple[list[Call], list[Call]]] = [([], [])]
    while len(found) < count:
        reference = calls(dice, longest)
        found.append((variation(dice, reference) if dice.random() < 0.8 else calls(dice, longest), reference))
    return found
