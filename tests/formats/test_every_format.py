"""What holds for every format, tried on its golden files and on samples that hypothesis makes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings

from any_sample import samples
from goldens import ACCEPT, ROOT, accept, as_native, golden_inputs, inputs_in, read_golden, without_source
from pantrace.engine.convert import write_run
from pantrace.engine.read import Notes, read, read_pile
from pantrace.errors import NothingWritten, ReadError, SampleRefused
from pantrace.formats import all_formats, by_name, detect, names
from pantrace.model import Run, Sample
from pantrace.wire.head import Head
from pantrace.wire.json import decode, decode_as, encode, to_plain
from pantrace.wire.loss import sample_losses

GOLDENS = golden_inputs()
IDS = [f"{name}/{path.name}" for name, path in GOLDENS]
golden = pytest.mark.parametrize(("name", "path"), GOLDENS, ids=IDS)

WRITERS = [name for name in names() if by_name(name).dump is not None and by_name(name).load is not None]


@pytest.mark.parametrize("name", names())
def test_has_golden_files_with_their_origin(name: str) -> None:
    assert (ROOT / name / "README.md").exists()
    assert any(format_name == name for format_name, _ in GOLDENS)


@golden
def test_golden_reads_as_native(name: str, path: Path) -> None:
    found = read_golden(path, name)
    if ACCEPT:
        accept(path, found)
    expected = json.loads(path.with_name(path.name + ".native.json").read_bytes())
    assert json.loads(encode(found)) == expected


@golden
def test_golden_is_claimed_by_its_format_alone(name: str, path: Path) -> None:
    for each in inputs_in(path, name):
        claims = [format_.name for format_ in all_formats() if format_.reads and format_.detect(Head(each)) is not None]
        assert claims == [name]


@golden
def test_golden_returns_without_loss(name: str, path: Path, tmp_path: Path) -> None:
    format_ = by_name(name)
    if not format_.writes:
        pytest.skip(f"{name} is only read")
    before = read_golden(path, name)
    if format_.is_split:
        target = tmp_path / "out"
        report = write_run(read(path, format=name), target, to=name)
        after = as_native(read_pile([target], notes=Notes()))
    else:
        target = tmp_path / f"out{format_.suffix}"
        report = write_run(read(path, format=name), target, to=name)
        after = as_native(read(target, format=name))
    # A format of single samples has no place for what a run says about itself.
    lost = {path for path, _, _ in report.losses if format_.save is not None or not path.startswith("run.")}
    # A log in which a sample is listed under another id is repaired, and that is told.
    assert lost <= ({"id", "eval.dataset.sample_ids[]"} if name == "inspect" else set())

    def sorted_samples(values: list[Any]) -> list[Any]:
        return sorted(values, key=lambda value: (value.get("id", ""), value.get("epoch", 0)))

    before_samples, after_samples = sorted_samples(before[1:]), sorted_samples(after[1:])
    if not format_.nests:
        before_samples = [value for value in before_samples if not value.get("trajectory", {}).get("children")]
        kept = {value["id"] for value in before_samples}
        after_samples = [value for value in after_samples if value["id"] in kept]
    assert without_source(after_samples) == without_source(before_samples)
    if format_.save is not None:
        assert without_source(after[0]) == without_source(before[0])


@golden
def test_torn_golden_gives_read_errors_only(name: str, path: Path, tmp_path: Path) -> None:
    if path.is_dir():
        pytest.skip("a directory cannot be torn; its files are")
    data = path.read_bytes()
    for share in (0.1, 0.5, 0.9, 0.999):
        torn = tmp_path / path.name
        torn.write_bytes(data[: int(len(data) * share)])
        broken: list[ReadError] = []
        try:
            list(read(torn, format=name, on_broken=broken.append).samples)
        except ReadError as error:
            broken.append(error)
        for error in broken:
            assert str(torn) in str(error)


@golden
def test_reading_leaves_the_input_alone(name: str, path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    (shutil.copytree if path.is_dir() else shutil.copy)(path, copy)
    before = {each: each.read_bytes() for each in sorted(tmp_path.rglob("*")) if each.is_file()}
    list(read(copy, format=name).samples)
    after = {each: each.read_bytes() for each in sorted(tmp_path.rglob("*")) if each.is_file()}
    assert after == before


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[]", b'{"a": [1, 2', b"\x00\x01\x02", b"null\n", b'"x"', b"[1, 2]\n", b"{}\n{}\n"]
)
def test_foreign_input_is_refused_in_words(name: str, text: bytes, tmp_path: Path) -> None:
    format_ = by_name(name)
    if not format_.reads:
        pytest.skip(f"{name} is only written")
    path = tmp_path / "input.json"
    path.write_bytes(text)
    assert format_.detect(Head(path)) is None
    try:
        run = read(path, format=name)
        list(run.samples)
    except ReadError as error:
        assert str(path) in str(error)


def _strings(value: Any, path: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [found for key, item in value.items() for found in _strings(item, f"{path}.{key}" if path else key)]
    if isinstance(value, list):
        return [found for index, item in enumerate(value) for found in _strings(item, f"{path}[{index}]")]
    return [(path, value)] if isinstance(value, str) else []


def _marked(value: Any, path: str, marker: str, here: str = "") -> Any:
    if here == path:
        return marker
    if isinstance(value, dict):
        return {key: _marked(item, path, marker, f"{here}.{key}" if here else key) for key, item in value.items()}
    if isinstance(value, list):
        return [_marked(item, path, marker, f"{here}[{index}]") for index, item in enumerate(value)]
    return value


_FREE = (
    "text",
    "title",
    "message",
    "explanation",
    "question",
    "context",
    "goal",
    "reference",
    "instructions",
    "stop",
    "output",
    "response",
)


# Making samples takes longer than writing them: each is tried with every format.
@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(sample=samples())
def test_a_loss_is_never_silent(sample: Sample) -> None:
    """Put a mark where the sample says something: it must be in what was written, or in the loss report."""
    plain = to_plain(sample)
    for path, _ in [each for each in _strings(plain) if each[0].rpartition(".")[2] in _FREE][:6]:
        marker = "MARKmarkMARK"
        marked = decode_as(encode(_marked(plain, path, marker)), Sample)
        for name in WRITERS:
            note(name)
            format_ = by_name(name)
            assert format_.dump is not None
            assert format_.load is not None
            try:
                row = format_.dump(marked, format_.options())
            except SampleRefused:
                continue
            written = encode(row)
            losses = sample_losses(marked, format_.load(decode(written)), format_.lost, name)
            told = any(path.startswith(loss.path) for loss in losses)
            assert marker.encode() in written or told, (name, path)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(sample=samples())
def test_what_is_written_once_is_written_the_same_again(sample: Sample) -> None:
    """A sample that went through a format once loses nothing more on a second trip."""
    for name in WRITERS:
        note(name)
        format_ = by_name(name)
        assert format_.dump is not None
        assert format_.load is not None
        try:
            once = format_.load(decode(encode(format_.dump(sample, format_.options()))))
            twice = format_.load(decode(encode(format_.dump(once, format_.options()))))
        except SampleRefused:
            continue
        assert without_source(to_plain(twice)) == without_source(to_plain(once)), name


@pytest.mark.parametrize("name", [name for name in names() if by_name(name).writes])
def test_a_run_without_samples_can_be_read_back_or_is_not_written(name: str, tmp_path: Path) -> None:
    target = tmp_path / f"out{by_name(name).suffix}"
    try:
        write_run(Run(id="empty"), target, to=name)
    except NothingWritten:
        assert not list(tmp_path.iterdir())
        assert by_name(name).save is None or name == "explain"
    else:
        assert detect(target)[0].name == name
        assert list(read(target).samples) == []


@golden
def test_signs_change_nothing_but_the_order(name: str, path: Path) -> None:
    """Formats whose signs are seen are asked first; the answer is that of asking all of them."""
    assert {detect(each)[0].name for each in inputs_in(path, name)} == {name}


def test_a_native_file_needs_no_other_format() -> None:
    file = ROOT / "native" / "every_part.trace.jsonl"
    script = (
        "import sys; from pathlib import Path; from pantrace.formats import detect; "
        f"detect(Path({str(file)!r})); print(sorted(m for m in sys.modules if m.startswith('pantrace.formats.')))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['pantrace.formats.format', 'pantrace.formats.native']"
