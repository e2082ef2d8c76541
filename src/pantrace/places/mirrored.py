"""Mirrored: a path on this disk that is displayed as a URL.

`str(path)` is the URL: in messages, in results, and in the name of an input, which is thus the same on every machine.
`os.fspath(path)`, which every system call uses, is the local copy."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    _Path = Path
else:
    _Path = type(Path())


class Root(NamedTuple):
    """A folder or a file that mirrors what is at a URL."""

    local: str
    url: str
    token: str | None = None
    """For a run directory: a word that only processes on the writer's disk know."""


_roots: dict[str, Root] = {}


def register(root: Root) -> Mirrored:
    """Remember what a local path mirrors; returns the path."""
    # Without symbolic links: a path that was resolved must still find its URL.
    real = os.path.realpath(root.local)
    _roots[real] = root._replace(local=real)
    return Mirrored(real)


def root_of(path: str | os.PathLike[str]) -> tuple[Root, str] | None:
    """The root that a path is part of, and its place in it; None if it mirrors nothing."""
    local = os.path.abspath(os.fspath(path))  # noqa: PTH100 -- of a Mirrored path, the string is what is wanted
    # Upwards through the folders: views may be nested in a cache folder of any depth, and few are registered.
    while True:
        if (root := _roots.get(local)) is not None:
            return root, os.path.abspath(os.fspath(path))[len(local) :].lstrip(os.sep)  # noqa: PTH100
        above = os.path.dirname(local)  # noqa: PTH120
        if above == local:
            return None
        local = above


def url_of(path: str | os.PathLike[str]) -> str | None:
    """The URL that a path mirrors; None for any other path."""
    found = root_of(path) if _roots else None
    if found is None:
        return None
    root, below = found
    return f"{root.url}/{below.replace(os.sep, '/')}" if below else root.url


def is_mirrored(path: object) -> bool:
    """Whether a path stands for a URL."""
    return isinstance(path, Mirrored)


class Mirrored(_Path):
    """A path below a registered root. Paths made from it (`/`, `parent`, `with_name`) are of this class, too."""

    __slots__ = ()

    def __str__(self) -> str:
        return url_of(self) or super().__str__()

    def __fspath__(self) -> str:
        return super().__str__()

    def __repr__(self) -> str:
        return f"Mirrored({str(self)!r})"

    def __reduce__(self) -> Any:
        """Pickled as a URL: the other process finds or makes its own copy."""
        found = root_of(self)
        if found is None:
            return Path, (os.fspath(self),)
        root, below = found
        return sent_again, (root.url, root.token, below)

    # Newer versions of Python pass str(path), the URL, to the system here.

    def iterdir(self) -> Generator[Any, None, None]:
        """What is in the folder."""
        return (self / name for name in os.listdir(self.__fspath__()))  # noqa: PTH208

    def glob(self, pattern: str, **others: Any) -> Generator[Any, None, None]:
        """What matches in the folder."""
        plain = Path(self.__fspath__())
        return (self / each.relative_to(plain) for each in plain.glob(pattern, **others))

    def rglob(self, pattern: str, **others: Any) -> Generator[Any, None, None]:
        """What matches in the folder and below."""
        plain = Path(self.__fspath__())
        return (self / each.relative_to(plain) for each in plain.rglob(pattern, **others))


def sent_again(url: str, token: str | None, below: str) -> Path:
    """A path that came from another process."""
    from .origin import place_sent

    return place_sent(url, token, below)
