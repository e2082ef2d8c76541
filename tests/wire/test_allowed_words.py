"""Words that a field takes are found wherever it stands, and named when another stands there."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from pantrace.wire.allowed_words import choices, not_among

Order = Literal["exact", "in_order"]


class Inner(msgspec.Struct):
    mode: Literal["keys", "ignore"] | None = None
    where: str = ""


class Outer(msgspec.Struct):
    order: Order = "exact"
    tools: dict[str, Inner] = {}
    rules: tuple[Inner, ...] = ()
    several: list[Order] | None = None


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("order", ["exact", "in_order"]),
        ("tools[...].mode", ["keys", "ignore"]),
        ("tools.bash.mode", ["keys", "ignore"]),
        ("rules[3].mode", ["keys", "ignore"]),
        ("several[0]", ["exact", "in_order"]),
        ("rules[3].where", []),
        ("nowhere", []),
        ("", []),
    ],
)
def test_the_words_of_a_place(path: str, words: list[str]) -> None:
    assert choices(Outer, path) == words


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"order": "in"}, "'in' is not one of exact, in_order; did you mean in_order?"),
        ({"rules": [{"mode": "ignroe"}]}, "'ignroe' is not one of keys, ignore; did you mean ignore?"),
        ({"several": ["none"]}, "'none' is not one of exact, in_order"),
        ({"order": 3}, None),
    ],
)
def test_what_msgspec_says_is_said_with_the_words(values: dict[str, object], told: str | None) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert(values, Outer)
    what, _, where = str(raised.value).partition(" - at ")
    assert not_among(what, Outer, where.strip("`").removeprefix("$.")) == told
