"""From text to path: a local path, or the mirror of a URL."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from pantrace.errors import ReadError, UsageError

from .bucket import Object, bucket_of
from .bucket_run import bucket_run_at, bucket_run_of, is_run
from .cache import below, cache_root, make_view
from .mirrored import Mirrored, Root, register
from .url import Url, is_url, parse

_FRESH = 10.0
"""Seconds for which a URL is not listed again, if one command names it several times."""
_placed: dict[tuple[str, str], tuple[float, Mirrored]] = {}
_objects: dict[str, dict[str, Object]] = {}
"""The objects that the views of this process were made of, by local path."""


def path_at(given: str | os.PathLike[str]) -> Path:
    """The path that a text names. What is at a URL is fetched: an object, or everything in a folder. Of a run
    directory, only the manifest and the other small files are fetched."""
    if isinstance(given, Mirrored):
        return given
    text = os.fspath(given)
    if not is_url(text):
        return Path(given)
    url = parse(text)
    name = str(url), os.fspath(cache_root())
    known = _placed.get(name)
    # One command names the same URL several times; listing a large bucket each time would take minutes.
    if known is not None and (time.monotonic() - known[0] < _FRESH or _is_written_here(known[1])):
        return known[1]
    found = _mirror(url)
    _placed[name] = time.monotonic(), found
    return found


def _is_written_here(path: Path) -> bool:
    remote = bucket_run_of(path)
    return remote is not None and remote.is_writing


def run_path_at(given: str | os.PathLike[str]) -> Path:
    """The path of a run directory that may not exist yet."""
    if isinstance(given, Mirrored) or not is_url(os.fspath(given)):
        return given if isinstance(given, Mirrored) else Path(given)
    url = parse(os.fspath(given))
    if not url.key:
        raise UsageError(f"{url}: a run directory needs a name in the bucket: {url}/NAME")
    remote = bucket_run_at(url)
    if not remote.is_writing:
        remote.refresh()
    _placed[str(url), os.fspath(cache_root())] = time.monotonic(), remote.path
    return remote.path


def _mirror(url: Url) -> Mirrored:
    bucket = bucket_of(url.scheme, url.bucket)
    if url.key and (found := bucket.head(url.key)) is not None:
        return _file(url, found)
    objects = bucket.listing(url.key)
    if not objects:
        raise ReadError("there is nothing with this name", path=str(url), remedy="names in a bucket are case-sensitive")
    # A run directory changes while it is written, so it is not a view, which never changes.
    if is_run(url, objects):
        remote = bucket_run_at(url)
        remote.refresh(objects)
        return remote.path
    return folder_of(url, objects)


def _file(url: Url, found: Object) -> Mirrored:
    """An object and those next to it that share its name: the log of a database, a folder that belongs to it."""
    bucket = bucket_of(url.scheme, url.bucket)
    above = url.beside(url.key.rpartition("/")[0])
    stem = url.key[: len(url.key) - len(url.name)] + url.name.partition(".")[0]
    others = [each for each in bucket.folder(above.key) if each.key.startswith((f"{stem}.", f"{url.key}-"))]
    more = bucket.listing(stem) if stem != url.key else []
    objects = {each.key: each for each in (found, *others, *more) if not each.key.endswith("/")}
    return folder_of(above, sorted(objects.values(), key=lambda each: each.key)) / url.name


_PART = re.compile(r"(.*?)/?parts/[^/]+\.parquet")


def folder_of(url: Url, objects: list[Object]) -> Mirrored:
    """A folder with these objects. Parts of run directories in it stay in the bucket until they are read."""
    keys = {each.key for each in objects}
    objects = [each for each in objects if each.size or not _is_folder_mark(each.key, keys)]
    left = {
        each.key for each in objects if (found := _PART.fullmatch(each.key)) and f"{found[1]}/manifest.sqlite" in keys
    }
    here = [each for each in objects if each.key not in left]
    # S3 allows "a" and "a/b" at the same time; on a disk, "a" cannot be both a file and a folder.
    _refuse_both(url, here)
    local = make_view(url, here, [each for each in objects if each.key in left])
    path = register(Root(os.fspath(local), str(url)))
    _objects[os.fspath(path)] = {below(url, each.key): each for each in objects}
    return path


def objects_of(root: Root) -> dict[str, Object] | None:
    """The objects that a view was made of in this process, by name; None for a run directory."""
    return _objects.get(root.local)


def _is_folder_mark(key: str, keys: set[str]) -> bool:
    """Whether an object only marks a folder: some tools write an empty object for each."""
    return any(each.startswith(f"{key}/") for each in keys)


def _refuse_both(url: Url, objects: list[Object]) -> None:
    keys = {each.key for each in objects}
    for key in keys:
        for end in [place for place, letter in enumerate(key) if letter == "/" and place > len(url.key)]:
            if key[:end] in keys:
                raise ReadError(
                    "both an object and a folder of other objects: a disk cannot store both",
                    path=str(url.beside(key[:end])),
                    remedy="name one of them, or rename the object",
                )
