"""Bucket: what obstore does, with errors as sentences. Credentials come from the environment, as obstore reads it."""

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
"""Bytes that are taken from the network before they are written, and that must come in time."""
_MOST_OBJECTS = 1_000_000
"""Objects below one name: a listing that is longer never ends, or is more than one command can read."""
_SMALL = 1 << 20
"""Bytes of an object that is read into memory."""


class Object(Record, frozen=True, kw_only=True):
    """An object of a bucket, as a listing told it."""

    key: str
    size: int
    modified: float
    tag: str
    """Changes whenever the content does (ETag)."""


class Conflict(PantraceError):
    """A conditional write was refused: somebody else was there first."""


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
            # Plain http only where the address given says so: a server of one's own, on loopback or in a cluster.
            self._store = kind(
                name,
                client_options={"allow_http": True, "connect_timeout": "10s", "timeout": "10m"},
                retry_config={"max_retries": 4},
            )

    def url(self, key: str) -> str:
        """How people name an object."""
        return str(self._root.beside(key))

    def listing(self, prefix: str) -> list[Object]:
        """All objects below a prefix, by key; those that stand for empty folders are none."""
        found: dict[str, Object] = {}
        with self._told(prefix):
            for some in in_time(lambda: self._store.list(prefix or None, chunk_size=1000)):
                for each in some:
                    self._add(found, _object(each), prefix)
        return [found[key] for key in sorted(found) if not key.endswith("/")]

    def _add(self, found: dict[str, Object], new: Object, prefix: str) -> None:
        """Note an object of a listing; a ReadError where the listing is none that a server makes in good faith."""
        if prefix and not new.key.startswith(f"{prefix}/"):
            raise ReadError(f"the server lists {self.url(new.key)[:200]}, which is not below it", path=self.url(prefix))
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
        """One answer, in time."""
        return next(in_time(lambda: [question()]))

    def head(self, key: str) -> Object | None:
        """An object; None where there is none."""
        with self._told(key):
            try:
                return _object(self._asked(lambda: self._store.head(key)))
            except FileNotFoundError:
                return None

    def fetch(self, key: str, target: Path, size: int) -> str:
        """The bytes of an object, as a file; gives its tag. No more of them are taken than its listing told of."""
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
        """Write an object whole; gives its tag. `over`: only where the one with this tag stands; `new`: only where
        there is none. Else a Conflict."""
        mode: Any = "create" if new else {"e_tag": over} if over is not None else "overwrite"
        with self._told(key):
            if isinstance(content, bytes):
                told = self._asked(lambda: self._store.put(key, content, mode=mode))
            else:
                with content.open("rb") as file:
                    told = self._store.put(key, file, mode=mode)
        if not told["e_tag"]:
            raise WriteError(f"{self.url(key)}: the server gives no ETag; two writers could not be distinguished")
        return str(told["e_tag"])

    def delete(self, keys: list[str]) -> None:
        """Remove objects; those that are gone already are no error."""
        with self._told(keys[0] if keys else ""):
            try:
                self._store.delete(keys)
            except FileNotFoundError:  # not every provider takes it lightly
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
        # Listings have fractions of seconds where a single object has none.
        modified=float(int(found["last_modified"].timestamp())),
        tag=found["e_tag"] or found["version"] or "",
    )


_KEYS = {
    "s3": "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION (and AWS_ENDPOINT_URL, if it is not Amazon's)",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS",
    "az": "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
_METADATA = ("169.254.169.254", "169.254.170.2", "metadata.google.internal")
"""Where a machine of the cloud is asked who it is, when no credentials are given."""


def _sentence(root: Url, where: str, error: Exception) -> ReadError:
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
