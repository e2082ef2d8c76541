"""Every value of every recording at hand is read, kept or declared; and every declaration is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus import CORPUS, needs_corpus
from pantrace.engine.balance import Balance
from pantrace.engine.read import Notes, inputs, read_pile
from pantrace.formats import all_formats

GOLDEN = Path(__file__).parents[1] / "golden"


def _balance(path: Path) -> Balance:
    notes = Notes.keeping()
    notes.unread = Balance()
    for _ in read_pile([path], notes=notes).samples:
        pass
    return notes.unread


def _found(root: Path) -> list[Path]:
    return [path for path, _, _ in inputs([root], None, Notes.keeping())]


GOLDENS = _found(GOLDEN)


@pytest.mark.parametrize("path", GOLDENS, ids=[str(path.relative_to(GOLDEN)) for path in GOLDENS])
def test_goldens_are_read_whole(path: Path) -> None:
    assert _balance(path).missing == {}


@needs_corpus
def test_the_corpus_is_read_whole_and_every_declaration_is_needed() -> None:
    total = Balance()
    for path in [*_found(CORPUS / "own"), *_found(CORPUS / "public"), *GOLDENS]:
        found = _balance(path)
        assert found.missing == {}, path
        total.values += found.values
        total.needed |= found.needed
    assert total.values > 130_000
    declared = {(each.name, path) for each in all_formats() for path in each.reencoded}
    assert declared - total.needed == set()
