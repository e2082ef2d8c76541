"""Cache: copies of objects on the local disk, and views that put them where their keys say.

An object's copy is named by its URL and its tag, so it never is an old one. A view is made of links to copies and never
changes. What no process uses and is oldest goes when the whole becomes too large."""

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
"""Open files by which other processes see that a view is in use."""


def _nobody(_url: str, _objects: int, _size: int) -> None:
    pass


_told: Callable[[str, int, int], None] = _nobody


def tell_fetching(told: Callable[[str, int, int], None]) -> None:
    """Tell somebody before objects are fetched: from where, how many, and of how many bytes."""
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
    """Copies of objects, by key; those that are there already are not fetched."""
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
    with alone(target.with_suffix(".lock")):
        if target.exists():
            return
        temporary = target.with_name(f".{uuid.uuid4().hex}.tmp")
        try:
            bucket_of(url.scheme, url.bucket).fetch(found.key, temporary, found.size)
            if temporary.stat().st_size != found.size:
                raise ReadError("it changed while it was read", path=str(url.beside(found.key)), remedy="try again")
            os.utime(temporary, (found.modified, found.modified))
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    target.with_suffix(".lock").unlink(missing_ok=True)


def view_name(url: Url, objects: Iterable[Object]) -> str:
    """The name of a view: the same objects have the same."""
    told = repr((str(url), [(each.key, each.tag, each.size, each.modified) for each in objects]))
    return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def view_at(name: str) -> Path | None:
    """A view that is there; None where it is not. It is in use from now on."""
    folder = cache_root() / "views" / name
    if not folder.is_dir():
        return None
    _hold(folder)
    return next((each for each in folder.iterdir() if each.name != _IN_USE), None)


def make_view(url: Url, objects: list[Object], left: Iterable[Object] = ()) -> Path:
    """A folder, or a file, with these objects where their keys say, below the URL. Of those that are `left` in the
    bucket only the folders are made."""
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
    """The place of a key below a URL, as a file name that leads nowhere else."""
    place = key[len(url.key) :].lstrip("/")
    parts = place.split("/")
    if any(part in ("", ".", "..") or "\0" in part or "\\" in part for part in parts):
        raise ReadError("its key cannot be a file name", path=str(url.beside(key)), remedy="rename the object")
    return place


def link(copy: Path, target: Path) -> None:
    """Put a copy at a place, without copying it where the file system can do that."""
    try:
        os.link(copy, target)
    except FileExistsError:
        return
    except OSError:
        shutil.copy2(copy, target)


# Who is at it

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
        """One process or thread at a time."""
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    @contextmanager
    def trying(path: Path) -> Iterator[bool]:
        """Whether nobody else holds a lock, which is held here meanwhile if so."""
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
