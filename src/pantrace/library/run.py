"""Ask agents questions, record what they do, and evaluate it, as `pantrace run` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace as replaced
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.agents import Surroundings
from pantrace.agents.function import function
from pantrace.engine.collect import collecting
from pantrace.engine.compare_runs import compare_sources
from pantrace.engine.overwriting import Output, refuse_overwriting
from pantrace.engine.plan import RunTable, load_plan
from pantrace.engine.read import Notes
from pantrace.engine.run import Budget, Ran, function_recorder, read_recording, run_cases
from pantrace.engine.run_cases import dataset as cases_of
from pantrace.engine.run_cases import questions
from pantrace.engine.run_trial import Conditions
from pantrace.engine.select import Selection
from pantrace.engine.simulated_user import SimulatedUser
from pantrace.errors import MissingExtra, UsageError
from pantrace.judges.providers import Provider
from pantrace.model import Sample
from pantrace.places import path_at, path_here
from pantrace.store import WORKSPACES, require_analysis

from .access import agent_keys, environment, reach
from .evaluate import Planned, evaluate_planned, read_plan
from .results import Results
from .run_result import RunResult
from .sources import listed

Agent = str | Callable[..., Any]
"""What `--agent` takes, such as "cmd:python agent.py {question}", or a function that takes a question."""


def run(
    dataset: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    agent: Agent | Mapping[str, Agent] | None = None,
    *,
    out: str | PathLike[str],
    plan: str | PathLike[str] | None = None,
    evaluate: bool = True,
    trials: int | None = None,
    jobs: int | None = None,
    timeout: float | None = None,
    max_output: int | None = None,
    rate: float | None = None,
    retries: int | None = None,
    options: Mapping[str, str] | None = None,
    base_url: str | None = None,
    columns: Mapping[str, str] | None = None,
    fixtures: str | PathLike[str] | None = None,
    again: bool = False,
    collect: bool = False,
    keep_workspaces: bool = False,
    follow_up: bool = False,
    user: str | None = None,
    user_url: str | None = None,
    max_turns: int | None = None,
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    budget_calls: int | None = None,
    budget_trials: int | None = None,
    budget_minutes: float | None = None,
    selection: Selection | None = None,
    on_sample: Callable[[Sample], None] = lambda _: None,
) -> RunResult:
    """Ask an agent questions, record what it does, and evaluate it into the run directory `out`.

    The dataset is anything with cases: eval sets, a table with a question in each row, recordings whose first
    prompts are asked again. The agent is a function that takes a question, or what `--agent` takes: "claude",
    "cmd:python agent.py {question}", "openai:gpt-4.1-mini". Several agents by name take turns and are compared. Other
    values come from the plan, or are `pantrace run`'s defaults. After an interruption, call it again to continue."""
    given = {
        "trials": trials,
        "jobs": jobs,
        "timeout": timeout,
        "max_output": max_output,
        "rate": rate,
        "retries": retries,
        "fixtures": str(fixtures) if fixtures is not None else None,
        "follow_up": follow_up or None,
        "user": user,
        "user_url": user_url,
        "max_turns": max_turns,
        "budget_usd": budget_usd,
        "budget_tokens": budget_tokens,
        "budget_calls": budget_calls,
        "budget_trials": budget_trials,
        "budget_minutes": budget_minutes,
    }
    named = {} if agent is None else agent if isinstance(agent, Mapping) else {"": agent}
    notes = Notes.keeping()
    # Read before any agent is asked: a broken plan must not be found out hours later.
    planned = read_plan(plan) if evaluate else None
    if planned is not None:
        readiness(planned)
    ran = record(
        [path_at(each) for each in listed(dataset)],
        {name: spec_of(each) for name, each in named.items()},
        path_here(out),
        plan=plan,
        given=given,
        options={**(options or {}), **({"base_url": base_url} if base_url else {})},
        columns=dict(columns or {}),
        again=again,
        collect=collect,
        keep_workspaces=keep_workspaces,
        selection=selection,
        notes=notes,
        on_sample=on_sample,
    )
    results = [evaluate_recorded(planned, each) for each in ran] if planned is not None else []
    return run_result(ran, results, notes)


def readiness(planned: Planned) -> None:
    """Fail now for what the evaluation would fail for after agents have worked for hours: an extra, a judge's key."""
    try:
        require_analysis()
    except MissingExtra as error:
        # Recording needs no extra, so the work need not wait for an installation.
        raise UsageError(f"{error} (or --no-eval: record now, evaluate later)") from None
    reach(planned.plan.judge.models, planned.plan.judge.base_url, asking=True)


def spec_of(agent: Agent) -> str:
    """An agent as `--agent` names it; a function by its import path."""
    if isinstance(agent, str):
        return agent
    place = f"{getattr(agent, '__module__', None)}:{getattr(agent, '__qualname__', '')}"
    try:
        found = function(place)
    except UsageError:
        found = None
    # A lambda or a nested function has no import path, by which a continued run could find it again.
    if found is not agent:
        raise UsageError(f"{agent!r} cannot be an agent: give a function that is defined at the top of a module")
    return f"python:{place}"


def record(
    paths: Sequence[Path],
    agents: Mapping[str, str],
    out: Path,
    *,
    plan: str | PathLike[str] | None,
    given: Mapping[str, Any],
    options: Mapping[str, str],
    columns: Mapping[str, str],
    again: bool,
    collect: bool,
    keep_workspaces: bool,
    selection: Selection | None,
    notes: Notes,
    on_sample: Callable[[Sample], None],
) -> list[Ran]:
    """Give the cases to the agents and record what they do. `given` takes precedence over the plan."""
    loaded, _, folder = load_plan(Path(plan) if plan is not None else None)
    table = replace(loaded.run, **{name: value for name, value in given.items() if value is not None})
    # The caller's agents replace the plan's, they are not added to them.
    named = agents or table.agents or ({"": table.agent} if table.agent else {})
    if not named:
        raise UsageError("no agent to run: name one with --agent, or in [run] of the plan")
    paths = paths or [folder / each for each in table.dataset]
    if not paths:
        raise UsageError("there is no dataset: name one, or put it in [run] of the plan")
    refuse_overwriting([*paths, *([Path(plan)] if plan is not None else [])], [Output(out, recording=True)])
    samples = cases_of([*paths], {**table.columns, **columns}, notes)
    chosen = selection.apply(samples) if selection is not None else samples
    cases = list(questions(chosen, follow_up=table.follow_up))
    if not cases and selection is not None and selection.found_nothing:
        raise UsageError(selection.found_nothing)
    # A path in the plan is relative to the plan, one of the caller to the current folder.
    fixtures = given["fixtures"] or (str(folder / table.fixtures) if table.fixtures else None)
    conditions = Conditions(
        folder=out / WORKSPACES,
        read=read_recording,
        environment=environment(),
        seconds=table.timeout,
        most_output=table.max_output,
        fixtures=Path(fixtures) if fixtures else None,
        retries=table.retries,
        keep_workspaces=keep_workspaces,
        user=_user(table),
    )

    def put(conditions: Conditions) -> list[Ran]:
        return run_cases(
            cases,
            named,
            out,
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
            around=Surroundings(recorder=function_recorder, options={**table.options, **options}, keys=agent_keys()),
            on_sample=on_sample,
        )

    # A receiver only on request: it opens a port.
    if not collect:
        return put(conditions)
    with collecting(out / WORKSPACES / "collected") as receiver:
        return put(replaced(conditions, collector=receiver))


def _user(table: RunTable) -> SimulatedUser | None:
    if table.user is None:
        return None
    try:
        reached = reach([table.user], table.user_url, asking=True)
    except UsageError as error:
        raise UsageError(f"--user {table.user}: {str(error).replace('the judge', 'it')}") from None
    (name,) = reached.models
    key = reached.keys[name.partition(":")[0]]
    # A new one for each question, because connections belong to one event loop.
    return SimulatedUser(name, lambda: Provider(name, key=key, base_url=reached.base_url), table.max_turns)


def evaluate_recorded(planned: Planned, ran: Ran, on_sample: Callable[[Sample], None] = lambda _: None) -> Results:
    """Evaluate one agent's recordings, next to them."""
    return evaluate_planned(planned, [ran.recordings], ran.out, planned.judge_table(), on_sample=on_sample)


def run_result(ran: Sequence[Ran], results: Sequence[Results], notes: Notes) -> RunResult:
    """The result; several evaluated agents are compared."""
    compared = None
    if len(results) > 1:
        compared = compare_sources([(str(each.path), [each.path]) for each in results])
    return RunResult([*ran], [*results], compared, notes)
