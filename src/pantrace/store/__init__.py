"""Store: run directories that survive `kill -9`. Parquet parts, a manifest of those that count, and SQL over them."""

from __future__ import annotations

from .absent import absent_of
from .directory import RunDirectory
from .json_text import column_value
from .known_parts import KnownParts
from .manifest import Intake
from .opening import OWN_NAMES
from .parquet import Staged, require_analysis, stage_part
from .query import Answer, query, workbench
from .reading import Outline, StoredScore, read_outline_tables, read_tables
from .rows import Kept, Result, SampleTexts, sample_of
from .run_file import FILES, LABELS, PARTS, RECORDINGS, WORKSPACES, is_run_directory
from .unfinished import Unfinished, unfinished
from .verify import unverified

__all__ = [
    "FILES",
    "LABELS",
    "OWN_NAMES",
    "PARTS",
    "RECORDINGS",
    "WORKSPACES",
    "Answer",
    "Intake",
    "Kept",
    "KnownParts",
    "Outline",
    "Result",
    "RunDirectory",
    "SampleTexts",
    "Staged",
    "StoredScore",
    "Unfinished",
    "absent_of",
    "column_value",
    "is_run_directory",
    "query",
    "read_outline_tables",
    "read_tables",
    "require_analysis",
    "sample_of",
    "stage_part",
    "unfinished",
    "unverified",
    "workbench",
]
