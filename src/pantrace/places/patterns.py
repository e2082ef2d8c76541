"""URLs with `*`, `?` or `[…]`, which a shell does not expand."""

from __future__ import annotations

import re
from pathlib import Path

from pantrace.errors import UsageError

from .bucket import bucket_of
from .cache import below
from .paths import folder_of, path_at
from .url import parse

_MAGIC = re.compile(r"[*?[]")


def paths_at(pattern: str) -> list[Path]:
    """The objects and folders that a URL matches, by name; without a pattern, what it names."""
    url = parse(pattern)
    if _MAGIC.search(url.bucket):
        raise UsageError(f"{pattern}: the name of a bucket cannot be a pattern")
    if not _MAGIC.search(url.key):
        return [path_at(pattern)]
    segments = url.key.split("/")
    plain = next(number for number, each in enumerate(segments) if _MAGIC.search(each))
    above = url.beside("/".join(segments[:plain]))
    wanted = expression("/".join(segments[plain:]))
    objects = bucket_of(url.scheme, url.bucket).listing(above.key)
    names = {below(above, each.key): each for each in objects}
    folders = {folder for name in names for folder in _folders(name) if wanted.fullmatch(folder)}
    # With runs/** every subfolder matches, too: only the outermost are kept, or samples would be read twice.
    folders = {name for name in folders if not folders & {*_folders(name)}}
    alone = [name for name in names if wanted.fullmatch(name) and not folders & {*_folders(name)}]
    if not folders and not alone:
        raise UsageError(f"no object matches {pattern!r}")
    found = [path_at(f"{above}/{name}") for name in folders]
    if alone:
        top = folder_of(above, [names[name] for name in alone])
        found += [top / name for name in alone]
    return sorted(found, key=str)


def _folders(name: str) -> list[str]:
    """The folders above a name."""
    return [name[:place] for place, letter in enumerate(name) if letter == "/"]


_TOKEN = re.compile(r"\*\*/?|\*|\?|\[[!^]?\]?[^\]]*\]|.", re.DOTALL)


def expression(pattern: str) -> re.Pattern[str]:
    """A shell pattern as a regular expression: only `**` crosses folders."""
    return re.compile("".join(map(_meaning, _TOKEN.findall(pattern))))


def _meaning(token: str) -> str:
    if token.startswith("**"):
        return "(?:.*/)?" if token.endswith("/") else ".*"
    if token in ("*", "?"):
        return "[^/]*" if token == "*" else "[^/]"
    if len(token) > 2 and token.startswith("["):
        inner = token[1:-1].replace("\\", r"\\")
        return f"[^/{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
    return re.escape(token)
