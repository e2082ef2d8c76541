"""`pantrace collect`."""

from __future__ import annotations

import signal
import threading

import click

from .output import say


@click.command("collect")
@click.option("--out", required=True, metavar="DIR", help="Where the recordings go; made where it is not there.")
@click.option("--port", type=click.IntRange(0, 65535), default=4318, show_default=True, help="0 takes a free one.")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), metavar="N", help="Stop by itself after so long.")
def command(out: str, port: int, minutes: float | None) -> None:
    """Record what OpenTelemetry sends: an OTLP/HTTP receiver on this machine.

    Any agent that OpenTelemetry, OpenInference or OpenLLMetry instruments is recorded without a line of code: start
    this, and the agent with the variables that it prints. Traces and logs go to one file for each trace, as they come.
    Ctrl-C ends it. Protobuf and JSON, gzip; only this machine is listened to.

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
        with lock:
            counts["requests"] += 1
            counts["spans"] += spans

    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with collecting(path_here(out), port, count) as receiver:
        click.echo(f"listening on {receiver.url}; recordings go to {out}")
        say(f"OTEL_EXPORTER_OTLP_ENDPOINT={receiver.url} OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
        ended.wait(minutes * 60 if minutes else None)
    taken = f"{counts['spans']:,} spans and records in {counts['requests']:,} requests"
    say(f"{taken}; next: pantrace eval {out} --out results")
