"""Texts inside texts: JSON, string literals with escapes, base64, parts of URLs. What is changed inside is encoded
again in the same way, and nothing else in the outer text changes."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, unquote

from pantrace.errors import ReadError
from pantrace.wire.json import decode_document, encode

Clean = Callable[[str], str]
"""A text without its secrets."""

Edit = tuple[int, int, str]
"""Start, end, and what to put there."""

# Possessive (*+, ++), here and below: a hostile text must not make a pattern go back and try again.
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*+"|[^\s{}\[\]:,"]++', re.DOTALL)
_LITERAL = re.compile(r'(?<!\\)"(?:[^"\\\n]|\\.)*+"')
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}+(?:\r?\n[A-Za-z0-9+/_-]{4,}+)*+={0,2}")
_UNESCAPED = "!*()+"
_MARK = re.compile(r"%5Bredacted%3A([a-z0-9-]{1,64}+)%5D")
# It begins where such a part can begin: otherwise a long word without % would be tried from each of its letters.
_PERCENT = re.compile(r"(?<![\w.~!*()+-])[A-Za-z0-9_.~!*()+-]*+(?:%[0-9A-Fa-f]{2}[A-Za-z0-9_.~!*()+-]*+)++")
_LINE = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_GLIMPSE = 64
"""Characters of base64 that are enough to tell text from a picture, whose megabytes need not be decoded."""


def document_in(text: str) -> Any:
    """The object or array that a whole text is as JSON; None if it is something else."""
    # Only objects and arrays: a number or a single string in quotes would be taken for JSON in ordinary prose.
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = decode_document(text.encode())
    except UnicodeEncodeError:  # half of a surrogate pair, as in texts that were cut off
        value = _torn_document(text)
    except (ReadError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def _torn_document(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # Refused: a secret under the first of two equal keys would stay in the text, unseen.
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("a repeated key")
        return found

    try:
        return json.loads(text, strict=False, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return None


def rewritten(text: str, before: Any, after: Any) -> str:
    """The JSON text of `before` with the changed keys and values of `after`; blanks and escapes elsewhere stay."""
    tokens = list(_SCALAR.finditer(text))
    old, new = list(_scalars(before)), list(_scalars(after))
    if len(tokens) == len(old) == len(new):
        changed = [each for each in zip(tokens, old, new, strict=True) if each[1] is not each[2]]
        if all(_says(token[0], one) for token, one, _ in changed):
            return apply_edits(
                text, [(token.start(), token.end(), _quoted(two, token[0])) for token, _, two in changed]
            )
    # With a repeated key the tokens are not in the order of what was read: write the whole document anew.
    return encode(after).decode("utf-8", "surrogatepass")


def _says(token: str, value: Any) -> bool:
    return bool(json.loads(token, strict=False) == value)


def _scalars(value: Any) -> Iterator[Any]:
    """Keys and values in the order of the text."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    else:
        yield value


def _quoted(value: str, like: str) -> str:
    """A string literal that escapes the same characters as the original."""
    text = json.dumps(value, ensure_ascii=like.isascii())
    return text.replace("/", "\\/") if "\\/" in like else text


def apply_edits(text: str, edits: list[Edit]) -> str:
    """A text with some places replaced; they must be in order and must not overlap."""
    pieces, place = [], 0
    for start, end, new in edits:
        pieces += [text[place:start], new]
        place = end
    return "".join((*pieces, text[place:]))


def literals_in(text: str, clean: Clean) -> Iterator[Edit]:
    """String literals whose escapes hide a secret."""
    # Without escapes, the plain search sees the same text.
    if "\\" not in text or '"' not in text:
        return
    for match in _LITERAL.finditer(text):
        if "\\" not in match[0]:
            continue
        try:
            inner = json.loads(match[0], strict=False)
        except ValueError:
            continue
        if (cleaned := clean(inner)) != inner:
            yield match.start(), match.end(), _quoted(cleaned, match[0])


def base64_in(text: str, clean: Clean) -> Iterator[Edit]:
    """Base64 whose text contains a secret, encoded again with the same alphabet, padding and lines."""
    for match in _BASE64.finditer(text):
        whole = _cleaned_base64(match[0], clean)
        if whole is not None:
            yield match.start(), match.end(), whole
        elif "\n" in match[0]:
            # Several values in consecutive lines look like one wrapped value, which then does not decode as a whole.
            for line in _LINE.finditer(match[0]):
                if (one := _cleaned_base64(line[0], clean)) is not None:
                    yield match.start() + line.start(), match.start() + line.end(), one


def percent_in(text: str, clean: Clean) -> Iterator[Edit]:
    """Parts of URLs and forms with %XX whose text contains a secret, encoded again."""
    if "%" not in text:
        return
    for match in _PERCENT.finditer(text):
        inner = unquote(match[0], errors="surrogateescape")
        if (cleaned := clean(inner)) != inner:
            again = quote(cleaned, safe=_UNESCAPED, errors="surrogateescape")
            # The same word as everywhere, which people look for.
            yield match.start(), match.end(), _MARK.sub(r"[redacted:\1]", again)


def _cleaned_base64(written: str, clean: Clean) -> str | None:
    """The base64 without its secrets; None if it contains no text, or no secret."""
    letters = written.rstrip("=").replace("\r", "").replace("\n", "")
    if _decoded(letters[:_GLIMPSE]) is None or (found := _decoded(letters)) is None:
        return None
    plain, code = found
    cleaned = clean(plain)
    if cleaned == plain:
        return None
    # Encoded again, so that the program that reads the recording still finds base64 where it expects it.
    again = b64encode(cleaned.encode(code, "surrogatepass")).decode()
    of_addresses = "-" in letters or "_" in letters
    if of_addresses:
        again = again.replace("+", "-").replace("/", "_")
    if not written.endswith("=") and (of_addresses or len(letters) % 4):
        again = again.rstrip("=")
    width, end = len(written.partition("\n")[0].rstrip("\r")), "\r\n" if "\r\n" in written else "\n"
    return end.join(again[at : at + width] for at in range(0, len(again), width)) if end in written else again


def _decoded(letters: str) -> tuple[str, str] | None:
    """The text in a base64 value, and its encoding; None if there is none."""
    whole = letters[: len(letters) - 1] if len(letters) % 4 == 1 else letters
    try:
        data = b64decode(whole.replace("-", "+").replace("_", "/") + "=" * (-len(whole) % 4), validate=True)
    except NotBase64:
        return None
    # PowerShell's -EncodedCommand is base64 of UTF-16.
    code = "utf-16-le" if len(data) > 3 and not any(data[1:32:2]) and any(data[:32:2]) else "utf-8"
    # A piece may end in the middle of a character, which has up to four bytes.
    for cut in range(4):
        try:
            text = data[: len(data) - cut].decode(code)
        except UnicodeDecodeError:
            continue
        return None if _CONTROL.search(text) else (text, code)
    return None
