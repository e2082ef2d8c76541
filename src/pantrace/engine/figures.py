"""Figures: all numbers of a run directory, on disk by measure, so that only one measure at a time is in memory."""

from __future__ import annotations

import tempfile
from typing import Any
from weakref import finalize

from pantrace.store import column_value

_FEW = 30
"""Up to this many texts are decoded one by one: setting up Arrow's reader takes longer."""


class Figures:
    """Numbers of samples. A sample is identified by its place in the run directory, a measure by its number."""

    def __init__(self) -> None:
        # The file has no name, so nobody else sees it, and the system removes it even after a crash.
        self._file = tempfile.TemporaryFile(prefix="pantrace-")  # noqa: SIM115
        finalize(self, self._file.close)
        self._blocks: dict[int, list[tuple[int, int]]] = {}
        self._end = 0

    def add(self, measure: int, places: Any, values: Any) -> None:
        """Numbers of one measure; a sample may have several."""
        self._blocks.setdefault(measure, []).append((self._end, len(places)))
        self._end += self._file.write(places.astype("uint32").tobytes())
        self._end += self._file.write(values.astype("float64").tobytes())

    def measures(self) -> list[int]:
        """The measures that have a number."""
        return list(self._blocks)

    def of(self, measure: int) -> tuple[Any, Any]:
        """Places and values of one measure."""
        import numpy as np

        places, values = [np.empty(0, np.uint32)], [np.empty(0, np.float64)]
        for start, count in self._blocks.get(measure, ()):
            self._file.seek(start)
            places.append(np.frombuffer(self._file.read(4 * count), np.uint32))
            values.append(np.frombuffer(self._file.read(8 * count), np.float64))
        # `add` writes at the current position, which must be the end again.
        self._file.seek(self._end)
        return np.concatenate(places), np.concatenate(values)

    def close(self) -> None:
        """Free the disk space."""
        self._file.close()


class NumberTexts:
    """JSON objects of numbers by name, as a score stores its measures, as columns; NaN if there is no number."""

    def columns(self, texts: list[str]) -> dict[str, Any]:
        """Each name with a number for each text."""
        found = _by_arrow(texts) if len(texts) > _FEW else None
        return found if found is not None else self._one_by_one(texts)

    def _one_by_one(self, texts: list[str]) -> dict[str, Any]:
        import numpy as np

        rows = [column_value(text, dict[str, float | None]) for text in texts]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: np.array([row.get(name) for row in rows], np.float64) for name in names}


def _by_arrow(texts: list[str]) -> dict[str, Any] | None:
    """All texts at once; None if Arrow does not find as many objects."""
    import pyarrow as pa
    from pyarrow import json

    lines = "\n".join(texts).encode()
    options = json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
    try:
        # Without a schema, Arrow reads integers first, and starts again at the first fraction.
        schema = pa.schema([(name, pa.float64()) for name in column_value(texts[0], dict[str, Any])])
        table = json.read_json(pa.BufferReader(lines), options, json.ParseOptions(explicit_schema=schema))
        if table.num_rows != len(texts):
            return None
        return {
            name: (column if column.type == pa.float64() else column.cast(pa.float64(), safe=False)).to_numpy()
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    except pa.ArrowException:
        return None
