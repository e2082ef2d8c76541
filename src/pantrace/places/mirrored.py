"""Mirrored: a path on this disk whose name, to people, is a URL.

`str(path)` is the URL: in messages, in results, and in the name of an input, which so is the same on every machine.
`os.fspath(path)`, which is what every call of the system uses, is the local copy."""

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
    """Of a run directory: known to those who share the disk with its writer."""


_roots: dict[str, Root] = {}


def register(root: Root) -> Mirrored:
    """Note what a local path mirrors; gives the path."""
    # Without links: whoever resolves a path must still be told its URL.
    real = os.path.realpath(root.local)
    _roots[real] = root._replace(local=real)
    return Mirrored(real)


def root_of(path: str | os.PathLike[str]) -> tuple[Root, str] | None:
    """What a path is part of, and where in it; None where it mirrors nothing."""
    local = os.path.abspath(os.fspath(path))  # noqa: PTH100 -- of a Mirrored path, the string is what is wanted
    while True:
        if (root := _roots.get(local)) is not None:
            return root, os.path.abspath(os.fspath(path))[len(local) :].lstrip(os.sep)  # noqa: PTH100
        above = os.path.dirname(local)  # noqa: PTH120
        if above == local:
            return None
        local = above


def url_of(path: str | os.PathLike[str]) -> str | None:
    """The URL that a path mirrors; None of any other."""
    found = root_of(path) if _roots else None
    if found is None:
        return None
    root, below = found
    return f"{root.url}/{below.replace(os.sep, '/')}" if below else root.url


def is_mirrored(path: object) -> bool:
    """Whether a path is named by a URL."""
    return isinstance(path, Mirrored)


class Mirrored(_Path):
    """A path below a registered root. What is made of it (`/`, `parent`, `with_name`) is of this class, too."""

    __slots__ = ()

    def __str__(self) -> str:
        return url_of(self) or super().__str__()

    def __fspath__(self) -> str:
        return super().__str__()

    def __repr__(self) -> str:
        return f"Mirrored({str(self)!r})"

    def __reduce__(self) -> Any:
        """Sent to another process as a URL, which finds or makes its own copy."""
        found = root_of(self)
        if found is None:
            return Path, (os.fspath(self),)
        root, below = found
        return sent_again, (root.url, root.token, below)

    # Later versions of Python take str() of a path here and give it to the system.

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
