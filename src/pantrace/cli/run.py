"""`pantrace run`."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from pantrace.errors import MissingExtra, UsageError

from .arguments import as_json, expand, keep_inputs, max_unpacked, selecting, size
from .output import print_json, say
from .progress import progress
from .ran import Spent, ran_as_plain, tell_ran

if TYPE_CHECKING:
    from pathlib import Path

    from pantrace.engine.plan import Plan
    from pantrace.engine.run import Ran
    from pantrace.engine.select import Selection
    from pantrace.engine.simulated_user import SimulatedUser
    from pantrace.model import Sample


@click.command("run")
@click.argument("sources", nargs=-1, metavar="[DATASET]...")
@max_unpacked
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="[NAME=]SPEC",
    help="Who is asked; several, with names, take turns and are compared.",
)
@click.option("--out", required=True, metavar="DIR", help="Run directory to write, or to go on with.")
@click.option("--plan", metavar="FILE", help="Plan for the evaluation that follows (TOML).")
@click.option("--no-eval", is_flag=True, help="Record only; do not evaluate.")
@click.option("--gate", is_flag=True, help="Exit 1 if a sample fails, 3 if one could not be decided.")
@click.option("--trials", type=click.IntRange(1), metavar="N", help="Run each case so often (1).")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Trials at the same time (1).")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="S", help="Seconds a trial may take (600).")
@click.option("--max-output", type=size, metavar="SIZE", help="What an agent may print in a trial (50MB).")
@click.option("--rate", type=click.FloatRange(0, min_open=True), metavar="N", help="Begin at most N trials a minute.")
@click.option("--retries", type=click.IntRange(0, 10), metavar="N", help="Ask again when nobody was reached (2).")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="An option of the agent.")
@click.option("--base-url", metavar="URL", help="Server of an openai: agent.")
@click.option("--column", "columns", multiple=True, metavar="FIELD=NAME", help="Column of a table: question, id, ...")
@click.option("--fixtures", metavar="DIR", help="Begin each trial with a copy of DIR/CASE, or of DIR.")
@click.option("--again", is_flag=True, help="Run trials again in which the agent did not answer.")
@click.option("--collect", is_flag=True, help="Record what the agents send over OpenTelemetry.")
@click.option("--keep-workspaces", is_flag=True, help="Keep the directories in which agents worked.")
@click.option("--follow-up", is_flag=True, help="Of recordings, ask all prompts again, not only the first.")
@click.option("--user", metavar="PROVIDER:MODEL", help="Model that plays the user of scenarios.")
@click.option("--user-url", metavar="URL", help="Server of that model.")
@click.option("--max-turns", type=click.IntRange(1), metavar="N", help="Turns that a simulated user has (10).")
@click.option("--budget-usd", type=click.FloatRange(0, min_open=True), metavar="X", help="Begin no trial beyond it.")
@click.option("--budget-tokens", type=click.IntRange(1), metavar="N", help="Begin no trial beyond it.")
@click.option("--budget-calls", type=click.IntRange(1), metavar="N", help="Begin no trial beyond so many model calls.")
@click.option("--budget-trials", type=click.IntRange(1), metavar="N", help="Begin no trial beyond it.")
@click.option(
    "--budget-minutes", type=click.FloatRange(0, min_open=True), metavar="N", help="Begin no trial beyond it."
)
@click.option("--junit", metavar="FILE", help="Write the decisions as JUnit XML.")
@click.option("--markdown", metavar="FILE", help="Write the result as Markdown.")
@click.option("--report", metavar="FILE", help="Write evals and decisions as a report of the Explain policy (JSON).")
@click.option("--workshop", metavar="DIR", help="Write eval_summary.json and question_answer_log.md of ADK's workshop.")
@selecting
@as_json
@click.pass_context
def command(
    context: click.Context,
    /,
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
    """Put questions to an agent, record what it does, and say how it did.

    The dataset is anything that holds cases: eval sets, Explain cases, golden questions, a table (CSV or JSON lines)
    with a question in each row, or recordings, whose first prompts are asked again. The recordings go to
    recordings/ in the run directory, and are then evaluated as `pantrace eval` does. The same command after
    an interruption goes on where it was: what is recorded is not run again.

    \b
    An agent is one of
      cmd:COMMAND             any program; {question}, {case_file}, {workspace} are filled in,
                              else the question comes on standard input
      claude, codex, gemini, mini, opencode     known programs; words after a colon are added
      adk:FOLDER              `adk run` with the agent in this folder
      inspect:WORDS           `inspect eval` with a solver: '--model openai/x --solver shop.py@shop'
      python:module:function  a function that takes a question
      openai:MODEL            a model behind OpenAI's protocol (--base-url)
      adk:URL/APP             ADK's API server
      a2a:URL                 an agent that speaks Agent2Agent
      http://...              any server that takes and gives JSON (--option body=..., reply=...)

    \b
    pantrace run questions.csv --agent 'cmd:python agent.py {question}' --out results/today
    pantrace run cases.jsonl --agent old=claude --agent new='claude:--model opus' --trials 3 --out results/ab

    Exit code: 0; with --gate 1 (failed) or 3 (could not decide, or not every trial was run).
    """
    from pathlib import Path

    from msgspec.structs import replace

    from pantrace.agents import Surroundings
    from pantrace.engine.collect import collecting
    from pantrace.engine.plan import load_plan
    from pantrace.engine.read import Notes
    from pantrace.engine.run import Budget, function_recorder, read_recording, run_cases
    from pantrace.engine.run_cases import dataset, questions
    from pantrace.engine.run_trial import Conditions
    from pantrace.engine.workshop import LOG, SUMMARY
    from pantrace.store import WORKSPACES

    loaded, text, folder = load_plan(Path(plan) if plan else None)
    table = replace(loaded.run, **{name: value for name, value in given.items() if value is not None})
    named = _named(agents) or table.agents or ({"": table.agent} if table.agent else {})
    if not named:
        raise UsageError("nobody is asked: name an agent with --agent, or in [run] of the plan")
    written = {"junit": junit, "markdown": markdown, "report": report, "workshop": workshop}
    if (several := [f"--{name}" for name, value in written.items() if value]) and (len(named) > 1 or no_eval):
        why = (
            "--no-eval evaluates nothing" if no_eval else "these agents have a run directory each: use `pantrace eval`"
        )
        raise UsageError(f"{several[0]} has nothing to tell here: {why}")
    if not no_eval:
        _can_be_evaluated(loaded, text, folder, plan)
    paths = expand(sources) if sources else [folder / each for each in table.dataset]
    if not paths:
        raise UsageError("there is no dataset: name one, or put it in [run] of the plan")
    beside = [str(Path(workshop) / each) for each in (SUMMARY, LOG)] if workshop else []
    keep_inputs([*map(str, paths)], beside=[plan], recordings=[out, report], others=[junit, markdown, *beside])
    notes = Notes.keeping()
    samples = dataset(paths, {**table.columns, **_pairs(columns, "--column")}, notes)
    cases = list(questions(chosen.apply(samples), follow_up=follow_up or table.follow_up))
    if not cases and chosen.found_nothing:
        raise UsageError(chosen.found_nothing)
    set_ = {**table.options, **_pairs(options, "--option"), **({"base_url": base_url} if base_url else {})}
    fixtures = given["fixtures"] or (str(folder / table.fixtures) if table.fixtures else None)
    conditions = Conditions(
        folder=Path(out) / WORKSPACES,
        read=read_recording,
        environment=dict(os.environ),
        seconds=table.timeout,
        most_output=table.max_output,
        fixtures=Path(fixtures) if fixtures else None,
        retries=table.retries,
        keep_workspaces=keep_workspaces,
        user=_user(table.user, table.user_url, table.max_turns),
    )
    with ExitStack() as stack:
        _end_agents_when_ended(stack)
        if collect:
            receiver = stack.enter_context(collecting(Path(out) / WORKSPACES / "collected"))
            conditions = dataclasses.replace(conditions, collector=receiver)
        spent = Spent()
        count = stack.enter_context(progress("trials", more=spent.words))

        def done(sample: Sample) -> None:
            spent.count(sample)
            count(sample)

        try:
            ran = run_cases(
                cases,
                named,
                Path(out),
                conditions,
                trials=table.trials,
                jobs=table.jobs,
                pause=60 / table.rate if table.rate else 0.0,
                budget=Budget(
                    trials=table.budget_trials,
                    minutes=table.budget_minutes,
                    tokens=table.budget_tokens,
                    usd=table.budget_usd,
                    calls=table.budget_calls,
                ),
                again=again,
                around=Surroundings(recorder=function_recorder, options=set_, keys=_keys()),
                on_sample=done,
            )
        except (KeyboardInterrupt, SystemExit):
            say(f"stopped; what was finished is recorded in {out}, and the same command goes on")
            raise
    for error in notes.broken:
        say(f"left out: {error}")
    if as_json and no_eval:
        print_json({"agents": [ran_as_plain(each) for each in ran]})
    for each in ran:
        tell_ran(each)
    gate = gate or loaded.gate is not None
    incomplete = any(each.left for each in ran)
    if not no_eval:
        _evaluate(context, ran, plan, gate and not incomplete, as_json, written)
    if gate and incomplete:
        say("gate: not every trial was run, which is not a pass")
        raise click.exceptions.Exit(3)


def _end_agents_when_ended(stack: ExitStack) -> None:
    """Whoever ends this program, or closes its terminal, ends the agents, too: as Ctrl-C does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        former = signal.signal(number, lambda got, _frame: sys.exit(128 + got))
        stack.callback(signal.signal, number, former)


def _can_be_evaluated(loaded: Plan, text: str, folder: Path, plan: str | None) -> None:
    """Whatever the evaluation would fail for is said now, and not after the agents have worked for hours."""
    from pantrace.engine.plan import prepare
    from pantrace.library.access import reach
    from pantrace.store import require_analysis

    try:
        require_analysis()
    except MissingExtra as error:
        raise UsageError(f"{error} (or --no-eval: record now, evaluate later)") from None
    prepare(loaded, folder, text, plan or "plan")
    reach(loaded.judge.models, loaded.judge.base_url, asking=True)


def _evaluate(
    context: click.Context,
    ran: list[Ran],
    plan: str | None,
    gate: bool,
    as_json: bool,
    written: dict[str, str | None],
) -> None:
    from .eval import command as evaluate

    codes = []
    for each in ran:
        try:
            context.invoke(
                evaluate,
                sources=(str(each.recordings),),
                out=str(each.out),
                plan=plan,
                gate=gate,
                as_json=as_json,
                **written,
            )
        except click.exceptions.Exit as ended:
            codes.append(ended.exit_code)
    if len(ran) > 1 and not as_json:
        from .compare import command as compare

        context.invoke(compare, runs=tuple(str(each.out) for each in ran))
    if any(codes):
        raise click.exceptions.Exit(1 if 1 in codes else max(codes))


def _named(agents: tuple[str, ...]) -> dict[str, str]:
    """Specifications by name; one alone needs none."""
    found: dict[str, str] = {}
    for each in agents:
        name, equals, spec = each.partition("=")
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


def _keys() -> dict[str, str]:
    """Keys of servers that agents are asked at, from the usual variables."""
    found = {"openai": os.environ.get("OPENAI_API_KEY"), "http": os.environ.get("PANTRACE_AGENT_KEY")}
    return {name: key for name, key in found.items() if key}


def _user(model: str | None, url: str | None, turns: int) -> SimulatedUser | None:
    from pantrace.engine.simulated_user import SimulatedUser

    if model is None:
        return None
    from pantrace.judges.providers import Provider
    from pantrace.library.access import reach

    try:
        reached = reach([model], url, asking=True)
    except UsageError as error:
        raise UsageError(f"--user {model}: {str(error).replace('the judge', 'it')}") from None
    (name,) = reached.models
    key = reached.keys[name.partition(":")[0]]
    return SimulatedUser(name, lambda: Provider(name, key=key, base_url=reached.base_url), turns)
