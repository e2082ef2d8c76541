"""Options that say where Vertex AI is asked, for the commands that judge."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from pantrace.errors import UsageError

if TYPE_CHECKING:
    from pantrace.judges import Project


def google_cloud(command: Callable[..., Any]) -> Callable[..., Any]:
    """--project and --location."""
    where = click.option(
        "--location", metavar="REGION", help="Of Vertex AI, for vertex: rubrics. GOOGLE_CLOUD_LOCATION."
    )
    whose = click.option(
        "--project", metavar="ID", help="Google Cloud project for vertex: rubrics. GOOGLE_CLOUD_PROJECT."
    )
    return whose(where(command))


def named_project(project: str | None, location: str | None, base_url: str | None) -> Project | None:
    """The project that the options or the environment name; None where they name none. Half a name is refused."""
    from pantrace.judges import Project

    found = project or os.environ.get("GOOGLE_CLOUD_PROJECT")
    place = location or os.environ.get("GOOGLE_CLOUD_LOCATION")
    if found and place:
        return Project(project=found, location=place, base_url=base_url)
    if project or location:
        lacking = "--location (or GOOGLE_CLOUD_LOCATION)" if project else "--project (or GOOGLE_CLOUD_PROJECT)"
        raise UsageError(f"Vertex AI's metrics need {lacking}, too")
    return None


def required_project(project: str | None, location: str | None, base_url: str | None) -> Project:
    """The same; a UsageError where none is named."""
    found = named_project(project, location, base_url)
    if found is None:
        raise UsageError(
            "Vertex AI's metrics need a Google Cloud project and a location: --project and --location,"
            " or GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"
        )
    return found
