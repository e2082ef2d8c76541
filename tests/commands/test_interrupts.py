"""Ctrl-C at moments that a terminal test cannot choose."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import os, signal, sys, time, weakref
import pantrace.cli as cli

class Thing: pass

def work(**_):
    thing = Thing()
    # Python drops what a callback like this raises.
    keep = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
    del thing
    time.sleep(20)
    print("went on")

cli.cli.main = work
cli.main()
"""


def test_an_interrupt_that_python_drops_is_sent_again() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
