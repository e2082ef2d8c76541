"""Redacting files: nothing leaks from any place of any format, nothing else changes, and the input stays as it was."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pantrace
from corpus import CORPUS, needs_corpus
from goldens import golden_inputs
from pantrace.engine.convert import convert
from pantrace.engine.loss_report import Report
from pantrace.engine.read import Notes, inputs
from pantrace.engine.redact import redact
from pantrace.engine.select import Selection
from pantrace.engine.validate import validate
from pantrace.errors import PantraceError, UsageError
from pantrace.formats import by_name
from pantrace.normalise.secrets import Redactor, Replacement
from pantrace.normalise.secrets.names import level_of
from pantrace.wire import zip_archive
from thorough import one_of_each_format, thorough

SECRET = "ghp_Zx9Kq2Lm7Pv4Rt8Wb3Nc6Hd1Jf5Gs0Yaabcd"
MARK = "[redacted:github-token]"
TOTALLED = ("metricName", "agentName")
"""Names by which a report is totalled: it is totalled anew when they change."""
LEAVES = 8
"""Places that are tried in each golden file."""


def _redacted(
    source: Path, target: Path, name: str | None = None, to: str | None = None
) -> tuple[Report, list[Replacement]]:
    found: list[Replacement] = []
    report = redact(
        [source], target, format=name, to=to, redactor=Redactor(), selection=Selection(), on_replacement=found.append
    )
    return report, found


def _command(*words: object) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(Path(pantrace.__file__).parents[1]), "PATH": ""}
    command = [sys.executable, "-m", "pantrace", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    elif isinstance(value, str) and path and level_of(str(path[-1])) is None and path[-1] not in TOTALLED:
        # What a name gives away goes as a whole, not only the secret in it; totals go by names.
        yield path


def _with_secret(document: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(document)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] += f" {SECRET}"
    return changed


def _documents(path: Path) -> list[Any] | None:
    """The JSON documents of a file, one or one per line; None for anything else."""
    try:
        text = path.read_text("utf-8-sig")
        try:
            return [json.loads(text)]
        except ValueError:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, ValueError):
        return None


def _written(path: Path) -> list[Any]:
    """Everything that was written, one or several files."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return [_documents(each) for each in files]


def _errors(path: Path, name: str) -> int:
    """How many errors a file, or all files of a folder, have; it must be readable."""
    return sum(each.level == "error" for each in validate(path, name))


GOLDEN = one_of_each_format(
    (name, path)
    for name, path in golden_inputs()
    if path.is_file() and path.stat().st_size < 100_000 and _documents(path) and by_name(name).writes
)


_SEAL = re.compile(r', "pantrace_seal": \d+')
"""A checksum of the columns beside it: other columns have another one."""


@pytest.mark.parametrize(("name", "golden"), GOLDEN)
def test_a_secret_at_any_place_of_any_format_goes_and_nothing_else(name: str, golden: Path, tmp_path: Path) -> None:
    documents = _documents(golden)
    assert documents is not None
    places = [(number, path) for number, each in enumerate(documents) for path in _leaves(each)]
    tried = 0
    for count, (number, path) in enumerate(places[:: max(1, len(places) // LEAVES)]):
        changed = [_with_secret(each, path) if at == number else each for at, each in enumerate(documents)]
        if name == "otlp" and path[-1] == "trace_id":
            continue  # an id that is not hexadecimal is written as its hash, and another text has another one
        folder = tmp_path / str(count)
        source = folder / golden.name
        folder.mkdir()
        source.write_text("\n".join(json.dumps(each) for each in changed) + "\n")
        before = source.read_bytes()
        try:
            convert([source], folder / "plain", to=name, format=name, measure=False)
        except PantraceError:
            continue  # a word that the format must know, in which no secret can stand
        _, found = _redacted(source, folder / "clean", name)
        tried += 1
        assert source.read_bytes() == before
        plain, clean = (_SEAL.sub("", json.dumps(_written(folder / name))) for name in ("plain", "clean"))
        assert SECRET.lower() not in clean.lower(), path
        assert SECRET not in json.dumps([(each.sample, each.path) for each in found])
        # Some readers write words in small letters.
        assert re.sub(SECRET, MARK, plain, flags=re.IGNORECASE) == clean, path
        assert _errors(folder / "clean", name) == _errors(folder / "plain", name)
        if SECRET in plain:
            assert sum(each.count for each in found) >= 1
    assert tried or not places


def _secrets_everywhere(header: dict[str, Any]) -> dict[str, Any]:
    header["eval"] |= {
        "task_args": {"db": "postgres://app:hunter22@db/x"},
        "model_args": {"api_key": "hunter22", "headers": {"Authorization": "Bearer hunter22hunter22"}},
        "model_base_url": "https://ann:hunter22@models.example/v1",
        "metadata": {"env": "DB_PASSWORD=hunter22", SECRET: "as a key"},
    }
    header["plan"]["config"] = {"system_message": f"use {SECRET}"}
    header["results"]["metadata"] = {"note": json.dumps({"deep": json.dumps({"password": "hunter22"})})}
    return header


def test_the_header_of_a_log_is_redacted_too(tmp_path: Path) -> None:
    source, target = tmp_path / "in.eval", tmp_path / "out.eval"
    with zipfile.ZipFile(Path(__file__).parents[1] / "golden/inspect/crafted_stored.eval") as old:
        members = {name: json.loads(old.read(name)) for name in old.namelist()}
    members["header.json"] = _secrets_everywhere(members["header.json"])
    members["samples/1_epoch_1.json"]["metadata"] = {"signature": SECRET, "data": SECRET}
    with zipfile.ZipFile(source, "w") as new:
        for name, value in members.items():
            new.writestr(name, json.dumps(value))
    _, found = _redacted(source, target)
    with zip_archive.reading(target) as archive:
        written = {name: archive.read(name).decode() for name in zip_archive.member_names(target)}
    assert written
    assert not [name for name, text in written.items() if "hunter22" in text or SECRET in text]
    header = json.loads(written["header.json"])
    assert header["eval"]["task_args"] == {"db": "postgres://app:[redacted:connection-password]@db/x"}
    assert header["eval"]["model_args"]["api_key"] == "[redacted:password]"
    assert header["eval"]["metadata"][MARK] == "as a key"
    assert json.loads(header["results"]["metadata"]["note"]) == {"deep": '{"password": "[redacted:password]"}'}
    assert sum(each.count for each in found if each.sample is None) == 8
    assert all(each.path.startswith("run.") for each in found if each.sample is None)
    assert not [each for each in validate(target) if each.level == "error"]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    part = {"type": "call", "name": "bash", "arguments": {"command": f"TOKEN={SECRET} run", "data": f"{SECRET}"}}
    rows = [
        {"pantrace": "1", "run": {"name": "r", "config": {"api_key": "hunter22"}}},
        {"id": "s", "trajectory": {"steps": [{"role": "agent", "parts": [part]}]}},
    ]
    path = tmp_path / "in.trace.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_command_lists_every_place_and_tells_no_secret(recording: Path, tmp_path: Path) -> None:
    before = recording.read_bytes()
    out, listing = tmp_path / "out.trace.jsonl", tmp_path / "list.jsonl"
    done = _command("redact", recording, "-o", out, "--list", listing)
    assert done.returncode == 0, done.stderr
    assert recording.read_bytes() == before
    arguments = "trajectory.steps[0].parts[0].arguments"
    assert [json.loads(line) for line in listing.read_text().splitlines()] == [
        {"sample": None, "path": "run.config.api_key", "kind": "password", "count": 1},
        {"sample": "s", "path": f"{arguments}.command", "kind": "github-token", "count": 1},
        {"sample": "s", "path": f"{arguments}.data", "kind": "github-token", "count": 1},
    ]
    for text in (done.stdout + done.stderr, out.read_text(), listing.read_text()):
        assert SECRET not in text
        assert "hunter22" not in text


@pytest.mark.parametrize("link", [False, True])
def test_an_input_is_never_an_output(recording: Path, tmp_path: Path, link: bool) -> None:
    before = recording.read_bytes()
    target = recording
    if link:
        target = tmp_path / "elsewhere.trace.jsonl"
        target.symlink_to(recording)
    with pytest.raises(UsageError, match="overwritten"):
        _redacted(recording, target)
    done = _command("redact", recording, "-o", tmp_path / "o.trace.jsonl", "--list", target)
    assert done.returncode == 2
    assert recording.read_bytes() == before


def test_one_file_per_sample_written_among_the_inputs_leaves_them_alone(tmp_path: Path) -> None:
    name, golden = next((name, path) for name, path in golden_inputs() if name == "adk-session" and path.is_file())
    source = tmp_path / golden.name
    source.write_bytes(golden.read_bytes())
    _redacted(source, tmp_path, name)
    assert source.read_bytes() == golden.read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


@thorough
@needs_corpus
def test_real_recordings_hold_no_false_alarm(tmp_path: Path) -> None:
    """The recordings of the corpus were made without secrets: whatever is replaced in them is a mistake."""
    read = 0
    for number, (path, chosen, _) in enumerate(inputs([CORPUS / "own", CORPUS / "public"], None, Notes.keeping())):
        target = tmp_path / f"{number}.trace.jsonl"
        report, found = _redacted(path, target, chosen.name, to="native")
        assert found == [], path
        read += report.samples
    assert read > 500
