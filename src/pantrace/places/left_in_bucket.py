"""Parts of run directories that stay in the bucket until they are read."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .bucket import NoSuchObject, bucket_of
from .bucket_run import bucket_run_of
from .mirrored import url_of
from .url import parse

_AT_ONCE = 16


def bring(path: Path) -> None:
    """Fetch a file of a run directory that was left in its bucket until now."""
    if (text := url_of(path)) is None or os.path.exists(path):  # noqa: PTH110
        return
    url = parse(text)
    local = Path(os.fspath(path))
    local.parent.mkdir(parents=True, exist_ok=True)
    temporary = local.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        if (size := size_in_bucket(path)) is not None:
            bucket_of(url.scheme, url.bucket).fetch(url.key, temporary, size)
            temporary.replace(local)
    except NoSuchObject:
        pass  # the reader reports the missing file, and knows what it is
    finally:
        temporary.unlink(missing_ok=True)


def bring_all(paths: Iterable[Path]) -> None:
    """`bring` for many files, several at a time."""
    missing = [each for each in paths if url_of(each) is not None and not os.path.exists(each)]  # noqa: PTH110
    if missing:
        with ThreadPoolExecutor(min(_AT_ONCE, len(missing))) as pool:
            for _ in pool.map(bring, missing):
                pass


def size_in_bucket(path: Path) -> int | None:
    """Bytes of a file that was left in its bucket; None if there is none."""
    if (text := url_of(path)) is None:
        return None
    # The listing knows the size already; asking the server for each of a thousand parts would take minutes.
    if (remote := bucket_run_of(path)) is not None and (known := remote.size(path)) is not None:
        return known
    url = parse(text)
    found = bucket_of(url.scheme, url.bucket).head(url.key)
    return found.size if found is not None else None
