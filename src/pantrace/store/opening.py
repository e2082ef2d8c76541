"""Opening a run directory for writing: start it, continue it, or start its damaged files again."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from pantrace.errors import UsageError

from .durable import LOGS
from .manifest import Damaged
from .manifest_writer import Manifest, replace_manifest
from .run_file import (
    LOCK,
    MANIFEST,
    PARTS,
    RECORDINGS,
    RUN,
    WORKSPACES,
    DamagedRunFile,
    RunFile,
    is_run_directory,
    is_run_file,
    read_run_file,
    write_run_file,
)

OWN_NAMES = {RUN, LOCK, MANIFEST, *(f"{MANIFEST}{ending}" for ending in LOGS), PARTS, RECORDINGS, WORKSPACES}
"""The names that make up a run directory; anything else in it is not ours."""


def refuse_foreign(folder: Path) -> None:
    """Refuse to start a run in a directory that contains something else."""
    if not folder.exists() or is_run_directory(folder):
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file; a run needs a directory")
    if is_run_file(folder / RUN, RunFile):
        return
    if (folder / RUN).exists():
        # Raises the error that says what is wrong with it.
        read_run_file(folder)
    strange = sorted(path.name for path in folder.iterdir() if path.name not in OWN_NAMES and path.suffix != ".tmp")
    if strange:
        raise UsageError(
            f"{folder} is not a run directory and not empty (it contains {strange[0]}); choose a new or an empty one"
        )


def begun(folder: Path, wanted: RunFile) -> tuple[RunFile, Manifest, tuple[str, ...]]:
    """The run file and the manifest to continue with, and the names of those that were damaged or missing. Both of them
    say which plan the directory belongs to, so one can replace the other; but only the manifest knows the parts."""
    renewed = []
    content = None
    if (folder / RUN).exists() or is_run_directory(folder):
        try:
            content = read_run_file(folder)
        except DamagedRunFile:
            renewed.append(RUN)
    if content is not None:
        _refuse_other_plan(folder, content.plan_hash, wanted.plan_hash, same_text=content.plan == wanted.plan)
    manifest = _manifest(folder, content, wanted.plan_hash)
    if manifest is None:
        renewed.append(MANIFEST)
        if not replace_manifest(folder / MANIFEST, wanted.plan_hash):
            content = None
        manifest = Manifest(folder / MANIFEST)
    try:
        if manifest.fact("plan_hash") is None:
            ended = content is not None and content.run.status is not None and bool(manifest.parts)
            # Older versions had no editions; a run that has ended is one.
            manifest.note({"plan_hash": wanted.plan_hash, **({"edition": "1"} if ended else {})})
        if content is None or content.store < wanted.store:
            # An earlier pantrace would misread what is written from now on, so it has to refuse the directory.
            content = wanted if content is None else replace(content, store=wanted.store)
            write_run_file(folder, content)
    except BaseException:
        manifest.close()
        raise
    # A run that died before it committed anything has lost nothing, so there is nothing to report.
    return content, manifest, tuple(renewed) if manifest.parts or MANIFEST in renewed else ()


def _manifest(folder: Path, content: RunFile | None, plan_hash: str) -> Manifest | None:
    """The existing manifest, or a new one; None if it is missing or damaged."""
    if content is not None and not (folder / MANIFEST).exists():
        return None
    try:
        found = Manifest(folder / MANIFEST)
    except Damaged:
        return None
    try:
        if (known := found.fact("plan_hash")) is not None:
            _refuse_other_plan(folder, known, plan_hash)
    except BaseException:
        found.close()
        raise
    # An empty manifest next to a run file has lost its rows; parts without any plan could belong to another one.
    if known is None and (found.is_new if content is not None else bool(found.parts)):
        found.close()
        return None
    return found


def _refuse_other_plan(folder: Path, known: str, wanted: str, *, same_text: bool = False) -> None:
    if known == wanted:
        return
    anew = "choose another directory for --out, or remove this one"
    if (folder / RECORDINGS).is_dir():
        # Never advise to remove recordings: running the agent again costs money.
        again = f"evaluate its recordings by this plan: `pantrace eval {folder / RECORDINGS} --plan PLAN --out OTHER`"
        anew = f"choose another directory for --out, or {again}"
    if same_text:
        raise UsageError(
            f"{folder} was made by this plan, but something that it names has changed since: a profile, a rule file, a "
            f"rubric, the reference, or the judge. After a change of the profile, `pantrace gate {folder} --profile "
            f"FILE` decides again without measuring; after any other change, {anew}"
        )
    raise UsageError(
        f"{folder} holds a run of another plan (its hash is {known[:12]}, this plan's is {wanted[:12]}); {anew}"
    )
