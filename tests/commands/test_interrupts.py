"""Ctrl-C at moments that a terminal test cannot choose."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from store import writer

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


def test_a_query_without_end_is_ended(tmp_path: Path) -> None:
    writer.write(str(tmp_path / "run"), 1, 2)
    endless = "with recursive t(x) as (select 1 union all select x + 1 from t) select count(*) from t"
    ask = [sys.executable, "-m", "pantrace", "query", str(tmp_path / "run"), endless]
    with subprocess.Popen(ask, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        try:
            said, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, "Traceback" in said) == (130, False)
