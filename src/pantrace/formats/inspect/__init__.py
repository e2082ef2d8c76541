"""Inspect AI logs: `.eval` archives and `.json` documents.

Spec: https://inspect.aisi.org.uk/eval-logs.html; the shapes are those of inspect_ai 0.3.285, and the Inspect log guide.
Detect: a zip with header.json or _journal/start.json, or a JSON object whose `eval` names a task.
Lost: nothing; data that Inspect has no field for is kept in `metadata.pantrace` of the sample or of `eval`.
"""

from __future__ import annotations

from pantrace.formats.format import Format

from .header import LOGGED
from .pools import resolved_events
from .reading import detect, open_run, open_span, plan, summaries
from .records import check
from .samples import dump, load
from .summary import FLUSH, SUMMARY
from .validation import validate
from .writing import Options, save

__all__ = ["FORMAT", "resolved_events", "summaries"]

FORMAT = Format(
    name="inspect",
    title="Inspect AI logs: .eval (stored, deflate, zstd) and .json, also of crashed runs",
    spec="https://inspect.aisi.org.uk/eval-logs.html",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    plan=plan,
    open_span=open_span,
    save=save,
    check=check,
    validate=validate,
    checks_itself=True,
    options=Options,
    suffix=".eval",
    nests=True,
    repairs=True,
    outside=(f"extra.inspect.{SUMMARY}", f"extra.inspect.{FLUSH}", f"run.extra.inspect.{LOGGED}"),
    reencoded={
        "[].input[].content[].text": "a summary names a picture or another file by its kind: `(Image)`",
        "[].scores.*": "a summary shortens long texts of the sample; other differences are kept",
    },
    corners=("metadata.pantrace", "events[].metadata.pantrace"),
)
