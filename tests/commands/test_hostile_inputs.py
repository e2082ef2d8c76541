"""Inputs that would hang a reader or fill its memory are refused in a sentence, or read with 2 s of CPU and 200 MB."""

from __future__ import annotations

import gzip
import json
import os
import resource
import socket
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from math import ceil
from pathlib import Path

import pytest
import zstandard

from machine import slowness
from pantrace.wire import zip_archive
from thorough import quick

ROOT = Path(__file__).parent.parent.parent
SECONDS, BYTES = 2, 200_000_000
MB = 1_000_000
FIRST = b'{"pantrace":"1"}\n'
SAMPLE = b'{"id":"a","trajectory":{"steps":[{"role":"user","parts":[{"type":"text","text":"hi"}]}]}}\n'
EXPORT = b'{"info":{"id":"ses_1","projectID":"p"},"messages":[],"more":%s}'
HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"task": "t", "model": "m", "dataset": {}, "created": "2026-01-01T00:00:00+00:00", "run_id": "r"},
}
TIGHT = "times its packed size; if you trust it, raise the limit with --max-unpacked SIZE"
DEEP = "nested deeper than 200 levels"
LARGE = "is larger than 256 MB; if you trust it, raise the limit with --max-record SIZE"
DIGITS = "a number of more than 4,300 digits"


def log(path: Path, members: Iterable[tuple[str, bytes]], compression: zip_archive.Compression = "zstd") -> None:
    with path.open("wb") as file:
        writer = zip_archive.Writer(file, compression)
        writer.add("header.json", json.dumps(HEADER).encode())
        for name, content in members:
            writer.add(name, content)
        writer.finish()


def sample(text: bytes) -> bytes:
    return b'{"id":"x","epoch":1,"input":"' + text + b'","target":"y","messages":[],"output":{},"scores":{}}'


def lying(path: Path) -> None:
    """An archive whose last member declares a thousand bytes and holds many more."""
    log(path, [("samples/1_epoch_1.json", sample(b"")), ("samples/2_epoch_1.json", sample(b"a" * 100 * MB))])
    data = bytearray(path.read_bytes())
    for signature, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.rindex(signature) + place, 1_000)
    path.write_bytes(data)


def with_a_hole_before_the_directory(path: Path, size: int) -> None:
    """A log with so many zeros, which take no room on the disk, between its members and their list."""
    log(path, [("samples/1_epoch_1.json", sample(b"")), ("samples/2_epoch_1.json", sample(b""))], "deflate")
    data = path.read_bytes()
    begin = data.index(b"PK\x01\x02")
    end = bytearray(data[begin:])
    struct.pack_into("<I", end, end.rindex(b"PK\x05\x06") + 16, begin + size)
    with_a_hole(data[:begin], size, bytes(end))(path)


def huge_directory(path: Path) -> None:
    """An archive that declares all of the file to be its list of members."""
    with_a_hole_before_the_directory(path, 400 * MB)
    change(path, b"PK\x05\x06", 12, 400 * MB, 0)


def huge_packing(path: Path) -> None:
    """An archive whose last member is small and declares to be packed in nearly all of the file."""
    with_a_hole_before_the_directory(path, 400 * MB)
    change(path, b"PK\x01\x02", 20, 399 * MB)


def change(path: Path, signature: bytes, place: int, *values: int) -> None:
    """Write other numbers behind the last signature near the end of a file."""
    with path.open("r+b") as file:
        begin = file.seek(-500, os.SEEK_END)
        file.seek(begin + file.read().rindex(signature) + place)
        file.write(struct.pack(f"<{len(values)}I", *values))


def packed(*parts: bytes) -> Callable[[Path], None]:
    """A file in the packing that its name says."""

    def write(path: Path) -> None:
        if path.suffix == ".gz":
            with gzip.open(path, "wb", compresslevel=6) as file:
                file.writelines(parts)
        else:
            with path.open("wb") as raw, zstandard.ZstdCompressor().stream_writer(raw) as file:
                for part in parts:
                    file.write(part)

    return write


def empty_blocks(path: Path) -> None:
    """A frame with millions of blocks that hold nothing, between skippable frames that hold nothing."""
    skippable = b"\x50\x2a\x4d\x18\0\0\0\0"
    last = (len(LINES) << 3 | 1).to_bytes(3, "little") + LINES
    frame = b"\x28\xb5\x2f\xfd\x00\x58" + b"\0\0\0" * 5 * MB + last
    path.write_bytes(skippable + frame + skippable * 2 * MB)


def plain(content: bytes) -> Callable[[Path], None]:
    return lambda path: void(path.write_bytes(content))


def with_a_hole(before: bytes, size: int, after: bytes) -> Callable[[Path], None]:
    """A file with so many zeros in it, which take no room on the disk."""

    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.write(before)
            file.seek(size, 1)
            file.write(after)

    return write


def void(_: object) -> None: ...


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def in_native(value: bytes) -> bytes:
    return FIRST + SAMPLE.rstrip()[:-1] + b',"extra":{"x":' + value + b"}}\n"


def odd_things(path: Path) -> None:
    (path / "inner").mkdir(parents=True)
    (path / "good.trace.jsonl").write_bytes(FIRST + SAMPLE)
    os.mkfifo(path / "opencode.db")
    os.mkfifo(path / "pipe.jsonl")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(os.path.relpath(path / "end.json"))
    (path / "inner/up").symlink_to("..")
    (path / "itself").symlink_to("itself")
    (path / "nowhere.json").symlink_to("gone")


def field(number: int, content: bytes) -> bytes:
    """A field of protobuf that holds bytes."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def span(text: bytes) -> bytes:
    """An export of OpenTelemetry with one span, whose prompt is the text."""
    prompt = field(9, field(1, b"gen_ai.prompt") + field(2, field(1, text)))
    return field(1, field(2, field(2, field(1, b"1" * 16) + field(2, b"2" * 8) + field(5, b"chat") + prompt)))


def database(path: Path, cell: str | None) -> None:
    """A store of OpenCode with one message; without a cell, with one of 300 MB."""
    with closing(sqlite3.connect(path)) as store:
        columns = "session_id text, time_created integer, time_updated integer, data text"
        store.executescript(
            "create table session(id text primary key, project_id text, parent_id text, slug text, directory text,"
            " title text, version text, share_url text, time_created integer, time_updated integer);"
            f"create table message(id text primary key, {columns});"
            f"create table part(id text primary key, message_id text, {columns});"
            "create table project(id text primary key, worktree text);"
            "insert into session values('ses_1','p',null,'s','/','t','1',null,1,1)"
        )
        value = "cast(zeroblob(300000000) as text)" if cell is None else "?"
        given = () if cell is None else (cell,)
        store.execute(f"insert into message values('msg_1','ses_1',1,1,{value})", given)
        store.execute("insert into part values('prt_1','msg_1','ses_1',1,1,?)", (cell or "{}",))
        store.commit()


def wide_window(path: Path) -> None:
    """A few bytes that ask for 2 GB to be unpacked in."""
    asked = zstandard.ZstdCompressionParameters(window_log=31, enable_ldm=True)
    with path.open("wb") as raw, zstandard.ZstdCompressor(compression_params=asked).stream_writer(raw) as file:
        file.write(LINES)


LINES = FIRST + SAMPLE
UNKNOWN = "no format recognises"
HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    # name: how to write it, and what is said about it (empty: it is read)
    "member.eval": (lambda path: log(path, [("samples/1_epoch_1.json", sample(b"a" * 100 * MB))]), TIGHT),
    "lying.eval": (lying, "it is larger than the archive's directory declares"),
    "sum.eval": (
        lambda path: log(path, ((f"samples/{n}_epoch_1.json", sample(b"a" * 20 * MB)) for n in range(40))),
        TIGHT,
    ),
    "huge_directory.eval": (huge_directory, "its list of members is missing or broken"),
    "huge_packing.eval": (huge_packing, "its packed size is far larger than its size"),
    "empty_blocks.jsonl.zst": (empty_blocks, ""),
    "long_key.trace.jsonl": (plain(LINES.rstrip()[:-1] + b',"' + b"k" * 5 * MB + b'":1}\n'), ""),
    "many.eval": (
        lambda path: log(path, ((f"samples/{n}_epoch_1.json", b"{}") for n in range(100_000)), "stored"),
        "",
    ),
    "long_line.jsonl.gz": (packed(LINES, b'{"id":"', b"a" * 50 * MB, b'"}\n'), TIGHT),
    "blank_lines.jsonl.gz": (packed(LINES, b"\n" * 60 * MB), ""),
    "lines.jsonl.gz": (packed(LINES, b"{}\n" * 25 * MB), TIGHT),
    "lines.jsonl.zst": (packed(LINES, b"{}\n" * 100 * MB), TIGHT),
    "document.json.gz": (packed(EXPORT[:-3], b'"', b"a" * 40 * MB, b'"}'), TIGHT),
    "large_line.trace.jsonl": (with_a_hole(LINES + b'{"id":"', 300 * MB, b'"}\n' + SAMPLE), LARGE),
    "large_document.json": (with_a_hole(EXPORT[:-3] + b'"', 300 * MB, b'"}'), LARGE),
    "hundred_kilobytes.json": (plain(b"[" * 100_000), DEEP),
    "ten_megabytes.json": (plain(b"[" * 10 * MB), DEEP),
    "deep.trace.jsonl": (plain(in_native(nested(900))), DEEP),
    "deep.json": (plain(EXPORT % nested(500)), DEEP),
    "digits.json": (plain(EXPORT % (b"1" * 100_000)), DIGITS),
    "repeated_keys.json": (plain(EXPORT % (b"{" + b'"a":1,' * 40_000 + b'"b":1}')), ""),
    "odd_things": (odd_things, ""),
    "span.otlp.pb.gz": (packed(span(b"a" * 100 * MB)), TIGHT),
    "deep_cell.db": (lambda path: database(path, '{"a":' * 5_000 + "1" + "}" * 5_000), ""),
    "digits_in_a_cell.db": (lambda path: database(path, '{"role":"user","n":' + "9" * 100_000 + "}"), ""),
    "large_cell.db": (lambda path: database(path, None), "a row is larger than 256 MB"),
    "wide_window.jsonl.zst": (wide_window, "Frame requires too much memory for decoding"),
}
LIGHT = ("document.json.gz", "large_line.trace.jsonl", "deep.json", "digits.json", "odd_things", "deep_cell.db")
SCORED = str(ROOT / "tests/golden/native/every_part.trace.jsonl")
COMMANDS = {
    "detect": ("detect",),
    "show": ("show",),
    "validate": ("validate",),
    "measure": ("measure",),
    "convert": ("convert", "--to", "adk-jsonl", "-o", "OUT.jsonl"),
    "redact": ("redact", "--to", "native", "-o", "OUT.trace.jsonl"),
    "aggregate": ("aggregate", SCORED),
}
WITH_ENGINES = {
    "eval": ("eval", "--jobs", "1", "--out", "OUT"),
    "compare": ("compare", SCORED),
}
"""Commands that load Arrow, DuckDB or scipy, which alone take most of such limits: these hold beyond what a short
recording takes."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


def limited() -> None:
    seconds = ceil(SECONDS * slowness())
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def run(arguments: Iterable[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pantrace", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        preexec_fn=limited,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("command", quick({"convert"}, COMMANDS))
@pytest.mark.parametrize("name", quick(LIGHT, HOSTILE))
def test_it_is_read_or_refused_within_limits(name: str, command: str, folder: Path, tmp_path: Path) -> None:
    write, message = HOSTILE[name]
    path = folder / name
    if not path.exists():
        write(path)
    arguments = [each.replace("OUT", str(tmp_path / "out")) for each in COMMANDS[command]]
    found = run([*arguments, name, *(["--json"] if command == "detect" else [])], folder)
    assert found.returncode in (0, 1, 2), found.stdout[-2000:]
    assert "internal error" not in found.stdout
    assert "not enough memory" not in found.stdout
    if message:
        assert message in found.stdout, found.stdout[-2000:]
    else:
        assert found.returncode < 2 or name == "many.eval", found.stdout[-2000:]


MEASURED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
"""
"""A process in between, because the largest size of a process counts that of the one that started it, too."""


def used(arguments: Iterable[str], folder: Path) -> tuple[int, str, float, int]:
    """A command's exit code, what it said, its seconds of computing and the most bytes that it held."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, sys.executable, "-m", "pantrace", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (30, 30)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        errors="replace",
    )
    said, _, counted = done.stdout.rstrip("\n").rpartition("\n")
    code, seconds, size = counted.split()
    return int(code), said, float(seconds), int(size)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[float, int]]:
    """What these commands take for a short recording."""
    folder = tmp_path_factory.mktemp("short")
    (folder / "a.trace.jsonl").write_bytes(LINES)
    found = {}
    for command, words in WITH_ENGINES.items():
        _, _, seconds, size = used([*(each.replace("OUT", "out") for each in words), "a.trace.jsonl"], folder)
        found[command] = seconds, size
    return found


@pytest.mark.parametrize("command", quick({"eval"}, WITH_ENGINES))
@pytest.mark.parametrize("name", quick({"deep.trace.jsonl"}, HOSTILE))
def test_commands_with_engines_take_little_more_than_for_a_short_recording(
    name: str, command: str, short: dict[str, tuple[float, int]], folder: Path, tmp_path: Path
) -> None:
    write, message = HOSTILE[name]
    path = folder / name
    if not path.exists():
        write(path)
    words = [each.replace("OUT", str(tmp_path / "out")) for each in WITH_ENGINES[command]]
    code, said, seconds, size = used([*words, name], folder)
    assert code in (0, 1, 2), said[-2000:]
    assert "internal error" not in said and "not enough memory" not in said
    assert message in " ".join(said.split()), said[-2000:]
    assert seconds < short[command][0] + SECONDS * slowness()
    assert size < short[command][1] + BYTES
