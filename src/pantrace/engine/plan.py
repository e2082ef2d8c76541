"""Plan: what an evaluation measures, checks and decides, as a TOML file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from pantrace.errors import PantraceError, UsageError
from pantrace.judges import BUDGET, AnyRubric, Calibrations, read_calibrations
from pantrace.metrics import Metric, by_name, names, parse_settings
from pantrace.policy import Profile, load_profile, profile_names
from pantrace.rules import RuleFile, load_rules, with_tool_map
from pantrace.wire import toml
from pantrace.wire.json import encode
from pantrace.wire.text_file import exists, is_file, read_text
from pantrace.wire.tool_map import tool_names

from .measure import Chosen, load_plugins
from .profile_sense import load_sensible
from .rubric_selection import select_rubrics

T = TypeVar("T")
MOST_TRIALS = 10_000
"""Of one case. More is a slip, and counting those that a budget leaves out would take for ever."""


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the plan: unknown keys are refused."""


class MeasureTable(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Deterministic metrics."""

    metrics: tuple[str, ...] = ("*",)
    """Names, or "*" for all of them; "-NAME" leaves one out."""
    plugins: list[str] = []
    """Python files with metrics of your own, relative to the plan."""
    settings: dict[str, dict[str, Any]] = {}
    """[measure.settings.NAME]: a metric's settings."""


class CheckTable(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rule files."""

    rules: list[str] = []
    """Rule files (relative to the plan) or packs."""
    tool_map: str | None = None
    """File that says which physical tools stand for which logical ones (eval_config.yaml): rules know both."""


class ReferenceTable(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is expected, where it lies elsewhere."""

    path: str | None = None
    """Recordings or a dataset, joined by the ids of samples, cases and sessions."""


class DecideTable(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who decides."""

    profile: str | None = None
    """Profile (name or file) for samples whose case names none."""
    case_profiles: bool = True
    """Let each case be decided by the profile it names."""
    profiles: list[str] = []
    """Profile files that cases may name."""


class JudgeTable(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Language models as judges. Without models nothing is sent, and what is to be judged is unscored."""

    models: list[str] = []
    """PROVIDER:MODEL; several make a panel."""
    rubrics: list[str] = []
    """Rubrics and metric definitions for every sample, by name or file, beside the evals that a case requires."""
    base_url: str | None = None
    """Server of the judges, for one that speaks OpenAI's protocol."""
    samples: Annotated[int, Meta(ge=1, le=100)] = 1
    """How often each judge is asked."""
    combine: Literal["mean", "majority"] | None = None
    """How several verdicts become one; by default the mean of grades and the majority of pass and fail."""
    temperature: Annotated[float, Meta(ge=0)] | None = None
    """By default 0 for one sample, 0.7 for several."""
    seed: int | None = None
    """Sent to the provider, plus the number of the sample."""
    weighted: bool = False
    """Weight grades by their log-probabilities, if the provider returns them."""
    max_tokens: Annotated[int, Meta(ge=16)] = 2_000
    """Maximum number of tokens in a reply."""
    max_chars: Annotated[int, Meta(ge=2000)] = BUDGET
    """Longest material of one prompt."""
    redact: bool = True
    """Replace secrets before anything is sent."""
    timeout: Annotated[float, Meta(ge=0.1)] = 120.0
    """Seconds for a reply."""
    retries: Annotated[int, Meta(ge=0, le=20)] = 4
    """How often to ask again where that may help."""
    concurrency: Annotated[int, Meta(ge=1, le=256)] = 8
    """Number of questions at the same time."""
    budget_tokens: Annotated[int, Meta(ge=1)] | None = None
    """Stop after this many tokens; the next run continues."""
    budget_usd: Annotated[float, Meta(gt=0)] | None = None
    """Stop at this cost."""
    budget_calls: Annotated[int, Meta(ge=1)] | None = None
    """Stop after this many questions."""
    calibrations: list[str] = []
    """Files of `pantrace calibrate`: which judges may decide."""


class GateTable(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the evaluation as a whole passes."""

    min_pass_rate: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """Least share of cases that pass, repeats averaged within the case; what could not be decided has not passed."""
    complete: bool = False
    """The gate does not pass while a case of the dataset or reference was not run, not read or left out."""


class RunTable(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Questions that are put to agents before anything is evaluated (`pantrace run`)."""

    dataset: list[str] = []
    """Files with the cases, relative to the plan."""
    agent: str | None = None
    """The agent that is asked."""
    agents: dict[str, str] = {}
    """Several by name: they take turns and are compared."""
    options: dict[str, str] = {}
    """Options of the agent."""
    columns: dict[str, str] = {}
    """Columns of a table of cases: question, id, reference, goal, context."""
    trials: Annotated[int, Meta(ge=1, le=MOST_TRIALS)] = 1
    """How often each case is run."""
    jobs: Annotated[int, Meta(ge=1, le=256)] = 1
    """Trials at the same time."""
    timeout: Annotated[float, Meta(gt=0)] = 600.0
    """Seconds that a trial may take."""
    max_output: Annotated[int, Meta(ge=1)] = 50_000_000
    """Bytes that an agent may print in a trial."""
    rate: Annotated[float, Meta(gt=0)] | None = None
    """Start at most this many trials a minute."""
    retries: Annotated[int, Meta(ge=0, le=10)] = 2
    """How often to ask again if the agent was not reached."""
    fixtures: str | None = None
    """Start each trial with a copy of the folder with the case's name in this directory, or of the directory itself."""
    follow_up: bool = False
    """Ask all prompts of recordings again, not only the first."""
    user: str | None = None
    """PROVIDER:MODEL that plays the user of scenarios."""
    user_url: str | None = None
    """Server of that model."""
    max_turns: Annotated[int, Meta(ge=1)] = 10
    """Most turns of a simulated user."""
    budget_trials: Annotated[int, Meta(ge=1)] | None = None
    """Start no more than this many trials."""
    budget_tokens: Annotated[int, Meta(ge=1)] | None = None
    """Start no trial after this many tokens."""
    budget_usd: Annotated[float, Meta(gt=0)] | None = None
    """Start no trial beyond this cost."""
    budget_calls: Annotated[int, Meta(ge=1)] | None = None
    """Start no trial after this many calls of the agents' models."""
    budget_minutes: Annotated[float, Meta(gt=0)] | None = None
    """Start no trial after this many minutes."""


class Plan(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An evaluation plan."""

    name: str = "default"
    run: RunTable = RunTable()
    measure: MeasureTable = MeasureTable()
    check: CheckTable = CheckTable()
    reference: ReferenceTable = ReferenceTable()
    judge: JudgeTable = JudgeTable()
    decide: DecideTable = DecideTable()
    gate: GateTable | None = None


class Ready(msgspec.Struct, frozen=True):
    """A plan with everything it names loaded."""

    plan: Plan
    checks: tuple[Chosen, ...]
    rules: tuple[RuleFile, ...]
    rubrics: tuple[AnyRubric, ...]
    profiles: dict[str, Profile]
    """Profiles by the name under which cases speak of them."""
    default: Profile | None
    calibrations: Calibrations
    reference: Path | None
    """Where what is expected lies."""
    hash: str
    """Of everything that decides what the results are."""
    recipe: tuple[Plan, Path, str, str, tuple[Path, ...]] | None = None
    """What it was prepared from."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent to another process as its recipe: a plugin's metric is in a module that only this process has loaded."""
        return _prepared_again, (self.recipe, self.hash)


def _prepared_again(recipe: tuple[Plan, Path, str, str, tuple[Path, ...]], hash: str) -> Ready:  # noqa: A002
    plan, folder, text, name, calibrations = recipe
    found = prepare(plan, folder, text, name, calibrations=calibrations)
    # Workers that measure by different plans would give parts that do not belong together.
    if found.hash != hash:
        raise UsageError(f"{name}: a file that it names was changed while it was being used; run the command again")
    return found


def load_plan(path: Path | None) -> tuple[Plan, str, Path]:
    """A plan file with its text and folder; the default plan without one."""
    if path is None:
        return Plan(), "", Path()
    from .foreign_plan import is_config, plan_of_config

    if is_config(path):
        return plan_of_config(path)[0], read_text(path), path.parent
    text = read_text(path)
    return toml.load(text, str(path), Plan), text, path.parent


def prepare(
    plan: Plan, folder: Path, text: str = "", name: str = "plan", *, calibrations: Sequence[Path] = ()
) -> Ready:
    """Load everything that a plan names; a UsageError with the line number if something is missing."""
    try:
        asked = select_rubrics(plan.judge.rubrics, folder)
    except PantraceError as error:
        raise UsageError(f"{_place(text, name, 'judge.rubrics') if text else ''}{error}") from None
    checks = _checks(plan, folder, text, name, asked.measured)

    def named_in_plan(load: Callable[[str], T], each: str, key: str) -> T:
        try:
            return load(_located(each, folder))
        except PantraceError as error:
            raise UsageError(f"{_place(text, name, key) if text else ''}{error}") from None

    rules = tuple(named_in_plan(load_rules, rule, "check.rules") for rule in plan.check.rules)
    if plan.check.tool_map is not None:
        mapped = tool_names(_located(plan.check.tool_map, folder), "check.tool_map")
        rules = tuple(with_tool_map(each, mapped) for each in rules)

    def sensible(each: str) -> Profile:
        return load_sensible(
            each, own=[check for check, _ in checks], rules=[rule.id for f in rules for rule in f.rule]
        )

    named = [named_in_plan(sensible, each, "decide.profiles") for each in plan.decide.profiles]
    default = named_in_plan(sensible, plan.decide.profile, "decide.profile") if plan.decide.profile else None
    profiles = {profile.name: profile for profile in [*named, *([default] if default else [])]}
    known = read_calibrations([*(folder / each for each in plan.judge.calibrations), *calibrations])
    rubrics = [each.hash for each in asked.rubrics]
    hashed = _hash(plan, checks, rules, rubrics, profiles, known, _named_files(plan, folder))
    reference = _beside(plan.reference.path, folder)
    recipe = plan, folder, text, name, tuple(calibrations)
    return Ready(plan, checks, rules, asked.rubrics, profiles, default, known, reference, hashed, recipe)


def profile_for(ready: Ready, name: str | None) -> Profile | None:
    """The profile that decides a case; None if it names an unknown one, or if there is nothing to decide by."""
    if name is None or not ready.plan.decide.case_profiles:
        return ready.default
    if name in ready.profiles:
        return ready.profiles[name]
    # Only built-in names, never a path: a recording must not bring along the file by which it is decided.
    return load_profile(name) if name in profile_names() else None


def _checks(plan: Plan, folder: Path, text: str, name: str, defined: Iterable[str]) -> tuple[Chosen, ...]:
    own = load_plugins([folder / path for path in plan.measure.plugins])
    wanted: dict[str, Metric] = {}
    for word in plan.measure.metrics:
        try:
            if word == "*":
                wanted |= {each: by_name(each) for each in names()} | own
            elif word.startswith("-"):
                wanted.pop(word[1:], None) if word[1:] in (*names(), *own) else by_name(word[1:])
            else:
                wanted[word] = own.get(word) or by_name(word)
        except UsageError as error:
            raise UsageError(f"{_place(text, name, 'measure.metrics')}{error}") from None
    for each in defined:
        # Metrics of definition files come in addition, unless the plan removes them by name.
        if f"-{each}" not in plan.measure.metrics:
            wanted.setdefault(each, by_name(each))
    settings = plan.measure.settings
    for each in settings:
        if each not in wanted:
            place = _place(text, name, f"measure.settings.{each}")
            raise UsageError(f"{place}settings for {each!r}, which is not measured")
    return tuple((check, parse_settings(check, settings.get(each, {}))) for each, check in wanted.items())


def _place(text: str, name: str, path: str) -> str:
    line = toml.line_of(text, path)
    return f"{name}: line {line}: " if line is not None else f"{name}: "


def _beside(path: str | None, folder: Path) -> Path | None:
    """A path in the plan: relative to the plan, otherwise to the current folder."""
    if path is None:
        return None
    return folder / path if exists(folder / path) else Path(path)


def _located(name: str, folder: Path) -> str:
    """A file next to the plan, or a built-in name."""
    beside = folder / name
    return str(beside) if is_file(beside) else name


def _named_files(plan: Plan, folder: Path) -> list[str]:
    """Hashes of the files that contain metrics or their settings: plugins, prices, contracts."""
    values = [value for settings in plan.measure.settings.values() for value in settings.values()]
    named = [folder / path for path in plan.measure.plugins]
    # Any text may be a path; a long one is not, and asking the system about it would raise an error.
    named += [Path(value) for value in values if isinstance(value, str) and len(value) < 250]
    return [sha256(path.read_bytes()).hexdigest() for path in named if is_file(path)]


_REACHING = (
    "base_url",
    "timeout",
    "retries",
    "concurrency",
    "budget_tokens",
    "budget_usd",
    "budget_calls",
    "calibrations",
)


def _hash(
    plan: Plan,
    checks: tuple[Chosen, ...],
    rules: tuple[RuleFile, ...],
    rubrics: list[str],
    profiles: dict[str, Profile],
    calibrations: Calibrations,
    files: list[str],
) -> str:
    """Changes when anything changes that results depend on: the plan, metrics, rules, profiles, pantrace itself."""
    usual = JudgeTable()
    # How judges are reached, what may be spent on them, and how recordings were made does not change results: a higher
    # budget must continue a run and not start a new one.
    judge = msgspec.structs.replace(plan.judge, **{name: getattr(usual, name) for name in _REACHING})
    described = [
        # Imported by name, because the package is above this layer.
        import_module("pantrace").__version__,
        msgspec.structs.replace(plan, judge=judge, run=RunTable()),
        [(check.name, check.version, settings) for check, settings in checks],
        rules,
        rubrics,
        list(profiles.values()),
        calibrations,
    ]
    # Without files the list is as it was in earlier versions, so that their run directories can be continued.
    return sha256(encode([*described, files] if files else described)).hexdigest()
