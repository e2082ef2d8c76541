"""Bucket: what obstore does, with errors as sentences. Credentials come from the environment, as obstore reads it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from pantrace.errors import MissingExtra, PantraceError, ReadError, WriteError
from pantrace.model import Record

from .url import Url

_AT_ONCE = 8 << 20
"""Bytes that are taken from the network before they are written."""


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
        with self._told(prefix):
            found = [_object(each) for some in self._store.list(prefix or None, chunk_size=1000) for each in some]
        return sorted((each for each in found if not each.key.endswith("/")), key=lambda each: each.key)

    def folder(self, prefix: str) -> list[Object]:
        """Objects directly in a folder."""
        with self._told(prefix):
            found = self._store.list_with_delimiter(prefix or None)
        return sorted((_object(each) for each in found["objects"]), key=lambda each: each.key)

    def head(self, key: str) -> Object | None:
        """An object; None where there is none."""
        with self._told(key):
            try:
                return _object(self._store.head(key))
            except FileNotFoundError:
                return None

    def fetch(self, key: str, target: Path) -> None:
        """The bytes of an object, as a file."""
        with self._told(key):
            found = self._store.get(key)
            with target.open("wb") as file:
                for piece in found.stream(min_chunk_size=_AT_ONCE):
                    file.write(piece)

    def read(self, key: str) -> tuple[bytes, str]:
        """A small object and its tag."""
        with self._told(key):
            found = self._store.get(key)
            return bytes(found.bytes()), found.meta["e_tag"] or ""

    def write(self, key: str, content: bytes | Path, *, over: str | None = None, new: bool = False) -> str:
        """Write an object whole; gives its tag. `over`: only where the one with this tag stands; `new`: only where
        there is none. Else a Conflict."""
        mode: Any = "create" if new else {"e_tag": over} if over is not None else "overwrite"
        with self._told(key):
            if isinstance(content, bytes):
                told = self._store.put(key, content, mode=mode)
            else:
                with content.open("rb") as file:
                    told = self._store.put(key, file, mode=mode)
        if not told["e_tag"]:
            raise WriteError(f"{self.url(key)}: the server gives no ETag; two writers could not be told apart")
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
        return ReadError(f"cannot be kept on this machine: {error.strerror}", path=where)
    return ReadError(f"the store answered: {' '.join(text.split())[:300]}", path=where)


@lru_cache(maxsize=64)
def bucket_of(scheme: str, name: str) -> Bucket:
    """The connection to a bucket; one for each process."""
    return Bucket(scheme, name)
