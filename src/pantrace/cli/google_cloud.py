"""The options for Vertex AI's project and region, for the commands that judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def google_cloud(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --project and --location."""
    where = click.option(
        "--location", metavar="REGION", help="Vertex AI region for vertex: rubrics; default: GOOGLE_CLOUD_LOCATION."
    )
    whose = click.option(
        "--project", metavar="ID", help="Google Cloud project for vertex: rubrics; default: GOOGLE_CLOUD_PROJECT."
    )
    return whose(where(command))
