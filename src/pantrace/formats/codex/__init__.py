"""Codex: rollouts with their sub-agents and forks, and streams of `codex exec --json`.

Spec: none is published; github.com/openai/codex, codex-rs/protocol and codex-rs/rollout, and recordings of 0.166.0.
Detect: lines with a `type` of rollouts and a `payload`, or a session and its items (2025); events `thread.started`,
`item.completed`.
Lost: nothing for pantrace, which keeps the rest in a line of type `pantrace`; for others cases, scores, outcomes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pantrace.errors import ReadError
from pantrace.model import Run, Sample, Source
from pantrace.wire.carry_rest import carry_rest_in_log
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.head import Head
from pantrace.wire.rows import OnBroken
from pantrace.wire.source import with_source

from ..format import Format
from . import session, write
from .early_rollouts import is_early
from .events import NAME
from .files import Session, owner, related_rollouts
from .stream import is_stream

load, dump = carry_rest_in_log(session.load, write.dump)


def detect(head: Head) -> str | None:
    if head.kind != "json":
        return None
    if any(session.is_line(each) for each in head.records):
        return "rollout"
    if is_early(head.records):
        return "early rollout"
    return "stream" if is_stream(head.records) else None


def open_run(path: Path, on_broken: OnBroken) -> Run:
    """A session with its sub-agents and, if it is a fork, with the steps of its parent before the fork."""
    source = Source(format=NAME, version=detect(Head(path)) or None, path=str(path))
    return Run(name=path.name, source=source, samples=_samples(path, source, on_broken))


def _samples(path: Path, source: Source, on_broken: OnBroken) -> Iterator[Sample]:
    try:
        sample = Session(load, on_broken).sample(path)
    except ReadError as error:
        on_broken(error.at(path=str(path)))
        return
    if sample is None:
        return
    meta = rest_in(sample.trajectory.extra, NAME).get("meta") if sample.trajectory is not None else None
    version = meta.get("cli_version") if isinstance(meta, dict) else None
    producer = f"codex {version}" if isinstance(version, str) else None
    yield with_source(sample, Source(format=source.format, version=source.version, path=source.path, producer=producer))


FORMAT = Format(
    name=NAME,
    title="Codex: rollouts with sub-agents and forks, `codex exec --json` streams",
    spec="github.com/openai/codex, codex-rs/protocol (docs/formats/codex.md)",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    owner=owner,
    beside=related_rollouts,
    layout="log",
    suffix=".jsonl",
    corners=("[]", "[].pantrace"),
    lost={"": "a rollout of Codex holds messages, reasoning, calls, results and tokens"},
)

__all__ = ["FORMAT"]
