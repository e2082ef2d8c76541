"""Run: gives the cases of a dataset to agents, and records what they do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from pantrace.agents import Agent, Command, Surroundings, agent_of
from pantrace.catalog import catalog, cost_usd
from pantrace.errors import UsageError
from pantrace.model import Case, RunHeader, Sample, agent_trajectories, total_tokens, usage_total
from pantrace.recording import Recorder
from pantrace.wire.progress import current_progress

from .read import read
from .run_cases import Asked
from .run_recordings import FILE, Recordings
from .run_trial import Conditions, try_case


@dataclass(frozen=True)
class Budget:
    """When to stop starting trials. Trials that have started are finished."""

    trials: int | None = None
    minutes: float | None = None
    tokens: int | None = None
    usd: float | None = None
    calls: int | None = None


@dataclass(repr=False)
class Ran:
    """What a run did with one agent."""

    name: str
    out: Path
    ran: int = 0
    """Trials that were run now."""
    reused: int = 0
    """Trials that were already recorded."""
    superseded: int = 0
    """Recordings set aside, because their case has changed or they have no answer and are repeated."""
    answered: int = 0
    """Trials of these cases, run now or before, in which the agent answered."""
    unanswered: int = 0
    """Reused trials in which the agent did not answer."""
    left: int = 0
    """Trials that were not run, because of a budget or Ctrl-C."""
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Trials in which the agent did not answer: which, and why."""
    remarks: list[str] = field(default_factory=list)
    tokens: int = 0
    calls: int = 0
    """Model calls whose tokens are recorded."""
    usd: float = 0.0
    unpriced: int = 0
    """Trials whose cost is not known."""
    stopped: str | None = None
    """Which budget was used up."""

    def __repr__(self) -> str:
        counts = f"ran={self.ran}, reused={self.reused}, left={self.left}, failed={len(self.failed)}"
        return f"<Ran {self.name!r:.60}: {counts}, recordings={str(self.recordings)!r}>"

    @property
    def recordings(self) -> Path:
        return self.out / FILE


def run_cases(
    cases: list[Asked],
    agents: Mapping[str, str],
    out: Path,
    conditions: Conditions,
    *,
    trials: int = 1,
    jobs: int = 1,
    pause: float = 0.0,
    budget: Budget | None = None,
    again: bool = False,
    around: Surroundings | None = None,
    on_sample: Callable[[Sample], None] = lambda _: None,
) -> list[Ran]:
    """Give every case to every agent, `trials` times, and record it. Trials that are already recorded are not repeated.

    `agents` are specifications by name. A single agent is recorded in `out`, several in a directory each; they take
    turns, so that changes during the run (a slow provider) affect all of them. `pause`: seconds between two starts.
    `again`: trials in which the agent did not answer are repeated."""
    around = around or Surroundings(recorder=function_recorder)
    made = {name: agent_of(spec, around) for name, spec in agents.items()}
    if not cases:
        raise UsageError("there is no case to run")
    if conditions.user is None and (played := [each.id for each in cases if each.is_scenario]):
        named = ", ".join(played[:3])
        what = "1 case is a scenario" if len(played) == 1 else f"{len(played)} cases are scenarios"
        raise UsageError(f"{what} for a simulated user ({named}): name a model with --user")
    # Before anything is written: a misspelt command would otherwise fail once for each trial.
    for agent in made.values():
        if isinstance(agent, Command) and (missing := agent.missing(conditions.environment)) is not None:
            raise UsageError(f"{missing} cannot be found: is it installed, and on the PATH?")
    ran = {name: Ran(name, out if len(agents) == 1 else out / name) for name in agents}
    with ExitStack() as stack:
        files = {}
        for name, spec in agents.items():
            header = RunHeader(name=name if len(agents) > 1 else None, agent=spec, created=time.time())
            files[name] = Recordings(ran[name].out, header)
            stack.callback(files[name].close)
            hashes = {each.id: each.hash for each in cases}
            ran[name].superseded = files[name].supersede(hashes, unanswered=again)
        if (watched := current_progress()) is not None:
            watched.total = len(cases) * trials * len(agents)
        work = _Work(made, files, ran, conditions, budget or Budget(), on_sample)
        work.do(_trials(cases, list(agents), trials), jobs, pause)
    return list(ran.values())


def function_recorder(folder: Path, case: Case) -> Recorder:
    """A recorder for a function that takes one; its steps are used directly, and no file is left."""
    return Recorder(folder / "function.trace.jsonl", case=case, keep=lambda _sample, _path: None)


def read_recording(path: Path, format: str | None) -> list[Sample]:  # noqa: A002
    """All samples of a recording that an agent made."""
    return list(read(path, format=format).samples)


_Trial = tuple[str, Asked, int]


def _trials(cases: list[Asked], names: list[str], trials: int) -> Iterator[_Trial]:
    # All cases once before any is repeated, so that each has been tried if a budget runs out later.
    for number in range(1, trials + 1):
        for case in cases:
            for name in names:
                yield name, case, number


class _Work:
    def __init__(
        self,
        agents: dict[str, Agent],
        files: dict[str, Recordings],
        ran: dict[str, Ran],
        conditions: Conditions,
        budget: Budget,
        on_sample: Callable[[Sample], None],
    ):
        self._agents = agents
        self._files = files
        self._ran = ran
        self._conditions = conditions
        self._budget = budget
        self._on_sample = on_sample
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def do(self, trials: Iterator[_Trial], jobs: int, pause: float) -> None:
        open_: set[Future[None]] = set()
        last = 0.0
        with ThreadPoolExecutor(jobs, thread_name_prefix="trial") as pool:
            try:
                for name, case, number in trials:
                    done = self._ran[name]
                    if self._files[name].has(case.id, number, case.hash):
                        done.reused += 1
                        if (case.id, number) in self._files[name].unanswered:
                            done.unanswered += 1
                        else:
                            done.answered += 1
                        if (watched := current_progress()) is not None:
                            watched.skipped += 1
                        continue
                    # Trials are submitted only when there is room for them, so that a budget is checked right before
                    # each start.
                    while len(open_) >= jobs:
                        open_ = self._settled(open_)
                    if (over := self._over()) is not None:
                        done.left, done.stopped = done.left + 1, over
                        continue
                    time.sleep(max(0.0, last + pause - time.monotonic()))
                    last = time.monotonic()
                    open_.add(pool.submit(self._one, name, case, number))
                while open_:
                    open_ = self._settled(open_)
            except BaseException:
                # Running trials end now. They are not recorded, so the next run repeats them.
                self._conditions.stopped.set()
                raise

    @staticmethod
    def _settled(open_: set[Future[None]]) -> set[Future[None]]:
        done, left = wait(open_, return_when=FIRST_COMPLETED)
        for each in done:
            each.result()
        return left

    def _one(self, name: str, case: Asked, number: int) -> None:
        conditions = self._conditions
        if len(self._agents) > 1:
            # Agents that get the same case must not see each other's files.
            conditions = replace(conditions, agent=name, folder=conditions.folder / name)
        sample = try_case(case, number, self._agents[name], conditions)
        # The agent was interrupted: its answer is incomplete, and the trial must be run again.
        if self._conditions.stopped.is_set():
            return
        self._files[name].add(sample, case.hash)
        with self._lock:
            self._count(self._ran[name], sample, number)
        self._on_sample(sample)

    def _count(self, done: Ran, sample: Sample, number: int) -> None:
        done.ran += 1
        trajectory = sample.trajectory
        assert trajectory is not None
        outcome = trajectory.outcome
        if outcome is not None and outcome.status in ("error", "limit", "cancelled"):
            done.failed.append((f"{sample.id} (trial {number})", outcome.reason or outcome.status))
        else:
            done.answered += 1
        done.remarks += [f"{sample.id}: {each}" for each in sample.extra["run"].get("remarks", ())]
        done.tokens += tokens_of(sample)
        done.calls += sum(step.usage is not None for each in agent_trajectories(trajectory) for step in each.steps)
        cost = cost_of(sample)
        done.usd += cost or 0.0
        done.unpriced += cost is None

    def _over(self) -> str | None:
        budget, ran = self._budget, self._ran.values()
        spent: list[tuple[str, float | None, float]] = [
            ("--budget-trials", budget.trials, sum(each.ran for each in ran)),
            ("--budget-minutes", budget.minutes, (time.monotonic() - self._began) / 60),
            ("--budget-tokens", budget.tokens, sum(each.tokens for each in ran)),
            ("--budget-usd", budget.usd, sum(each.usd for each in ran)),
            ("--budget-calls", budget.calls, sum(each.calls for each in ran)),
        ]
        return next((name for name, most, used in spent if most is not None and used >= most), None)


def tokens_of(sample: Sample) -> int:
    """The tokens of the agent's model calls, as far as they are recorded."""
    usage = usage_total(sample.trajectory) if sample.trajectory is not None else None
    return (total_tokens(usage) if usage is not None else None) or 0


def cost_of(sample: Sample) -> float | None:
    """The cost of the agent's model calls: as reported, otherwise by the price table; None if it is not known."""
    if sample.trajectory is None:
        return None
    found: list[float] = []
    for trajectory in agent_trajectories(sample.trajectory):
        for step in trajectory.steps:
            if step.usage is None or step.purpose == "simulated_user":
                continue
            priced = catalog().find(step.model)
            if step.usage.cost_usd is not None:
                found.append(step.usage.cost_usd)
            elif priced is not None:
                found.append(cost_usd(step.usage, priced, at=step.at))
            else:
                # A sum without one of its calls would look like the whole cost.
                return None
    return sum(found) if found else None
