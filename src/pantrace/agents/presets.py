"""Presets: well-known programs by their names, as commands.

`--agent claude` is `cmd:claude -p ...` with its recording. Words after a colon are added to the command:
`--agent 'claude:--model sonnet --permission-mode acceptEdits'`, `--agent 'adk:shop_agent'`.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from pantrace.errors import UsageError

from .command import Command, CommandOptions, from_here


@dataclass(frozen=True)
class Preset:
    """A program that pantrace knows how to run."""

    first: str
    """{more} is what the user adds."""
    again: str | None = None
    """For the second question and those after it."""
    recording: str | None = None
    format: str | None = None
    whole: bool = False
    """Whether the recording after a later question contains the earlier ones."""
    running_total: bool = False
    """Whether the token counts after a later question include the earlier questions."""
    places: str | None = None
    """If set, the added words may name files and folders in the user's folder; this text says what they must name."""
    folder: bool = False
    """Whether the first of them is a folder."""


INSPECT_TASK = Path(__file__).parent / "inspect_task.py"
"""Only its path is used: `inspect eval` loads it, in the environment that has inspect_ai."""

_TASK = shlex.quote(f"{INSPECT_TASK}@ask")
# By default ADK writes sessions and artifacts into the agent's folder, where trials at the same time would mix them.
_STORES = "--session_service_uri sqlite:///{recording}.db --artifact_service_uri file://{recording}.artifacts"

PRESETS: dict[str, Preset] = {
    "opencode": Preset(
        # `--`, here and below: a question that begins with a dash must not be taken for an option.
        first="opencode run --format json {more} -- {question}",
        again="opencode run --format json --session {session} {more} -- {question}",
        format="opencode",
    ),
    "claude": Preset(
        first="claude -p --verbose --output-format stream-json {more} -- {question}",
        again="claude -p --verbose --output-format stream-json --resume {session} {more} -- {question}",
        format="claude-code",
    ),
    "codex": Preset(
        first="codex exec --json --skip-git-repo-check {more} -- {question}",
        again="codex exec --json --skip-git-repo-check {more} resume {session} -- {question}",
        format="codex",
        running_total=True,  # 0.166.0 reports the tokens of the whole session at the end of each turn
    ),
    "gemini": Preset(
        # Trials that run at the same time share a folder: a file's name ends with the first 8 characters of its id.
        first="gemini --session-id {uuid} {more} --prompt={question}",
        again="gemini --resume {uuid} {more} --prompt={question}",
        recording="~/.gemini/tmp/*/chats/*-{uuid8}.json*",
        format="gemini-cli",
        whole=True,
    ),
    "mini": Preset(
        # `--task=` instead of `--`: the same protection for programs that take the question as an option's value.
        first="mini --yolo --exit-immediately --output {recording} {more} --task={question}",
        recording="{recording}",
        format="mini-swe-agent",
    ),
    "inspect": Preset(
        # The user's solver or agent answers the one question of our task.
        first=f"inspect eval {_TASK} --log-dir {{recording}} --display plain {{more}}",
        recording="{recording}",
        format="inspect",
        places="a model, such as inspect:'--model openai/gpt-4.1 --solver shop.py@shop'",
    ),
    "adk": Preset(
        first=f"adk run {_STORES} --state_file {{state_file}} {{more}} -- {{question}}",
        again=f"adk run {_STORES} --session_id {{session}} {{more}} -- {{question}}",
        recording="{recording}.db",
        format="adk-session",
        whole=True,
        folder=True,
        places="the folder of an agent, such as adk:shop_agent, or a server, such as adk:http://127.0.0.1:8000/APP",
    ),
}


def preset_of(name: str, more: str) -> Command:
    """The command of a preset, with what the user adds to it."""
    found = PRESETS[name]
    if found.places is not None:
        if not more.strip():
            raise UsageError(f"{name}: needs {found.places}")
        try:
            words = shlex.split(more)
        except ValueError as error:
            raise UsageError(f"{more!r} cannot be split into words: {error}") from None
        # `adk run` would fail for every case, with a traceback of its own.
        if found.folder and not Path(words[0]).is_dir():
            raise UsageError(f"{name}:{words[0]}: there is no such folder; {name}: needs {found.places}")
        more = shlex.join(from_here(word, folders=True) for word in words)

    def whole(line: str) -> str:
        return " ".join(line.replace("{more}", more).split())

    resume = whole(found.again) if found.again is not None else None
    options = CommandOptions(
        recording=found.recording,
        format=found.format,
        resume=resume,
        whole=found.whole,
        running_total=found.running_total,
    )
    return Command(whole(found.first), options)
