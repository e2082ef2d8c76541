"""Cache: copies of objects on the local disk, and views that put them where their keys say.

A copy is named by its object's URL and tag, so it is never out of date. A view consists of links to copies and never
changes. When the cache becomes too large, the oldest copies that no process uses are deleted."""

from __future__ import annotations

import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from pantrace.errors import ReadError, UsageError

from .bucket import Object, bucket_of
from .room import make_room
from .url import Url

_THREADS = 16
MOST = 20 << 30
"""Bytes that are kept for a later command, unless PANTRACE_CACHE_SIZE says otherwise."""
_held: list[int] = []
"""Open, locked files that tell other processes which views are in use."""


def _nobody(_url: str, _objects: int, _size: int) -> None:
    pass


_told: Callable[[str, int, int], None] = _nobody


def tell_fetching(told: Callable[[str, int, int], None]) -> None:
    """Set the function that is called before objects are fetched, with the URL, their number and their bytes."""
    global _told
    _told = told


def cache_root() -> Path:
    """Where copies are kept. Read here and not by the command line, because nodes of a cluster have none."""
    named = os.environ.get("PANTRACE_CACHE")
    if named:
        return Path(named).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "pantrace" / "buckets"


def _most() -> int:
    text = os.environ.get("PANTRACE_CACHE_SIZE", "")
    if text and not text.isdigit():
        raise UsageError(f"PANTRACE_CACHE_SIZE is {text!r}; it is a number of bytes")
    return int(text) if text else MOST


def fetch_all(url: Url, objects: Iterable[Object]) -> dict[str, Path]:
    """Copies of objects, by key; only those that are missing are fetched."""
    found = {each.key: _copy_of(url, each) for each in objects}
    wanted = [each for each in objects if not found[each.key].exists()]
    if wanted:
        size = sum(each.size for each in wanted)
        make_room(cache_root(), size, _most(), str(url), _is_held)
        _told(str(url), len(wanted), size)
        with ThreadPoolExecutor(min(_THREADS, len(wanted))) as pool:
            for _ in pool.map(lambda each: _fetch(url, each, found[each.key]), wanted):
                pass
    return found


def _copy_of(url: Url, found: Object) -> Path:
    told = repr((str(url.beside(found.key)), found.tag, found.size, found.modified))
    name = sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
    return cache_root() / "objects" / name[:2] / name


def _fetch(url: Url, found: Object, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Two commands that need the same object fetch it once.
    with alone(target.with_suffix(".lock")):
        if target.exists():
            return
        temporary = target.with_name(f".{uuid.uuid4().hex}.tmp")
        try:
            bucket_of(url.scheme, url.bucket).fetch(found.key, temporary, found.size)
            if temporary.stat().st_size != found.size:
                raise ReadError("it changed while it was read", path=str(url.beside(found.key)), remedy="try again")
            # The object's time, not the download's: the fingerprint of an input contains it.
            os.utime(temporary, (found.modified, found.modified))
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    target.with_suffix(".lock").unlink(missing_ok=True)


def view_name(url: Url, objects: Iterable[Object]) -> str:
    """The name of a view; the same objects always give the same name."""
    told = repr((str(url), [(each.key, each.tag, each.size, each.modified) for each in objects]))
    return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def view_at(name: str) -> Path | None:
    """An existing view, which is in use from now on; None if there is none."""
    folder = cache_root() / "views" / name
    if not folder.is_dir():
        return None
    _hold(folder)
    return next((each for each in folder.iterdir() if each.name != _IN_USE), None)


def make_view(url: Url, objects: list[Object], left: Iterable[Object] = ()) -> Path:
    """A folder, or a file, with these objects at the places that their keys name. Objects that are `left` in the bucket
    only get their folders."""
    name = view_name(url, [*objects, *left])
    if (known := view_at(name)) is not None:
        return known
    copies = fetch_all(url, objects)
    folder = cache_root() / "views" / name
    temporary = folder.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        temporary.mkdir(parents=True)
        (temporary / _IN_USE).touch()
        top = temporary / url.name
        for each in objects:
            target = top / below(url, each.key) if each.key != url.key else top
            target.parent.mkdir(parents=True, exist_ok=True)
            link(copies[each.key], target)
        for each in left:
            (top / below(url, each.key)).parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process made the same
                raise
    except OSError as error:
        raise ReadError(f"cannot be stored on this machine: {error.strerror}", path=str(url)) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _hold(folder)
    return folder / url.name


def below(url: Url, key: str) -> str:
    """The place of a key below a URL, as a relative path that cannot lead out of the folder."""
    place = key[len(url.key) :].lstrip("/")
    # Anybody who may write to the bucket chooses the keys: "../../.bashrc" must not become a file of ours.
    parts = place.split("/")
    if any(part in ("", ".", "..") or "\0" in part or "\\" in part for part in parts):
        raise ReadError("its key cannot be a file name", path=str(url.beside(key)), remedy="rename the object")
    return place


def link(copy: Path, target: Path) -> None:
    """Put a copy at a place: as a hard link, or as a real copy if the file system has none."""
    try:
        os.link(copy, target)
    except FileExistsError:
        return
    except OSError:
        shutil.copy2(copy, target)


# Locks: who uses what. Windows has no flock; there, nothing is locked.

_IN_USE = ".in-use"

if sys.platform == "win32":

    @contextmanager
    def alone(path: Path) -> Iterator[None]:
        yield

    @contextmanager
    def trying(path: Path) -> Iterator[bool]:
        yield True

    def _hold(folder: Path) -> None:
        pass

    def _is_held(folder: Path) -> bool:
        return False
else:
    import fcntl

    @contextmanager
    def alone(path: Path) -> Iterator[None]:
        """Run the block in one process or thread at a time."""
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    @contextmanager
    def trying(path: Path) -> Iterator[bool]:
        """Whether the lock is free; if so, it is held during the block."""
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            yield True
        finally:
            os.close(handle)

    def _hold(folder: Path) -> None:
        with suppress(OSError):
            handle = os.open(folder / _IN_USE, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_SH)
            os.utime(folder)
            _held.append(handle)

    def _is_held(folder: Path) -> bool:
        try:
            handle = os.open(folder / _IN_USE, os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(handle)
        return False
