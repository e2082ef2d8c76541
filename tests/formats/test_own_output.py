"""What we write passes our own validation, whatever the samples come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus import CORPUS, needs_corpus
from goldens import golden_inputs
from pantrace.engine.convert import convert
from pantrace.engine.validate import validate
from pantrace.errors import NothingWritten, PantraceError
from pantrace.formats import by_name, detect

TARGETS = ("opencode", "inspect", "explain", "openadapt-eval", "openadapt-episodes", "native")
OPTIONS = {
    "explain": [{}, {"kind": "report"}, {"bundle": "false", "labels": "false"}],
    "opencode": [{}, {"plain": "true"}],
}


def errors_in(path: Path, to: str, options: dict[str, str], folder: Path) -> list[str] | None:
    """Errors in what is written of a recording; None where there is nothing to write."""
    format_ = by_name(to)
    target = folder / ("out" if format_.is_split else f"out{format_.suffix}")
    try:
        convert(path, target, to=to, options=options, measure=False)
    except NothingWritten:
        return None
    found = errors(target)
    # A recording with errors of its own is written again as it was: nobody asked for its repair.
    return [each for each in found if each not in errors(path)] if found and detect(path)[0] is format_ else found


def errors(path: Path) -> list[str]:
    return [each.message for each in validate(path) if each.level == "error"]


@pytest.mark.parametrize(
    ("name", "path"), golden_inputs(), ids=[f"{name}/{path.name}" for name, path in golden_inputs()]
)
@pytest.mark.parametrize("to", TARGETS)
def test_every_golden_written_is_valid(name: str, path: Path, to: str, tmp_path: Path) -> None:
    for number, options in enumerate(OPTIONS.get(to, [{}])):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert not errors_in(path, to, options, folder)


def _recordings() -> list[Path]:
    return [path for path in sorted(CORPUS.rglob("*")) if path.is_file() and path.stat().st_size < 2_000_000]


@needs_corpus
@pytest.mark.parametrize("to", TARGETS)
def test_every_recording_of_the_corpus_written_is_valid(to: str, tmp_path: Path) -> None:
    tried, wrong = 0, {}
    for number, path in enumerate(_recordings()):
        try:
            detect(path)
            folder = tmp_path / str(number)
            folder.mkdir()
            found = errors_in(path, to, {}, folder)
        except PantraceError:
            continue
        tried += found is not None
        if found:
            wrong[str(path)] = found[:3]
    assert tried
    assert not wrong
