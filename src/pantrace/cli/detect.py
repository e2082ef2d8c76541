"""`pantrace detect`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pantrace.errors import ReadError, UnknownFormat

from .arguments import as_json, expand, from_format, kept_at_home, sources_or_home
from .output import fits, print_json, put, say, table

if TYPE_CHECKING:
    from pathlib import Path

    from pantrace.engine.read import Notes
    from pantrace.formats import Format

LISTED = 100
"""Maximum number of ignored files that are listed."""


@click.command("detect")
@sources_or_home
@from_format
@click.option("--quick", is_flag=True, help="Only name the format; do not read the samples.")
@as_json
def command(sources: tuple[str, ...], from_: str | None, quick: bool, as_json: bool) -> None:
    """Say which format a file has, by its content, and what data is in it.

    Without a path, list the recordings of known tools on this machine (Claude Code, Codex, OpenCode, Gemini CLI, Qwen
    Code, Copilot, OpenHands; logs/ and .adk here), by tool and project. No file is opened for this.

    \b
    pantrace detect
    pantrace detect runs/
    pantrace detect log.eval --json

    Exit code: 0, or 2 if a named path has no known format or cannot be read.
    """
    from pantrace.engine.read import Notes

    if not sources:
        _tell_home(as_json)
        return
    notes = Notes.keeping()
    found: list[dict[str, Any]] = []
    for path in expand(sources):
        try:
            found += _inside(path, from_, quick, notes) or [_unread(path, UnknownFormat("nothing readable in it"))]
        except ReadError as error:
            found.append(_unread(path, error))
    if as_json:
        print_json({"inputs": found, **notes.left_out()})
    else:
        _tell_found(found)
        _tell_left_out(notes)
    unread = [each for each in found if each["format"] is None]
    for each in unread if not as_json else ():
        say(f"error: {each['path']}: {each['error']}")
    # Only for paths that were named: an unknown file inside a folder is normal.
    raise click.exceptions.Exit(2 if unread else 0)


def _tell_home(as_json: bool) -> None:
    """Print which tools have recordings where, the newest of each tool first."""
    from pantrace.wire.times import time_text

    # By names and times of files only: listing the machine must not take minutes.
    kept = kept_at_home()
    if as_json:
        print_json([{**each._asdict(), "path": str(each.path)} for each in kept])
        return
    rows = [
        [
            each.tool,
            each.project or "",
            (time_text(each.newest) or "")[:16].replace("T", " "),
            str(each.files),
            f"{each.bytes / 1e6:,.1f} MB",
            "" if each.format else "cannot be read yet",
            str(each.path),
        ]
        for each in kept
    ]
    columns = ["tool", "project", "newest (UTC)", "files", "size", "note", "path"]
    if not any(row[5] for row in rows):
        columns, *rows = [[*row[:5], row[6]] for row in (columns, *rows)]
    table(columns, rows, right=("files", "size"), spare=("path",))
    say("next: `pantrace show --since 1d` lists the sessions of the last day, from all tools")


def _inside(path: Path, from_: str | None, quick: bool, notes: Notes) -> list[dict[str, Any]]:
    """All inputs of a path. An unreadable one in a directory does not hide the others."""
    from pantrace.engine.read import inputs

    found = []
    for each in list(inputs([path], from_, notes)):
        try:
            found.append(_described(*each, quick, notes))
        except ReadError as error:
            if not path.is_dir():
                raise
            notes.on_broken(error)
    return found


def _unread(path: Path, error: ReadError) -> dict[str, Any]:
    # Without the path, which has its own column.
    sentence = str(ReadError(error.message, place=error.place, remedy=error.remedy))
    return {"path": str(path), "format": None, "error": sentence}


def _tell_left_out(notes: Notes) -> None:
    for error in notes.broken:
        say(f"left out: {error}")
    for each in notes.ignored[:LISTED]:
        say(f"ignored: {each.path}: {each.reason}")
    if len(notes.ignored) > LISTED:
        say(f"ignored: {len(notes.ignored) - LISTED} more; --json lists them all")


def _described(path: Path, chosen: Format, variant: str, quick: bool, notes: Notes) -> dict[str, Any]:
    from pantrace.engine.balance import Balance
    from pantrace.engine.contents import contents
    from pantrace.engine.read import open_run
    from pantrace.model import header_of

    files = notes.belonging[path] + (not path.is_dir())
    row: dict[str, Any] = {"path": str(path), "format": chosen.name, "version": variant or None, "files": files}
    if quick:
        return row
    broken: list[ReadError] = []
    unread = Balance()
    run = unread.open(path, chosen, variant, broken.append, partial(open_run, path, chosen, variant))
    # For people who write a reader: which keys does the file have?
    row["keys"] = _keys(path)
    row["run"] = header_of(run)
    row["data"] = contents(run.samples)
    row["reading"] = unread.plain()
    row["broken"] = [{"place": each.place, "message": each.message} for each in broken]
    return row


def _keys(path: Path) -> list[str]:
    """Keys of the first record and of the objects in it; empty if it is not JSON."""
    from pantrace.wire.head import Head

    found: list[str] = []
    for key, value in Head(path).record.items():
        found.append(key)
        if isinstance(value, dict):
            found += [f"{key}.{inner}" for inner in value]
    return found


def _tell_found(found: list[dict[str, Any]]) -> None:
    """Print a table if each input fits one line, otherwise a paragraph for each: a long path that is wrapped in a
    narrow column cannot be copied."""
    columns = ["path", "format", "version", "samples", "steps", "calls", "also"]
    rows = [_row(each) for each in found]
    if fits(columns, rows):
        table(columns, rows, right=("samples", "steps", "calls"))
        return
    for path, name, version, *numbers, also in rows:
        put(path)
        counts = [
            f"{number} {word}{'' if number == '1' else 's'}"
            for number, word in zip(numbers, _COUNTED, strict=True)
            if number
        ]
        described = f"{name} ({version})" if version else name
        put("  " + ": ".join(filter(None, [described, "; ".join(filter(None, [", ".join(counts), also]))])))


_COUNTED = ("sample", "step", "call")
_ALSO = {
    "thoughts": ("thought", "thoughts"),
    "steps_with_usage": ("step with tokens", "steps with tokens"),
    "steps_with_cost": ("step with cost", "steps with cost"),
    "steps_with_time": ("step with a time", "steps with a time"),
    "media": ("picture or other media", "pictures or other media"),
    "actions": ("action", "actions"),
    "scores": ("score", "scores"),
    "expected": ("reference run", "reference runs"),
    "other_calls": ("call in another branch or of another agent", "calls in other branches or of other agents"),
    "failed_results": ("failed call", "failed calls"),
    "errors": ("error", "errors"),
}


def _row(each: dict[str, Any]) -> list[str]:
    if each["format"] is None:
        return [each["path"], "unknown", "", "", "", "", ""]
    data = each.get("data", {})
    also = [f"{data[key]} {words[data[key] != 1]}" for key, words in _ALSO.items() if data.get(key)]
    also += [f"{count} without {word}" for word, count in data.get("absent", {}).items()]
    if count := each.get("reading", {}).get("unread"):
        also.append(f"{count} value{'' if count == 1 else 's'} that cannot be kept")
    if each.get("broken"):
        count = len(each["broken"])
        also.append(f"{count} broken record{'' if count == 1 else 's'}")
    # Otherwise nobody would know why a file of the folder is neither listed nor ignored.
    if each["files"] > 1:
        also.append(f"{each['files']} files")
    numbers = [str(data.get(key, "")) for key in ("samples", "steps", "calls")]
    return [each["path"], each["format"], each["version"] or "", *numbers, ", ".join(also)]
