"""Place: what a text names, as a path: a path of this machine, or the mirror of a URL."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import translate
from pathlib import Path

from pantrace.errors import ReadError, UsageError
from pantrace.model import Record

from .bucket import Object, bucket_of
from .bucket_run import bucket_run_at, bucket_run_of, is_run
from .cache import below, cache_root, make_view, view_at
from .mirrored import Mirrored, Root, register, root_of, url_of
from .url import Url, is_url, parse

_FRESH = 10.0
"""Seconds for which a URL that one command names several times is not listed again."""
_FETCHED_AT_ONCE = 16
_placed: dict[tuple[str, str], tuple[float, Mirrored]] = {}
_objects: dict[str, dict[str, Object]] = {}
"""What the views of this process were made of, by their place on the disk."""


def path_at(given: str | os.PathLike[str]) -> Path:
    """The path that a text names. What is at a URL is fetched: an object, or everything in a folder; of a run
    directory only what says what is in it."""
    if isinstance(given, Mirrored):
        return given
    text = os.fspath(given)
    if not is_url(text):
        return Path(given)
    url = parse(text)
    name = str(url), os.fspath(cache_root())
    known = _placed.get(name)
    if known is not None and (time.monotonic() - known[0] < _FRESH or _is_written_here(known[1])):
        return known[1]
    found = _mirror(url)
    _placed[name] = time.monotonic(), found
    return found


def _is_written_here(path: Path) -> bool:
    remote = bucket_run_of(path)
    return remote is not None and remote.is_writing


def run_path_at(given: str | os.PathLike[str]) -> Path:
    """The path of a run directory that may not be there yet."""
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
    if is_run(url, objects):
        remote = bucket_run_at(url)
        remote.refresh(objects)
        return remote.path
    return _folder(url, objects)


def _file(url: Url, found: Object) -> Mirrored:
    """An object, with those beside it that share its name: the log of a database, a folder with more of it."""
    bucket = bucket_of(url.scheme, url.bucket)
    above = url.beside(url.key.rpartition("/")[0])
    stem = url.key[: len(url.key) - len(url.name)] + url.name.partition(".")[0]
    others = [each for each in bucket.folder(above.key) if each.key.startswith((f"{stem}.", f"{url.key}-"))]
    more = bucket.listing(stem) if stem != url.key else []
    objects = {each.key: each for each in (found, *others, *more) if not each.key.endswith("/")}
    return _folder(above, sorted(objects.values(), key=lambda each: each.key)) / url.name


_PART = re.compile(r"(.*?)/?parts/[^/]+\.parquet")


def _folder(url: Url, objects: list[Object]) -> Mirrored:
    keys = {each.key for each in objects}
    objects = [each for each in objects if each.size or not _is_folder_mark(each.key, keys)]
    left = {
        each.key for each in objects if (found := _PART.fullmatch(each.key)) and f"{found[1]}/manifest.sqlite" in keys
    }
    here = [each for each in objects if each.key not in left]
    _refuse_both(url, here)
    local = make_view(url, here, [each for each in objects if each.key in left])
    path = register(Root(os.fspath(local), str(url)))
    _objects[os.fspath(path)] = {below(url, each.key): each for each in objects}
    return path


def _is_folder_mark(key: str, keys: set[str]) -> bool:
    """Some tools write an empty object for each folder."""
    return any(each.startswith(f"{key}/") for each in keys)


def _refuse_both(url: Url, objects: list[Object]) -> None:
    keys = {each.key for each in objects}
    for key in keys:
        for end in [place for place, letter in enumerate(key) if letter == "/" and place > len(url.key)]:
            if key[:end] in keys:
                raise ReadError(
                    "an object, and there are others below it as if it were a folder: no disk can hold both",
                    path=str(url.beside(key[:end])),
                    remedy="name one of them, or rename the object",
                )


# Patterns


def paths_at(pattern: str) -> list[Path]:
    """What a URL with `*`, `?` or `[…]` matches, by name: objects, and folders of them."""
    url = parse(pattern)
    if re.search(r"[*?[]", url.bucket):
        raise UsageError(f"{pattern}: the name of a bucket cannot be a pattern")
    if not re.search(r"[*?[]", url.key):
        return [path_at(pattern)]
    segments = url.key.split("/")
    plain = next(number for number, each in enumerate(segments) if re.search(r"[*?[]", each))
    above = url.beside("/".join(segments[:plain]))
    wanted = re.compile("/".join(map(_segment, segments[plain:])).replace("(?:.*/)?/", "(?:.*/)?") + r"\Z")
    objects = bucket_of(url.scheme, url.bucket).listing(above.key)
    names = {below(above, each.key): each for each in objects}
    folders = {name[:end] for name in names for end in _slashes(name)}
    matched = [name for name in names if wanted.match(name)]
    whole = {name for name in folders if wanted.match(name)}
    whole = {name for name in whole if not any(name[:end] in whole for end in _slashes(name))}
    alone = [name for name in matched if not any(name[:end] in whole for end in _slashes(name))]
    if not whole and not alone:
        raise UsageError(f"no object matches {pattern!r}")
    found = [path_at(str(above.beside(f"{above.key}/{name}".lstrip("/")))) for name in sorted(whole)]
    if alone:
        top = _folder(above, [names[name] for name in alone])
        found += [top / name for name in alone]
    return sorted(found, key=str)


def _segment(pattern: str) -> str:
    if pattern == "**":
        return "(?:.*/)?"
    inner = translate(pattern).removeprefix("(?s:").removesuffix(r")\Z")
    return inner.replace(".*", "[^/]*").replace("(?>[^/]*?", "(?:[^/]*?")


def _slashes(name: str) -> list[int]:
    return [place for place, letter in enumerate(name) if letter == "/"]


# Other processes, other machines


class Origin(Record, frozen=True, kw_only=True):
    """Where a worker finds an input that was read from a bucket."""

    root: str
    """The URL of the view that it lies in."""
    view: str
    objects: tuple[Object, ...] = ()
    """The input and what is read beside it; empty where it is a folder."""


def origin_of(path: Path, beside: Iterable[Path]) -> Origin | None:
    """What a worker must know to find an input; None of one that is no copy of a bucket's."""
    found = root_of(path) if isinstance(path, Mirrored) else None
    if found is None or (contents := _objects.get(found[0].local)) is None:
        return None
    root = found[0]
    names = [each[1] for one in (path, *beside) if (each := root_of(one)) is not None and each[0] == root]
    objects = tuple(contents[name] for name in names if name in contents)
    return Origin(root=root.url, view=Path(root.local).parent.name, objects=() if path.is_dir() else objects)


_found: dict[str, Mirrored] = {}


def located(text: str, origin: Origin | None) -> Path:
    """The input of a part, in whatever process: from the view that is there, or fetched."""
    if origin is None or not is_url(text):
        return path_at(text)
    name = f"{origin.view} {origin.root} {text if origin.objects else ''}"
    if name not in _found:
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


# What was left in the bucket


def bring(path: Path) -> None:
    """Fetch a file of a run directory that was left in its bucket until now."""
    if os.path.exists(path) or (text := url_of(path)) is None:  # noqa: PTH110
        return
    url = parse(text)
    bucket = bucket_of(url.scheme, url.bucket)
    if bucket.head(url.key) is None:
        return  # whoever reads it says that it is missing
    local = Path(os.fspath(path))
    local.parent.mkdir(parents=True, exist_ok=True)
    temporary = local.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        bucket.fetch(url.key, temporary)
        temporary.replace(local)
    finally:
        temporary.unlink(missing_ok=True)


def bring_all(paths: Iterable[Path]) -> None:
    """The same for many, several at a time."""
    missing = [each for each in paths if url_of(each) is not None and not os.path.exists(each)]  # noqa: PTH110
    if missing:
        with ThreadPoolExecutor(min(_FETCHED_AT_ONCE, len(missing))) as pool:
            for _ in pool.map(bring, missing):
                pass


def size_in_bucket(path: Path) -> int | None:
    """How many bytes a file has that was left in its bucket; None where there is none."""
    if (text := url_of(path)) is None:
        return None
    if (remote := bucket_run_of(path)) is not None and (known := remote.size(path)) is not None:
        return known
    url = parse(text)
    found = bucket_of(url.scheme, url.bucket).head(url.key)
    return found.size if found is not None else None
