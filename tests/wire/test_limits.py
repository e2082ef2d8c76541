"""Limits at the door: what is refused, what is read although it looks odd, and that nothing else changes."""

from __future__ import annotations

import gzip
import os
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from pantrace.errors import ReadError
from pantrace.model import Sample
from pantrace.wire import files, zip_archive
from pantrace.wire.depth import OURS, is_too_deep
from pantrace.wire.head import Head, decode_beginning
from pantrace.wire.json import NonFinite, decode, decode_as, decode_document, encode, typed_decoder
from pantrace.wire.limits import limits
from pantrace.wire.rows import read_rows

ROOT = Path(__file__).parent.parent.parent
MB = 1_000_000
PACKED: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "zst": zstandard.ZstdCompressor().compress}


def written(path: Path, content: bytes, packing: str) -> Path:
    path.write_bytes(PACKED[packing](content))
    return path


@pytest.mark.parametrize("packing", PACKED)
def test_a_bomb_gives_not_one_line(packing: str, tmp_path: Path) -> None:
    path = written(tmp_path / "x", b'{"a": 1}\n' + b"\n" * 70 * MB, packing)
    with pytest.raises(ReadError, match=r"unpacks to more than 64 MB, and to more than [0-9,]+ times .*--max-unpacked"):
        next(files.lines(path))


@pytest.mark.parametrize("packing", PACKED)
def test_what_lies_in_front_does_not_hide_a_bomb(packing: str, tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(2 * MB).hex().encode()
    path = written(tmp_path / "x", noise + b"\n" + b"a" * 140 * MB, packing)
    with pytest.raises(ReadError, match="unpacks to more than"):
        list(files.lines(path))


@pytest.mark.parametrize("packing", PACKED)
def test_a_repetitive_recording_is_read_whole(packing: str, tmp_path: Path) -> None:
    """Each line repeats a long context, as logs of agents do."""
    context = random.Random(2).randbytes(20_000).hex().encode()
    content = b"".join(b'{"id": %d, "text": "%s"}\n' % (number, context) for number in range(1_700))
    path = written(tmp_path / "x", content, packing)
    assert len(content) > limits().flowing
    assert sum(1 for _ in files.lines(path)) == 1_700


@pytest.mark.parametrize("packing", PACKED)
def test_little_is_read_whatever_its_ratio(packing: str, tmp_path: Path) -> None:
    path = written(tmp_path / "x", b'"' + b"a" * 20 * MB + b'"', packing)
    assert len(files.read_all(path)) == 20 * MB + 2
    assert [len(line) for _, line in files.lines(path)] == [20 * MB + 2]


@pytest.mark.parametrize("packing", PACKED)
def test_what_must_be_held_has_a_lower_limit(packing: str, tmp_path: Path) -> None:
    path = written(tmp_path / "x", b"[" + b" " * 40 * MB + b"1]", packing)
    with pytest.raises(ReadError, match="unpacks to more than 32 MB, and to more than "):
        files.read_all(path)
    with pytest.raises(ReadError, match="unpacks to more than 32 MB"), files.map_file(path):
        pass
    with pytest.raises(ReadError, match="unpacks to more than 32 MB"):
        list(files.lines(path))


@pytest.mark.parametrize("packing", PACKED)
def test_a_long_line_that_is_no_bomb_comes_in_one_piece(packing: str, tmp_path: Path) -> None:
    noise = random.Random(3).randbytes(MB).hex().encode() * 17
    path = written(tmp_path / "x", b"first\n" + noise + b"\nlast", packing)
    assert [line for _, line in files.lines(path)] == [b"first\n", noise + b"\n", b"last"]


@pytest.mark.parametrize("packing", ["", *PACKED])
def test_lines_have_their_numbers_however_many_are_blank(packing: str, tmp_path: Path) -> None:
    content = b"\xef\xbb\xbfa\n" + b"\n" * 300_000 + b"  \r\n" * 3 + b" b\n\t\n\nc\n\n\n" + b" " * 300_000
    path = tmp_path / "x"
    path.write_bytes(PACKED[packing](content) if packing else content)
    expected = [
        (number, line.removeprefix(b"\xef\xbb\xbf"))
        for number, line in enumerate(content.splitlines(keepends=True), 1)
        if line.strip()
    ]
    assert list(files.lines(path)) == expected
    assert [number for number, _ in expected] == [1, 300_005, 300_008]


def test_a_torn_gzip_gives_its_whole_lines_first(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 200_000)[:-200])
    found = files.lines(path)
    assert next(found) == (1, b'{"a": 1}\n')
    with pytest.raises(ReadError, match="the compressed data is cut off at byte"):
        list(found)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_read_as_utf_8(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    text = "".join(f'{{"a": "日本語 🌱 {number}"}}\n' for number in range(2_000))
    path.write_bytes(f"\ufeff{text}".encode(encoding))
    assert b"".join(line for _, line in files.lines(path)).decode() == text
    assert files.read_all(path).decode() == text
    path.write_bytes(path.read_bytes()[:-5])  # torn in the middle of a letter
    assert b"".join(line for _, line in files.lines(path)).decode() == text[:-3]


def test_a_damaged_gzip_is_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "x"
    data = bytearray(gzip.compress(random.Random(4).randbytes(5_000)))
    data[100:120] = b"\xff" * 20
    path.write_bytes(data)
    with pytest.raises(ReadError, match="the file may be cut off or damaged"):
        files.read_all(path)


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (files.read_all, lambda path: list(files.lines(path)), lambda path: Head(path).data):
        with pytest.raises(ReadError, match="not a regular file but a pipe"):
            read(tmp_path / "pipe")
    with pytest.raises(ReadError, match="not a regular file but a pipe"), zip_archive.reading(tmp_path / "pipe"):
        pass
    with pytest.raises(ReadError, match="not a regular file but a device"):
        files.read_all(Path("/dev/zero"))


def test_a_person_may_raise_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.jsonl.zst"
    written(path, b'{"pantrace":"1"}\n{"id":"' + b"a" * 70 * MB + b'"}\n', "zst")
    for size, code in (("80MB", 0), ("0.1GB", 0), ("60MB", 2)):
        command = [sys.executable, "-m", "pantrace", "detect", str(path), "--max-unpacked", size]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
        assert done.returncode == code, done.stderr
        assert ("unpacks to more than 60 MB" in done.stderr) == (code == 2)
    command[-1] = "many"
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 2
    assert "'many' is not a size such as 500MB or 4GB" in done.stderr


def archive(path: Path, members: dict[str, bytes], compression: zip_archive.Compression) -> Path:
    with path.open("wb") as file:
        writer = zip_archive.Writer(file, compression)
        for name, content in members.items():
            writer.add(name, content)
        writer.finish()
    return path


@pytest.mark.parametrize("compression", ["zstd", "deflate"])
def test_one_member_that_is_a_bomb_does_not_hide_the_others(
    compression: zip_archive.Compression, tmp_path: Path
) -> None:
    path = archive(tmp_path / "x", {"bomb": b"a" * 40 * MB, "good": b"{}"}, compression)
    with zip_archive.reading(path) as found:
        assert found.read("good") == b"{}"
        with pytest.raises(ReadError, match="unpacks to more than 32 MB") as refused:
            found.read("bomb")
    assert (refused.value.path, refused.value.place) == (str(path), "bomb")


@pytest.mark.parametrize("compression", ["zstd", "deflate"])
def test_small_members_that_are_too_much_together_are_refused(
    compression: zip_archive.Compression, tmp_path: Path
) -> None:
    path = archive(tmp_path / "x", {str(number): b"a" * 20 * MB for number in range(4)}, compression)
    with pytest.raises(ReadError, match="unpacks to more than 64 MB"), zip_archive.reading(path):
        pass


@pytest.mark.parametrize("compression", ["zstd", "deflate", "stored"])
@pytest.mark.parametrize("declared", [10, 20 * MB])
def test_declared_sizes_are_not_believed(compression: zip_archive.Compression, declared: int, tmp_path: Path) -> None:
    path = archive(tmp_path / "x", {"lies": b"a" * MB}, compression)
    data = bytearray(path.read_bytes())
    for signature, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.rindex(signature) + place, declared)
    path.write_bytes(data)
    with zip_archive.reading(path) as found, pytest.raises(ReadError, match=r"cannot be unpacked|checksum"):
        found.read("lies")


def test_a_directory_that_declares_gigabytes_is_not_believed(tmp_path: Path) -> None:
    path = archive(tmp_path / "x", {"a": b"{}"}, "stored")
    data = bytearray(path.read_bytes())
    end = data.rindex(b"PK\x05\x06")
    struct.pack_into("<I", data, end + 12, 0xFFFFFFF0)
    path.write_bytes(data)
    with zip_archive.reading(path) as found:
        assert found.read("a") == b"{}"
    struct.pack_into("<I", data, data.rindex(b"PK\x01\x02") + 20, 0xFFFFFFF0)
    path.write_bytes(data)
    with zip_archive.reading(path) as found, pytest.raises(ReadError, match="longer than the archive"):
        found.read("a")


def test_an_archive_of_too_many_members_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "x", {"a": b"{}"}, "stored")
    end = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 9_000_000, 9_000_000, 46, 0)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, path.stat().st_size, 1)
    last = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 46, 0xFFFFFFFF, 0)
    path.write_bytes(path.read_bytes() + end + locator + last)
    with pytest.raises(ReadError, match="more than 2,000,000 members"), zip_archive.reading(path):
        pass


def nested(depth: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    return opening * depth + b"1" + closing * depth


SHAPES = [(b"[", b"]", 200), (b'{"a":', b"}", 200), (b'{"a":[', b"]}", 100), (b'[[],{"b":"]]]"},', b"]", 199)]


@pytest.mark.parametrize(("opening", "closing", "fits"), SHAPES)
def test_depth_is_refused_where_it_begins(opening: bytes, closing: bytes, fits: int) -> None:
    text = nested(fits, opening, closing)
    assert encode(decode(text)) == encode(decode_document(text)) == text
    for deep in (nested(fits + 2, opening, closing), nested(fits * 2, opening, closing), opening * 50_000):
        with pytest.raises(ReadError, match=r"line 1, column \d+: nested deeper than 200 levels"):
            decode(deep)
        with pytest.raises(ReadError, match="nested deeper than 200 levels"):
            decode_document(b"\n" + deep)


def test_the_model_has_room_for_its_own_levels() -> None:
    line = b'{"id":"x","extra":{"a":' + nested(limits().depth) + b"}}"
    assert encode(decode_as(line, Sample)) == line
    with pytest.raises(ReadError, match="nested deeper"):
        decode_as(b'{"id":"x","extra":{"a":' + nested(limits().depth + OURS) + b"}}", Sample)


def test_depth_counts_structs_and_odd_numbers_as_any_value() -> None:
    assert not is_too_deep([NonFinite("NaN"), {"a": NonFinite("1e999")}], 3)
    assert is_too_deep([[NonFinite("NaN")], [[[]]]], 2)
    assert not is_too_deep(Sample(id="x"), 3)


def test_a_typed_decoder_refuses_depth_like_any_other_text() -> None:
    import msgspec

    fast = typed_decoder(dict[str, object])
    assert fast(b'{"a": [1]}') == {"a": [1]}
    for deep in (nested(300), nested(100_000)):
        with pytest.raises(msgspec.DecodeError):
            fast(b'{"a": ' + deep + b"}")


@pytest.mark.parametrize("sign", [b"", b"-"])
def test_long_integers_are_kept_up_to_the_limit(sign: bytes) -> None:
    text = b'{"a":' + sign + b"7" * (limits().digits - len(sign)) + b"}"
    assert encode(decode(text)) == text
    with pytest.raises(ReadError, match=r"line 2, column 3: a number of more than 4,300 digits"):
        decode(b'{"a":\n  ' + sign + b"7" * 100_000 + b"}")


def test_texts_of_digits_and_long_fractions_are_no_long_integers() -> None:
    text = b'{"a":"' + b"7" * 100_000 + b'","b":0.' + b"1" * 100_000 + b"}"
    assert decode(text) == {"a": "7" * 100_000, "b": 1 / 9}


def test_very_many_repeated_keys_are_kept_in_reasonable_time() -> None:
    found = decode_document(b"{" + b",".join(b'"a":%d' % number for number in range(50_000)) + b"}")
    assert len(found) == 50_000
    assert (found["a"], found["a (duplicate 1)"], found["a (duplicate 49999)"]) == (49_999, 0, 49_998)


@pytest.mark.parametrize(
    "text",
    [b"[" * 70_000, b'{"a":' * 20_000, b'[{"a":[' * 9_000, b'["' + b'\\"' * 40_000, b'{"a":"' + b"b" * 70_000],
)
def test_the_beginning_of_hostile_text_is_looked_at_once(text: bytes) -> None:
    found = decode_beginning(text)
    assert found is None or found in ([], {})


def test_an_array_that_cannot_be_split_ends_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for torn, message in (
        (b'[{"a":1},' + b"[" * 3_000_000, "item 2: nested deeper than 200 levels"),
        (b'[{"a":1}, "' + b'\\"' * 3_000_000, "item 2, line 1: the JSON is cut off at byte 6,000,011 of 6,000,011"),
    ):
        path.write_bytes(torn)
        broken: list[ReadError] = []
        assert [row for _, row in read_rows(path, broken.append)] == [{"a": 1}]
        assert len(broken) == 1
        assert message in str(broken[0])


def test_items_that_are_too_deep_do_not_hide_the_others(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'[{"a":1},' + nested(400) + b',{"a":3}]')
    broken: list[ReadError] = []
    assert [row for _, row in read_rows(path, broken.append)] == [{"a": 1}, {"a": 3}]
    assert [error.place for error in broken] == ["item 2"]


def test_what_is_unpacked_is_what_was_packed(tmp_path: Path) -> None:
    """Several gzip members and several zstd frames in one file, as log rotation leaves them."""
    parts = [random.Random(number).randbytes(100_000) for number in range(3)]
    for packing, pack in PACKED.items():
        path = tmp_path / packing
        path.write_bytes(b"".join(map(pack, parts)))
        assert files.read_all(path) == b"".join(parts)
        with files.map_file(path) as view:
            assert zlib.crc32(view) == zlib.crc32(b"".join(parts))
