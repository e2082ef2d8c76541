"""The options that say who does the work: `--jobs`, `--engine`, `--ray-address`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

RAY = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
"""Read by Ray when it is imported. Without the first, its nodes listen on the host's own address, whatever address they
are given; with the second, it tells nobody that it runs."""


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command gets them as one `engine: Engine`."""

    @wraps(command)
    def with_engine(*arguments: Any, jobs: int | None, engine_name: Any, ray_address: str | None, **others: Any) -> Any:
        from pantrace.engine.executor import Engine

        if engine_name == "ray":
            for name, value in RAY.items():
                os.environ.setdefault(name, value)
        return command(*arguments, engine=Engine(name=engine_name, jobs=jobs, address=ray_address), **others)

    for declared in (
        click.option("--ray-address", metavar="ADDRESS", help="With --engine ray: address of a running cluster."),
        click.option(
            "--engine",
            "engine_name",
            type=click.Choice(["local", "ray"]),
            default="local",
            help="Run in local processes or on Ray.",
        ),
        click.option(
            "--jobs",
            "-j",
            type=click.IntRange(min=1),
            metavar="N",
            help="Number of processes; by default one per core, but only one for less than 64 MB.",
        ),
    ):
        with_engine = declared(with_engine)
    return with_engine
