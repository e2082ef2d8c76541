"""JSON without loss: msgspec if possible, the standard library for what msgspec refuses.

Reading and writing keeps integers of any size, NaN and Infinity, numbers beyond the range of a float, lone surrogates
and repeated keys; a byte order mark is accepted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

import msgspec

from pantrace.errors import ReadError

from .bounded_json import bounded, decode_shallow, depth_error, opens_more_than
from .depth import OURS, is_too_deep
from .limits import limits
from .plural import few
from .read_listener import decode_listener
from .record_depth import is_record_too_deep

T = TypeVar("T")

BOM = b"\xef\xbb\xbf"


class NonFinite(float):
    """A number that JSON text can represent but a float cannot, with its literal: NaN, -Infinity, 1e999."""

    literal: str

    def __new__(cls, literal: str) -> NonFinite:
        self = super().__new__(cls, literal)
        self.literal = literal
        return self

    # By literal: NaN is not equal to itself, and a comparison of what was read back would always find a loss.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, NonFinite) and other.literal == self.literal

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.literal)

    def __repr__(self) -> str:
        return self.literal


def _literal(value: Any) -> Any:
    if isinstance(value, NonFinite):
        return msgspec.Raw(value.literal.encode())
    raise NotImplementedError(type(value).__name__)


UNFINISHED = "the program may still be writing it, or it was not copied completely"
"""The remedy for a text or a file that breaks off."""

_encoder = msgspec.json.Encoder(enc_hook=_literal)
_sorting_encoder = msgspec.json.Encoder(enc_hook=_literal, order="deterministic")
_decoder = msgspec.json.Decoder()


def _number(literal: str) -> float:
    value = float(literal)
    return NonFinite(literal) if value in (float("inf"), float("-inf")) else value


class _TooLong(Exception):
    """Raised for an integer with too many digits."""


def _integer(literal: str) -> int:
    if len(literal) > limits().digits:
        raise _TooLong
    return int(literal)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dictionary in which the last of repeated keys wins, and earlier ones are kept under another name."""
    found: dict[str, Any] = {}
    repeated: Counter[str] = Counter()
    for key, value in pairs:
        if key in found:
            repeated[key] += 1
            # A file may really contain such a key.
            while (kept := f"{key} (duplicate {repeated[key]})") in found:
                repeated[key] += 1
            found[kept] = found[key]
        found[key] = value
    return found


def _patient(data: bytes) -> Any:
    text = data.decode("utf-8-sig")
    # strict=False: tools write raw tabs and line breaks inside strings.
    return json.loads(
        text,
        parse_constant=NonFinite,
        parse_float=_number,
        parse_int=_integer,
        object_pairs_hook=_pairs,
        strict=False,
    )


def decode(data: bytes | memoryview) -> Any:
    """Any JSON value. The last of repeated keys wins; use `decode_document` for text that a person may have written."""
    try:
        # Most records of a database are too short to be deep.
        value = _decoder.decode(data) if len(data) <= 2 * limits().depth else bounded.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = decode_patiently(bytes(data))
    if (hear := decode_listener()) is not None:
        hear(data, value)
    return value


def decode_each(texts: Sequence[bytes]) -> list[Any] | None:
    """Decode many short texts as one list, which halves the time; None if one needs to be decoded separately.

    Only specially made texts could be valid together and not alone: one with two values, next to two that are halves of
    one value. An attacker who can write those could just as well write the resulting values."""
    try:
        values: list[Any] = bounded.decode(b"[" + b",".join(texts) + b"]")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ReadError):
        return None
    if len(values) != len(texts):
        return None
    if (hear := decode_listener()) is not None:
        hear(texts, values)
    return values


def decode_patiently(data: bytes, more: int = 0) -> Any:
    """Decode what msgspec refuses; ReadError says where the text is broken. `more`: additional levels allowed."""
    try:
        return decode_shallow(_patient(data), data, more)
    except json.JSONDecodeError as error:
        if _is_cut(error):
            torn = ": the text that starts here does not end" if error.msg.startswith(_OPEN) else ""
            message = f"the JSON is cut off after {few(len(data), 'byte')}{torn}"
            where = f"line {error.lineno}, column {error.colno}"
            raise ReadError(message, place=where, remedy=UNFINISHED) from None
        raise ReadError(f"not valid JSON: {error.msg}", place=f"line {error.lineno}, column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise ReadError(f"not UTF-8 text: {error.reason}", place=f"byte {error.start}") from None
    except (RecursionError, _TooLong):
        raise depth_error(data) from None


_OPEN = "Unterminated string"
_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")


def _is_cut(error: json.JSONDecodeError) -> bool:
    """Whether a text is valid as far as it goes, and merely stops too early."""
    if not error.doc.strip():
        return False
    rest = error.doc[error.pos :].rstrip()
    return not rest or error.msg.startswith(_OPEN) or any(word.startswith(rest) for word in _WORDS)


def decode_document(data: bytes | memoryview) -> Any:
    """Any JSON value without loss: earlier values of a repeated key are kept, too."""
    return decode_telling_repeats(data)[0]


def decode_telling_repeats(data: bytes | memoryview) -> tuple[Any, bool]:
    """The value that `decode_document` returns, and whether a key in it was repeated."""
    value = decode(data)
    raw, again = bytes(data), encode(value)
    # Each key has a colon, and those inside texts are the same on both sides: fewer of them mean a repeated key.
    # Compact text is encoded to the same bytes, which is the quickest check.
    if not raw.startswith(again) and raw.count(b":") > again.count(b":"):
        return decode_patiently(raw), True
    return value, False


def decode_as(data: bytes, kind: type[T]) -> T:
    """Decode to a type of the model; msgspec.ValidationError names the path that does not fit."""
    try:
        value = msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        # msgspec's message for an integer beyond 64 bits, which Python's integers can hold.
        if "out of range" not in str(error):
            raise
        return as_kind(decode_patiently(data, OURS), kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return as_kind(decode_patiently(data, OURS), kind)
    most = limits().depth + OURS
    if len(data) > 2 * most and opens_more_than(most, data) and is_record_too_deep(value, most):
        raise depth_error(data)
    return value


@overload
def as_kind(value: Any, kind: type[T]) -> T: ...
@overload
def as_kind(value: Any, kind: Any) -> Any: ...
def as_kind(value: Any, kind: Any) -> Any:
    """Plain data as a value of the model, NaN and lone surrogates included; msgspec.ValidationError for a misfit."""
    try:
        return msgspec.convert(value, kind)
    except UnicodeEncodeError:
        raise msgspec.ValidationError("Half a character (a lone surrogate) where a known word is expected") from None
    except msgspec.ValidationError:
        # A float field accepts no NonFinite, so each is passed as a marker: a number that does not occur otherwise.
        literals: dict[float, NonFinite] = {}
        marked = _marked(value, literals)
        if not literals:
            raise
        return _unmarked(msgspec.convert(marked, kind), literals)


def _marked(value: Any, literals: dict[float, NonFinite]) -> Any:
    if isinstance(value, NonFinite):
        # Near the smallest numbers that a float can hold, which no recording contains.
        mark = (len(literals) + 1) * 4.9e-307
        literals[mark] = value
        return mark
    if isinstance(value, dict):
        return {key: _marked(item, literals) for key, item in value.items()}
    return [_marked(item, literals) for item in value] if isinstance(value, list | tuple) else value


def _unmarked(value: Any, literals: dict[float, NonFinite]) -> Any:
    if isinstance(value, float):
        return literals.get(value, value)
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        changed = {name: new for name, old in fields.items() if (new := _unmarked(old, literals)) is not old}
        return msgspec.structs.replace(value, **changed) if changed else value
    if isinstance(value, dict):
        return {key: _unmarked(item, literals) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_unmarked(item, literals) for item in value])
    return value


def typed_decoder(kind: type[T]) -> Callable[[bytes | memoryview], T]:
    """A decoder to a type; for texts nested too deeply it raises msgspec.DecodeError, as for other bad texts."""
    fast = msgspec.json.Decoder(kind).decode

    def decoded(data: bytes | memoryview) -> T:
        try:
            value = fast(data)
        except RecursionError:
            raise msgspec.DecodeError("nested too deeply") from None
        # Most of these types contain raw text, or structs that their reader checks: there is little to walk through.
        if len(data) > 2 * limits().depth and is_too_deep(value, limits().depth):
            raise msgspec.DecodeError("nested too deeply")
        return value

    return decoded


def in_words(error: msgspec.ValidationError, around: str = "") -> str:
    """A type error as a sentence; `around` is the path of the record that contains the value."""
    what, _, where = str(error).partition(" - at ")
    inner = where.strip("`$.")
    place = around + ("." if around and inner and not inner.startswith("[") else "") + inner
    return f"{place or 'it'} has a wrong type: {what[:1].lower()}{what[1:]}"


def first_misfit(record: Any, kind: type[T]) -> str | None:
    """The first value of a wrong type in a record, as a sentence; None if there is none."""
    try:
        msgspec.convert(msgspec.to_builtins(record, enc_hook=_as_number, str_keys=True), kind, str_keys=True)
    except (TypeError, NotImplementedError) as error:
        return f"a value or a key in it is of no type that JSON has: {error}"
    except RecursionError:
        return "it is nested too deeply, or contains itself"
    except msgspec.ValidationError as error:
        return in_words(error)
    except UnicodeEncodeError:
        return "half a character (a lone surrogate) stands where a known word is expected"
    return None


UNFIT = "is --from right, and was the file edited by hand?"


def checked_types(record: T) -> T:
    """The record itself; ReadError if one of its values has the wrong type."""
    if (why := first_misfit(record, type(record))) is not None:
        raise ReadError(why, remedy=UNFIT)
    return record


def encode(value: Any, *, indent: int | None = None) -> bytes:
    """UTF-8 JSON, compact unless `indent` is given."""
    try:
        data = _encoder.encode(value)
        return data if indent is None else msgspec.json.format(data, indent=indent)
    except (UnicodeEncodeError, msgspec.DecodeError):
        plain = msgspec.to_builtins(value, enc_hook=_itself, builtin_types=(NonFinite,))
        return _patient_text(plain, indent, "\n").encode()


def encode_lines(values: Sequence[Any]) -> list[str]:
    """Compact JSON of each value, in one call."""
    try:
        return _encoder.encode_lines(values).decode().split("\n")[:-1] if values else []
    except UnicodeEncodeError:
        return [encode(value).decode() for value in values]


def text_or_json(value: Any) -> str:
    """The value if it is text, else its JSON: for formats that hold answers of tools as text."""
    return value if isinstance(value, str) else encode(value).decode()


def encode_sorted(value: Any) -> bytes:
    """Compact JSON with sorted keys, for comparing two values."""
    try:
        return _sorting_encoder.encode(value)
    except UnicodeEncodeError:
        return encode(value)


def indent_json(data: bytes, indent: int) -> bytes:
    """Compact JSON from `encode`, with line breaks and indentation."""
    try:
        return msgspec.json.format(data, indent=indent)
    except msgspec.DecodeError:
        return encode(decode_own(data), indent=indent)


def _patient_text(value: Any, indent: int | None, newline: str) -> str:
    """JSON for values that msgspec refuses; lone surrogates are written as escapes."""
    if isinstance(value, NonFinite):
        return value.literal
    if not value or not isinstance(value, (dict, list, tuple)):
        # As UTF-8 like msgspec does; only texts with half a surrogate pair need escapes.
        text = json.dumps(value, ensure_ascii=False)
        return text if _is_utf8(text) else json.dumps(value)
    inner = newline + " " * (indent or 0)
    if isinstance(value, dict):
        colon = ":" if indent is None else ": "
        items = [
            f"{_patient_text(key, None, '')}{colon}{_patient_text(item, indent, inner)}" for key, item in value.items()
        ]
    else:
        items = [_patient_text(item, indent, inner) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    if indent is None:
        return opening + ",".join(items) + closing
    return opening + inner + f",{inner}".join(items) + newline + closing


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def to_plain(value: Any) -> Any:
    """Structs as dictionaries and tuples as lists, at every depth; NonFinite numbers stay."""
    return decode_own(encode(value))


def as_builtins(value: Any) -> Any:
    """Structs as dictionaries at every depth, sharing texts and keeping tuples. Three to six times faster than
    `to_plain`, for callers who only look."""
    return msgspec.to_builtins(value, enc_hook=_itself, builtin_types=(NonFinite,), str_keys=True)


def decode_own(data: bytes) -> Any:
    """Decode what `encode` made; it needs no check because it is neither torn nor too deep."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _patient(data)


def _as_number(value: Any) -> Any:
    if isinstance(value, NonFinite):
        return 0.0
    raise NotImplementedError(type(value).__name__)


def _itself(value: Any) -> Any:
    if isinstance(value, NonFinite):
        return value
    raise NotImplementedError(type(value).__name__)


def unknown_keys(row: Any, known: Iterable[str]) -> dict[str, Any]:
    """The keys of a foreign object that its reader does not know."""
    known = known if isinstance(known, (set, frozenset)) else set(known)
    if row.keys() <= known:
        return {}
    return {key: value for key, value in row.items() if key not in known}
