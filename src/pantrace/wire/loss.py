"""Loss, measured: what a sample said before it was written, and what it says when it is read back.

Steps are aligned by id, else by what they say, so that a format that merges turns is told apart from one that drops
them. The words: absent (not there any more), changed, merged (the step lives on inside another), joined (the text lives
on inside a longer one), moved (it stands in another step, or out of its order).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from pantrace.model import Loss, RunHeader, Sample, Trajectory, header_of

from .align import Plain
from .carried import CARRIER, without_notes
from .compare import compare, leaves
from .found import Found, Listed, part_type
from .json import to_plain


def sample_losses(before: Sample, after: Sample, why: Mapping[str, str], target: str) -> list[Loss]:
    """Everything of a sample that did not survive."""
    return [as_loss(each, why, target, before.id) for each in differences(plain(before), plain(after))]


def header_losses(before: RunHeader, after: RunHeader, why: Mapping[str, str], target: str) -> list[Loss]:
    """Everything of a run's header that did not survive, leaf by leaf: thirteen results are not one value."""
    out = Listed()
    compare("run", to_plain(_said(before)), to_plain(_said(after)), out, leaves)
    return [as_loss(each, why, target) for each in out.found]


def plain(sample: Sample) -> Plain:
    """A sample as plain values, without where it was read."""
    found: Plain = to_plain(without_source(sample))
    return found


def plain_header(run: RunHeader) -> Plain:
    """A header as plain values, as far as its file says them."""
    found: Plain = to_plain(_said(run))
    return found


def differences(before: Plain, after: Plain) -> list[Found]:
    """What of a sample is not as it was, one by one; both as `plain` gives them."""
    out = Listed()
    compare("", before, after, out)
    return out.found


def as_loss(found: Found, why: Mapping[str, str], target: str, sample: str | None = None, *, full: bool = True) -> Loss:
    """With the reason that the format gives; `full`: with the values themselves."""
    return Loss(
        sample=sample,
        path=found.path,
        what=found.text() if full else found.what,
        why=reason(found.path, why, target),
        values=found.values,
        own=found.own,
        part=part_type(found.path, found.before),
    )


def _said(run: RunHeader) -> RunHeader:
    """A header without what its file does not say: where it was read, and a name that is only the file's."""
    header = header_of(run)
    named_after = Path(header.source.path).name if header.source and header.source.path else None
    return msgspec.structs.replace(header, source=None, name=None if header.name == named_after else header.name)


def without_source(sample: Sample) -> Sample:
    """Without `source` and notes: where something was read and what pantrace thought of it is not what it says."""

    def without(trajectory: Trajectory | None) -> Trajectory | None:
        if trajectory is None:
            return None
        children = tuple([child for each in trajectory.children if (child := without(each)) is not None])
        return msgspec.structs.replace(trajectory, source=None, children=children)

    sample = without_notes(sample)
    return msgspec.structs.replace(sample, trajectory=without(sample.trajectory), expected=without(sample.expected))


def plain_without_source(plain: Plain) -> Plain:
    """The same for a sample as plain values."""

    def without(trajectory: Plain) -> Plain:
        bare = {key: value for key, value in trajectory.items() if key != "source"}
        if bare.get("children"):
            bare["children"] = [without(child) for child in bare["children"]]
        return bare

    bare = {key: without(value) if key in _TRAJECTORIES else value for key, value in plain.items()}
    if CARRIER in bare.get("extra", ()):
        bare["extra"] = {key: value for key, value in bare["extra"].items() if key != CARRIER}
        if not bare["extra"]:
            del bare["extra"]
    return bare


_TRAJECTORIES = ("trajectory", "expected")
_INDEX = re.compile(r"\[[^.]*")
_FORMAT = re.compile(r"(?:^|\.)extra\.[^.]*")


@lru_cache(1 << 14)
def general(path: str) -> str:
    """A path without its numbers, cut behind a format's name in `extra`: steps[3].usage -> steps[].usage."""
    place = _INDEX.sub("[]", path)
    cut = _FORMAT.search(place)
    return place if cut is None else place[: cut.end()]


def reason(path: str, why: Mapping[str, str], target: str) -> str:
    """The format's own word for the longest part of the path it explains."""
    place = general(path)
    while place:
        if place in why:
            return why[place]
        place = place.rpartition(".")[0]
    if ".extra." in f".{path}":
        return f"kept for its own format; {target} has no place for it"
    return f"{target} has no place for it"
