"""The scores of other libraries, by name, including their rules for empty lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from pantrace.matching.arguments import Mode
from pantrace.matching.call import Call

from . import adk, agentevals, bfcl, deepeval, pydantic_evals, ragas, vertex
from .agentevals import Message
from .side import Options, Side, Undefined

__all__ = ["PRESETS", "Message", "Options", "Preset", "Side", "Undefined"]

Scored = float | Undefined
Calls = Sequence[Call]


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """A library's way of scoring, and the settings that it uses."""

    score: Callable[[Side, Side, Options], Scored]
    reads: frozenset[str] = frozenset()
    """The settings that have an effect: some of arguments, tools, ignore_arguments, tool."""
    failed_calls: bool = True
    """Whether failed calls are part of the trajectory."""
    needs_reference: bool = True
    mode: Mode = "exact"
    """How it compares arguments, for the measures next to its score."""


def _per_invocation(match: Callable[..., bool]) -> Preset:
    """ADK: mean over invocations; a bare list of calls is one invocation."""

    def score(predicted: Side, reference: Side, options: Options) -> Scored:
        ours, theirs = predicted.invocations, reference.invocations
        if ours is None or theirs is None:
            ours, theirs = (predicted.calls,), (reference.calls,)
        # ADK compares invocations one to one.
        if len(ours) != len(theirs):
            return Undefined(f"ADK wants as many invocations as expected: {len(ours)} instead of {len(theirs)}")
        if not ours:
            return Undefined("there is no invocation")
        ignore = bool(options.ignore_arguments)
        return sum(match(*both, ignore_arguments=ignore) for both in zip(ours, theirs, strict=True)) / len(ours)

    return Preset(score=score, reads=frozenset({"ignore_arguments"}))


def _calls(function: Callable[[Calls, Calls], float | None], *, what: str = "") -> Preset:
    def score(predicted: Side, reference: Side, options: Options) -> Scored:
        value = function(predicted.calls, reference.calls)
        return value if value is not None else Undefined(what)

    return Preset(score=score)


def _names(function: Callable[[Sequence[str], Sequence[str]], float]) -> Preset:
    def score(predicted: Side, reference: Side, options: Options) -> Scored:
        return function([call.name for call in predicted.calls], [call.name for call in reference.calls])

    return Preset(score=score, failed_calls=False, mode="ignore")


def _similar(function: Callable[..., float]) -> Preset:
    def score(predicted: Side, reference: Side, options: Options) -> Scored:
        # deepeval compares only names unless it is told to look at the arguments.
        ignore = options.ignore_arguments if options.ignore_arguments is not None else True
        return function(predicted.calls, reference.calls, ignore_arguments=ignore)

    return Preset(score=score, reads=frozenset({"ignore_arguments"}), mode="ignore")


_MODES = frozenset({"arguments", "tools", "ignore_arguments"})


def _modes(options: Options) -> agentevals.Modes:
    default = "ignore" if options.ignore_arguments else options.rules.default.mode
    tools = {name: rule.keys if rule.mode == "keys" else rule.mode for name, rule in options.rules.tools.items()}
    return msgspec.convert({"default": default, "tools": tools}, agentevals.Modes)


def _agentevals(function: Callable[[Calls, Calls, agentevals.Modes], bool]) -> Preset:
    def score(predicted: Side, reference: Side, options: Options) -> Scored:
        return float(function(predicted.calls, reference.calls, _modes(options)))

    return Preset(score=score, reads=_MODES)


def _agentevals_strict(predicted: Side, reference: Side, options: Options) -> Scored:
    if predicted.messages is None or reference.messages is None:
        return Undefined("agentevals-strict compares messages, and the reference is a bare list of calls")
    return float(agentevals.strict(predicted.messages, reference.messages, _modes(options)))


def _single_tool_use(predicted: Side, reference: Side, options: Options) -> Scored:
    return vertex.single_tool_use(predicted.calls, options.tool or "")


def _bfcl(predicted: Side, reference: Side, options: Options) -> Scored:
    return float(bfcl.ast_match(predicted.calls, reference.calls, options.schemas))


def _ragas_any_order(predicted: Calls, reference: Calls) -> float:
    return ragas.tool_call_accuracy(predicted, reference, strict_order=False)


PRESETS: dict[str, Preset] = {
    "adk-exact": _per_invocation(adk.exact),
    "adk-in-order": _per_invocation(adk.in_order),
    "adk-any-order": _per_invocation(adk.any_order),
    "vertex-trajectory-exact-match": _calls(vertex.exact_match),
    "vertex-trajectory-in-order-match": _calls(vertex.in_order_match),
    "vertex-trajectory-any-order-match": _calls(vertex.any_order_match),
    "vertex-trajectory-precision": _calls(vertex.precision, what="no call was made"),
    "vertex-trajectory-recall": _calls(vertex.recall, what="the reference names no calls"),
    "vertex-trajectory-single-tool-use": Preset(
        score=_single_tool_use, reads=frozenset({"tool"}), needs_reference=False
    ),
    "agentevals-strict": Preset(score=_agentevals_strict, reads=_MODES),
    "agentevals-unordered": _agentevals(agentevals.matches_unordered),
    "agentevals-subset": _agentevals(agentevals.subset),
    "agentevals-superset": _agentevals(agentevals.superset),
    "ragas-tool-call-accuracy": _calls(ragas.tool_call_accuracy),
    "ragas-tool-call-accuracy-any-order": _calls(_ragas_any_order),
    "ragas-tool-call-f1": _calls(ragas.tool_call_f1),
    "deepeval-tool-correctness": _similar(deepeval.tool_correctness),
    "deepeval-tool-correctness-ordered": _similar(deepeval.tool_correctness_ordered),
    "deepeval-tool-correctness-exact": _similar(deepeval.tool_correctness_exact),
    "pydantic-evals-trajectory-match-exact": _names(pydantic_evals.exact),
    "pydantic-evals-trajectory-match-in-order": _names(pydantic_evals.in_order),
    "pydantic-evals-trajectory-match-any-order": _names(pydantic_evals.any_order),
    "bfcl-ast": Preset(score=_bfcl, mode="allowed"),
}
"""Presets by name: library, metric, mode."""
