"""Origin: how another process, maybe on another machine, finds an input or a run directory of a bucket."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pantrace.model import Record

from .bucket import Object
from .bucket_run import bucket_run_at
from .cache import make_view, view_at
from .mirrored import Mirrored, Root, register, root_of
from .paths import objects_of, path_at
from .url import is_url, parse


class Origin(Record, frozen=True, kw_only=True):
    """Where a worker finds an input that was read from a bucket."""

    root: str
    """The URL of the view that contains it."""
    view: str
    objects: tuple[Object, ...] = ()
    """The input and the files read with it; empty if it is a folder."""


def origin_of(path: Path, beside: Iterable[Path]) -> Origin | None:
    """What a worker must know to find an input; None if the input is not a copy from a bucket."""
    found = root_of(path) if isinstance(path, Mirrored) else None
    if found is None or (contents := objects_of(found[0])) is None:
        return None
    root = found[0]
    names = [each[1] for one in (path, *beside) if (each := root_of(one)) is not None and each[0] == root]
    objects = tuple(contents[name] for name in names if name in contents)
    return Origin(root=root.url, view=Path(root.local).parent.name, objects=() if path.is_dir() else objects)


_found: dict[str, Mirrored] = {}


def located(text: str, origin: Origin | None) -> Path:
    """The input of a part, in any process: from an existing view, or fetched."""
    if origin is None or not is_url(text):
        return path_at(text)
    name = f"{origin.view} {origin.root} {text if origin.objects else ''}"
    if name not in _found:
        # By the view's name, without listing the bucket: the worker must see what the coordinator saw, not what is new.
        local = view_at(origin.view)
        if local is None and origin.objects:
            local = make_view(parse(origin.root), sorted(origin.objects, key=lambda each: each.key))
        if local is None:
            return path_at(text)
        _found[name] = register(Root(os.fspath(local), origin.root))
    return _found[name] / text[len(origin.root) :].lstrip("/")


def place_sent(url: str, token: str | None, within: str) -> Path:
    """A path that came from another process. With a token it is a run directory, whose writer may share our disk."""
    if token is None:
        return path_at(f"{url}/{within}" if within else url)
    remote = bucket_run_at(parse(url))
    if not remote.is_writing:
        remote.join(token)
    return remote.path / within
