"""The report: one HTML file that contains its data and opens without a server or a network."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from markupsafe import Markup

from pantrace.errors import WriteError
from pantrace.wire.json import decode

from .pack import INDEX, Packer
from .page import policy, program, style, template
from .shown import Shown
from .spool import Kind, Spool

_DROPPED: tuple[tuple[Kind, str], ...] = (
    ("image", "pictures"),
    ("text", "long texts (their beginnings are here)"),
    ("passed", "the steps of samples that passed"),
)
"""What a smaller report leaves out, the least important first."""
PLAIN = 131_072
"""Maximum bytes of a block of the first screen that is not compressed."""


@dataclass(frozen=True)
class Embedded:
    """A block in the document."""

    key: str
    mime: str
    text: Markup
    plain: bool = False
    """Not gzip, so that the page need not wait for decompression."""


def write_report(shown: Shown, file: IO[bytes], *, max_size: int | None = None) -> dict[str, Any]:
    """Write a report of at most `max_size` bytes; returns its index."""
    spool = Spool()
    try:
        packer = Packer(spool)
        index = packer.pack(shown)
        keys = [*spool.blocks]
        if max_size is not None:
            index["dropped"], keys = _smaller(spool, max_size)
            packer.put_index(index)
        # Small blocks are not compressed, so that the first screen is fast; with a size limit, everything is.
        for piece in _document(spool, index, keys, plain=PLAIN if max_size is None else 0):
            # "replace": a recording may contain half of a surrogate pair, which cannot be written as UTF-8.
            file.write(piece.encode("utf-8", "replace"))
        return index
    finally:
        spool.close()


def _document(spool: Spool, index: dict[str, Any], keys: Iterable[str], plain: int) -> Iterator[str]:
    """The document in pieces. What the first screen needs comes before the program, everything else after it: the
    program starts while the browser still reads the rest."""
    first = _first(spool, index)
    rest = [key for key in keys if key not in first]
    document = template().generate(
        title=index["title"],
        door="file",
        token="",
        policy=policy(),
        style=Markup(style()),
        program=Markup(program()),
        first=_embedded(spool, [key for key in first if key in {*keys, INDEX}], plain),
        rest=_embedded(spool, rest),
    )
    yield from document


def _first(spool: Spool, index: dict[str, Any]) -> list[str]:
    found = [INDEX]
    if not index["runs"]:
        return found
    run = index["runs"][0]
    found.append(run["table"])
    if len(index["runs"]) == 1 and run["samples"] == 1:
        # A single sample is opened at once, so the first screen needs its page and its first steps.
        table = decode(gzip.decompress(spool.read(run["table"])))
        page = decode(gzip.decompress(spool.read(table["block"][0])))[table["key"][0]]
        found += [table["block"][0], *(chunk[2] for chunk in page["chunks"][:1])]
    return found


def _embedded(spool: Spool, keys: Iterable[str], plain: int = 0) -> Iterator[Embedded]:
    """Blocks as text; those of at most `plain` bytes are unpacked."""
    for key in keys:
        data = spool.read(key)
        small = spool.blocks[key].unpacked <= plain
        # Base64 contains no character with a meaning in HTML, so nothing in a recording can end the element.
        text = Markup(base64.b64encode(gzip.decompress(data) if small else data).decode("ascii"))
        yield Embedded(key, spool.blocks[key].mime, text, small)


def _smaller(spool: Spool, max_size: int) -> tuple[list[str], list[str]]:
    """What to leave out, in words, and the keys of what stays; the largest blocks of each kind go first."""
    # 8 kB for the HTML around it; base64 makes 4 bytes out of 3, and each block has an element of about 120 bytes.
    frame = len(program()) + len(style()) + 8_192
    sizes = {key: 4 * ((block.size + 2) // 3) + 120 for key, block in spool.blocks.items()}
    total, told, gone = frame + sum(sizes.values()), [], set()
    for kind, words in _DROPPED:
        found = sorted(spool.of_kind(kind), key=lambda block: -block.size)
        dropped = 0
        for block in found:
            if total <= max_size:
                break
            total -= sizes[block.key]
            gone.add(block.key)
            dropped += 1
        if dropped:
            told.append(f"{words}: {dropped} of {len(found)} blocks")
    if total > max_size:
        raise WriteError(
            f"the report cannot be made smaller than {total:,} bytes; choose fewer samples (--failed-only, --sample, "
            "--limit) or allow more with --max-size"
        )
    return told, [key for key in spool.blocks if key not in gone]
