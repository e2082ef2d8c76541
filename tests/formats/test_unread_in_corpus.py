"""Every value of every recording at hand is read, kept or declared; and every declaration is needed."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from corpus import CORPUS, needs_corpus
from pantrace.engine.balance import Balance
from pantrace.engine.read import Notes, inputs, read_pile
from pantrace.formats import all_formats, names

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
    needed = set[tuple[str, str]]()
    rows: dict[str, Counter[str]] = {}
    for path, format_, _ in inputs([CORPUS / "own", CORPUS / "public", GOLDEN], None, Notes.keeping()):
        found = _balance(path)
        needed |= found.needed
        if not path.is_relative_to(GOLDEN):
            row = rows.setdefault(format_.name, Counter())
            row += Counter(recordings=1, values=found.values, unread=found.count)
        assert found.missing == {}, path
    declared = {(each.name, path) for each in all_formats() for path in each.reencoded}
    assert declared - needed == set()
    assert _in_docs(_table(rows))


def _table(rows: dict[str, Counter[str]]) -> str:
    lines = ["| format | recordings | values | have no place in the model |", "|---|---|---|---|"]
    total = sum(rows.values(), Counter[str]())
    for name, row in [*((f"`{name}`", rows[name]) for name in names() if name in rows), ("together", total)]:
        lines.append(f"| {name} | {row['recordings']} | {row['values']:,} | {row['unread']} |")
    return "\n".join(lines)


def _in_docs(table: str) -> bool:
    """Whether the docs have this table; it is written there with PANTRACE_ACCEPT=1."""
    page = Path(__file__).parents[2] / "docs" / "loss.md"
    start, begin, rest = page.read_text().partition("<!-- unread -->")
    old, end, behind = rest.partition("<!-- /unread -->")
    assert begin and end
    if old != f"\n{table}\n" and os.environ.get("PANTRACE_ACCEPT"):
        page.write_text(f"{start}{begin}\n{table}\n{end}{behind}")
        return True
    return old == f"\n{table}\n"
