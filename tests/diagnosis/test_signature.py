"""The same error with other ids, paths and numbers is one error."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.diagnosis.signature import error_text, signature
from pantrace.model import ToolResult


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Error: user mia_li_3668 not found", "Error: user raj_sanchez_7340 not found"),
        ("File not found: /home/a/x.txt", "File not found: C:\\work\\y.txt"),
        ("total price is 305, but paid 255", "total price is 1,286.50, but paid -3"),
        ("no session 0f8fad5b-d9cb-469f-a165-70867728950e", "no session 7c9e6679-7425-40de-944b-e07fc1f90ae7"),
        ("GET https://a.example/1?x=2 failed", "GET http://b.example/ failed"),
        ("2026-01-02T03:04:05Z lost", "2025-12-31 23:59:59 lost"),
        (
            'Traceback (most recent call last):\n  File "a.py", line 3, in f\nValueError: bad 12',
            'Traceback (most recent call last):\n  File "b.py", line 99, in g\n    x = 1\nValueError: bad 13',
        ),
    ],
)
def test_what_differs_each_time_does_not_count(first: str, second: str) -> None:
    assert signature(first) == signature(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("HTTP 404 from the server", "HTTP 500 from the server"),
        ("exit code 1", "exit code 127"),
        ("KeyError: 'name'", "KeyError: 'address'"),
        ("gift card balance is not enough", "certificate cannot be used"),
    ],
)
def test_different_errors_stay_apart(first: str, second: str) -> None:
    assert signature(first) != signature(second)


def test_a_signature_is_one_short_line_whatever_the_text() -> None:
    for text in ("x" * 1_000_000, "a1-" * 300_000, "/a" * 300_000, "line\n" * 100_000, "1," * 300_000, "\x1b[31m\x00"):
        found = signature(text)
        assert len(found) <= 200
        assert "\n" not in found


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"error": "boom", "output": "noise"}, "boom"),
        ({"output": {"status": "error", "message": "no such order"}}, "no such order"),
        ({"output": "one\ntwo\n\n", "exit_code": 2}, "exit code 2: two"),
        ({"exit_code": 3}, "exit code 3"),
        ({"failure": "timeout"}, "timeout"),
        ({"output": {"error": {"code": 7}}}, '{"code":7}'),
    ],
)
def test_what_a_failed_call_says(result: dict[str, Any], text: str) -> None:
    assert error_text(ToolResult(**result)) == text
