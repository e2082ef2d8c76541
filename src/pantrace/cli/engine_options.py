"""The options that say who does the work: `--jobs`, `--engine`, `--ray-address`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command gets them as one `engine: Engine`."""

    @wraps(command)
    def with_engine(*arguments: Any, jobs: int | None, engine_name: Any, ray_address: str | None, **others: Any) -> Any:
        from pantrace.engine.executor import Engine

        return command(*arguments, engine=Engine(name=engine_name, jobs=jobs, address=ray_address), **others)

    for declared in (
        click.option("--ray-address", metavar="ADDRESS", help="With --engine ray: a cluster that runs already."),
        click.option(
            "--engine",
            "engine_name",
            type=click.Choice(["local", "ray"]),
            default="local",
            help="Who does the work: processes of this machine, or Ray.",
        ),
        click.option(
            "--jobs",
            "-j",
            type=click.IntRange(min=1),
            metavar="N",
            help="Processes at a time; by default one for each core, and one alone for less than 64 MB.",
        ),
    ):
        with_engine = declared(with_engine)
    return with_engine
