"""A JSON file read as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pantrace.errors import ReadError

from . import files
from .json import decode_document


def document_in(path: Path) -> Any:
    """What a JSON file says. Errors name the file."""
    try:
        return decode_document(files.read_all(path))
    except ReadError as error:
        raise error.at(path=str(path)) from None


def object_in(path: Path) -> dict[str, Any]:
    """The object in a JSON file; ReadError if it holds anything else."""
    found = document_in(path)
    if not isinstance(found, dict):
        raise ReadError("must be an object", path=str(path))
    return found
