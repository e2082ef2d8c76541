"""What evaluating a part needs and nobody imports at the top; for the server that workers are forked from."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

from . import measure_part_preload as measure_part_preload

with suppress(ImportError):  # an extra; `eval` says so where it is needed
    import_module("pyarrow.parquet")
