"""Redacting hostile text: a budget of CPU time that the system holds, and time that grows with the text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pantrace
from thorough import quick, thorough

SOURCE = Path(pantrace.__file__).parents[1]

SHAPES = {
    "dots": "a.",
    "dashes": "a-",
    "jwt": "eyJ",
    "jwt parts": "eyJhbGciOi.",
    "openai": "sk-",
    "addresses": "://",
    "logins": "://a:b",
    "equals": "=",
    "base64": "AAAA",
    "base64 lines": "AAAA\n",
    "hex": "0123456789abcdef",
    "names": "token=",
    "queries": "?key=",
    "quotes": 'password="',
    "escapes": '"a\\',
    "begins": "-----BEGIN PRIVATE KEY-----\n",
    "at": "a@",
    "json": '{"a":',
    "arrays": "[",
    "commands": "mysql -",
    "twilio": "SK",
    "tags": "<password>",
    "bearers": "Bearer ",
    "hashes": "$6$",
    "manifests": "kind: Secret\ndata:\n a: b\n",
    "attributes": 'name="key" ',
    "digits": "4",
    "numbers": "+1 ",
    "accounts": "AB12 ",
    "streets": "1 Aa ",
    "vendors": "linear ",
    "vendors with signs": "discord = '",
    "keys": "key ",
    "keys with quotes": 'secret_key "a',
    "kubernetes": "kind: secret data: ",
    "private keys": "-----begin private key-----",
    "curl": 'curl -u "a',
    "aws": "aws key ",
    "comparisons": "'abcdefgh' == ",
    "dots in a row": "MTk4NjIyNDgzNDcxOTI1MjQ4.",
    "addresses of machines": "81.2.69.",
    "escapes of addresses": "%25",
    "escaped escapes": "25%",
    "sentences": "key is ",
    "words in bold": "**key",
    "cells": "| key |",
    "settings": "\nENV ",
    "fields": "<input ",
}

PROGRAM = """
import resource, sys, time
from pantrace.normalise.secrets import Redactor
unit, budget, sizes = sys.argv[1], int(sys.argv[2]), [int(each) for each in sys.argv[3:]]
redactor = Redactor(personal=True)
redactor.text("warm up: password=hunter22 " + "x" * 64)
for size in sizes:
    begun = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(begun) + budget + 1, resource.RLIM_INFINITY))
    redactor.text((unit * (size // len(unit) + 1))[:size])
    print(time.process_time() - begun)
"""


def _times(unit: str, budget: int, *sizes: int) -> list[float]:
    words = [sys.executable, "-c", PROGRAM, unit, str(budget), *map(str, sizes)]
    done = subprocess.run(words, capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)}, timeout=120)
    assert done.returncode == 0, f"{unit!r} ran out of time ({done.returncode}): {done.stderr}"
    return [float(line) for line in done.stdout.split()]


@pytest.mark.parametrize("name", quick({"dots", "names", "queries", "base64"}, SHAPES))
def test_hostile_text_takes_time_in_proportion_to_its_length(name: str) -> None:
    # More than the budget for 160 kB is stopped by the system, whatever else the machine does.
    small, large = _times(SHAPES[name], 2, 16_000, 160_000)
    assert large < 2
    assert large < 40 * max(small, 0.005)


@thorough
def test_a_megabyte_of_the_worst_of_them() -> None:
    for name in ("dots", "names", "queries", "commands", "twilio"):
        (taken,) = _times(SHAPES[name], 12, 1_000_000)
        assert taken < 12
