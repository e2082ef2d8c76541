"""Rows of vertex-agent that are decoded by type: the same sample as of any JSON, and nothing forgotten on the way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pantrace.errors import ReadError
from pantrace.formats import by_name
from pantrace.formats.vertex_agent.read import load_any
from pantrace.formats.vertex_agent.rows import Row
from pantrace.wire.json import decode_document, encode

FORMAT = by_name("vertex-agent")
assert FORMAT.load is not None

NAMES = st.sampled_from([None, "", "c1", "c2", "user", "shop"])
CALLS = st.fixed_dictionaries(
    {}, optional={"id": NAMES, "name": NAMES, "args": st.sampled_from([None, {}, {"a": [1]}])}
)
RESPONSES = st.sampled_from(
    [None, {}, {"output": "x"}, {"output": 1, "error": "exit code 2"}, {"error": ""}, {"rows": [{}], "error": None}]
)
ANSWERS = st.fixed_dictionaries({}, optional={"id": NAMES, "name": NAMES, "response": RESPONSES})
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "text": st.sampled_from([None, "", "a:b", 'say "x":1']),
        "thought": st.sampled_from([None, True, False]),
        "function_call": st.one_of(st.none(), CALLS),
        "function_response": st.one_of(st.none(), ANSWERS),
    },
    # Nothing that Gemini writes is a call and an answer at once. Such a part keeps the second one without its nulls.
).filter(lambda part: part.get("function_call") is None or part.get("function_response") is None)
CONTENTS = st.fixed_dictionaries(
    {"parts": st.lists(PARTS, max_size=3)},
    optional={"role": st.sampled_from([None, "user", "model", "system", "assistant", "odd"])},
)
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "author": NAMES,
        "content": st.one_of(st.none(), CONTENTS),
        "event_time": st.sampled_from([None, "2026-11-15T18:00:00Z", "2026-11-15T18:00:00.25", "yesterday"]),
        "state_delta": st.sampled_from([None, {}, {"x": {"y": 1}}]),
    },
)
TURNS = st.fixed_dictionaries(
    {"events": st.lists(EVENTS, max_size=4)},
    optional={"turn_index": st.sampled_from([None, 0, 7]), "turn_id": st.sampled_from([None, "turn_0", "t"])},
)
COLUMNS = {"epoch": st.just(2), "title": st.just("t"), "created": st.just("?"), "response": st.sampled_from(["a:b", 1])}
ROWS = st.builds(
    lambda turns, beside: {"agent_data": {"agents": {"shop": {}}, "turns": turns}, "session_id": "s", **beside},
    st.lists(TURNS, max_size=3),
    st.fixed_dictionaries({}, optional=COLUMNS),
)


@given(row=ROWS)
def test_a_row_is_the_same_sample_by_its_type_and_as_any_json(row: dict[str, Any]) -> None:
    text = encode(row)
    assert FORMAT.load is not None
    assert FORMAT.load(FORMAT.decode(text)) == FORMAT.load(row) == load_any(decode_document(text))


def row_with(part: str, beside: str = "") -> bytes:
    event = f'{{"author":"shop","content":{{"role":"model","parts":[{part}]}}}}'
    turns = f'[{{"turn_index":0,"turn_id":"turn_0","events":[{event}]}}]'
    return f'{{"agent_data":{{"agents":{{}},"turns":{turns}}},"session_id":"s"{beside}}}'.encode()


def test_a_row_without_peculiarities_is_decoded_by_type() -> None:
    assert type(FORMAT.decode(row_with('{"text":"a:b"}'))) is Row
    # As json.dumps writes it: with blanks, and without the characters that are no ASCII.
    assert type(FORMAT.decode(row_with('{"text": "caf\\u00e9"}', ', "title": "t"'))) is Row


@pytest.mark.parametrize(
    ("part", "beside", "kept"),
    [
        ('{"text":"a","text":"b"}', "", "text (duplicate 1)"),
        ('{"function_call":{"name":"f","args":{"x":1,"x":2}}}', "", "x (duplicate 1)"),
        ('{"text":"a","rating":5}', "", "rating"),
        ('{"text":"a"}', ',"topic":"rakes"', "topic"),
    ],
)
def test_repeated_and_unknown_keys_are_kept(part: str, beside: str, kept: str) -> None:
    row = FORMAT.decode(row_with(part, beside))
    assert type(row) is dict
    assert FORMAT.load is not None
    assert kept.encode() in encode(FORMAT.load(row))


def test_what_is_nested_too_deeply_is_refused_by_its_place() -> None:
    deep = '{"a":' * 300 + "1" + "}" * 300
    assert FORMAT.load is not None
    with pytest.raises(ReadError, match="200 levels") as refused:
        FORMAT.load(FORMAT.decode(row_with(f'{{"function_call":{{"name":"f","args":{deep}}}}}')))
    assert refused.value.place == "function_call.args"
