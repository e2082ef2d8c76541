from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pantrace.errors import ReadError
from pantrace.model import Sample
from pantrace.wire.json import NonFinite, decode, decode_as, decode_document, decode_each, encode, to_plain
from pantrace.wire.limits import limits

EXACT = [
    b"123456789012345678901234567890",
    b"-170141183460469231731687303715884105728",
    b"NaN",
    b"[-Infinity]",
    b'{"a":1e999}',
    b'"\\ud800"',
    b'{"\\udfff":1}',
    b'{"a":[NaN,"\\ud800",12345678901234567890123]}',
    b'{"text":"\xe2\x9c\x93 \xf0\x9f\x93\xa6"}',
]


@pytest.mark.parametrize("text", EXACT)
def test_what_json_can_say_comes_back_to_the_letter(text: bytes) -> None:
    assert encode(decode(text)) == text
    assert encode(decode_document(text)) == text


@pytest.mark.parametrize("text", EXACT)
def test_indented_text_says_the_same(text: bytes) -> None:
    assert encode(decode(encode(decode(text), indent=2))) == text


@pytest.mark.parametrize("text", EXACT)
def test_the_native_format_carries_it_in_extra(text: bytes) -> None:
    line = b'{"id":"x","extra":{"other":' + text + b"}}"
    sample = decode_as(line, Sample)
    assert encode(sample) == line
    assert encode(to_plain(sample)) == line


def test_a_byte_order_mark_is_no_obstacle() -> None:
    assert decode(b"\xef\xbb\xbf[1]") == [1]


def test_repeated_keys_are_kept_beside_the_last() -> None:
    text = b'{"a": 1, "b": {"x": "p", "x": "q"}, "a": 2, "a": 3}'
    assert decode_document(text) == {
        "a": 3,
        "b": {"x": "q", "x (duplicate 1)": "p"},
        "a (duplicate 1)": 1,
        "a (duplicate 2)": 2,
    }


def test_a_text_that_only_looks_like_a_repeated_key_is_read_as_it_is() -> None:
    assert decode_document(b'{"a": "say \\u0022:\\u0022 twice", "b": "\\":"}') == {"a": 'say ":" twice', "b": '":'}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_comes_back(value: object) -> None:
    assert decode_document(encode(value)) == value
    assert decode(encode(value, indent=2)) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": [1, 2', "line 1, column 12: the JSON is cut off"),
        (b'{"a": 1}\nx', "line 2, column 1: not valid JSON"),
        (b'"\xff"', "byte 1: not UTF-8 text"),
        (b"[" * 100_000, "line 1, column 201: nested deeper than 200 levels"),
    ],
)
def test_broken_text_says_where(text: bytes, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        decode(text)


def test_non_finite_numbers_are_equal_by_what_they_say() -> None:
    assert NonFinite("NaN") == NonFinite("NaN")
    assert NonFinite("1e999") != NonFinite("Infinity")
    assert NonFinite("NaN") != 0.0


def test_texts_that_are_decoded_together_are_what_each_of_them_says() -> None:
    texts = [b'{"a":1}', b" [2, 3] ", b'"x"', b"null", b'{"deep":' + b"[" * 50 + b"]" * 50 + b"}"]
    assert decode_each(texts) == [decode(text) for text in texts]
    assert decode_each([]) == []


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b'{"a":',
        b"1,2",
        b"NaN",
        b'"\\ud800"',
        b"\xff",
        b"[" * (limits().depth + 300) + b"]" * (limits().depth + 300),
    ],
)
def test_a_text_that_must_be_looked_at_alone_is_not_decoded_with_others(odd: bytes) -> None:
    assert decode_each([b"{}", odd, b"{}"]) is None
