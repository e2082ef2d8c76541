"""A question and its answer take no more memory than they may."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from click.testing import CliRunner

from pantrace.cli import cli
from pantrace.errors import UsageError, in_command
from pantrace.store import query
from store import writer

MB = 1_000_000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked") / "run"
    writer.write(str(folder), 1, 2)
    return folder


def test_an_answer_without_end(run: Path) -> None:
    with pytest.raises(UsageError, match=r"the answer is larger than 10 MB \([\d,]+ rows so far\); select less"):
        query(run, "select * from range(1000000000000)", memory=10 * MB)


def test_a_question_that_needs_too_much(run: Path) -> None:
    asked = "select count(*) from (select x from range(100000000) as a(x) order by hash(x))"
    with pytest.raises(UsageError, match="the query needs more than 10 MB of memory, or too much disk space"):
        query(run, asked, memory=10 * MB)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux says how much memory a process has")
@pytest.mark.parametrize("question", ["repeat('a', 900000000)", "length(repeat('a', 900000000) || 'b')"])
def test_one_long_text(run: Path, question: str) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(UsageError, match="the query needs more than 10 MB of memory, or too much disk space"):
        query(run, f"select {question}", memory=10 * MB)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_it_can_be_allowed_more(run: Path) -> None:
    words = ["query", str(run), "select range from range(20000)", "--csv", "--max-memory"]
    refused = CliRunner().invoke(cli, [*words, "500kB"])
    assert isinstance(refused.exception, UsageError)
    with in_command():
        assert "--max-memory SIZE" in str(refused.exception)
    allowed = CliRunner().invoke(cli, [*words, "100MB"])
    assert allowed.exit_code == 0, allowed.output
    assert len(allowed.output.splitlines()) == 20_001
