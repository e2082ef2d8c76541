"""Every command writes into a device, into a pipe and through a link, and puts no file in their place."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import pantrace
from goldens import ROOT
from thorough import thorough

SOURCE = Path(pantrace.__file__).parent.parent
GRADED = """{"pantrace": "1", "run": {"name": "graded"}}
{"id": "a", "scores": [{"name": "Kind", "value": 5, "maker": {"name": "Kind", "kind": "rubric", "model": "m"}}]}
{"id": "b", "scores": [{"name": "Kind", "value": 1, "maker": {"name": "Kind", "kind": "rubric", "model": "m"}}]}
"""
JUDGE = "judge s.json --rubric tool_use_quality --cache cache.sqlite --format"

# Command, exit code and how the output begins; OUT is what is written to.
COMMANDS = [
    ("convert s.json --to native -o OUT", 0, b'{"pantrace":'),
    ("convert s.json --to vertex-seed -o OUT", 0, b"[\n"),
    ("convert s.json --to opencode -o OUT", 0, b"{\n"),
    ("convert s.json --to inspect -o OUT", 0, b"PK\x03\x04"),
    ("convert s.json --to vertex-seed -o lossy.json --loss OUT", 0, b'{"sample":'),
    ("convert s.json --to vertex-seed -o refused.json --strict --loss OUT", 1, b'{"sample":'),
    ("redact s.json -o OUT", 0, b"{\n"),
    ("redact secret.json -o clean.json --list OUT", 0, b'{"sample":'),
    ("measure s.json --format jsonl -o OUT", 0, b'{"run":'),
    ("measure s.json --format parquet -o OUT", 0, b"PAR1"),
    (f"{JUDGE} csv -o OUT", 3, b"run,sample"),
    (f"{JUDGE} native -o OUT", 3, b'{"pantrace":'),
    ("plot eval.json --format svg -o OUT", 0, b"<svg"),
    ("check s.json --rules stateless-handoff -o OUT", 1, b"{\n"),
    ("check s.json --rules stateless-handoff --junit OUT", 1, b"<?xml"),
    ("compare graded.trace.jsonl graded.trace.jsonl --markdown OUT", 0, b"## "),
    ("calibrate graded.trace.jsonl --labels labels.csv -o OUT", 0, b"{\n"),
    ("eval cases.explain.jsonl --out results --junit OUT", 0, b"<?xml"),
    ("eval cases.explain.jsonl --out results --markdown OUT", 0, b"# "),
    ("eval cases.explain.jsonl --out results --report OUT", 0, b"{\n"),
    ("init OUT --force", 0, b"# A plan"),
]
QUICK = [COMMANDS[number][0] for number in (0, 3, 9, 17)]
"""One that writes text, an archive, Parquet and a report."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "opencode/bad_tool_calls.json", tmp_path / "s.json")
    shutil.copy(ROOT / "openadapt-eval/v1_full.json", tmp_path / "eval.json")
    shutil.copy(ROOT / "explain/cases.explain.jsonl", tmp_path)
    text = (tmp_path / "s.json").read_text()
    (tmp_path / "secret.json").write_text(text.replace('"text": "', f'"text": "AKIA{"ABCDEFGH" * 2} ', 1))
    (tmp_path / "graded.trace.jsonl").write_text(GRADED)
    (tmp_path / "labels.csv").write_text("sample,label\na,pass\nb,fail\n")
    return tmp_path


def run(command: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    environment = {"PYTHONPATH": str(SOURCE), "HOME": str(folder), "PATH": os.defpath}
    program = f'"$0" -m pantrace {command}'
    words = ["bash", "-c", program, sys.executable]
    return subprocess.run(words, cwd=folder, capture_output=True, check=False, env=environment, timeout=120)


@pytest.mark.parametrize(
    ("command", "code", "begin"),
    [pytest.param(*each, id=each[0], marks=() if each[0] in QUICK else thorough) for each in COMMANDS],
)
def test_a_pipe_gets_it_all(folder: Path, command: str, code: int, begin: bytes) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    (folder / "link").symlink_to("pipe")
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    told = run(command.replace("OUT", "link"), folder)
    assert told.returncode == code, told.stderr
    reader.join(20)
    assert found
    assert found[0].startswith(begin), found[0][:80]
    assert pipe.is_fifo()
    assert (folder / "link").is_symlink()
    assert not [path for path in folder.iterdir() if path.name.startswith(".pantrace-")]


@pytest.mark.parametrize("command", [COMMANDS[0][0], COMMANDS[3][0], COMMANDS[9][0], COMMANDS[12][0]])
def test_a_device_stays_one(folder: Path, command: str) -> None:
    device = folder / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("only root makes devices, and not on every file system")
    told = run(command.replace("OUT", "null"), folder)
    assert told.returncode == 0, told.stderr
    assert device.is_char_device()


def test_the_shell_can_take_what_is_written(folder: Path) -> None:
    """Process substitution, and standard output by its name, behind what is there."""
    told = run(
        "convert s.json --to native -o >(cat > got; touch done); while [ ! -e done ]; do sleep 0.1; done", folder
    )
    assert told.returncode == 0, told.stderr
    assert (folder / "got").read_bytes().startswith(b'{"pantrace":')
    run("convert s.json --to native -o /dev/stdout >> got", folder)
    assert (folder / "got").read_bytes().count(b'{"pantrace":') == 2
