"""Store: the run directory that survives `kill -9`: Parquet parts, a manifest of those that count, SQL over them."""

from __future__ import annotations

from .directory import RunDirectory
from .parquet import Staged, stage_part
from .query import Answer, query
from .reading import StoredScore
from .rows import Result
from .run_file import FILES, is_run_directory

__all__ = [
    "FILES",
    "Answer",
    "Result",
    "RunDirectory",
    "Staged",
    "StoredScore",
    "is_run_directory",
    "query",
    "stage_part",
]
