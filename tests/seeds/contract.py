"""The contract with the seed documents: one TOML file per document, one row per statement, the tests that show it."""

from __future__ import annotations

from pathlib import Path

import msgspec

HERE = Path(__file__).parent


class Statement(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Something that a document says, in our words."""

    place: str
    """The heading of the document under which it stands; "beyond" for what its authors need besides."""
    says: str
    tests: list[str]
    """Node ids without parameters."""
    differs: str | None = None
    """Why pantrace does something else on purpose; None: it holds."""


class Document(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One seed document."""

    title: str
    rows: list[Statement]


def documents() -> dict[str, Document]:
    """Every document by the name of its file (doc1, doc2, ...)."""
    return {path.stem: msgspec.toml.decode(path.read_bytes(), type=Document) for path in sorted(HERE.glob("doc*.toml"))}
