"""The command line: one file per command; the only layer that prints and exits."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from pantrace import __version__
from pantrace.errors import PantraceError, in_command

if TYPE_CHECKING:
    from collections.abc import Sequence

GROUPS = {
    "Look": {
        "show": "List samples with tokens and cost, or print one of them.",
        "view": "Show runs and recordings in the browser, and label them.",
        "report": "Write runs and recordings as one HTML or Markdown file.",
        "detect": "Say which format a file has, and what data is in it.",
    },
    "Convert": {
        "convert": "Write recordings as another format, and say what was lost.",
        "validate": "Check files against the rules of their format.",
        "migrate": "Update files of an older version of their format.",
        "redact": "Replace secrets in recordings.",
        "formats": "List the formats that can be read and written.",
    },
    "Measure": {
        "measure": "Measure recordings: tokens, cost, time, tool use, accuracy.",
        "check": "Check recordings against rules: what must be said or called.",
        "metrics": "List the metrics with formulas, or explain some of them.",
    },
    "Judge": {
        "judge": "Grade recordings by rubrics, with a language model as judge.",
        "calibrate": "Compare judges with people's labels.",
        "rubrics": "List the rubrics that judges grade by, or show some.",
    },
    "Run": {
        "run": "Run an agent on a dataset, record it, and evaluate it.",
        "collect": "Receive OpenTelemetry data on this machine and record it.",
    },
    "Decide": {
        "eval": "Evaluate recordings: measure, check, judge, decide.",
        "gate": "Decide a run directory by a profile or against a baseline.",
        "profiles": "List the profiles, which decide whether samples pass.",
        "init": "Write a commented plan for eval.",
    },
    "Compare": {
        "compare": "Say whether run B is better than run A, or whether it is noise.",
        "diagnose": "Say why samples failed, grouped by cause.",
        "plot": "Draw evaluations: comparison, distribution, differences.",
        "power": "Say how many cases a comparison needs.",
        "aggregate": "Average several evaluations.",
    },
    "Keep": {
        "query": "Query run directories with SQL.",
        "schema": "Print the JSON Schema of the native format.",
    },
}
"""Commands by purpose, the common ones first. Here and not in the modules, so that --help imports none of them."""

COMMANDS = {name: told for group in GROUPS.values() for name, told in group.items()}

EPILOG = """
Exit codes: 0 success or passed, 1 failed (a gate, a rule, violations, a loss that --strict refuses), 2 wrong usage or
unreadable input, 3 could not decide. Shell completion: docs/commands.md.
"""


class _ReaderGone(Exception):
    """The reader of our output has closed the pipe (`| head`)."""


# Importing all commands would import the whole program: --help of one command may cost at most 6 bare Pythons.
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
            with in_command():
                return super().invoke(ctx)
        except BrokenPipeError:
            raise _ReaderGone from None  # click would exit with 1, which means that a gate failed

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title):
                # Padded, so that the columns of all groups line up.
                formatter.write_dl([(name.ljust(9), told) for name, told in commands.items()])

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
    """Read any agent's recorded runs: look at them, convert, measure, judge, gate and compare them.

    \b
    pantrace show runs/ --sort cost           what did it do, what did it cost?
    pantrace convert runs/ log.eval           another format, and what was lost
    pantrace eval runs/ --out results/today   is it good enough?
    pantrace compare results/a results/today  is it better than before?
    pantrace report results/today -o a.html   one file to look at and to send
    """


_NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""Raised for `pantrace` without a command; older versions of click print the help themselves."""


def main(arguments: list[str] | None = None) -> Any:
    """Run a command; every expected error ends in one sentence and an exit code."""
    _open_closed_streams()
    sys.unraisablehook = _send_interrupt_again
    try:
        code = cli.main(args=arguments, prog_name="pantrace", standalone_mode=False)
        # Here, where a full disk or a closed pipe can still become an exit code; at interpreter exit it could not.
        sys.stdout.flush()
        _tell_unverified()
        sys.exit(code if isinstance(code, int) else 0)
    except click.Abort:
        sys.exit(130)
    except _NO_ARGUMENTS as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        _complain(error.format_message())
        context = getattr(error, "ctx", None)
        if context is not None:
            click.echo(f"usage: {context.get_usage().removeprefix('Usage: ')}", err=True)
            click.echo(f"       `{context.command_path} --help` explains it", err=True)
        sys.exit(2)
    except PantraceError as error:
        with in_command():
            _complain(error.sentence(), error.below)
        sys.exit(error.exit_code)
    except (BrokenPipeError, _ReaderGone):
        # Print nothing more, not even at interpreter exit. The exit code is that of a process killed by SIGPIPE, not
        # 0, because a gate may not have been decided.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        # A traceback helps only us; users get one sentence.
        if os.environ.get("PANTRACE_DEBUG"):
            raise
        where = f"{str(error.filename)[:200]}: " if error.filename else ""
        _complain(f"{where}{error.strerror or error}")
        sys.exit(2)
    except MemoryError:
        _complain("not enough memory for this input: split it, or read it on a larger machine")
        sys.exit(2)
    except Exception as error:
        if os.environ.get("PANTRACE_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error}"
        _complain(f"internal error, please report it: {what} (PANTRACE_DEBUG=1 shows where)")
        # Not 1 or 2: a bug of ours must not look like a failed gate or like wrong usage. 70 is EX_SOFTWARE.
        sys.exit(70)


def _send_interrupt_again(lost: sys.UnraisableHookArgs) -> None:
    """A Ctrl-C that arrives while Python runs a finaliser or a weak reference's callback (while it imports, for
    example) is dropped with a traceback, and the command would go on."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    import signal
    from threading import Timer

    # In a moment: raised here and now, it would be dropped again.
    again = Timer(0.01, os.kill, (os.getpid(), signal.SIGINT))
    again.daemon = True
    again.start()


def _complain(text: str, below: Sequence[str] = ()) -> None:
    """Print an error on stderr: what happened, where, and what to do; then the lines that belong below it."""
    from .output import folded, harmless, width_of

    text = "\n".join(map(harmless, (text, *below)))
    line = folded(f"error: {text}", width_of(sys.stderr), "       ")
    click.echo(click.style("error:", fg="red", bold=True) + line.removeprefix("error:"), err=True, color=_in_colour())


def _in_colour() -> bool | None:
    """Never if NO_COLOR is set; otherwise click decides: only on a terminal."""
    return False if os.environ.get("NO_COLOR") else None


def _open_closed_streams() -> None:
    """Point streams that the caller has closed (`2>&-`) to nowhere. Otherwise the next file that we open gets the
    stream's number, and our messages are written into it."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            stream = open(os.devnull, "r" if name == "stdin" else "w")  # noqa: SIM115, PTH123 -- pathlib is slow to import; as long as the process
            setattr(sys, name, stream)


def _tell_unverified() -> None:
    """Warn about run directories that could not be verified, if any was read."""
    store = sys.modules.get("pantrace.store")
    for folder in store.unverified() if store is not None else ():
        from .output import say

        say(
            f"{folder}: not verified: its parts were written before pantrace kept their hashes "
            "(the next `pantrace eval` into it adds them)"
        )
