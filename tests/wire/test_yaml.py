"""YAML that people write: words stay words, errors name their line, and nothing in it can run or blow up."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.errors import UsageError
from pantrace.wire.yaml import load_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# only a comment\n", None),
        ("a: no\nb: on\nc: 2026-01-02\nd: 010\ne: 1_000\nf: 12:30", {"a": "no", "b": "on", "c": "2026-01-02", "d": 10}),
        (
            "a: true\nb: null\nc:\nd: 0.7\ne: -1e3\nf: '1'\ng: .5",
            {"a": True, "b": None, "c": None, "d": 0.7, "e": -1000.0},
        ),
        ("a: |\n  one\n  two\nb: >\n  one\n  two\n", {"a": "one\ntwo\n", "b": "one two\n"}),
        ("x: &x {a: 1}\ny:\n  <<: *x\n  b: 2", {"x": {"a": 1}, "y": {"a": 1, "b": 2}}),
        ("\ufeffa: 1", {"a": 1}),
    ],
)
def test_words_stay_words(text: str, value: Any) -> None:
    found = load_yaml(text, "f.yaml")
    if isinstance(value, dict):
        assert {key: found[key] for key in value} == value
    else:
        assert found == value


BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: 1\nb: [1, 2\nc: 3", "f.yaml: line 3: not valid YAML"),
        ("a: 1\n\ta: 2", "f.yaml: line 2"),
        ("a: 1\nb:\n  c: 1\n  c: 2", "f.yaml: line 4: not valid YAML: 'c' occurs twice"),
        ("a: !!python/object/apply:os.system ['true']", "f.yaml: line 1"),
        ("a: !secret x", "f.yaml: line 1"),
        (BOMB, "aliases expand to more than"),
        ("a: &a [*a]", "nested deeper"),
        ("[" * 400 + "]" * 400, "nested deeper"),
        ("a: 1\n---\nb: 2", "f.yaml"),
        ("a: \x00", "f.yaml"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(text: str, why: str) -> None:
    with pytest.raises(UsageError) as error:
        load_yaml(text, "f.yaml")
    assert why in str(error.value)
    assert "\n" not in str(error.value)
