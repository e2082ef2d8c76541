"""Words that are lacking, and the other forms in which a sample may have them."""

from __future__ import annotations

import pytest

from pantrace.wire.lacking import STALE, Lacking
from pantrace.wire.words import Held, Word


@pytest.mark.parametrize(
    ("word", "sample"),
    [
        (1794766825344, {"at": 1794766825.344}),
        (2422, {"text": "2422"}),
        ("2026-11-15T18:20:09+00:00", {"at": 1794766809.0}),
        ("providerID", {"provider_id": "x"}),
        ("tier", {"user:tier": "gold"}),
        ("data:image/png;base64,QUJD", {"data": "QUJD"}),
        ('{"a": "some value"}', {"a": "some value"}),
        (" padded text ", {"text": "padded text"}),
    ],
)
def test_a_word_is_found_in_another_form(word: Word, sample: dict[str, object]) -> None:
    lacking = Lacking()
    lacking.add([word, "never said"])
    assert lacking.take(Held({"text": "something else"})) == set()
    assert lacking.take(Held(sample)) == {word}
    assert lacking.words == {"never said"}
    assert Held(sample).holds_in_other_form(word)


def test_a_word_that_comes_later_is_looked_for_in_what_was_asked_before() -> None:
    lacking = Lacking()
    lacking.add(["one"])
    sample = {"provider_id": "x"}
    assert lacking.take(Held(sample)) == set()
    lacking.add(["providerID"])
    assert lacking.take(Held(sample)) == {"providerID"}


def test_words_that_were_found_are_forgotten_in_the_end() -> None:
    lacking = Lacking()
    lacking.add([f"word {number}" for number in range(2 * STALE)])
    lacking.keep({"word 1"})
    assert lacking.take(Held({"Word_ 1": "", "word 2": ""})) == {"word 1"}
    assert lacking.words == set()


def test_many_keys_are_found_as_few_are() -> None:
    held = Held({"user:first_name": 1, "second": "third.Fourth"})
    words = ["firstName", "second", "fourth", "user", "third"] * 10
    assert [held.holds_in_other_form(word) for word in words] == [True, True, True, False, False] * 10
