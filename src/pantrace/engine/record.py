"""`pantrace.recorder`: a recording in any format that can be written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pantrace.errors import UsageError
from pantrace.formats import by_name
from pantrace.model import Case, Run, Sample
from pantrace.places import path_here
from pantrace.recording import Recorder
from pantrace.recording.file import add_to_native


def recorder(
    path: str | Path,
    *,
    case: str | Mapping[str, Any] | Case | None = None,
    to: str = "native",
    id: str | None = None,  # noqa: A002
    epoch: int | None = None,
    title: str | None = None,
    agent: str | None = None,
    model: str | None = None,
    instructions: str | None = None,
    tools: Iterable[Any] | None = None,
) -> Recorder:
    """Record an agent from inside: `with pantrace.recorder("runs/today.trace.jsonl", case="q1") as rec: ...`.

    A native file gets one more sample each time. With `to`, the recording becomes a separate file in another format
    ("inspect", "atif", ...), which must not exist yet. `case` is an id, or the fields of a case: question, reference,
    labels. `agent`, `model`, `instructions` and `tools` describe the agent that is recorded."""
    target = path_here(path)
    written = by_name(to)
    if not written.writes:
        raise UsageError(f"{to} can be read, not written")
    # Only a native file can be appended to.
    if to != "native" and target.exists():
        raise UsageError(f"{target} already exists; a recording as {to} needs a new file")

    def keep(sample: Sample, place: Path) -> None:
        if to == "native":
            add_to_native(sample, place)
        else:
            from .convert import write

            write(Run(agent=agent, model=model, samples=(sample,)), place, to=to)

    return Recorder(
        target,
        case=case,
        id=id,
        epoch=epoch,
        title=title,
        agent=agent,
        model=model,
        instructions=instructions,
        tools=tools,
        keep=keep,
    )
