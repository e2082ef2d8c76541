"""Bucket: obstore with readable errors. Credentials come from the environment, as obstore reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from pantrace.errors import MissingExtra, PantraceError, ReadError, WriteError
from pantrace.model import Record

from .in_time import TooSlow, in_time
from .url import Url

_AT_ONCE = 256 << 10
"""Bytes that are read from the network before they are written; each such piece must arrive in time."""
_MOST_OBJECTS = 1_000_000
"""Objects below one name. A longer listing never ends, or is more than one command can read."""
_SMALL = 1 << 20
"""Maximum bytes of an object that is read into memory."""


class Object(Record, frozen=True, kw_only=True):
    """An object of a bucket, as a listing describes it."""

    key: str
    size: int
    modified: float
    tag: str
    """Changes whenever the content does (ETag)."""


class Conflict(PantraceError):
    """A conditional write was refused: another process has written first."""


class NoSuchObject(ReadError):
    """There is nothing with this key."""


class Bucket:
    """One bucket. All errors are PantraceErrors that name a URL."""

    def __init__(self, scheme: str, name: str):
        self._root = Url(scheme, name, "")
        try:
            from obstore import store
        except ImportError:
            raise MissingExtra(f"{scheme}://", "cloud") from None
        kind: Any = {"s3": store.S3Store, "gs": store.GCSStore, "az": store.AzureStore}[scheme]
        with self._told(""):
            # Plain http is used only if AWS_ENDPOINT_URL says so: the user's own server, on loopback or in a cluster.
            self._store = kind(
                name,
                client_options={"allow_http": True, "connect_timeout": "10s", "timeout": "10m"},
                retry_config={"max_retries": 4},
            )

    def url(self, key: str) -> str:
        """The URL of an object."""
        return str(self._root.beside(key))

    def listing(self, prefix: str) -> list[Object]:
        """All objects below a prefix, by key, without those that only mark an empty folder."""
        found: dict[str, Object] = {}
        with self._told(prefix):
            for some in in_time(lambda: self._store.list(prefix or None, chunk_size=1000)):
                for each in some:
                    self._add(found, _object(each), prefix)
        return [found[key] for key in sorted(found) if not key.endswith("/")]

    def _add(self, found: dict[str, Object], new: Object, prefix: str) -> None:
        """Note an object of a listing; ReadError if no honest server would list it."""
        if prefix and not new.key.startswith(f"{prefix}/"):
            raise ReadError(f"the server lists {self.url(new.key)[:200]}, which is not below it", path=self.url(prefix))
        # A server that repeats a page would keep us listing until the limit; no real listing has a key twice.
        if new.key in found:
            raise ReadError("the server lists the same object again and again", path=self.url(new.key))
        found[new.key] = new
        if len(found) > _MOST_OBJECTS:
            raise ReadError(
                f"there are more than {_MOST_OBJECTS:,} objects", path=self.url(prefix), remedy="name a folder in it"
            )

    def folder(self, prefix: str) -> list[Object]:
        """Objects directly in a folder."""
        found: dict[str, Object] = {}
        with self._told(prefix):
            for each in self._asked(lambda: self._store.list_with_delimiter(prefix or None))["objects"]:
                self._add(found, _object(each), prefix)
        return [found[key] for key in sorted(found)]

    @staticmethod
    def _asked(question: Callable[[], Any]) -> Any:
        """One answer, or TooSlow."""
        return next(in_time(lambda: [question()]))

    def head(self, key: str) -> Object | None:
        """An object; None if it does not exist."""
        with self._told(key):
            try:
                return _object(self._asked(lambda: self._store.head(key)))
            except FileNotFoundError:
                return None

    def fetch(self, key: str, target: Path, size: int) -> str:
        """Write the bytes of an object to a file; returns its tag. Never more bytes than its listing announced."""
        with target.open("wb") as file:
            return self._taken(key, size, file.write)

    def read(self, key: str, most: int = _SMALL) -> tuple[bytes, str]:
        """A small object and its tag."""
        pieces: list[bytes] = []
        tag = self._taken(key, most, pieces.append)
        return b"".join(pieces), tag

    def _taken(self, key: str, most: int, take: Callable[[bytes], object]) -> str:
        with self._told(key):
            found = self._asked(lambda: self._store.get(key))
            size = 0
            for piece in in_time(lambda: found.stream(min_chunk_size=_AT_ONCE)):
                size += len(piece)
                if size > most:
                    raise ReadError(
                        f"it has more than the {most:,} bytes that were expected",
                        path=self.url(key),
                        remedy="if it has changed meanwhile, try again",
                    )
                take(bytes(piece))
            return found.meta["e_tag"] or ""

    def write(self, key: str, content: bytes | Path, *, over: str | None = None, new: bool = False) -> str:
        """Write a whole object; returns its tag. `over`: only over the object with this tag; `new`: only if
        there is none. Otherwise a Conflict."""
        mode: Any = "create" if new else {"e_tag": over} if over is not None else "overwrite"
        with self._told(key):
            if isinstance(content, bytes):
                told = self._asked(lambda: self._store.put(key, content, mode=mode))
            else:
                with content.open("rb") as file:
                    told = self._store.put(key, file, mode=mode)
        # Conditional writes are the only protection against a second writer, so a server without ETags is refused.
        if not told["e_tag"]:
            raise WriteError(f"{self.url(key)}: the server gives no ETag; two writers could not be distinguished")
        return str(told["e_tag"])

    def delete(self, keys: list[str]) -> None:
        """Remove objects; one that does not exist is not an error."""
        with self._told(keys[0] if keys else ""):
            try:
                self._store.delete(keys)
            except FileNotFoundError:  # some providers report it, and stop at the first missing object
                for key in keys:
                    with suppress(FileNotFoundError):
                        self._store.delete(key)

    @contextmanager
    def _told(self, key: str) -> Iterator[None]:
        from obstore import exceptions

        where = self.url(key)
        try:
            yield
        except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
            raise Conflict(f"{where}: somebody else has written it") from None
        except TooSlow as error:
            raise ReadError(
                f"the server is too slow: {error}", path=where, remedy="PANTRACE_CLOUD_TIMEOUT allows more seconds"
            ) from None
        except (exceptions.BaseError, OSError) as error:
            raise _sentence(self._root, where, error) from None


def _object(found: Any) -> Object:
    return Object(
        key=found["path"],
        size=found["size"],
        # Whole seconds: listings have fractions, single objects have none, and the cache names a copy by this time.
        modified=float(int(found["last_modified"].timestamp())),
        tag=found["e_tag"] or found["version"] or "",
    )


_KEYS = {
    "s3": "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION (and AWS_ENDPOINT_URL, if it is not Amazon's)",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS",
    "az": "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
_METADATA = ("169.254.169.254", "169.254.170.2", "metadata.google.internal")
"""Addresses that obstore asks for credentials if none are given; on other machines nothing answers there."""


def _sentence(root: Url, where: str, error: Exception) -> ReadError:
    # obstore appends its internal Rust error, which helps nobody who reads the sentence.
    text = str(error).partition("\n\nDebug source")[0]
    known = type(error).__name__
    if "NoSuchBucket" in text or "ContainerNotFound" in text:
        return ReadError("there is no such bucket", path=str(root), remedy="check its name and the region")
    if any(each in text for each in _METADATA) or "Account must be specified" in text:
        return ReadError("no credentials were found", path=where, remedy=_KEYS[root.scheme])
    if known in ("PermissionDeniedError", "UnauthenticatedError", "PermissionError") or " 403 " in text:
        return ReadError("access is denied", path=where, remedy="the credentials do not allow it, or are wrong")
    if isinstance(error, FileNotFoundError):
        return NoSuchObject("there is no such object", path=where)
    if "error sending request" in text or "HTTP error" in text or "timed out" in text:
        return ReadError("the server cannot be reached", path=where, remedy="check the network and AWS_ENDPOINT_URL")
    if isinstance(error, OSError) and error.strerror:
        return ReadError(f"cannot be stored on this machine: {error.strerror}", path=where)
    return ReadError(f"the store answered: {' '.join(text.split())[:300]}", path=where)


@lru_cache(maxsize=64)
def bucket_of(scheme: str, name: str) -> Bucket:
    """The connection to a bucket; one for each process."""
    return Bucket(scheme, name)
