"""`cmd:COMMAND`: any program that takes a question and prints an answer, or records itself.

The command is split as a shell would split it, but no shell runs: a question cannot become a command. `{question}`,
`{question_file}`, `{case_file}`, `{workspace}` and the other WORDS are filled in; a command without the first three
gets the question on standard input. The variable PANTRACE_QUESTION_FILE names the file, too.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from glob import glob
from pathlib import Path
from uuid import uuid4

from msgspec import structs

from pantrace.errors import ReadError, UsageError
from pantrace.model import Record, Sample, Step, Text, final_response
from pantrace.wire.json import encode

from .agent import AgentFailed, Answer, Trial, wanted_session
from .process import STOPPED, Finished, run_process

WORDS = ("question", "question_file", "case_file", "state_file", "workspace", "recording", "session", "uuid", "uuid8")
"""state_file: the state that an eval set wants a session to begin with. uuid, uuid8: an id that is new for each trial,
and its first 8 characters."""


class CommandOptions(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a command is run, and where its recording is."""

    recording: str | None = None
    """File, directory or pattern that holds the recording; {workspace} and {recording} are filled in. Standard output
    otherwise."""
    format: str | None = None
    """Format of the recording; detected if not given."""
    resume: str | None = None
    """The command for the second question and those after it; {session} is the id of the recording."""
    whole: bool = False
    """Whether the recording of a later question holds the whole conversation."""
    running_total: bool = False
    """Whether the token counts after a later question include the earlier questions."""


@dataclass(frozen=True)
class Command:
    """An agent behind a command line."""

    line: str
    options: CommandOptions

    def __post_init__(self) -> None:
        # Checked when the command starts, not at the first question: a typo would otherwise fail every case of the run.
        for line in (self.line, *([self.options.resume] if self.options.resume is not None else [])):
            try:
                words = shlex.split(line)
            except ValueError as error:
                raise UsageError(f"the command {line!r} cannot be split into words: {error}") from None
            if not words:
                raise UsageError("cmd: needs a command, such as cmd:'python agent.py {question}'")
            _refuse_misspelt(line)

    def missing(self, environment: Mapping[str, str]) -> str | None:
        """The program, if it is not on the PATH. One named by a path is not checked: it may be in the workspace."""
        program = from_here(shlex.split(self.line)[0])
        unknown = "/" not in program and "{" not in program
        return program if unknown and shutil.which(program, path=environment.get("PATH")) is None else None

    def ask(self, question: str, trial: Trial) -> Answer:
        line = self.options.resume if self.options.resume is not None and trial.memory.get("session") else self.line
        filled = self._filled(question, trial)
        # Split first, then filled in: quotes and blanks in a question cannot add words to the command.
        words = [_fill(from_here(word), filled) for word in shlex.split(line)]
        on_input = not any(f"{{{word}}}" in line for word in ("question", "question_file", "case_file"))
        began = time.time()
        try:
            said = question.encode() if on_input else None
            done = run_process(
                words,
                trial.workspace,
                {**trial.environment, "PANTRACE_QUESTION_FILE": filled["question_file"]},
                said,
                trial.seconds,
                trial.most_output,
                trial.stopped,
            )
        except OSError as error:
            remedy = "is it installed, and on the PATH?" if isinstance(error, FileNotFoundError) else "can it be run?"
            raise AgentFailed("error", f"{words[0]} could not be started: {error.strerror} ({remedy})") from None
        except ValueError:
            # A NUL, or half of a surrogate pair: both occur in recorded questions.
            why = "the question, or the id, holds a character that no program can be given"
            raise AgentFailed("error", f"{words[0]} could not be started: {why}") from None
        # Read before the exit code is looked at: an agent that failed has often recorded how far it got.
        answer = self._answer(done, filled, trial, began)
        # Without `resume` each turn is a new conversation, and the scores of later turns would look like bad memory.
        if trial.history and self.options.resume is None and answer.note is None:
            answer = replace(answer, note=f"{words[0]} was not told of the earlier turns (--option resume=COMMAND)")
        if done.over is not None:
            status = "cancelled" if done.over == STOPPED else "limit"
            raise AgentFailed(status, f"{words[0]} {done.over} and was ended", answer)
        if done.code:
            why = _last_words(done.complained) or _last_words(done.printed)
            raise AgentFailed(
                "error", f"{words[0]} ended with exit code {done.code}{': ' + why if why else ''}", answer
            )
        if answer.recording is None and not answer.steps:
            why = _last_words(done.complained)
            raise AgentFailed("error", f"{words[0]} answered nothing{': ' + why if why else ''}", answer)
        return answer

    def _filled(self, question: str, trial: Trial) -> dict[str, str]:
        trial.notes.mkdir(parents=True, exist_ok=True)
        case_file = trial.notes / "case.json"
        case_file.write_bytes(encode(trial.case, indent=2))
        state_file = trial.notes / "state.json"
        state_file.write_bytes(encode(wanted_session(trial.case).get("state") or {}))
        question_file = trial.notes / "question.txt"
        # "replace": half of a surrogate pair cannot be written to a file.
        question_file.write_bytes(question.encode("utf-8", "replace"))
        # One id for all turns of the trial: {session} of the next turn must be the one that the agent was started with.
        own = trial.memory.setdefault("uuid", str(uuid4()))
        return {
            "question": question,
            "question_file": str(question_file),
            "case_file": str(case_file),
            "state_file": str(state_file),
            "workspace": str(trial.workspace),
            "recording": str(trial.notes / "recording"),
            "session": trial.memory.get("session") or "",
            "uuid": own,
            "uuid8": own[:8],
        }

    def _answer(self, done: Finished, filled: dict[str, str], trial: Trial, began: float) -> Answer:
        if trial.collected is not None and trial.collected.is_dir():
            return _collected(done, trial, trial.collected)
        trial.memory |= {"whole": self.options.whole, "running_total": self.options.running_total}
        if self.options.recording is None:
            return _printed(done, trial, self.options.format)
        place = _fill(self.options.recording, filled)
        found = _changed(place, began)
        if not found:
            return Answer(steps=_said(done.printed), note=f"nothing was recorded at {place}")
        try:
            samples = [sample for path in found for sample in trial.read(path, self.options.format)]
        except ReadError as error:
            return Answer(steps=_said(done.printed), note=f"its recording cannot be read: {error}")
        return _recorded(samples, trial)


def _printed(done: Finished, trial: Trial, format_name: str | None) -> Answer:
    """What was printed: a recording if a format claims it, otherwise the answer itself."""
    if not done.printed.strip():
        return Answer()
    trial.notes.mkdir(parents=True, exist_ok=True)  # the agent may have deleted it
    path = trial.notes / f"printed-{len(trial.history)}.jsonl"
    path.write_bytes(done.printed)
    try:
        return _recorded(trial.read(path, format_name), trial)
    except ReadError as error:
        note = f"its output is not {format_name}: {error}" if format_name is not None else None
        return Answer(steps=_said(done.printed), note=note)


def _collected(done: Finished, trial: Trial, folder: Path) -> Answer:
    """What the agent sent over OpenTelemetry. If no span has an answer, what it printed is the answer."""
    try:
        answer = _recorded(trial.read(folder, "otlp"), trial)
    except ReadError as error:
        return Answer(steps=_said(done.printed), note=f"what it sent over OpenTelemetry cannot be read: {error}")
    trial.memory["whole"] = True
    if answer.recording is not None and final_response(answer.recording) is None:
        steps = (*answer.recording.steps, *_said(done.printed))
        return replace(answer, recording=structs.replace(answer.recording, steps=steps))
    return answer


def _recorded(samples: list[Sample], trial: Trial) -> Answer:
    """The recording of this trial: the largest one, if sub-agents were recorded next to their caller."""
    found = [sample.trajectory for sample in samples if sample.trajectory is not None and sample.trajectory.steps]
    if not found:
        return Answer(note="its recording is empty")
    chosen = max(found, key=lambda each: len(each.steps))
    trial.memory["session"] = chosen.id
    others = f"{len(found) - 1} more recordings were left aside" if len(found) > 1 else None
    return Answer(recording=chosen, note=others)


def _said(printed: bytes) -> tuple[Step, ...]:
    text = printed.decode("utf-8", "replace").strip()
    return (Step(role="agent", parts=(Text(text=text),)),) if text else ()


def _changed(pattern: str, since: float) -> list[Path]:
    """The files and folders of that name or pattern that this run wrote."""
    found = [Path(each) for each in sorted(glob(os.path.expanduser(pattern), recursive=True))]  # noqa: PTH111, PTH207
    # A second's grace, because file systems round times; what was there before the run is older than that.
    return [each for each in found if any(file.stat().st_mtime >= since - 1 for file in _files(each))]


def _files(place: Path) -> Iterator[Path]:
    """A file, or all files of a folder: the time of a folder does not change when a file in it grows."""
    return (each for each in ([place] if not place.is_dir() else place.rglob("*")) if each.is_file())


def from_here(word: str, *, folders: bool = False) -> str:
    """The absolute path of a word that names a file in the user's folder: `python agent.py` and `shop.py@solver` must
    work although the agent runs in its workspace. `folders`: also of a folder."""
    place, at, name = word.partition("@")
    named = Path(place)
    try:
        there = ("." in place and named.is_file()) or (folders and named.is_dir())
        return f"{named.resolve()}{at}{name}" if place and there and not named.is_absolute() else word
    except (OSError, ValueError):
        return word  # far too long for a name, or none at all


def _refuse_misspelt(line: str) -> None:
    """Refuse a word in braces that is nearly one of WORDS: it would reach the program unchanged, for every case."""
    for word in re.findall(r"\{([a-z_0-9]+)\}", line):
        close = get_close_matches(word, WORDS, n=1, cutoff=0.75)
        if close and word not in WORDS:
            raise UsageError(f"cmd: {{{word}}} is not filled in; did you mean {{{close[0]}}}?")


def _fill(text: str, filled: dict[str, str]) -> str:
    """Fill in WORDS, and nothing else in braces: a JSON example in a command stays as it is."""
    for word in WORDS:
        # The question comes last: a question that contains "{workspace}" must not have it filled in.
        if word != "question":
            text = text.replace(f"{{{word}}}", filled[word])
    return text.replace("{question}", filled["question"])


def _last_words(complained: bytes) -> str:
    lines = [line.strip() for line in complained.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
