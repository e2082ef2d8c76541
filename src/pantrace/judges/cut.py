"""Cutting: long material is made to fit by a fixed rule, and every cut is reported.

1. The middle of long tool outputs goes first; all are shortened to the same length, the longest that fits.
2. Then the entries in the middle of long lists go (steps of a trajectory, calls, turns); head and tail stay.
3. Then the middle of whatever text is still too long.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .fence import BREAKS

OUTPUT_LENGTHS = (20_000, 8_000, 4_000, 2_000, 1_000, 500)
_SEAM = "\n[{} characters cut here]\n"
_LEAST = 200
"""Texts shorter than this are never shortened."""


class Block(msgspec.Struct, frozen=True):
    """One entry of an input: something said, a call, an output."""

    text: str
    kind: Literal["text", "output"] = "text"
    tight: bool = False
    """Follows the entry before it without a blank line."""
    step: int | None = None
    """The number of its step, which is shown with it."""
    id: str | None = None
    """The id that evidence uses for the step."""
    partial: bool = False
    """The recording itself has only a part of it."""


Material = dict[str, list[Block]]
"""Input name -> its entries."""


class Absent(msgspec.Struct, frozen=True):
    """Why a sample cannot be judged by a rubric."""

    reason: str


def fit(material: Material, budget: int) -> tuple[dict[str, str], list[str]]:
    """The inputs as texts of at most `budget` characters together, and a note of each cut."""
    kept, notes = cut_to(material, budget)
    return {name: joined(blocks) for name, blocks in kept.items()}, notes


def cut_to(material: Material, budget: int) -> tuple[Material, list[str]]:
    """The entries that fit into `budget` characters together, and a note of each cut."""
    notes: list[str] = []
    # Fixed lengths instead of the exact one that fits: small changes elsewhere must not change every output's cut.
    for length in OUTPUT_LENGTHS:
        if _size(material) <= budget:
            break
        shortened, count = _shorten_outputs(material, length)
        if _size(shortened) <= budget or length == OUTPUT_LENGTHS[-1]:
            material = shortened
            if count:
                notes.append(f"the middle of {count} long tool outputs ({length} characters of each are kept)")
            break
    if _size(material) > budget:
        material = _drop_middles(material, budget, notes)
    if _size(material) > budget:
        material = _shorten_all(material, budget, notes)
    return material, notes


def joined(blocks: list[Block]) -> str:
    """The entries as one text."""
    gaps = ["", *("\n" if block.tight else "\n\n" for block in blocks[1:])]
    return "".join(gap + _entry(block) for gap, block in zip(gaps, blocks, strict=False))


def _entry(block: Block) -> str:
    """An entry with its step's number; further lines are indented, so that none can imitate an entry."""
    return block.text if block.step is None else f"[step {block.step}] " + BREAKS.sub("\n    ", block.text)


def _size(material: Material) -> int:
    return sum(_length(blocks) for blocks in material.values())


def _length(blocks: list[Block]) -> int:
    # `joined` adds a blank line to each text, and the number of its step.
    return sum(len(block.text) + (2 if block.step is None else 16) for block in blocks)


def shortened_text(text: str, length: int) -> str:
    """The head and the tail of a text that is longer than `length`, with a line that says how much is missing."""
    if len(text) <= length:
        return text
    kept = max(length - len(_SEAM) - 6, 2)
    head, tail = kept - kept // 2, kept // 2
    return text[:head] + _SEAM.format(len(text) - kept) + text[len(text) - tail :]


def _shorten_outputs(material: Material, length: int) -> tuple[Material, int]:
    count = 0
    found: Material = {}
    for name, blocks in material.items():
        found[name] = []
        for block in blocks:
            if block.kind == "output" and len(block.text) > length:
                block = msgspec.structs.replace(block, text=shortened_text(block.text, length))
                count += 1
            found[name].append(block)
    return found, count


def _drop_middles(material: Material, budget: int, notes: list[str]) -> Material:
    """Lists without the entries in their middle; each list loses the same share."""
    lists = {name: blocks for name, blocks in material.items() if len(blocks) > 2}
    room = budget - sum(_length(blocks) for name, blocks in material.items() if name not in lists)
    total = sum(_length(blocks) for blocks in lists.values())
    found = dict(material)
    for name, blocks in lists.items():
        allowed = max(room, 0) * _length(blocks) // total
        kept = _ends(blocks, allowed)
        head, tail = kept
        if head + tail >= len(blocks):
            continue
        first, last = head + 1, len(blocks) - tail
        left_out = Block(f"[entries {first} to {last} of {len(blocks)} cut here]")
        found[name] = [*blocks[:head], left_out, *blocks[len(blocks) - tail :]]
        notes.append(f"entries {first} to {last} of the {len(blocks)} entries of {_words(name)}")
    return found


def _ends(blocks: list[Block], allowed: int) -> tuple[int, int]:
    """How many entries stay at the head and at the tail, at least one of each."""
    # The first entry says what was asked and the last how it ended: neither is ever cut.
    head, tail = 1, 1
    # 60 for the line that says which entries were cut.
    used = len(blocks[0].text) + len(blocks[-1].text) + 60
    while head + tail < len(blocks):
        from_head = head <= tail
        size = len(blocks[head if from_head else len(blocks) - tail - 1].text) + 2
        if used + size > allowed:
            break
        used += size
        head, tail = (head + 1, tail) if from_head else (head, tail + 1)
    return head, tail


def _shorten_all(material: Material, budget: int, notes: list[str]) -> Material:
    lengths = sorted(len(block.text) + 2 for blocks in material.values() for block in blocks)
    # The longest texts share equally what the shorter ones leave.
    left, cap = budget, 0
    for place, length in enumerate(lengths):
        cap = left // (len(lengths) - place)
        if length > cap:
            break
        left -= length
    cap = max(cap - 2, _LEAST)
    found: Material = {}
    for name, blocks in material.items():
        long = [block for block in blocks if len(block.text) > cap]
        if long:
            which = f"the middle of {_words(name)}" if len(blocks) == 1 else f"the middle of {len(long)} long entries"
            of = "" if len(blocks) == 1 else f" of {_words(name)}"
            notes.append(f"{which}{of} ({cap} characters of each are kept)")
        found[name] = [msgspec.structs.replace(block, text=shortened_text(block.text, cap)) for block in blocks]
    return found


def _words(name: str) -> str:
    return "the " + name.replace("_", " ")
