"""Text inside XML: without the characters that XML does not allow, not even escaped."""

from __future__ import annotations

import re

# Control characters but tab and line feed, lone surrogates, and the two that are no characters.
_REFUSED = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


def xml_text(text: str) -> str:
    """The text as XML can have it."""
    return _REFUSED.sub("\N{REPLACEMENT CHARACTER}", text)
