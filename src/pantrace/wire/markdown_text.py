"""Texts of recordings inside Markdown: shown as text, whatever they contain."""

from __future__ import annotations

import re

_MEANING = re.compile(r"[\\`*<>|~&]|\](?=[(\[])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
"""A bracket has a meaning only if a link follows: [0.3, 0.54] is an interval."""
# On GitHub, `@name` in a report would notify that person.
_MENTION = re.compile(r"(?<!\w)@")
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])")


def as_text(text: str) -> str:
    """One line without markup, links, mentions or invisible characters; fits a table cell."""
    visible = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(text.split())
    )
    return _MENTION.sub("@\N{ZERO WIDTH NON-JOINER}", _MEANING.sub(r"\\\g<0>", visible))


def as_quotation(text: str) -> str:
    """A quotation that keeps lines and lists, but no tags and no pictures."""
    lines = text.splitlines() or [""]
    # `![` would load a picture, and tell its server who reads the report.
    return "\n".join(f"> {_MARKUP.sub('&lt;', line).replace('![', '!&#91;')}" for line in lines)
