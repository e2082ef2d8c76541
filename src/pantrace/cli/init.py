"""`pantrace init`."""

from __future__ import annotations

import click

from pantrace.errors import UsageError

from .output import put

PLAN = """\
# A plan for `pantrace eval RUNS --plan {name} --out results/today`.
# Every line that is commented out shows the default or an example.
name = "nightly"

[measure]
# Metrics by name, "*" for all of them, "-NAME" to leave one out; `pantrace metrics` lists them.
metrics = ["*"]
# Python files with checks of your own, relative to this file.
# plugins = ["my_checks.py"]
# [measure.settings.token_usage]
# prices = "prices.toml"

[check]
# Rule files, relative to this file, or packs; docs/rules.md explains how they are written.
# rules = ["stateless-handoff", "house-rules.toml"]

[reference]
# What is expected, joined by sample or case id, where the recordings do not hold it themselves.
# path = "golden/"

[judge]
# Language models that grade what cases require, and these rubrics; docs/judges.md explains.
# models = ["openai:gpt-4.1-mini"]
# base_url = "http://127.0.0.1:8000/v1"
# rubrics = ["HelpfulnessExplain", "our-rubric.toml"]
# samples = 1
# budget_tokens = 1000000
# What `pantrace calibrate` found; a gate warns of judges that are not in there.
# calibrations = ["calibration.json"]

[decide]
# Who decides samples whose case names no profile: a built-in profile or a file.
# profile = "profile.toml"
# Let each case be decided by the profile it names.
# case_profiles = true

# With a gate, `pantrace eval` ends with 1 when it is not passed and with 3 when it cannot be decided.
# [gate]
# min_pass_rate = 1.0
"""


@click.command("init")
@click.argument("path", required=False, metavar="[FILE]")
@click.option("-o", "--output", "out", metavar="FILE", help="The same as FILE.  [default: eval.toml]")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def command(path: str | None, out: str | None, force: bool) -> None:
    """Write a commented plan for `pantrace eval`.

    \b
    pantrace init eval.toml
    """
    from pathlib import Path

    from pantrace.wire.output import writing

    if path is not None and out is not None:
        raise UsageError(f"name one file, not both {path} and {out}")
    target = Path(path or out or "eval.toml")
    # A plan is a person's work.
    if target.exists() and not force:
        raise UsageError(f"{target} already exists; --force overwrites it")
    with writing(target) as file:
        file.write(PLAN.format(name=target.name).encode())
    put(f"wrote {target}; next: pantrace eval RUNS --plan {target} --out results/today")
