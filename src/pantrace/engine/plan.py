"""Plan: what an evaluation measures, checks and decides, as a TOML file."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from pantrace import __version__
from pantrace.checks import Check, by_name, names, parse_settings
from pantrace.checks.rules import RuleFile, load_rules
from pantrace.errors import UsageError
from pantrace.judges import AnyRubric, load_any_rubric
from pantrace.policy import Profile, load_profile
from pantrace.wire import toml
from pantrace.wire.json import encode

from .measure import Chosen, load_plugin


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the plan: unknown keys are refused."""


class MeasureTable(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Deterministic metrics."""

    metrics: tuple[str, ...] = ("*",)
    """Names, or "*" for all of them; "-NAME" leaves one out."""
    plugins: list[str] = []
    """Python files with checks of your own, relative to the plan."""
    settings: dict[str, dict[str, Any]] = {}
    """[measure.settings.NAME]: a metric's settings."""


class CheckTable(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rule files."""

    rules: list[str] = []
    """Rule files (relative to the plan) or packs."""


class ReferenceTable(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is expected, where it lies elsewhere."""

    path: str | None = None


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
    """Rubrics for every sample, by name or file, beside the evals that a case requires."""
    base_url: str | None = None
    samples: int = 1
    """How often each judge is asked."""
    concurrency: int = 8
    budget_tokens: int | None = None


class GateTable(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the evaluation as a whole passes."""

    min_pass_rate: float = 1.0
    """Least share of decided samples that pass; a sample that could not be decided keeps the gate from passing."""


class Plan(_Table, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An evaluation plan."""

    name: str = "default"
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
    hash: str
    """Of everything that decides what the results are."""


def load_plan(path: Path | None) -> tuple[Plan, str, Path]:
    """A plan file with its text and folder; the default plan without one."""
    if path is None:
        return Plan(), "", Path()
    plan = toml.load_file(path, Plan)
    return plan, path.read_text("utf-8-sig"), path.parent


def prepare(plan: Plan, folder: Path, text: str = "", name: str = "plan") -> Ready:
    """Load all that a plan names; a UsageError with the line for what is not there."""
    checks = _checks(plan, folder, text, name)
    rules = tuple(load_rules(_located(rule, folder)) for rule in plan.check.rules)
    rubrics = tuple(load_any_rubric(_located(each, folder)) for each in plan.judge.rubrics)
    named = [load_profile(_located(each, folder)) for each in plan.decide.profiles]
    default = load_profile(_located(plan.decide.profile, folder)) if plan.decide.profile else None
    profiles = {profile.name: profile for profile in [*named, *([default] if default else [])]}
    hashed = _hash(plan, checks, rules, [rubric.hash for rubric in rubrics], profiles)
    return Ready(plan, checks, rules, rubrics, profiles, default, hashed)


def profile_for(ready: Ready, name: str | None) -> Profile | None:
    """The profile that decides a case; None when it names one that is not known, or none is to decide."""
    if name is None or not ready.plan.decide.case_profiles:
        return ready.default
    if name in ready.profiles:
        return ready.profiles[name]
    try:
        return load_profile(name) if not name.endswith(".toml") else None
    except UsageError:
        return None


def _checks(plan: Plan, folder: Path, text: str, name: str) -> tuple[Chosen, ...]:
    own: dict[str, Check] = {}
    for path in plan.measure.plugins:
        own |= {each.name: each for each in load_plugin(folder / path)}
    wanted: dict[str, Check] = {}
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
    settings = plan.measure.settings
    for each in settings:
        if each not in wanted:
            place = _place(text, name, f"measure.settings.{each}")
            raise UsageError(f"{place}settings for {each!r}, which is not measured")
    return tuple((check, parse_settings(check, settings.get(each, {}))) for each, check in wanted.items())


def _place(text: str, name: str, path: str) -> str:
    line = toml.line_of(text, path)
    return f"{name}: line {line}: " if line is not None else f"{name}: "


def _located(name: str, folder: Path) -> str:
    """A file beside the plan, or a built-in name."""
    beside = folder / name
    return str(beside) if beside.is_file() else name


def _hash(
    plan: Plan,
    checks: tuple[Chosen, ...],
    rules: tuple[RuleFile, ...],
    rubrics: list[str],
    profiles: dict[str, Profile],
) -> str:
    """Changes when anything changes that results depend on: the plan, versions of checks, rules, profiles, pantrace."""
    described = [
        __version__,
        plan,
        [(check.name, check.version, settings) for check, settings in checks],
        rules,
        rubrics,
        list(profiles.values()),
    ]
    return sha256(encode(described)).hexdigest()
