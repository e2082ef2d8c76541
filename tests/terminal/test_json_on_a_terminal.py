"""JSON printed to a terminal: letters that steer it are escapes, and the document says the same."""

from __future__ import annotations

import io
import json
import sys

import pytest

from pantrace.cli.output import print_json

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
