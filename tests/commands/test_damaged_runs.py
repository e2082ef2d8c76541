"""Damaged run directories: every command names the file and what to do, and a report of nothing is not a report."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import pantrace
from pantrace.cli import cli
from pantrace.errors import ReadError

EXAMPLES = Path(__file__).parents[2] / "examples" / "adk"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return pantrace.evaluate(EXAMPLES, out=tmp_path / "run").path


@pytest.fixture
def damaged(run: Path) -> Path:
    for part in (run / "parts").glob("*samples*"):
        part.write_bytes(part.read_bytes()[:50])
    return run


def test_validate_names_the_file_and_the_remedy(damaged: Path) -> None:
    told = CliRunner().invoke(cli, ["validate", str(damaged)])
    assert told.exit_code == 1
    part = next((damaged / "parts").glob("*samples*"))
    assert f"error: {part}: this part of the run is damaged" in told.output
    assert "`pantrace eval`" in told.output


@pytest.mark.parametrize("table", ["samples", "steps", "calls", "scores"])
def test_validate_looks_at_every_file_of_a_part(run: Path, table: str) -> None:
    part = next((run / "parts").glob(f"*.{table}.*"))
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    told = CliRunner().invoke(cli, ["validate", str(run)])
    assert told.exit_code == 1
    assert f"error: {part}: this part of the run is damaged: its content is not what was written" in told.output


@pytest.mark.parametrize("table", ["samples", "steps", "calls", "scores"])
@pytest.mark.parametrize("words", ["show DIR", "measure DIR", "convert DIR --to native -o OUT", "report DIR -o OUT.md"])
def test_whoever_reads_samples_notices_every_file_of_their_part(
    run: Path, table: str, words: str, tmp_path: Path
) -> None:
    part = next((run / "parts").glob(f"*.{table}.*"))
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    told = CliRunner().invoke(
        cli, [word.replace("DIR", str(run)).replace("OUT", str(tmp_path / "o")) for word in words.split()]
    )
    said = f"{told.output}{told.exception}"
    assert told.exit_code, said
    assert f"{part}: this part of the run is damaged: its content is not what was written" in said
    assert said.count(str(part)) == 1, said


def test_a_healthy_run_has_nothing_without_a_place(run: Path) -> None:
    told = CliRunner().invoke(cli, ["validate", str(run)])
    assert told.exit_code == 0
    assert "no place in the model" not in told.output


@pytest.mark.parametrize("name", ["page.html", "page.md"])
def test_a_report_of_nothing_is_an_error(damaged: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ReadError, match="this part of the run is damaged") as raised:
        pantrace.report(damaged, out=tmp_path / name)
    assert raised.value.exit_code == 2
    assert not (tmp_path / name).exists()
