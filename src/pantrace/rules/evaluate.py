"""Applies rules to trajectories: met, broken, or not applicable, each with a reason and the steps that show it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from pantrace.matching.recorded_data import recording_of
from pantrace.matching.turns import numbered_turns
from pantrace.matching.values import alike
from pantrace.model import (
    CallPair,
    Maker,
    Sample,
    Scale,
    Score,
    Step,
    Thinking,
    ToolResult,
    Trajectory,
    call_pairs,
    final_response,
    is_prompt,
    step_text,
)
from pantrace.wire.json import text_or_json
from pantrace.wire.patterns import TooSlow, search

from .language import ANY_TOOL, Condition, Fits, Rule, RuleFile, Texts, forbidden_tools
from .paths import USUAL, Searched, paths_in


class Finding(msgspec.Struct, frozen=True):
    """Whether a condition is met; None if the trajectory does not show it."""

    holds: bool | None
    reason: str
    steps: tuple[str, ...] = ()


def rule_scores(sample: Sample, rules: RuleFile) -> list[Score]:
    """A score for each rule."""
    return [rule_score(sample, rule, rules) for rule in rules.rule]


def rule_score(sample: Sample, rule: Rule, rules: RuleFile) -> Score:
    """The score of one rule: true, false, or not applicable."""
    maker = Maker(name=f"{rules.name}/{rule.id}", kind="check", version=rules.version)
    if sample.trajectory is None:
        return _not_applicable(rule, "there is no trajectory", maker)
    # One object for `when` and `expect`, so that calls are paired once.
    seen = _Seen(sample.trajectory, rules)
    try:
        if rule.when is not None:
            applies = seen.judge(rule.when)
            if applies.holds is not True:
                return _not_applicable(rule, applies.reason, maker)
        verdict = seen.judge(rule.expect)
    except TooSlow as error:
        # Neither met nor broken: a text that an agent wrote must not decide a rule by making a pattern slow.
        return Score(name=rule.id, status="failed", explanation=str(error), details={"rule": rule.name}, maker=maker)
    if verdict.holds is None:
        return _not_applicable(rule, verdict.reason, maker)
    unseen = seen.unseen(rule) if verdict.holds and rule.unseen != "ok" else []
    reason = rule.message if rule.message is not None and not verdict.holds else verdict.reason
    return Score(
        name=rule.id,
        value=verdict.holds,
        passed=verdict.holds,
        scale=Scale(low=0, high=1),
        explanation=reason,
        evidence=verdict.steps,
        # A gate needs it: a misspelt tool is never called, and would keep its rule for ever.
        details={"rule": rule.name, "found": verdict.reason, **({"unseen": unseen} if unseen else {})},
        maker=maker,
    )


def _not_applicable(rule: Rule, reason: str, maker: Maker) -> Score:
    return Score(name=rule.id, status="not_applicable", explanation=reason, details={"rule": rule.name}, maker=maker)


class _Seen:
    """A trajectory as rules see it; its call pairs are computed once."""

    def __init__(self, trajectory: Trajectory, rules: RuleFile):
        self.trajectory = trajectory
        self.rules = rules
        self.pairs = call_pairs(trajectory)

    def unseen(self, rule: Rule) -> list[list[str]]:
        """The tools that a rule forbids and that the trajectory neither calls nor declares: each with its aliases."""
        groups = [sorted(self._names(words)) for words in forbidden_tools(rule.expect)]
        known = {tool.name for agent in self.trajectory.agents for tool in agent.tools or ()}
        known |= {pair.call.name for pair in self.pairs}
        return [names for names in groups if not known & {*names}]

    def judge(self, condition: Condition) -> Finding:
        if isinstance(condition.turn, int) and condition.turn > len(numbered_turns(self.trajectory)):
            return Finding(None, f"there is no turn {condition.turn}")
        # A condition may combine several demands; all of them must hold.
        verdicts = [*self._combined(condition)]
        if condition.each is not None:
            verdicts.append(self._each(condition))
        if condition.not_called is not None:
            found = self._calls_of(condition.not_called, condition)
            word = _list_texts(condition.not_called)
            verdicts.append(Finding(not found, f"{word} was {'called' if found else 'not called'}", _ids(found)))
        if condition.called is not None:
            verdicts.append(self._calls(condition))
        if _about_text(condition):
            verdicts.append(self._text(condition))
        return _all(verdicts)

    def _combined(self, condition: Condition) -> Iterable[Finding]:
        if condition.all_ is not None:
            yield _all([self.judge(each) for each in condition.all_])
        if condition.any_ is not None:
            yield _any([self.judge(each) for each in condition.any_])
        if condition.not_ is not None:
            inner = self.judge(condition.not_)
            yield Finding(None if inner.holds is None else not inner.holds, inner.reason, inner.steps)

    def _steps(self, condition: Condition) -> list[Step]:
        if condition.turn is None:
            return list(self.trajectory.steps)
        numbered = numbered_turns(self.trajectory)
        if condition.turn == "first":
            chosen = numbered[:1]
        elif condition.turn == "last":
            chosen = numbered[-1:]
        else:
            chosen = [turn for turn in numbered if turn.number == condition.turn]
        return [step for turn in chosen for step in turn.steps]

    def _texts(self, condition: Condition) -> list[tuple[str, Step]]:
        steps = self._steps(condition)
        where = condition.in_ or "final_response"
        if where == "final_response":
            last = bool(steps) and steps[-1] is self.trajectory.steps[-1]
            answer = final_response(Trajectory(steps=tuple(steps), response=self.trajectory.response if last else None))
            spoken = [step for step in steps if step.role == "agent"]
            # A response that the source states separately is shown at the last step that could have given it.
            by = [step for step in spoken if step_text(step) == answer] or (spoken or steps if last else [])
            return [(answer, by[-1])] if answer is not None and by else []
        if where == "tool_output":
            # By identity, because two steps may be equal.
            mine = {id(step) for step in steps}
            results = [(pair.result, pair.step) for pair in self.pairs if pair.result and id(pair.step) in mine]
            return [(text, step) for result, step in results for text in _answer_texts(result)]
        if where == "thinking":
            return [
                (part.text, step) for step in steps for part in step.parts if isinstance(part, Thinking) and part.text
            ]
        wanted = is_prompt if where in ("last_prompt", "any_prompt") else _answers
        found = [(text, step) for step in steps if wanted(step) and (text := step_text(step)) is not None]
        return found[-1:] if where == "last_prompt" else found

    def _text(self, condition: Condition) -> Finding:
        where = (condition.in_ or "final_response").replace("_", " ")
        texts = self._texts(condition)
        if not texts:
            forbids_only = condition.lacks is not None and not (
                condition.contains or condition.contains_any or condition.matches
            )
            # A missing text cannot contain what is required; but that it lacks a forbidden word proves nothing.
            return Finding(None if forbids_only else False, f"there is no {where}")
        # A forbidden word in any text breaks the rule; a required word must be in one of the texts.
        bad = [(verdict, step) for text, step in texts if (verdict := _forbidden(text, condition, where)) is not None]
        tried = [(_text_fits(text, condition, where), step) for text, step in texts]
        verdict, step = (bad or [(verdict, step) for verdict, step in tried if verdict.holds] or tried[-1:])[0]
        return Finding(verdict.holds, verdict.reason, (step.id,) if step.id else ())

    def _names(self, words: Texts) -> set[str]:
        listed = [words] if isinstance(words, str) else words
        return {name for word in listed for name in self.rules.tools.get(word, [word])}

    def _selectors(self, pair: CallPair) -> list[str]:
        for word, selectors in self.rules.paths.items():
            if pair.call.name == word or pair.call.name in self.rules.tools.get(word, ()):
                return selectors
        return list(USUAL)

    def _paths(self, pair: CallPair) -> list[str]:
        return paths_in(pair.call.arguments, self._selectors(pair))

    def _calls_of(self, words: Texts, condition: Condition) -> list[CallPair]:
        names = self._names(words)
        mine = {id(step) for step in self._steps(condition)}
        return [pair for pair in self.pairs if _is_named(pair, names) and id(pair.step) in mine]

    def _calls(self, condition: Condition) -> Finding:
        assert condition.called is not None
        word = _list_texts(condition.called)
        found = [pair for pair in self._calls_of(condition.called, condition) if self._fits(pair, condition)]
        wanted = f"{word}{_describe(condition)}"
        if condition.before is not None:
            return self._before(condition, found, wanted)
        # `called` alone means at least once; with `at_most` it may also be never.
        low = 1 if condition.at_least is None and condition.at_most is None else condition.at_least or 0
        high = condition.at_most
        holds = len(found) >= low and (high is None or len(found) <= high)
        if condition.failed is True and condition.path is None and not condition.arguments:
            of = "" if word == "*" else f" of {word}"
            count = {0: f"no call{of}", 1: f"a call{of}"}.get(len(found), f"{len(found)} calls{of}")
            return Finding(holds, f"{count} failed", _ids(found))
        times = {0: "not called", 1: "called once"}.get(len(found), f"called {len(found)} times")
        return Finding(holds, f"{wanted} was {times}", _ids(found))

    def _before(self, condition: Condition, found: list[CallPair], wanted: str) -> Finding:
        assert condition.before is not None
        later = self._calls_of(condition.before, condition)
        other = _list_texts(condition.before)
        if not later:
            return Finding(None, f"{other} was not called")
        order = {id(pair): place for place, pair in enumerate(self.pairs)}
        holds = bool(found) and order[id(found[0])] < order[id(later[0])]
        return Finding(holds, f"{wanted} was {'called' if holds else 'not called'} before {other}", _ids(later[:1]))

    def _fits(self, pair: CallPair, condition: Condition) -> bool:
        if condition.path is not None and not any(_value_fits(path, condition.path) for path in self._paths(pair)):
            return False
        if condition.failed is not None and self._has_failed(pair) is not condition.failed:
            return False
        given = pair.call.arguments if isinstance(pair.call.arguments, dict) else {}
        for name, fits in (condition.arguments or {}).items():
            if name not in given or not _value_fits(given[name], fits):
                return False
        return True

    def _has_failed(self, pair: CallPair) -> bool | None:
        """Whether a call failed, by the same rule as the metrics; None without a result."""
        return None if pair.result is None else id(pair.result) in recording_of(self.trajectory).failed

    def _each(self, condition: Condition) -> Finding:
        assert condition.each is not None
        word = _list_texts(condition.each)
        wanted = self._calls_of(condition.each, condition)
        judged = [pair for pair in wanted if not _spared(self._paths(pair), condition.except_)]
        if not judged:
            return Finding(None, f"{word} was not called" if not wanted else f"every call of {word} is excepted")
        before = self._names(condition.preceded_by) if condition.preceded_by is not None else set()
        looked: Searched | None = None
        broken: list[tuple[CallPair, str]] = []
        chosen = {id(pair) for pair in judged}
        for pair in self.pairs:
            # Before the call itself is added: a tool does not cover its own path.
            if id(pair) in chosen:
                broken += [(pair, path) for path in self._uncovered(pair, looked, condition)]
            if _is_named(pair, before):
                looked = looked or Searched()
                # A search without a path covers the whole working directory.
                for path in self._paths(pair) or ["."]:
                    looked.add(path)
        if broken:
            listed = ", ".join(dict.fromkeys(path for _, path in broken if path))
            what = f" of {listed}" if listed else ""
            reason = f"{word}{what} without {_list_texts(condition.preceded_by or '')} before it"
            return Finding(False, reason, _ids([pair for pair, _ in broken]))
        return Finding(True, f"all {len(judged)} calls of {word} come after {_list_texts(condition.preceded_by or '')}")

    def _uncovered(self, pair: CallPair, looked: Searched | None, condition: Condition) -> list[str]:
        """Paths of a call that no earlier call covered; [""] for a call without paths if there was no earlier call."""
        paths = [path for path in self._paths(pair) if not _spared([path], condition.except_)]
        if not condition.same_path or not paths:
            return [] if looked is not None else paths[:1] or [""]
        return [path for path in paths if looked is None or not looked.covers(path)]


def _is_named(pair: CallPair, names: set[str]) -> bool:
    return pair.call.name in names or ANY_TOOL in names


def _about_text(condition: Condition) -> bool:
    return any((condition.contains, condition.contains_any, condition.lacks, condition.matches, condition.after))


def _answers(step: Step) -> bool:
    return step.role == "agent" and step.kind == "message"


def _forbidden(text: str, condition: Condition, where: str) -> Finding | None:
    """The finding if a text has words that it must lack."""
    fold = str.casefold if condition.ignore_case else str
    body = fold(text.partition(condition.after)[2] if condition.after is not None else text)
    forbidden = [word for word in _list(condition.lacks) if fold(word) in body]
    return Finding(False, f"the {where} has {', '.join(map(repr, forbidden))}") if forbidden else None


def _text_fits(text: str, condition: Condition, where: str) -> Finding:
    if condition.after is not None:
        _, found, text = text.partition(condition.after)
        if not found:
            return Finding(False, f"the {where} has no {condition.after!r}")
    fold = str.casefold if condition.ignore_case else str
    body = fold(text)
    missing = [word for word in _list(condition.contains) if fold(word) not in body]
    if missing:
        return Finding(False, f"the {where} lacks {', '.join(map(repr, missing))}")
    options = _list(condition.contains_any)
    if options and not any(fold(word) in body for word in options):
        return Finding(False, f"the {where} has none of {', '.join(map(repr, options))}")
    if condition.matches is not None:
        match = search(condition.matches, text, re.IGNORECASE if condition.ignore_case else 0)
        if match is None:
            return Finding(False, f"the {where} does not match {condition.matches!r}")
        return Finding(True, f"the {where} has {match[0]!r}")
    return Finding(True, f"the {where} is as required")


def _value_fits(value: Any, fits: Fits | str | float) -> bool:
    if not isinstance(fits, Fits):
        return alike(value, fits)
    text = text_or_json(value)
    if fits.equals is not None and not alike(value, fits.equals):
        return False
    if any(word not in text for word in _list(fits.contains)):
        return False
    return fits.matches is None or search(fits.matches, text) is not None


def _answer_texts(result: ToolResult) -> list[str]:
    """The texts that a tool returned: its output and, if it failed, the error."""
    texts = [text_or_json(each) for each in (result.output, result.error) if each is not None]
    return list(dict.fromkeys(texts))


def _list(texts: Texts | None) -> list[str]:
    return [] if texts is None else [texts] if isinstance(texts, str) else texts


def _list_texts(texts: Texts) -> str:
    return " or ".join(_list(texts))


def _describe(condition: Condition) -> str:
    """The requirements for the calls, as text after the tool's name."""
    wanted = condition.path.contains or condition.path.equals if isinstance(condition.path, Fits) else condition.path
    where = f" on {_list_texts(wanted)}" if isinstance(wanted, str | list) else ""
    given = f" with a matching {', '.join(condition.arguments)}" if condition.arguments else ""
    ended = {None: "", True: " (failed calls only)", False: " (successful calls only)"}[condition.failed]
    return where + given + ended


def _spared(paths: list[str], exceptions: list[str]) -> bool:
    return bool(paths) and all(any(path.endswith(ending) for ending in exceptions) for path in paths)


def _ids(pairs: list[CallPair]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pair.step.id for pair in pairs if pair.step.id))


def _all(verdicts: list[Finding]) -> Finding:
    """Broken if one is broken, else unknown if one is unknown."""
    # A broken condition decides, whatever else is unknown.
    for wanted in (False, None):
        found = [verdict for verdict in verdicts if verdict.holds is wanted]
        if found:
            return Finding(wanted, "; ".join(dict.fromkeys(each.reason for each in found)), _steps(found))
    return Finding(True, "; ".join(dict.fromkeys(each.reason for each in verdicts)), _steps(verdicts))


def _any(verdicts: list[Finding]) -> Finding:
    """Met if one is met, else unknown if one is unknown."""
    # A condition that is met decides, whatever else is unknown.
    for wanted in (True, None):
        found = [verdict for verdict in verdicts if verdict.holds is wanted]
        if found:
            return Finding(wanted, found[0].reason, found[0].steps)
    return Finding(False, "; ".join(dict.fromkeys(each.reason for each in verdicts)), _steps(verdicts))


def _steps(verdicts: list[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(step for verdict in verdicts for step in verdict.steps))
