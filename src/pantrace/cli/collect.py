"""`pantrace collect`."""

from __future__ import annotations

import signal
import threading

import click

from .answer import few
from .arguments import FiniteRange
from .output import put, say


@click.command("collect")
@click.option("--out", required=True, metavar="DIR", help="Directory for the recordings; created if it does not exist.")
@click.option("--port", type=click.IntRange(0, 65535), default=4318, show_default=True, help="0 chooses a free port.")
@click.option("--minutes", type=FiniteRange(0, min_open=True), metavar="N", help="Stop after N minutes.")
def command(out: str, port: int, minutes: float | None) -> None:
    """Receive OpenTelemetry data (OTLP/HTTP) on this machine and record it.

    Agents instrumented with OpenTelemetry, OpenInference or OpenLLMetry are recorded without changing their code: start
    this, then start the agent with the variables that it prints. Each trace gets its own file. Accepts traces and logs
    as protobuf or JSON, also with gzip, only from this machine. Press Ctrl-C to stop.

    \b
    pantrace collect --out runs/
    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python my_agent.py
    pantrace eval runs/ --out results/
    """
    from pantrace.engine.collect import collecting
    from pantrace.places import path_here

    counts = {"requests": 0, "spans": 0}
    lock = threading.Lock()

    def count(spans: int) -> None:
        # Requests are handled by several threads.
        with lock:
            counts["requests"] += 1
            if counts["requests"] == 1:
                say(f"the first data arrived ({spans:,} spans and records); Ctrl-C stops")
            counts["spans"] += spans

    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # A flag instead of an exception: a request that is being written is finished first.
        signal.signal(number, lambda *_: ended.set())
    with collecting(path_here(out), port, count) as receiver:
        # On stdout: a script waits for this line, and reads the port from it.
        put(f"listening on {receiver.url}; recordings go to {out}")
        say(f"OTEL_EXPORTER_OTLP_ENDPOINT={receiver.url} OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
        ended.wait(minutes * 60 if minutes else None)
    taken = f"{counts['spans']:,} spans and records in {few(counts['requests'], 'request')}"
    say(f"{taken}; next: pantrace eval {out} --out results")
