"""Imports that evaluating a part needs and no module has at its top; for the server that workers are forked from."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

from . import measure_part_preload as measure_part_preload

with suppress(ImportError):  # an extra; `eval` reports it when it is needed
    import_module("pyarrow.parquet")
