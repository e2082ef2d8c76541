"""Arguments and options that several commands share."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from pantrace.errors import NothingWritten, UsageError

from .complete import complete_formats, complete_metrics, complete_samples
from .output import say

if TYPE_CHECKING:
    from pathlib import Path

    from pantrace.engine.select import Selection
    from pantrace.engine.usual_places import Kept


class FiniteRange(click.FloatRange):
    """A number in a range. Not NaN, which lies in every range because it compares false with both ends."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if not isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


class Option(click.Option):
    """An option that still accepts old spellings, which its help does not show: scripts in CI use them."""

    def __init__(self, declared: Any, *, old: tuple[str, ...] = (), **others: Any):
        super().__init__([*declared, *old], **others)
        self.old = old

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        told: tuple[str, str] | None = self._today(lambda: super(Option, self).get_help_record(ctx))
        return told

    def get_error_hint(self, ctx: click.Context | None) -> str:
        told: str = self._today(lambda: super(Option, self).get_error_hint(ctx))
        return told

    def _today(self, make: Callable[[], Any]) -> Any:
        kept = self.opts
        self.opts = [name for name in kept if name not in self.old]
        try:
            return make()
        finally:
            self.opts = kept


def option(*names: str, old: tuple[str, ...] = (), **others: Any) -> Callable[[Any], Any]:
    """An option with its old spellings."""
    return click.option(*names, cls=Option, old=old, **others)


_MOST_BYTES = 10**18


def size(text: str) -> int:
    """A number of bytes: 500MB, 4GB, 64MiB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kmgt]?)(i?)b?", text, re.IGNORECASE)
    if found is None:
        raise click.BadParameter(f"{text!r} is not a size such as 500MB or 4GB")
    factor = (1024 if found[3] else 1000) ** " kmgt".index(found[2].lower() or " ")
    # Checked before it is rounded: int() of infinity, which 400 digits give, would be a traceback.
    if (number := float(found[1])) * factor > _MOST_BYTES:
        raise click.BadParameter(f"{text[:40]!r} is more than any machine has")
    return int(number * factor)


def _allow(context: click.Context, option: click.Parameter, size: int | None) -> None:
    if size is not None:
        from pantrace.wire.limits import allow_record, allow_unpacked

        (allow_record if option.name == "max_record" else allow_unpacked)(size)


_unpacked = click.option(
    "--max-unpacked",
    type=size,
    metavar="SIZE",
    expose_value=False,
    callback=_allow,
    help="Unpack compressed inputs up to this size (4GB), even if they are suspiciously compressed.",
)
_record = click.option(
    "--max-record",
    type=size,
    metavar="SIZE",
    expose_value=False,
    callback=_allow,
    help="Read records up to this size (1GB) instead of 256MB; reading one takes several times its size in memory.",
)


def within_limits(command: Any) -> Any:
    """Add the options for the size of inputs."""
    return _unpacked(_record(command))


def sources_or_home(command: Any) -> Any:
    """Add the argument for recordings; without any, those of well-known tools on this machine are read."""
    return _sources(command, required=False)


def sources(command: Any) -> Any:
    """Add the argument for recordings, and the options for their size."""
    return _sources(command, required=True)


def _sources(command: Any, *, required: bool) -> Any:
    command = within_limits(command)
    # click stores parameters in reverse order: these are rarely needed, so they come last in the help.
    kept = command.__click_params__
    kept[:0] = [kept.pop(-2), kept.pop()]
    shown = "PATH..." if required else "[PATH]..."
    return click.argument("sources", nargs=-1, required=required, metavar=shown)(command)


def kept_at_home(since: float | None = None) -> list[Kept]:
    """Recordings of well-known tools on this machine, written since then; UsageError if there are none."""
    from pathlib import Path

    from pantrace.engine.usual_places import kept_in, usual_places

    found = [each for place in usual_places(Path.home(), Path.cwd(), os.environ) for each in kept_in(place)]
    wanted = [each for each in found if since is None or each.newest >= since]
    if not wanted:
        raise UsageError("no known tool has recordings on this machine; name a path")
    return wanted


from_format = click.option(
    "-f",
    "--from",
    "from_",
    metavar="FORMAT",
    shell_complete=complete_formats,
    help="Read as this format instead of detecting it.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
as_csv = click.option("--csv", "as_csv", is_flag=True, help="Print the result as CSV.")
verbose = click.option("-v", "--verbose", is_flag=True, help="List everything; by default, long lists are cut short.")


def to_format(help_text: str, **others: Any) -> Callable[[Any], Any]:
    """`-t/--to FORMAT`."""
    return click.option("-t", "--to", metavar="FORMAT", shell_complete=complete_formats, help=help_text, **others)


def output(help_text: str, metavar: str = "FILE", **others: Any) -> Callable[[Any], Any]:
    """`-o/--output FILE`; the command gets it as `out`."""
    return click.option("-o", "--output", "out", metavar=metavar, help=help_text, **others)


def metric_names(help_text: str) -> Callable[[Any], Any]:
    """`--metric NAME`, as often as needed; the command gets them as `metrics`."""
    return click.option(
        "--metric", "metrics", multiple=True, metavar="NAME", shell_complete=complete_metrics, help=help_text
    )


sub_agents = click.option("--sub-agents", is_flag=True, help="Also treat each sub-agent as a separate sample.")


def selecting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose samples; the command gets them as one `chosen: Selection`."""

    @wraps(command)
    def with_choice(
        *arguments: Any,
        since: str | None,
        until: str | None,
        samples: tuple[str, ...],
        wheres: tuple[str, ...],
        limit: int | None,
        **others: Any,
    ) -> Any:
        from pantrace.library.sources import select

        # Parsed before the command runs: a wrong condition must fail before hours of work.
        chosen = select(where=wheres, sample=samples, since=since, until=until, limit=limit)
        try:
            given = command(*arguments, chosen=chosen, **others)
        # Also when the command ends with a code: "no sample has this id" is often the reason for it.
        except (click.exceptions.Exit, NothingWritten):
            _tell(chosen)
            raise
        _tell(chosen)
        return given

    for declared in (
        click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N samples."),
        click.option(
            "--where",
            "wheres",
            multiple=True,
            metavar="COND",
            help="Only samples for which this is true: agent=build, label.difficulty!=easy, title~^S1, cost>0.01, "
            "created>2026-11-15. Repeat to require several; docs/select.md lists the fields.",
        ),
        option(
            "--sample",
            "samples",
            old=("--session",),
            multiple=True,
            metavar="ID",
            shell_complete=complete_samples,
            help="Only this sample; the start of its id is enough. Repeat for more.",
        ),
        click.option("--until", metavar="TIME", help="Only samples created up to this time."),
        click.option(
            "--since",
            metavar="TIME",
            help="Only samples created since this time: 30m, 2h, 7d, today, 2026-11-15, 2026-11-15T08:00.",
        ),
    ):
        with_choice = declared(with_choice)
    return with_choice


def _tell(chosen: Selection) -> None:
    """Say what the options left out, if it may be unexpected."""
    if chosen.undated:
        options = [name for name, at in (("--since", chosen.since), ("--until", chosen.until)) if at is not None]
        say(f"{chosen.undated} samples have no time and are left out by {' and '.join(options)}")
    if chosen.found_nothing:
        say(chosen.found_nothing)


def expand(patterns: tuple[str, ...]) -> list[Path]:
    """Paths, with patterns that the shell did not expand; `-` is standard input."""
    from pathlib import Path

    found: list[Path] = []
    for pattern in patterns:
        # A named pipe would be refused further down: it can be read only once, and detection reads the start.
        is_pipe = pattern == "-" or ("://" not in pattern and Path(pattern).is_fifo())
        found += [_poured(pattern)] if is_pipe else _matching(pattern)
    return found


_SLOW_BYTES, _SLOW_OBJECTS = 20_000_000, 200
"""From here on, fetching takes long enough to be announced."""


def _tell_fetching(url: str, objects: int, size: int) -> None:
    from pantrace.wire.limits import in_words

    if size >= _SLOW_BYTES or objects >= _SLOW_OBJECTS:
        say(f"fetching {objects:,} objects ({in_words(size)}) from {url}")


def unfold(names: Iterable[str]) -> list[str]:
    """Names, with patterns in URLs, which no shell expands, replaced by what they match."""
    found: list[str] = []
    for name in names:
        is_pattern = "://" in name and any(letter in name for letter in "*?[")
        found += map(str, _matching(name)) if is_pattern else [name]
    return found


def run_directory(named: str, *, new: bool = False) -> Path:
    """A run directory, local or in a bucket; `new`: it may not exist yet."""
    from pathlib import Path

    if "://" not in named:
        return Path(named)
    from pantrace.places import path_at, run_path_at

    return run_path_at(named) if new else path_at(named)


def _matching(pattern: str) -> list[Path]:
    import glob
    from pathlib import Path

    if "://" in pattern:
        from pantrace.places import paths_at, tell_fetching

        tell_fetching(_tell_fetching)
        return paths_at(pattern)
    path = Path(pattern)
    # A file that exists wins: names such as "run[1].json" are real.
    if path.exists() or not glob.has_magic(pattern):
        return [path]
    matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 -- patterns may be absolute
    if not matches:
        raise UsageError(f"no file matches {pattern!r}")
    return [Path(match) for match in matches]


def keep_inputs(
    sources: Iterable[str],
    *,
    beside: Iterable[str | None] = (),
    recordings: Iterable[str | None] = (),
    others: Iterable[str | None] = (),
) -> None:
    """Refuse to overwrite sources and other files that are read, before any of them is read.

    `recordings` are outputs that a later run would read, `others` are tables, lists and pictures."""
    from pathlib import Path

    from pantrace.engine.overwriting import Output, refuse_overwriting

    recordings, others = list(recordings), list(others)
    for each in (*recordings, *others):
        if each and "://" in each:
            raise UsageError(f"{each}: only `eval --out` writes to a bucket; write a local file and copy it")
    if "" in (*recordings, *others):
        raise UsageError("the name of an output is empty")
    # "-" may be redirected into a file that is also an input.
    outputs = [Output(Path("/dev/stdout" if each == "-" else each), recording=True) for each in recordings if each]
    outputs += [Output(Path(each)) for each in others if each]
    if outputs:
        named = [path for each in sources for path in _matching("/dev/stdin" if each == "-" else each)]
        refuse_overwriting([*named, *(Path(each) for each in beside if each and "://" not in each)], outputs)


def _poured(source: str) -> Path:
    """A temporary file with the content of a pipe, because readers need to read more than once."""
    import atexit
    import shutil
    from contextlib import ExitStack
    from pathlib import Path

    from pantrace.wire.private_folder import private_folder

    # Until the end of the process: formats read their inputs lazily, and some read them twice.
    held = ExitStack()
    atexit.register(held.close)
    target = held.enter_context(private_folder()) / "stdin"
    with target.open("wb") as file:
        if source == "-":
            # Without a buffer: on a terminal, it would continue reading after the first Ctrl-D.
            with os.fdopen(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as pipe:
                shutil.copyfileobj(pipe, file)
        else:
            with Path(source).open("rb") as pipe:
                shutil.copyfileobj(pipe, file)
    return target


calibration_files = click.option(
    "--calibration",
    "calibrations",
    multiple=True,
    metavar="FILE",
    help="Result of `pantrace calibrate`, which says which judges may decide; repeat for more.",
)
