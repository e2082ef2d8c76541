"""The command line: one file per command; the only room that prints and exits."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from pantrace import __version__
from pantrace.errors import PantraceError

COMMANDS = {
    "aggregate": "Means over several evaluations, null left out and counted.",
    "calibrate": "Hold judges against labels: do they agree with people?",
    "check": "Check recordings against rule files: what must be said, called, or called first.",
    "collect": "Record what OpenTelemetry sends: an OTLP receiver on this machine.",
    "compare": "Say whether run B is better than run A, or whether it is noise.",
    "convert": "Write recordings as another format and report what was lost.",
    "detect": "Say which format a file is, and what data it holds.",
    "diagnose": "Say why samples failed, grouped by cause.",
    "eval": "Evaluate recordings: read, measure, check, decide, keep, report.",
    "formats": "List the formats, what they read and write, and their options.",
    "gate": "Decide a run directory by a profile, without measuring again.",
    "init": "Write a commented plan for eval.",
    "judge": "Grade recordings by rubrics, with a language model as judge.",
    "measure": "Measure recordings with deterministic metrics.",
    "metrics": "List the metrics, their formulas, and when they do not apply.",
    "migrate": "Bring files of an older version of their format up to date.",
    "plot": "Draw evaluations: comparison, distribution, paired difference, pass^k.",
    "power": "Say how many cases a comparison needs to see a difference.",
    "query": "Ask run directories a question in SQL.",
    "redact": "Replace secrets in recordings.",
    "report": "Write runs and recordings as one file to look at and to send.",
    "run": "Put questions to an agent, record what it does, and say how it did.",
    "rubrics": "List the rubrics that judges grade by, or show some of them whole.",
    "schema": "Print the JSON Schema of the native format.",
    "show": "Print a recording as a readable transcript.",
    "validate": "Name every place where a file is not as its format demands.",
    "view": "Show runs and recordings in the browser, and label them.",
}

EPILOG = """
Exit codes: 0 fine (or pass), 1 fail (violations, losses refused, a gate not passed), 2 wrong usage or unreadable input,
3 could not decide.
"""


class _ReaderGone(Exception):
    """Nobody reads what we print any more (`| head`)."""


class Lazy(click.Group):
    """A group that loads a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"{__name__}.{cmd_name}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _ReaderGone from None  # click would end with 1, which says that something failed a gate

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise click.UsageError(f"{error.message}{hint}", ctx) from None


@click.group(cls=Lazy, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pantrace")
def cli() -> None:
    """Read any agent's log, write it as any other format, and know exactly what was lost.

    \b
    pantrace detect runs/                                what is in there?
    pantrace show session.json                           what did the agent do?
    pantrace convert runs/ --to vertex-seed -o out.json  another format, with a loss report
    pantrace validate out.json                           is it as the format demands?
    """


def main(arguments: list[str] | None = None) -> Any:
    """Run a command; every foreseen trouble ends in one sentence and an exit code."""
    _open_closed_streams()
    try:
        code = cli.main(args=arguments, prog_name="pantrace", standalone_mode=False)
        sys.stdout.flush()
        _tell_unverified()
        sys.exit(code if isinstance(code, int) else 0)
    except click.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except PantraceError as error:
        click.echo(f"pantrace: {error}", err=True)
        sys.exit(error.exit_code)
    except (BrokenPipeError, _ReaderGone):
        # Nothing is left to say, not even at interpreter exit. The code is the one that shells give to whoever ends
        # like that: not 0, since a gate may have come to no end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        if os.environ.get("PANTRACE_DEBUG"):
            raise
        where = f"{str(error.filename)[:200]}: " if error.filename else ""
        click.echo(f"pantrace: {where}{error.strerror or error}", err=True)
        sys.exit(2)
    except MemoryError:
        click.echo("pantrace: not enough memory for this input: split it, or read it on a larger machine", err=True)
        sys.exit(2)
    except Exception as error:
        if os.environ.get("PANTRACE_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error}"
        click.echo(f"pantrace: internal error, please report it: {what} (PANTRACE_DEBUG=1 shows where)", err=True)
        sys.exit(70)


def _open_closed_streams() -> None:
    """What a caller has closed (`2>&-`) leads nowhere. Otherwise the next file to be opened would get its number, and
    with it what is printed."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open("r" if name == "stdin" else "w")  # noqa: SIM115 -- as long as the process
            setattr(sys, name, stream)


def _tell_unverified() -> None:
    """Say which run directories were believed without proof; asked only where one was read."""
    store = sys.modules.get("pantrace.store")
    for folder in store.unverified() if store is not None else ():
        click.echo(
            f"{folder}: not verified: its parts were written before pantrace kept their hashes "
            "(the next `pantrace eval` into it adds them)",
            err=True,
        )
