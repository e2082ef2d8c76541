"""What is heavy by nature is marked, and `make thorough` runs it; `make test` keeps a quick proof of each subject."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pytest

from goldens import golden_inputs

thorough = pytest.mark.thorough


def quick(chosen: Collection[object], values: Iterable[Any]) -> list[Any]:
    """Parameters, of which `make test` tries those that are chosen."""
    return [pytest.param(each, marks=() if each in chosen else thorough) for each in values]


def one_of_each_format(goldens: Iterable[tuple[str, Path]] | None = None) -> list[Any]:
    """Golden inputs with the names of their formats, of which `make test` tries the first of each format."""
    seen: set[str] = set()
    found = []
    for name, path in golden_inputs() if goldens is None else goldens:
        found.append(pytest.param(name, path, id=f"{name}/{path.name}", marks=thorough if name in seen else ()))
        seen.add(name)
    return found
