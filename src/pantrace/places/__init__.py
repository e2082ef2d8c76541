"""Places: buckets of S3, Google Cloud Storage and Azure, mirrored on the local disk. The other layers only see paths.

A URL becomes a path of the class `Mirrored`: the system sees the local copy, people see the URL."""

from __future__ import annotations

from .bucket_run import BucketRun, bucket_run_of
from .cache import tell_fetching
from .left_in_bucket import bring, bring_all, size_in_bucket
from .mirrored import is_mirrored, url_of
from .origin import Origin, located, origin_of
from .paths import path_at, run_path_at
from .patterns import paths_at
from .url import is_url, path_here

__all__ = [
    "BucketRun",
    "Origin",
    "bring",
    "bring_all",
    "bucket_run_of",
    "is_mirrored",
    "is_url",
    "located",
    "origin_of",
    "path_at",
    "path_here",
    "paths_at",
    "run_path_at",
    "size_in_bucket",
    "tell_fetching",
    "url_of",
]
