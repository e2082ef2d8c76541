"""Suggest the name that was probably meant by a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 200
"""Letters. No name has more, and comparing a text of megabytes with others takes gigabytes."""


def closest_name(given: str, known: Iterable[str]) -> str | None:
    """The known name closest to the one given, or None. Case, dashes, underscores and a plural s do not count:
    `exactmatch` is exact_match, `costs` is cost."""
    if len(given) > _LONGEST:
        return None
    # Reversed, so that the first of two similar names wins.
    names = {_bare(name): name for name in reversed(list(known))}
    bare = _bare(given)
    for word in (bare, bare.removesuffix("s"), f"{bare}s"):
        if word in names:
            return names[word]
    # Imported late: it is needed only for messages about wrong names.
    from difflib import get_close_matches

    close = get_close_matches(bare, names, n=1)
    return names[close[0]] if close else None


def _bare(name: str) -> str:
    # The dot stays: it separates a metric from its measure.
    return "".join(letter for letter in name.casefold() if letter.isalnum() or letter == ".")
