"""URL: the address of something in a bucket."""

from __future__ import annotations

import re
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

from pantrace.errors import UsageError

SCHEMES = {"s3": "Amazon S3 and what speaks its protocol", "gs": "Google Cloud Storage", "az": "Azure Blob Storage"}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)


class Url(NamedTuple):
    """A bucket, and a key in it; the key of a whole bucket is empty."""

    scheme: str
    bucket: str
    key: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}" + (f"/{self.key}" if self.key else "")

    @property
    def name(self) -> str:
        """The name of the local file or folder."""
        return self.key.rpartition("/")[2] or self.bucket

    def beside(self, key: str) -> Url:
        """Another key of the same bucket."""
        return self._replace(key=key)


def is_url(text: str) -> bool:
    """Whether a text is meant as a URL. A path never is: in a path, two slashes in a row mean the same as one."""
    return _URL.fullmatch(text) is not None


def parse(text: str) -> Url:
    """A URL of a bucket; UsageError for any other."""
    found = _URL.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is not a URL")
    scheme, rest = found[1].lower(), found[2]
    if scheme not in SCHEMES:
        raise UsageError(f"{text}: {_unknown(scheme)}")
    bucket, _, key = rest.partition("/")
    if not bucket:
        raise UsageError(f"{text}: names no bucket; write {scheme}://BUCKET/NAME")
    return Url(scheme, bucket, key.strip("/"))


def _unknown(scheme: str) -> str:
    if scheme == "file":
        return "name the path itself, without file://"
    if scheme in ("http", "https"):
        return "web pages are not read; download it and name the file"
    known = ", ".join(f"{each}://" for each in SCHEMES)
    close = get_close_matches(scheme, SCHEMES, n=1, cutoff=0.5)
    return f"{scheme}:// is not known" + (f"; did you mean {close[0]}://?" if close else f"; known: {known}")


def path_here(given: str | PathLike[str]) -> Path:
    """A path to write to; UsageError if it is a URL."""
    if is_url(text := fspath(given)):
        raise UsageError(f"{text}: only `eval --out` writes to a bucket; write a local file and copy it")
    return Path(given)
