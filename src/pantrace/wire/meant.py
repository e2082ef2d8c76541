"""Meant: the name that somebody had in mind who typed another."""

from __future__ import annotations

from collections.abc import Iterable


def meant_by(given: str, known: Iterable[str]) -> str | None:
    """The known name closest to what was given, or None. Case, dashes, underscores and a plural's s do not count:
    `exactmatch` is exact_match, and `costs` is cost."""
    names = {_bare(name): name for name in reversed(list(known))}
    bare = _bare(given)
    for word in (bare, bare.removesuffix("s"), f"{bare}s"):
        if word in names:
            return names[word]
    from difflib import get_close_matches

    close = get_close_matches(bare, names, n=1)
    return names[close[0]] if close else None


def _bare(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum() or letter == ".")
