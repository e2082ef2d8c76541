"""How much work each path does: counts for each sample and for each run, which a busy machine does not change."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.counted import counted
from engine.recordings import READY, write
from pantrace.engine.compare_runs import compare_sources
from pantrace.engine.convert import convert
from pantrace.engine.evaluate import decide_again, evaluate_into
from pantrace.engine.executor import InProcess
from pantrace.engine.measure_part import MeasureParts
from pantrace.engine.metric_values import read_evaluations
from pantrace.engine.pile_parts import done_parts
from pantrace.engine.read import Notes
from pantrace.engine.select import Selection
from pantrace.engine.summary import summarise
from pantrace.policy import load_profile
from pantrace.store import query

FEW, MANY = 20, 60


def _measure(folder: Path) -> Any:
    task = MeasureParts(
        selection=Selection(),
        sub_agents=False,
        metrics=("tool_success_rate",),
        settings=(),
        plugins=(),
        by_turn=False,
        stored=False,
        by=None,
        in_sums=True,
    )
    return [*done_parts([folder / "in.trace.jsonl"], None, task, InProcess(), Notes())]


def _evaluate(folder: Path) -> Any:
    return evaluate_into([folder / "in.trace.jsonl"], folder / "out", READY, "")


def _convert(folder: Path, *, measure: bool) -> Any:
    return convert(folder / "in.trace.jsonl", folder / "out.jsonl", to="vertex", measure=measure)


PATHS: dict[str, tuple[Callable[[Path], Any], dict[str, float]]] = {
    "measure": (_measure, {}),
    # The line; then the sample of its text, which waited as such. Encoded are the sample and what does not apply to it;
    # scores of many samples are encoded by one call for each column.
    "eval": (_evaluate, {"decodes": 1, "encodes": 2}),
    "eval again": (_evaluate, {}),
    # Not one text is decoded for each sample: numbers are columns, and equal texts are looked at once.
    "summary": (lambda folder: summarise(folder / "out"), {}),
    "query": (lambda folder: query(folder / "out", "select count(*) from scores"), {}),
    # Three scores have a row, and nothing else of a sample is decoded.
    "aggregate": (lambda folder: read_evaluations([folder / "out"], notes=Notes()), {"decodes": 4}),
    "compare": (lambda folder: compare_sources([(each, [folder / "out"]) for each in "ab"]), {"decodes": 10}),
    "gate": (lambda folder: decide_again(folder / "out", load_profile("prep_default")), {"decodes": 4, "encodes": 3}),
    "convert": (lambda folder: _convert(folder, measure=False), {"encodes": 1}),
    "convert, loss measured": (lambda folder: _convert(folder, measure=True), {"decodes": 1, "encodes": 9}),
}
"""What is done, and what it may do for each sample; what is not named, it does as often for many as for few."""

FILES = {
    "measure": 2,
    "eval": 21,
    "eval again": 15,
    "summary": 9,
    "query": 5,
    "aggregate": 9,
    "compare": 20,
    "gate": 13,
    "convert": 5,
    "convert, loss measured": 10,
}
"""Times that files are opened, at most. A file that is a moment old is hashed again: `compare` opens 12 to 20."""
# 14 of them for each directory find out whether its evaluation was interrupted.
STATEMENTS = {"eval": 68, "eval again": 38, "summary": 56, "query": 14, "aggregate": 28, "compare": 112, "gate": 76}


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Counter[str]]:
    found = {}
    for number in (1, FEW, MANY):  # the first time loads modules
        folder = tmp_path_factory.mktemp("counts")
        write(folder / "in.trace.jsonl", range(number))
        for name, (work, _) in PATHS.items():
            found[name, number] = counted(lambda work=work, folder=folder: work(folder), folder)  # type: ignore[misc]
    return found


@pytest.mark.parametrize("name", PATHS)
def test_each_sample_costs_what_it_must(name: str, counts: dict[tuple[str, int], Counter[str]]) -> None:
    few, many, allowed = counts[name, FEW], counts[name, MANY], PATHS[name][1]
    for what in ("decodes", "encodes"):
        assert (many[what] - few[what]) / (MANY - FEW) <= allowed.get(what, 0), what
    assert many["statements"] <= STATEMENTS.get(name, 0)
    assert many["files"] <= FILES[name]


READ = {"measure": 1, "eval": 2, "eval again": 1, "convert": 1, "convert, loss measured": 3}
"""How often the bytes of a large input are read; not at all by what is not named. `eval` reads them once more for the
hash by which it knows the input again, `convert` compares the written file with its checksum."""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell how many bytes a process reads")
def test_bytes_are_read_as_often_as_they_must(counts: dict[tuple[str, int], Counter[str]], tmp_path: Path) -> None:
    source = tmp_path / "in.trace.jsonl"
    header, *lines = write(source, range(MANY)).read_text().splitlines()
    long = [line.replace("question ", f"question {'word ' * 12_000}") for line in lines]
    size = source.write_text("\n".join([header, *long, ""]))
    found = {name: counted(lambda work=work: work(tmp_path), tmp_path)["bytes"] for name, (work, _) in PATHS.items()}  # type: ignore[misc]
    assert {name: read for name, read in found.items() if read > (READ.get(name, 0) + 0.25) * size} == {}
    assert all(found[name] > 0.9 * READ[name] * size for name in READ)


def test_what_is_counted_is_there(counts: dict[tuple[str, int], Counter[str]]) -> None:
    whole = counts["eval", MANY]
    assert whole["decodes"] >= MANY and whole["encodes"] >= MANY and whole["files"] and whole["statements"]
