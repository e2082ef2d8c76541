"""What a reader leaves out is found from the source's side."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.model import Sample, Step, Text, ToolCall, Trajectory, Usage
from pantrace.wire.json import encode, to_plain
from pantrace.wire.table_row import TableRow
from pantrace.wire.unread import Ledger

SAMPLE = Sample(
    id="s1",
    trajectory=Trajectory(
        created=1763287200.0,
        steps=(
            Step(role="user", parts=(Text(text="first line of a question\n\nand the second line of it"),), at=12.5),
            Step(role="agent", parts=(ToolCall(name="bash", arguments={"cmd": "ls", "n": 7}),), usage=Usage(input=33)),
        ),
    ),
)


def missing(source: Any, declared: dict[str, str] | None = None, words: tuple[str, ...] = ("in",)) -> dict[str, int]:
    ledger = Ledger(declared or {}, words)
    ledger.source("here", encode(source))
    ledger.model(to_plain(SAMPLE))
    return dict(ledger.closed().missing)


@pytest.mark.parametrize(
    "source",
    [
        {"id": "s1", "in": 33, "none": None, "blank": "  "},
        {"at_ms": 12500, "created": "2025-11-16T10:00:00+00:00"},
        {"half": "and the second line of it"},
        {"call": '{"cmd": "ls", "n": 7}'},
        {"name of a tool": "bash"},
    ],
)
def test_what_the_model_holds_in_any_form_is_read(source: Any) -> None:
    assert missing(source) == {}


def test_what_is_nowhere_is_named_by_its_path() -> None:
    source = {"messages": [{"rating": 5, "text": "bash"}, {"rating": 4, "note": "gone"}]}
    assert missing(source) == {"messages[].rating": 2, "messages[].note": 1}
    assert missing(source, {"messages[].rating": "a copy", "messages[].no*": "a copy"}) == {}


@pytest.mark.parametrize("value", [True, False, 7, 33, "ls", 1.0])
def test_a_value_that_says_little_needs_its_key(value: Any) -> None:
    """7, "ls" and 33 stand in the sample, under other keys: that proves nothing of a rating."""
    assert missing({"rating": value}) == {"rating": 1}
    assert missing({"n": 7, "cmd": "ls"}) == {}


def test_a_key_that_the_reader_knows_is_believed() -> None:
    assert missing({"rating": 33, "kept": True}, words=("rating", "kept")) == {}
    assert missing({"rating": 3400}, words=("rating",)) == {"rating": 1}


def test_a_short_word_is_not_found_inside_another() -> None:
    assert missing({"word": "line"}) == {"word": 1}


def test_a_reader_may_look_ahead_and_other_bytes_say_nothing() -> None:
    ledger = Ledger({}, ("id",))
    ledger.source(1, b'{"id": "s2"}')
    ledger.source(1, b'{"id": "the same place is seen once"}')
    ledger.source(2, b"not JSON")
    ledger.model(to_plain(SAMPLE))
    ledger.model(to_plain(Sample(id="s2")))
    found = ledger.closed()
    assert (found.values, found.count) == (1, 0)


def test_the_moments_of_a_long_log_are_read_however_many_they_are() -> None:
    """Together they are more words than are looked for at once, and no later sample could still have them."""
    steps = tuple(Step(role="user", at=1763287200.0 + number) for number in range(2000))
    ledger = Ledger({}, ())
    for number in range(2000):
        text = f"2025-11-16T{10 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
        ledger.source(number, encode({"at": text}))
    ledger.model(to_plain(Sample(id="long", trajectory=Trajectory(steps=steps))))
    assert dict(ledger.closed().missing) == {}


def test_samples_of_one_document_that_repeat_each_other_keep_their_moments() -> None:
    """Trials of one task say nearly the same words: only their moments tell them apart."""
    words = [f"a sentence that every trial says, number {number}" for number in range(700)]
    trials = [[f"2025-11-16T1{trial}:00:{second:02}.000Z" for second in range(20)] for trial in range(4)]
    ledger = Ledger({}, ("words", "at", "trials"))
    ledger.source("document", encode({"trials": [{"words": words, "at": each} for each in trials]}))
    ledger.model({"id": "header"})
    for trial in range(4):
        steps = tuple(Step(role="user", at=1763287200.0 + 3600 * trial + second) for second in range(20))
        said = tuple(Step(role="agent", parts=(Text(text=each),)) for each in words)
        ledger.model(to_plain(Sample(id=f"{trial}", trajectory=Trajectory(steps=steps + said))))
    assert dict(ledger.closed().missing) == {}


def test_a_key_of_null_alone_is_not_missed_and_one_of_a_small_number_is() -> None:
    ledger = Ledger({})
    ledger.source("a", b'{"said": "a long enough text", "silent_key": null, "rating_given": 3}')
    ledger.model({"text": "a long enough text"})
    found = ledger.closed()
    assert (found.values, dict(found.missing)) == (2, {"rating_given": 1})


def test_rows_that_come_together_are_the_same_as_one_by_one() -> None:
    names, rows = ("id", "data"), [("row one", b'{"kept": "first text"}'), ("row two", b'{"lost": "second text"}')]
    one, many = Ledger({}), Ledger({})
    for values in rows:
        one.source(hash((names, values)), TableRow(names, values))
    many.source_rows(names, rows)
    many.source_rows(names, rows[:1])
    for ledger in (one, many):
        ledger.model({"id": ["row one", "row two"], "kept": "first text"})
    assert one.closed() == many.closed()
