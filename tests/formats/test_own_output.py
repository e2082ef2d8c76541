"""What we write is recognised and passes our own validation, whatever the samples come from; and is plain if asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from pantrace.engine.convert import write_run
from pantrace.engine.read import Notes, inputs, read
from pantrace.engine.validate import validate
from pantrace.errors import NothingWritten
from pantrace.formats import all_formats, by_name, detect
from pantrace.model import Run, Sample, Step, with_samples
from pantrace.wire import zip_archive
from pantrace.wire.json import decode
from pantrace.wire.pantrace_key import CARRIER
from thorough import one_of_each_format, thorough

WRITERS = [each.name for each in all_formats() if each.writes]
OPTIONS = {"explain": [{"kind": "report"}, {"bundle": "false", "labels": "false"}]}
"""Options that change what is written."""


def written(run: Run, to: str, folder: Path, carry: bool, options: dict[str, str]) -> Path | None:
    """What is written of a recording; None where there is nothing to write."""
    format_ = by_name(to)
    folder.mkdir()
    target = folder / ("out" if format_.is_split else f"out{format_.suffix}")
    try:
        report = write_run(run, target, to=to, carry=carry, measure=False, options=options)
    except NothingWritten:
        return None
    for each in report.outputs:
        assert detect(each)[0] is format_ or (not carry and is_words_alone(each, to))
    return target


def is_words_alone(path: Path, to: str) -> bool:
    """Whether a plain file is the same in two formats: the commoner claims such words, and both tell the same."""
    told = [
        [(step.role, step.parts) for sample in read(path, format=name).samples for step in tellable(sample)]
        for name in (to, "openai-messages")
    ]
    return to == "anthropic-messages" and detect(path)[0].name == "openai-messages" and told[0] == told[1]


def tellable(sample: Sample) -> tuple[Step, ...]:
    return sample.trajectory.steps if sample.trajectory is not None else ()


def errors(path: Path, name: str | None = None) -> list[str]:
    return [each.message for each in validate(path, name) if each.level == "error"]


def new_errors(target: Path, to: str, source: Path, name: str) -> list[str]:
    """Errors that the source has not: a recording with errors is written again as it was, nobody asked for repair."""
    found = errors(target)
    return [each for each in found if each not in errors(source)] if found and name == to else found


def held_run(path: Path, name: str) -> Run:
    run = read(path, format=name)
    return with_samples(run, list(run.samples))


@pytest.mark.parametrize(("name", "path"), one_of_each_format())
def test_every_golden_written_is_valid_and_plain_if_asked_to(name: str, path: Path, tmp_path: Path) -> None:
    run = held_run(path, name)
    for to in WRITERS:
        for number, options in enumerate([{}, {}, *OPTIONS.get(to, [])]):
            carry = number != 1
            target = written(run, to, tmp_path / f"{to}-{number}", carry, options)
            if target is not None:
                assert not new_errors(target, to, path, name), (to, options)
                assert carry or to == "native" or not list(carried_in(target)), to


def carried_in(target: Path) -> Iterator[Any]:
    """Every object of what was written that has a key of ours."""
    for file in sorted(target.rglob("*")) if target.is_dir() else [target]:
        if file.read_bytes().startswith(b"PK\x03\x04"):
            with zip_archive.reading(file) as archive:
                for name in archive.members:
                    yield from _carriers(decode(bytes(archive.read(name))))
        else:
            lines = file.suffix == ".jsonl" and not file.read_bytes().startswith(b"{\n")
            for text in file.read_bytes().splitlines() if lines else [file.read_bytes()]:
                yield from _carriers(decode(text))


def _carriers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        # An attribute of a span is a pair of key and value.
        if {CARRIER, "unreported"} & value.keys() or CARRIER in (value.get("type"), value.get("key")):
            yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from _carriers(item)


def _recordings() -> list[tuple[Path, str]]:
    found = inputs([CORPUS / "own", CORPUS / "public"], None, Notes.keeping())
    return [(path, format_.name) for path, format_, _ in found if path.is_dir() or path.stat().st_size < 2_000_000]


SHARES = 8
"""So that the processes of the test run can divide the corpus among them."""


@thorough
@needs_corpus
@pytest.mark.parametrize("share", range(SHARES))
def test_every_recording_of_the_corpus_written_is_valid(share: int, tmp_path: Path) -> None:
    tried, wrong = 0, {}
    for number, (path, name) in enumerate(_recordings()[share::SHARES]):
        run = held_run(path, name)
        for to in WRITERS:
            target = written(run, to, tmp_path / f"{number}-{to}", True, {})
            found = new_errors(target, to, path, name) if target is not None else []
            tried += target is not None
            if found:
                wrong[f"{path} to {to}"] = found[:3]
    assert wrong == {}
    assert tried > 2_000 // SHARES
