"""`pantrace run`."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from pantrace.errors import UsageError

from .arguments import FiniteRange, as_json, expand, keep_inputs, selecting, size, within_limits
from .output import print_json, say
from .progress import progress
from .ran import Spent, tell_ran, tell_unanswered

if TYPE_CHECKING:
    from pantrace.engine.select import Selection
    from pantrace.library.evaluate import Planned
    from pantrace.library.run_result import RunResult
    from pantrace.model import Sample

    from .eval import Files


@click.command("run")
@click.argument("sources", nargs=-1, metavar="[DATASET]...")
@within_limits
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="[NAME=]SPEC",
    help="The agent; several, with names, take turns and are compared.",
)
@click.option("--out", required=True, metavar="DIR", help="Run directory to write, or to continue.")
@click.option("--plan", metavar="FILE", help="Plan for the evaluation that follows (TOML).")
@click.option("--no-eval", is_flag=True, help="Record only; do not evaluate.")
@click.option("--gate", is_flag=True, help="Exit 1 if a sample fails, 3 if one could not be decided.")
@click.option("--trials", type=click.IntRange(1, 10_000), metavar="N", help="Run each case N times (1).")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Trials at the same time (1).")
@click.option("--timeout", type=FiniteRange(0, min_open=True), metavar="S", help="Seconds a trial may take (600).")
@click.option("--max-output", type=size, metavar="SIZE", help="How much an agent may print in a trial (50MB).")
@click.option("--rate", type=FiniteRange(0, min_open=True), metavar="N", help="Start at most N trials a minute.")
@click.option("--retries", type=click.IntRange(0, 10), metavar="N", help="Ask again if the agent was not reached (2).")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="An option of the agent.")
@click.option("--base-url", metavar="URL", help="Server of an openai: or openai-responses: agent.")
@click.option("--column", "columns", multiple=True, metavar="FIELD=NAME", help="Column of a table: question, id, ...")
@click.option("--fixtures", metavar="DIR", help="Start each trial with a copy of DIR/CASE, or of DIR.")
@click.option("--again", is_flag=True, help="Repeat trials in which the agent did not answer.")
@click.option("--collect", is_flag=True, help="Record what the agents send over OpenTelemetry.")
@click.option("--keep-workspaces", is_flag=True, help="Keep the directories in which agents worked.")
@click.option("--follow-up", is_flag=True, help="Ask all prompts of recordings again, not only the first.")
@click.option("--user", metavar="PROVIDER:MODEL", help="Model that plays the user of scenarios.")
@click.option("--user-url", metavar="URL", help="Server of that model.")
@click.option(
    "--max-turns", type=click.IntRange(1), metavar="N", help="Maximum number of turns of a simulated user (10)."
)
@click.option("--budget-usd", type=FiniteRange(0, min_open=True), metavar="X", help="Start no trial beyond this cost.")
@click.option("--budget-tokens", type=click.IntRange(1), metavar="N", help="Start no trial after N tokens.")
@click.option("--budget-calls", type=click.IntRange(1), metavar="N", help="Start no trial after N model calls.")
@click.option("--budget-trials", type=click.IntRange(1), metavar="N", help="Start no more than N trials.")
@click.option(
    "--budget-minutes", type=FiniteRange(0, min_open=True), metavar="N", help="Start no trial after N minutes."
)
@click.option("--junit", metavar="FILE", help="Write the decisions as JUnit XML.")
@click.option("--markdown", metavar="FILE", help="Write the result as Markdown.")
@click.option("--report", metavar="FILE", help="Write evals and decisions as a report of the Explain policy (JSON).")
@click.option("--workshop", metavar="DIR", help="Write eval_summary.json and question_answer_log.md of ADK's workshop.")
@selecting
@as_json
def command(
    sources: tuple[str, ...],
    agents: tuple[str, ...],
    out: str,
    plan: str | None,
    no_eval: bool,
    gate: bool,
    options: tuple[str, ...],
    base_url: str | None,
    columns: tuple[str, ...],
    again: bool,
    collect: bool,
    keep_workspaces: bool,
    follow_up: bool,
    junit: str | None,
    markdown: str | None,
    report: str | None,
    workshop: str | None,
    chosen: Selection,
    as_json: bool,
    **given: Any,
) -> None:
    """Run an agent on a dataset, record what it does, and evaluate it.

    The dataset is anything with cases: eval sets, Explain cases, golden questions, a table (CSV or JSON lines) with a
    question in each row, or recordings, whose first prompts are asked again. Recordings are written to recordings/ in
    the run directory and evaluated as `pantrace eval` does. Run the same command again after an interruption and it
    continues; nothing is run twice.

    \b
    An agent is one of
      cmd:COMMAND             any program; {question}, {case_file} and
                              {workspace} are filled in, else the question
                              comes on standard input
      claude, codex, gemini,  known programs; words after a colon are added
      mini, opencode          to their command
      adk:FOLDER              `adk run` with the agent in this folder
      inspect:WORDS           `inspect eval` with a solver:
                              '--model openai/x --solver shop.py@shop'
      python:module:function  a function that takes a question
      openai:MODEL            a model behind OpenAI's chat completions
                              (--base-url)
      openai-responses:MODEL  the same, behind OpenAI's Responses
      adk:URL/APP             ADK's API server
      a2a:URL                 an agent that speaks Agent2Agent
      http://...              any server that takes and gives JSON
                              (--option body=..., reply=...)

    \b
    pantrace run questions.csv --agent 'cmd:python agent.py {question}' \\
        --out results/today
    pantrace run cases.jsonl --agent old=claude \\
        --agent new='claude:--model opus' --trials 3 --out results/ab

    Exit code: 0; with --gate 1 (failed) or 3 (could not decide, or not every trial was run); with --no-eval 1 if an
    agent answered nothing.
    """
    from pathlib import Path

    from pantrace.engine.read import Notes
    from pantrace.engine.workshop import LOG, SUMMARY
    from pantrace.library.evaluate import read_plan
    from pantrace.library.run import evaluate_recorded, readiness, record, run_result

    from .eval import Files

    planned = None if no_eval else read_plan(plan)
    named = _named(agents)
    files = Files(junit=junit, markdown=markdown, report=report, workshop=workshop)
    _refuse_files(files, planned, named)
    if planned is not None:
        readiness(planned)
    told = [str(Path(workshop) / each) for each in (SUMMARY, LOG)] if workshop else []
    # A dataset that the plan names is an input, too, and must not be overwritten.
    within = [] if sources or planned is None else [str(each) for each in planned.datasets]
    keep_inputs([*sources, *within], beside=[plan], recordings=[out, report], others=[junit, markdown, *told])
    notes = Notes.keeping()
    spent = Spent()
    with ExitStack() as stack:
        # Before the first agent starts: a `kill` at any later moment must end it.
        _end_agents_when_ended(stack)
        count = stack.enter_context(progress("trial", more=spent.words))

        def done(sample: Sample) -> None:
            spent.count(sample)
            count(sample)

        try:
            ran = record(
                expand(sources),
                named,
                Path(out),
                plan=plan,
                given={**given, "follow_up": follow_up or None},
                options={**_pairs(options, "--option"), **({"base_url": base_url} if base_url else {})},
                columns=_pairs(columns, "--column"),
                again=again,
                collect=collect,
                keep_workspaces=keep_workspaces,
                selection=chosen,
                notes=notes,
                on_sample=done,
            )
        except (KeyboardInterrupt, SystemExit):
            # Said at once: hours of work look lost otherwise.
            say(f"stopped; finished trials are recorded in {out}; run the same command to continue")
            raise
    for error in notes.broken:
        say(f"left out: {error}")
    for each in ran:
        tell_ran(each)
    results = []
    if planned is not None:
        with progress("sample") as measured:
            results = [evaluate_recorded(planned, each, measured) for each in ran]
    found = run_result(ran, results, notes)
    # A plan with [gate] gates in `run` as it does in `eval`.
    gate = gate or _plans_gate(plan)
    if as_json:
        print_json(found.to_dict())
    code = _tell_results(found, files, gate and found.complete, as_json)
    if not gate:
        code = max([code, *(tell_unanswered(each) for each in ran)])
    if gate and not found.complete:
        say("gate: not every trial was run, which is not a pass")
        code = 3
    raise click.exceptions.Exit(code)


def _refuse_files(files: Files, planned: Planned | None, named: dict[str, str]) -> None:
    """Refuse output files that would stay empty, before any agent is asked."""
    from dataclasses import asdict

    wanted = [f"--{name}" for name, value in asdict(files).items() if value]
    if not wanted:
        return
    if planned is None:
        raise UsageError(f"{wanted[0]} has nothing to report: --no-eval evaluates nothing")
    if len(named or planned.plan.run.agents) > 1:
        why = "these agents have a run directory each: use `pantrace eval`"
        raise UsageError(f"{wanted[0]} has nothing to report: {why}")


def _end_agents_when_ended(stack: ExitStack) -> None:
    """End the agents, too, if this program is terminated or its terminal is closed, as with Ctrl-C."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        former = signal.signal(number, lambda got, _frame: sys.exit(128 + got))
        stack.callback(signal.signal, number, former)


def _plans_gate(plan: str | None) -> bool:
    from pathlib import Path

    from pantrace.engine.plan import load_plan

    return load_plan(Path(plan) if plan else None)[0].gate is not None


def _tell_results(found: RunResult, files: Files, gate: bool, as_json: bool) -> int:
    """Print the evaluation of each agent, and their comparison; returns the exit code of the gate."""
    from .compare import tell_comparisons
    from .eval import tell_evaluation, write_files

    codes = []
    for each in found.results:
        if as_json:
            # The numbers are in the JSON document that was printed already.
            decided = each.gate() if gate else None
            write_files(each.path, each.summary, files, decided)
            codes.append(decided.exit_code if decided is not None else 0)
        else:
            codes.append(tell_evaluation(each, files, gate, None, None))
    if found.comparison is not None and not as_json:
        tell_comparisons(found.comparison, flips=10)
    # Failed (1) counts before undecided (3), although 3 is the larger number.
    return 1 if 1 in codes else max(codes, default=0)


def _named(agents: tuple[str, ...]) -> dict[str, str]:
    """Specifications by name; a single one needs no name."""
    found: dict[str, str] = {}
    for each in agents:
        name, equals, spec = each.partition("=")
        # An = inside a specification is no name: cmd:FOO=1 agent, http://host/?a=b.
        if not equals or ":" in name or not name.replace("-", "").replace("_", "").isalnum():
            name, spec = "", each
        if len(agents) > 1 and not name:
            raise UsageError(f"several agents need names: --agent NAME={each}")
        if name in found:
            raise UsageError(f"two agents are named {name}")
        found[name] = spec
    return found


def _pairs(given: tuple[str, ...], option: str) -> dict[str, str]:
    found = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals:
            raise UsageError(f"{option} {each!r} has no =; write {option} KEY=VALUE")
        found[key] = value
    return found
