"""trajectory_accuracy: whether the expected tools were called, with the expected arguments."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from pantrace.matching.arguments import ArgumentRule, Mode
from pantrace.matching.call import Rules
from pantrace.matching.comparison import Comparison, Order, compare
from pantrace.matching.presets import PRESETS, Options, Side, Undefined
from pantrace.matching.recorded_data import recording_of
from pantrace.matching.sides import side_of_calls, side_of_trajectory, with_objects
from pantrace.matching.values import Likeness
from pantrace.model import Measure, Record, Sample, Trajectory

from .metric import Found, Measurement, NotApplicable, Numbers, metric

SHOWN = 20
"""How many names of missing and extra calls are listed."""


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How calls are compared."""

    preset: str | None = None
    """Score as another library does: "adk-in-order", "agentevals-superset" and others."""
    order: Order = "in_order"
    """How calls are paired: exact (position by position), in_order, any_order."""
    arguments: Mode = "exact"
    """How arguments are compared: exact, ignore, subset, superset, keys, allowed."""
    keys: tuple[str, ...] = ()
    """Dotted paths of the arguments that count when `arguments` is keys."""
    normalise: bool = False
    """Ignore case and white space in texts."""
    tolerance: float = 0.0
    """How far two numbers may differ, absolutely or relative to the larger one."""
    tools: dict[str, ArgumentRule] = {}
    """Different rules for single tools: {"search": {"mode": "keys", "keys": ["query"]}}."""
    ignore_arguments: bool | None = None
    """Compare only names; by default as the preset's library does."""
    aliases: dict[str, tuple[str, ...]] = {}
    """Other names of a tool: {"read": ["fs.read", "read_files"]}."""
    tool: str | None = None
    """The tool that vertex-trajectory-single-tool-use looks for."""
    failed_calls: bool | None = None
    """Whether failed calls count; by default they do, unless the preset's library leaves them out."""

    def __post_init__(self) -> None:
        if self.arguments == "keys" and not self.keys:
            raise ValueError("arguments = keys needs the setting keys")
        Likeness(tolerance=self.tolerance)
        if self.preset is None:
            return
        preset = PRESETS.get(self.preset)
        if preset is None:
            close = get_close_matches(self.preset, PRESETS, n=1)
            raise ValueError(f"no preset {self.preset!r}; " + (f"did you mean {close[0]}?" if close else _presets()))
        changed = {
            "arguments": self.arguments != "exact" or bool(self.keys),
            "tools": bool(self.tools),
            "ignore_arguments": self.ignore_arguments is not None,
            "tool": self.tool is not None,
            "normalise": self.normalise,
            "tolerance": bool(self.tolerance),
        }
        # A setting that the preset ignores would look as if it had an effect.
        for name, given in changed.items():
            if given and name not in preset.reads:
                raise ValueError(f"the preset {self.preset} does not know the setting {name}")
        if "tool" in preset.reads and self.tool is None:
            raise ValueError(f"the preset {self.preset} needs the setting tool")
        if "arguments" in preset.reads and self.arguments in ("keys", "allowed"):
            raise ValueError(f"the preset {self.preset} knows arguments = exact, ignore, subset, superset")

    @property
    def rules(self) -> Rules:
        """How arguments are compared."""
        if self.ignore_arguments:
            return Rules(ArgumentRule(mode="ignore"))
        preset = PRESETS[self.preset] if self.preset else None
        # The measures beside the score compare as the preset's library does.
        if preset and self.ignore_arguments is None and "arguments" not in preset.reads:
            return Rules(ArgumentRule(mode=preset.mode))
        default = ArgumentRule(mode=self.arguments, keys=self.keys, normalise=self.normalise, tolerance=self.tolerance)
        names = self.other_names
        return Rules(default, {names.get(name, name): rule for name, rule in self.tools.items()})

    @property
    def other_names(self) -> dict[str, str]:
        """Alias -> the tool's name."""
        return {other: name for name, others in self.aliases.items() for other in others}


def _presets() -> str:
    return "there are " + ", ".join(PRESETS)


_SHARES = {
    "f1": "F1 of calls paired with reference calls",
    "precision": "calls that are expected",
    "recall": "expected calls that were made",
    "name_f1": "F1 of the names alone",
    "argument_f1": "F1 of single arguments",
}
_RELATIONS = {
    "exact": "the same calls in the same order",
    "in_order": "all expected calls, in order",
    "any_order": "all expected calls in any order",
}
_COUNTS = {
    "matched": "calls paired with an expected one",
    "extra": "calls that are not expected",
    "missing": "expected calls that were not made",
    "duplicates": "calls that repeat an earlier one",
    "calls": "calls",
    "reference_calls": "expected calls",
}

MEASURES = (
    Measure(name="score", unit="share", better="higher", high=1.0, headline=True, what="F1, or the preset's score"),
    *(Measure(name=name, unit="share", better="higher", high=1.0, what=what) for name, what in _SHARES.items()),
    *(
        Measure(name=name, unit="share", better="higher", high=1.0, yes_or_no=True, what=what)
        for name, what in _RELATIONS.items()
    ),
    *(
        Measure(
            name=name,
            unit="count",
            better="lower" if name in ("extra", "missing", "duplicates") else None,
            pooling="sum",
            what=what,
        )
        for name, what in _COUNTS.items()
    ),
)


@metric(settings=Settings, measures=MEASURES, per_turn=False)
def trajectory_accuracy(sample: Sample, settings: Settings) -> Found:
    """How well the tool calls agree with a reference.

    Formula: F1 of calls paired with reference calls (2 x pairs / (calls + reference calls)); calls of the same tool
    whose arguments agree are paired, by longest common subsequence (`order`: in_order), position by position (exact) or
    by best assignment (any_order). With a `preset`, that library's score. The measures are exact, in_order, any_order,
    precision, recall, f1, name_f1, argument_f1, extra, missing and duplicates either way. The reference is the expected
    trajectory, else the expected calls of the case.

    Not applicable when: there is no trajectory or no reference; the reference names no calls, or the recording has
    nothing that the agent did, and no preset defines that case; the preset's library gives no number either.

    Source: calls of the trajectory's own agent; Sample.expected, Case.expected_calls.
    """
    if sample.trajectory is None:
        return NotApplicable("the case has not been run")
    preset = PRESETS[settings.preset] if settings.preset else None
    reference, origin = _reference(sample, settings)
    if reference is None and (preset is None or preset.needs_reference):
        return NotApplicable("there is no reference: neither an expected trajectory nor expected calls")
    failed = settings.failed_calls
    if failed is None:
        failed = preset.failed_calls if preset else True
    names = settings.other_names
    # Only presets look at invocations and messages, so calls are grouped only for them.
    predicted = side_of_trajectory(sample.trajectory, names, failed=failed, grouped=preset is not None)
    if preset is None and not predicted.calls and (reason := recording_of(sample.trajectory).no_tools_because):
        return NotApplicable(reason)
    theirs = reference or Side(calls=())
    # Libraries disagree about an empty reference; without a preset we do not pick one of their answers.
    if not theirs.calls and preset is None:
        return NotApplicable("the reference names no calls", {"calls": len(predicted.calls)}, {"reference": origin})
    found = compare(predicted.calls, theirs.calls, settings.rules, settings.order)
    values = _values(found, predicted, theirs)
    details = _details(found, predicted, theirs) | {"order": settings.order, "reference": origin}
    value = found.f1
    if preset is not None:
        options = Options(
            rules=settings.rules,
            ignore_arguments=settings.ignore_arguments,
            tool=settings.other_names.get(settings.tool or "", settings.tool),
            schemas=_schemas(sample.trajectory, settings),
        )
        # Libraries expect objects: arguments as a text would make them fail.
        scored = preset.score(with_objects(predicted), with_objects(theirs), options)
        details["preset"] = settings.preset
        if isinstance(scored, Undefined):
            return NotApplicable(scored.reason, values, details)
        value = scored
    assert value is not None, "a reference with calls has an F1"
    paired = {ours for ours, _ in found.pairs}
    strays = [step for place, step in enumerate(predicted.steps) if place not in paired and step is not None]
    return Measurement(
        value=value,
        explanation=f"{found.matched} of {len(theirs.calls)} expected calls, {found.extra} others",
        values=values,
        details=details,
        evidence=tuple(dict.fromkeys(strays)),
    )


def _reference(sample: Sample, settings: Settings) -> tuple[Side | None, str | None]:
    """The reference and its origin; the case's list of calls is used if the expected trajectory has none."""
    side = None
    if sample.expected is not None:
        side = side_of_trajectory(sample.expected, settings.other_names, grouped=settings.preset is not None)
    if side is not None and side.calls:
        return side, "expected"
    if sample.case is not None and sample.case.expected_calls is not None:
        return side_of_calls(sample.case.expected_calls, settings.other_names), "expected_calls"
    return side, "expected" if side is not None else None


def _details(found: Comparison, predicted: Side, reference: Side) -> dict[str, Any]:
    ours, theirs = {left for left, _ in found.pairs}, {right for _, right in found.pairs}
    extra = [call.name for place, call in enumerate(predicted.calls) if place not in ours]
    missing = [call.name for place, call in enumerate(reference.calls) if place not in theirs]
    return {"approximate": found.approximate, "extra_names": extra[:SHOWN], "missing_names": missing[:SHOWN]}


def _values(found: Comparison, predicted: Side, reference: Side) -> Numbers:
    numbers: Numbers = {name: getattr(found, name) for name in (*_SHARES, "matched", "extra", "missing", "duplicates")}
    numbers |= {name: int(getattr(found, name)) for name in _RELATIONS}
    return numbers | {"calls": len(predicted.calls), "reference_calls": len(reference.calls)}


def _schemas(trajectory: Trajectory, settings: Settings) -> dict[str, Any]:
    """Declared parameters by tool."""
    tools = [tool for agent in trajectory.agents for tool in agent.tools or ()]
    return {settings.other_names.get(tool.name, tool.name): tool.parameters for tool in tools if tool.parameters}
