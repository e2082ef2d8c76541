"""Measured loss: what a sample said before it was written, compared with what it says when read back.

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
from .compare import compare, leaves
from .found import Found, Listed, is_own, part_type
from .json import to_plain
from .pantrace_key import CARRIER, without_notes


def sample_losses(before: Sample, after: Sample, why: Mapping[str, str], target: str) -> list[Loss]:
    """Everything of a sample that did not survive."""
    return [as_loss(each, why, target, before.id) for each in differences(plain(before), plain(after))]


def header_losses(before: RunHeader, after: RunHeader, why: Mapping[str, str], target: str) -> list[Loss]:
    """Everything of a run's header that did not survive, value by value: thirteen results are not one value."""
    return [as_loss(each, why, target) for each in header_differences(before, after)]


def header_differences(before: RunHeader, after: RunHeader) -> list[Found]:
    """The differences between two headers, one by one."""
    out = Listed()
    compare("run", plain_header(before), plain_header(after), out, leaves)
    return out.found


def plain(sample: Sample) -> Plain:
    """A sample as plain values, without where it was read."""
    found: Plain = to_plain(without_source(sample))
    return found


def plain_header(run: RunHeader) -> Plain:
    """A header as plain values, limited to what its file states."""
    found: Plain = to_plain(_stated_header(run))
    return found


def differences(before: Plain, after: Plain) -> list[Found]:
    """The differences between two samples, one by one; both as `plain` returns them."""
    out = Listed()
    compare("", before, after, out)
    return out.found


def as_loss(found: Found, why: Mapping[str, str], target: str, sample: str | None = None, *, full: bool = True) -> Loss:
    """A difference as a Loss, with the format's reason; `full`: with the values themselves."""
    return Loss(
        sample=sample,
        path=found.path,
        what=found.text() if full else found.what,
        why=reason(found.path, why, target, found.what),
        values=found.values,
        own=found.own,
        part=part_type(found.path, found.before),
    )


def _stated_header(run: RunHeader) -> RunHeader:
    """A header without what its file does not state: its source, and a name taken from the file's name."""
    header = header_of(run)
    named_after = Path(header.source.path).name if header.source and header.source.path else None
    return msgspec.structs.replace(header, source=None, name=None if header.name == named_after else header.name)


def without_source(sample: Sample) -> Sample:
    """A sample without `source` and pantrace's notes: where it was read is not part of what it says."""

    def without(trajectory: Trajectory | None) -> Trajectory | None:
        if trajectory is None:
            return None
        children = tuple([child for each in trajectory.children if (child := without(each)) is not None])
        return msgspec.structs.replace(trajectory, source=None, children=children)

    sample = without_notes(sample)
    return msgspec.structs.replace(sample, trajectory=without(sample.trajectory), expected=without(sample.expected))


def plain_without_source(plain: Plain) -> Plain:
    """The same for a sample that is plain values already."""

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
def general_path(path: str) -> str:
    """A path without indices, cut after a format's name in `extra`: steps[3].usage -> steps[].usage."""
    place = _INDEX.sub("[]", path)
    # What lies in a format's own corner of `extra` is one thing to a reader of the report.
    cut = _FORMAT.search(place) if is_own(place) else None
    return place if cut is None else place[: cut.end()]


def reason(path: str, why: Mapping[str, str], target: str, what: str) -> str:
    """The format's explanation for the longest part of the path that it explains."""
    if what == "added":
        return "the source does not say it"
    place = general_path(path)
    while place:
        if place in why:
            return why[place]
        place = place.rpartition(".")[0]
    if is_own(path):
        return "only the source format has a place for it"
    return f"{target} has no place for it"
