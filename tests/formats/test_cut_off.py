"""A file that breaks off says so, and where: "cut off at byte N of M" or "after N bytes", whatever holds it."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from pantrace.engine.read import Notes, read_pile
from pantrace.errors import ReadError
from pantrace.wire.zstd_frames import cut_at

GOLDEN = Path(__file__).parent.parent / "golden"
CUT = re.compile(r"cut off (?:at byte ([\d,]+) of|after) ([\d,]+)")


def told(path: Path) -> tuple[list[str], list[str]]:
    """Ids of the samples that are read all the same, and what is said of the rest."""
    notes = Notes.keeping()
    found: list[str] = []
    try:
        found += [sample.id for sample in read_pile([path], notes=notes).samples]
    except ReadError as error:
        return found, [str(error)]
    return found, [str(error) for error in notes.broken]


def place(text: str) -> tuple[int, int]:
    match = CUT.search(text)
    assert match is not None, text
    return int((match[1] or match[2]).replace(",", "")), int(match[2].replace(",", ""))


def documents() -> list[Path]:
    """One golden document of each format that is one JSON object, large enough to be cut in the middle of something."""
    found: dict[str, Path] = {}
    for path in sorted(GOLDEN.glob("*/*.json")):
        if path.stat().st_size > 600 and path.read_bytes().removeprefix(b"\xef\xbb\xbf").startswith(b"{"):
            found.setdefault(path.parent.name, path)
    return [*found.values()]


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.parent.name)
def test_a_document(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    torn = tmp_path / path.name
    for end in (len(data) * 6 // 10, len(data) - 30):
        torn.write_bytes(data[:end])
        _, [text, *_] = told(torn)
        cut, of = place(text)
        assert end - 5 <= of <= end  # a text inside the text is shorter
        assert cut == of


LINE = b'{"id": "s1", "trajectory": {"steps": [{"role": "user", "parts": [{"type": "text", "text": "hello"}]}]}}\n'
LINES = b'{"pantrace": "1", "run": {"name": "r"}}\n' + LINE + LINE.replace(b"s1", b"s2") + LINE.replace(b"s1", b"s3")


def test_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.jsonl"
    path.write_bytes(LINES[:-20])
    ids, [text] = told(path)
    assert ids == ["s1", "s2"]
    end = len(LINE) - 20
    where = f"line 4: the JSON is cut off after {end} bytes"
    assert f"{where}: the text that starts here does not end" in text


def test_an_array(tmp_path: Path) -> None:
    rows = [{"messages": [{"role": "user", "content": f"q{n}"}, {"role": "assistant", "content": "a"}]} for n in "123"]
    whole = json.dumps(rows).encode()
    path = tmp_path / "x.json"
    path.write_bytes(whole[:-20])
    ids, [text] = told(path)
    assert len(ids) == 2
    assert "item 3, line 1" in text
    assert place(text) == (len(whole) - 20, len(whole) - 20)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_compressed_lines_that_were_there_are_read(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    noise = random.Random(1)
    packed = pack(
        b"".join([LINES, *(LINE.replace(b"hello", noise.randbytes(400).hex().encode()) for _ in range(2_000))])
    )
    path = tmp_path / "x.trace.jsonl"
    path.write_bytes(packed[: len(packed) // 2])
    ids, texts = told(path)
    assert 3 <= len(ids) < 2_003
    cut, of = place(texts[-1])
    assert cut <= of == len(packed) // 2


def test_zstd_that_ends_between_two_blocks_is_still_cut(tmp_path: Path) -> None:
    """The decoder takes the end of the file for the end of the content; nothing would be said."""
    codec = zstandard.ZstdCompressor().compressobj()
    first = codec.compress(LINES) + codec.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    path = tmp_path / "x.trace.jsonl"
    path.write_bytes(first)
    ids, [text] = told(path)
    assert ids == ["s1", "s2", "s3"]
    assert place(text) == (len(first), len(first))
    path.write_bytes(first + codec.flush())
    assert told(path) == (["s1", "s2", "s3"], [])


def test_frames_of_every_kind_are_whole() -> None:
    for size in (0, 1, 300, 70_000, 500_000):
        for checksum in (True, False):
            for known in (True, False):
                codec = zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=known)
                frame = codec.compress(b"ab" * size) + codec.compress(b"x" * size)
                skippable = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
                assert cut_at(io.BytesIO(frame + skippable + frame)) is None
                assert cut_at(io.BytesIO(frame[:-1])) is not None


def test_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.eval"
    path.write_bytes((GOLDEN / "inspect/basic.eval").read_bytes()[:3000])
    _, [text] = told(path)
    assert place(text) == (3000, 3000)


def test_a_text_that_no_format_knows(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'{"some": "thing", "that": nu')
    _, [text] = told(path)
    assert place(text) == (28, 28)
    path.write_bytes(b'{"some": "thing", "that": nothing}')
    assert CUT.search(told(path)[1][0]) is None
