"""Which result files of a directory belong to one run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.wire.optional import present
from pantrace.wire.rows import OnBroken

from .document import document

NEAR = 10.0
"""Seconds between files of one run: google-adk 1.x writes them all at its end, milliseconds apart."""


@dataclass
class Group:
    """The files of one run, in the order in which they were written."""

    headers: list[dict[str, Any]]
    """The headers of the files, without nulls."""
    created: float
    ended: float
    paths: list[Path] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    repeated: set[str] = field(default_factory=set)
    """Cases that occur in other runs of the directory as well."""
    single: bool = True
    """Whether all files hold one case, as those of 1.x do."""

    @property
    def header(self) -> dict[str, Any]:
        return self.headers[0]


def group_files(paths: list[Path], on_broken: OnBroken) -> list[Group]:
    """The runs of a directory in order of time. Files with one case each form one run if they share the eval set, are
    close in time, and repeat no case; any other file is a run of its own."""
    found: list[tuple[float, Path, dict[str, Any], list[str]]] = []
    for path in paths:
        try:
            opened = document(path)
        except ReadError as error:
            on_broken(error)
            continue
        created = opened.header.get("creation_timestamp")
        # Files without a time come first, and are never close to one that has a time.
        moment = float(created) if isinstance(created, (int, float)) else 0.0
        found.append((moment, path, opened.header, [name for name in opened.ids() if name is not None]))
    groups: list[Group] = []
    for moment, path, header, ids in sorted(found, key=lambda each: (each[0], each[1])):
        group = next((each for each in groups if _joins(each, moment, header, ids)), None)
        if group is None:
            group = Group(headers=[], created=moment, ended=moment, single=len(ids) == 1)
            groups.append(group)
        group.headers.append(present(header))
        group.paths.append(path)
        group.ended = moment
        group.ids.update(ids)
    total = Counter(name for group in groups for name in group.ids)
    for group in groups:
        group.repeated = {name for name in group.ids if total[name] > 1}
    return groups


def _joins(group: Group, moment: float, header: dict[str, Any], ids: list[str]) -> bool:
    return (
        group.single
        and len(ids) == 1
        # The same case again means that a second run began.
        and ids[0] not in group.ids
        and header.get("eval_set_id") == group.header.get("eval_set_id")
        and 0 <= moment - group.ended <= NEAR
    )
