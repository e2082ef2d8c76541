"""Data printed to a terminal: letters that steer it are escapes in JSON, which says the same, and signs in CSV."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from pantrace.cli.output import data_stream, print_json
from pantrace.engine.convert import write
from pantrace.model import Run, Sample, Step, Text, Trajectory
from pseudo_terminal import pantrace

STEERING = "a\x85b\u202ec\u2066d\ufeffe\x9b2J"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "asked", "escaped"), [(_Terminal, "", True), (io.StringIO, "", False), (io.StringIO, "1", True)]
)
def test_steering_letters_are_escaped_where_they_could_steer(
    stream: type[io.StringIO], asked: str, escaped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = stream()
    monkeypatch.setattr(sys, "stdout", printed)
    monkeypatch.setenv("PANTRACE_ASCII", asked)
    print_json({"text": STEERING})
    text = printed.getvalue()
    assert json.loads(text) == {"text": STEERING}
    assert ("\u202e" not in text and "\x9b" not in text) == escaped


def test_a_letter_in_two_pieces_reaches_a_terminal_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = _Terminal()
    monkeypatch.setattr(sys, "stdout", printed)
    stream = data_stream()
    for byte in json.dumps({"text": "ä\x9b"}, ensure_ascii=False).encode():
        stream.write(bytes([byte]))
    assert printed.getvalue() == '{"text": "ä\\u009b"}'


def test_nothing_of_a_recording_steers_a_terminal_that_shows_data(tmp_path: Path) -> None:
    steps = (Step(role="user", parts=(Text(text="\x1b[31m\x9b2J"),)),)
    path = tmp_path / "red\x1b[31m.trace.jsonl"
    write(
        Run(name="x", samples=[Sample(id="a\x1b[31m", trajectory=Trajectory(id="t", steps=steps))]), path, to="native"
    )
    for words in (
        ("measure", str(path), "--csv"),
        ("measure", str(path), "--json"),
        ("show", str(path), "--csv"),
        ("convert", str(path), "--to", "openai-messages"),
    ):
        shown = pantrace(*words, folder=tmp_path)
        assert shown.code in (0, 1), words
        # The emulator draws what a terminal would: had it obeyed, the letters would be gone and the rest red.
        assert "31m" in shown.text, words
        assert "red" not in shown.colours, words
