"""Everything pantrace raises on purpose.

PantraceError             a sentence for the user; `exit_code` says how the command line ends
├── ReadError             an input could not be read: file, place, what was expected, what to do
│   └── UnknownFormat     no format claims the input
│       └── TornFile      because it breaks off: it may be a recording that was not copied whole
├── WriteError            an output could not be written
│   ├── SampleRefused     one sample cannot be written in the target format; the others can
│   ├── LossRefused       `--strict` was given and the target cannot hold everything
│   └── NothingWritten    no sample could be written in the target format, so there is no output
├── UsageError            a wrong name, option or combination
│   └── MissingExtra      an optional dependency is not installed; names the install command
└── Unanswered            a judge gave no reply: why, and whether asking again may help
"""

from __future__ import annotations

import contextvars
import re
from collections import abc
from contextlib import contextmanager

_IN_COMMAND = contextvars.ContextVar("in_command", default=False)
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)( (?=[A-Z][A-Z]|['\"\d]))?")
_PARAMETERS = {
    "calibration": "calibrations",
    "column": "columns",
    "from": "format",
    "margin": "margins",
    "metric": "metrics",
    "no-eval": "evaluate=False",
    "option": "options",
    "output": "out",
    "plugin": "plugins",
    "rubric": "rubrics",
    "set": "settings",
}
"""Options whose parameters in Python do not follow from their spelling."""


@contextmanager
def in_command() -> abc.Iterator[None]:
    """Whoever reads errors from now on has typed a command, and knows options by their spelling there."""
    before = _IN_COMMAND.set(True)
    try:
        yield
    finally:
        _IN_COMMAND.reset(before)


def in_readers_words(text: str) -> str:
    """A message in the words of its reader: options of a command (--min-pass-rate), or parameters in Python
    (min_pass_rate). Commands between backticks stay commands."""
    if _IN_COMMAND.get() or "--" not in text:
        return text
    pieces = text.split("`")
    pieces[::2] = [_OPTION.sub(_parameter, piece) for piece in pieces[::2]]
    return "`".join(pieces)


def _parameter(option: re.Match[str]) -> str:
    name = option[1]
    negated = name.startswith("no-") and name not in _PARAMETERS
    word = f"{name[3:]}=False" if negated else _PARAMETERS.get(name, name)
    return word.replace("-", "_") + ("=" if option[2] else "")


class PantraceError(Exception):
    """A sentence for the user, without a traceback."""

    exit_code = 2
    below: tuple[str, ...] = ()
    """Lines that belong below the sentence, such as the first of many errors. All other text is one line on a screen,
    even if a name in it has line breaks."""

    def sentence(self) -> str:
        """What happened, where, and what to do."""
        return super().__str__()

    def __str__(self) -> str:
        return "\n".join([self.sentence(), *self.below])


class ReadError(PantraceError):
    """An input, or one record of it, could not be read."""

    def __init__(self, message: str, *, path: str | None = None, place: str | None = None, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.path = path
        self.place = place
        """Line, member, table or key inside the file, as a person would look for it."""
        self.remedy = remedy

    def at(self, *, path: str | None = None, place: str | None = None) -> ReadError:
        """The same error with its place added; a known path stays, and an outer place goes in front of an inner one."""
        places = [part for part in (place, self.place) if part]
        # `type(self)`: an UnknownFormat must stay one: in a folder it is skipped, and other errors are counted.
        found = type(self)(self.message, path=self.path or path, place=", ".join(places) or None, remedy=self.remedy)
        found.below = self.below
        return found

    def sentence(self) -> str:
        where = ": ".join(part for part in (self.path, self.place) if part)
        text = f"{where}: {self.message}" if where else self.message
        return f"{text} ({self.remedy})" if self.remedy else text


class UnknownFormat(ReadError):
    """No format claims the input."""


class TornFile(UnknownFormat):
    """No format claims a file that breaks off. In a folder it counts as a record that could not be read; other files
    without a format are skipped, because they are probably not recordings."""


class WriteError(PantraceError):
    """An output could not be written."""


class SampleRefused(WriteError):
    """One sample cannot be written in the target format; it is reported and left out."""


class LossRefused(WriteError):
    """`--strict` was given and the target cannot hold everything."""

    exit_code = 1

    def sentence(self) -> str:
        return in_readers_words(super().sentence())


class NothingWritten(WriteError):
    """No sample could be written in the target format."""

    # Not 2: the input was read and the command was right; the answer is no.
    exit_code = 1


class UsageError(PantraceError):
    """A wrong name, option or combination of them."""

    def sentence(self) -> str:
        return in_readers_words(super().sentence())


class MissingExtra(UsageError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str):
        super().__init__(f"{what} needs an optional part of pantrace: {install_command(extra)}")


def install_command(extra: str, package: str = __file__) -> str:
    """What installs an optional part. A source checkout (src/pantrace beside pyproject.toml) installs itself: no index
    needs to have the package, and one that has it would replace the checkout."""
    from pathlib import Path
    from shlex import quote

    source = Path(package).parents[1]
    checkout = source.parent
    if source.name == "src" and (checkout / "pyproject.toml").exists():
        return f"pip install -e {quote(f'{checkout}[{extra}]')}"
    return f"pip install 'pantrace[{extra}]'"


class Unanswered(PantraceError):
    """A judge gave no reply. Becomes the reason of an unscored score."""

    def __init__(
        self,
        reason: str,
        *,
        again: bool = False,
        wait: float | None = None,
        hopeless: bool = False,
        unasked: bool = False,
        code: int | None = None,
    ):
        super().__init__(reason)
        self.reason = reason
        self.again = again
        """Whether asking again may help."""
        self.wait = wait
        """Seconds that the provider asks to wait."""
        self.hopeless = hopeless
        """Whether every other request will fail in the same way (a wrong key, an unknown model)."""
        self.unasked = unasked
        """Whether no judge was asked at all (the budget is used up, the cache has no reply): a later run may ask."""
        self.code = code
        """The provider's status code."""
