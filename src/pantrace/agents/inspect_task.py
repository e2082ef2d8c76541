"""A task for `inspect eval` with one question: the one that the user's solver must answer in this trial.

Inspect AI loads this file by its path; nothing in pantrace imports it."""

import os
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample


@task  # type: ignore[untyped-decorator]
def ask() -> Task:
    question = Path(os.environ["PANTRACE_QUESTION_FILE"]).read_text(encoding="utf-8")
    return Task(dataset=[Sample(id=os.environ["PANTRACE_CASE"], input=question)])
