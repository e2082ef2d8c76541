"""The decoder that bounds depth by its type gives what any other gives, and lets nothing pass that is too deep."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pantrace.errors import ReadError
from pantrace.wire.bounded_json import BoundedDecoder
from pantrace.wire.limits import limits

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text('ab"{[')
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner))
plain = msgspec.json.Decoder().decode


def warm() -> BoundedDecoder:
    """One that has seen enough bytes to decode by type."""
    decoder = BoundedDecoder()
    decoder.decode(b'"' + b"x" * decoder._WORTH + b'"')
    assert decoder._left <= 0
    return decoder


@given(VALUES)
def test_it_decodes_as_any_other(value: Any) -> None:
    text = msgspec.json.encode(value)
    found, expected = warm().decode(text), plain(text)
    assert found == expected and repr(found) == repr(expected)  # 1 is not 1.0


ODD = [
    b"-0",
    b"-0.0",
    b"18446744073709551616",
    b"1" * 500,
    b'{"a":1,"b":2,"a":[]}',
    b"[[[1]]]",
    b'"2020-01-01T00:00:00Z"',
]


@pytest.mark.parametrize("text", ODD)
def test_odd_values_are_what_they_are_elsewhere(text: bytes) -> None:
    assert repr(warm().decode(text)) == repr(plain(text))


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")])
def test_depth_is_refused_by_a_warm_one_as_by_a_cold_one(opening: bytes, closing: bytes) -> None:
    levels = limits().depth // (len(closing))
    fits = opening * levels + b"1" + closing * levels
    deep = opening * levels * 2 + b'"' + b"x" * 20_000 + b'"' + closing * levels * 2
    for decoder in (BoundedDecoder(), warm()):
        assert decoder.decode(fits) == plain(fits)
        with pytest.raises(ReadError, match="nested deeper than 200 levels"):
            decoder.decode(deep)


def test_after_a_deeper_text_it_is_not_tried_for_a_while() -> None:
    decoder = warm()
    decoder.decode(b'{"a":' * 20 + b"1" + b"}" * 20)
    assert decoder._left > 0
