"""Presets: well-known programs by their names, as commands.

`--agent claude` is `cmd:claude -p ...` with its recording. Words after a colon are added to the command:
`--agent 'claude:--model sonnet --permission-mode acceptEdits'`.
"""

from __future__ import annotations

from dataclasses import dataclass

from .command import Command, CommandOptions


@dataclass(frozen=True)
class Preset:
    """A program that pantrace knows how to ask."""

    first: str
    """{more} is what the user adds."""
    again: str | None = None
    """For the second question and those after it."""
    recording: str | None = None
    format: str | None = None


PRESETS: dict[str, Preset] = {
    "opencode": Preset(
        first="opencode run --format json {more} {question}",
        again="opencode run --format json --session {session} {more} {question}",
        format="opencode",
    ),
    "claude": Preset(
        first="claude -p --verbose --output-format stream-json {more} -- {question}",
        again="claude -p --verbose --output-format stream-json --resume {session} {more} -- {question}",
        format="claude-code",
    ),
    "codex": Preset(
        first="codex exec --json --skip-git-repo-check {more} {question}",
        again="codex exec --json --skip-git-repo-check {more} resume {session} {question}",
        format="codex",
    ),
    "gemini": Preset(
        first="gemini {more} -p {question}",
        recording="~/.gemini/tmp/*/chats/*",
        format="gemini-cli",
    ),
    "mini": Preset(
        first="mini --yolo --exit-immediately --output {recording} {more} --task {question}",
        recording="{recording}",
        format="mini-swe-agent",
    ),
}


def preset_of(name: str, more: str) -> Command:
    """The command of a preset, with what the user adds to it."""
    found = PRESETS[name]

    def whole(line: str) -> str:
        return " ".join(line.replace("{more}", more).split())

    resume = whole(found.again) if found.again is not None else None
    options = CommandOptions(recording=found.recording, format=found.format, resume=resume)
    return Command(whole(found.first), options)
