"""Every statement of the seed documents names tests that exist, are collected, and are not skipped."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from corpus import CORPUS, needs_corpus
from seeds.contract import documents

ROOT = Path(__file__).parents[2]
PEERS = "tests/peers/"  # run by `make peers`, each in an environment of its own
NAMED = sorted({test for document in documents().values() for row in document.rows for test in row.tests})
HERE = [test for test in NAMED if not test.startswith(PEERS)]

_COLLECT = """
import json, sys, pytest

class Listed:
    def pytest_collection_finish(self, session):
        def skipped(item):
            marks = [*item.iter_markers("skip"), *item.iter_markers("skipif")]
            return any(mark.name == "skip" or any(mark.args) for mark in marks)
        found = {item.nodeid: skipped(item) for item in session.items}
        print("\\n" + json.dumps(found), file=sys.__stdout__)

sys.exit(pytest.main(["--collect-only", "-qq", "--no-header", *sys.argv[1:]], plugins=[Listed()]))
"""


@cache
def _collected() -> dict[str, bool]:
    """Each test of the files that are named, and whether it is marked to be skipped."""
    paths = sorted({test.partition("::")[0] for test in HERE})
    ran = subprocess.run([sys.executable, "-c", _COLLECT, *paths], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    line = next(line for line in reversed(ran.stdout.splitlines()) if line.startswith("{"))
    found: dict[str, bool] = json.loads(line)
    return found


def _cases(test: str) -> list[bool]:
    return [skipped for name, skipped in _collected().items() if name == test or name.startswith(f"{test}[")]


def test_every_document_is_there_and_every_statement_names_a_test() -> None:
    assert sorted(documents()) == ["doc1", "doc2", "doc3", "doc4", "doc5"]
    for name, document in documents().items():
        assert document.rows, name
        assert all(row.tests and row.says and row.place for row in document.rows), name
        said = [row.says for row in document.rows]
        assert len(said) == len(set(said)), f"{name} says one thing twice"


@pytest.mark.parametrize("test", HERE)
def test_the_named_test_is_collected(test: str) -> None:
    assert _cases(test), f"no test is called {test}"


@needs_corpus
@pytest.mark.parametrize("test", HERE)
def test_with_the_corpus_no_named_test_is_skipped(test: str) -> None:
    assert CORPUS.is_dir()
    assert not any(_cases(test))


@pytest.mark.parametrize("test", NAMED)
def test_the_named_test_cannot_leave_by_itself(test: str) -> None:
    """A test that skips in its body would pass for one that shows something."""
    path, _, name = test.partition("::")
    source = (ROOT / path).read_text()
    functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    assert name in functions, f"no test is called {test}"
    body = ast.get_source_segment(source, functions[name]) or ""
    assert "pytest.skip(" not in body
    assert "importorskip" not in body
