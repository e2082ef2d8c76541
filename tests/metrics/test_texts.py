"""Checks of the answer against a reference: what does not apply first."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from pantrace.errors import UsageError
from pantrace.matching.answers import words
from pantrace.metrics import by_name, parse_settings
from pantrace.model import Case, Outcome, Sample, Score, Trajectory
from short_samples import agent, run, user

AGAINST_A_REFERENCE = ("exact_match", "contains", "rouge_1", "edit_similarity")


def answered(answer: str | None, reference: str | None = None) -> Sample:
    steps = [user("q")] if answer is None else [user("q"), agent(answer)]
    return run(*steps, case=Case(reference=reference))


def score(name: str, sample: Sample, **settings: Any) -> Score:
    check = by_name(name)
    return check.score(sample, parse_settings(check, settings))


@pytest.mark.parametrize("name", AGAINST_A_REFERENCE)
def test_without_a_reference_or_a_run_nothing_is_compared(name: str) -> None:
    assert "reference" in (score(name, answered("a")).explanation or "")
    assert score(name, answered("a")).status == "not_applicable"
    assert score(name, answered(None, "a")).explanation == "nothing of the agent was recorded"


@pytest.mark.parametrize("name", AGAINST_A_REFERENCE)
def test_an_agent_that_ran_and_said_nothing_is_wrong(name: str) -> None:
    silent = run(user("q"), agent(), case=Case(reference="a"))
    found = score(name, silent)
    assert (found.status, found.value) == ("scored", 0)


@pytest.mark.parametrize("name", AGAINST_A_REFERENCE)
def test_the_answer_of_the_expected_trajectory_is_a_reference(name: str) -> None:
    expected = Trajectory(steps=(user("q"), agent("Paris")))
    sample = Sample(id="s", trajectory=Trajectory(steps=(user("q"), agent("Paris"))), expected=expected)
    assert score(name, sample).value == 1


@pytest.mark.parametrize(
    ("answer", "settings", "value"),
    [
        ("Paris", {}, True),
        ("  Paris\n", {}, True),
        ("  Paris\n", {"ignore_space": False}, False),
        ("paris", {}, False),
        ("paris", {"ignore_case": True}, True),
        ("Paris.", {}, False),
    ],
)
def test_exact_match(answer: str, settings: dict[str, Any], value: bool) -> None:
    assert score("exact_match", answered(answer, "Paris"), **settings).value is value


@pytest.mark.parametrize(
    ("answer", "settings", "value"),
    [
        ("It is paris.", {}, True),
        ("It is paris.", {"ignore_case": False}, False),
        ("It is Rome.", {}, False),
        ("It is Rome.", {"text": "rome"}, True),
        ("It is\n  new   york", {"text": "New York"}, True),
    ],
)
def test_contains(answer: str, settings: dict[str, Any], value: bool) -> None:
    assert score("contains", answered(answer, "Paris"), **settings).value is value


def test_an_empty_text_is_nothing_to_look_for() -> None:
    assert score("contains", answered("a", "")).status == "not_applicable"


def test_a_pattern_must_be_set_and_sound() -> None:
    assert score("regex", answered("a")).explanation == "no pattern is set"
    assert score("regex", answered(None), pattern="a").explanation == "nothing of the agent was recorded"
    with pytest.raises(UsageError, match="is not a regular expression"):
        score("regex", answered("a"), pattern="(")


@pytest.mark.parametrize(
    ("pattern", "settings", "value"),
    [
        (r"^total: (\d+)$", {}, True),
        (r"\Atotal", {}, False),
        (r"TOTAL", {}, False),
        (r"TOTAL", {"ignore_case": True}, True),
    ],
)
def test_regex(pattern: str, settings: dict[str, Any], value: bool) -> None:
    assert score("regex", answered("Sum\ntotal: 12\n"), pattern=pattern, **settings).value is value


def test_the_match_and_its_groups_are_told() -> None:
    found = score("regex", answered("total: 12"), pattern=r"(\w+): (\d+)(x)?")
    assert found.details == {"match": "total: 12", "groups": ["total", "12", None]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("It's 3.5 km_h!", ["it", "s", "3", "5", "km", "h"]),
        ("Größe ÉTÉ", ["größe", "été"]),
        ("ab東京cd", ["ab", "東", "京", "cd"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("the cat", "the cat", 1.0),
        ("dog", "cat", 0.0),
        ("the the cat", "the cat sat", 2 * (2 / 3) * (2 / 3) / (4 / 3)),
        ("a", "a b c", 2 * 1 * (1 / 3) / (4 / 3)),
        ("東京", "東京都", 2 * 1 * (2 / 3) / (5 / 3)),
    ],
)
def test_rouge_1(answer: str, reference: str, value: float) -> None:
    assert score("rouge_1", answered(answer, reference)).value == pytest.approx(value)


def test_a_reference_of_signs_has_no_words() -> None:
    assert score("rouge_1", answered("a", "!!!")).explanation == "the reference answer has no words"


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("kitten", "sitting", 1 - 3 / 7),
        ("same", " same ", 1.0),
        ("abc", "xyz", 0.0),
        ("ab", "abcd", 0.5),
    ],
)
def test_edit_similarity(answer: str, reference: str, value: float) -> None:
    assert score("edit_similarity", answered(answer, reference)).value == pytest.approx(value)


def test_an_empty_reference_is_not_compared_by_edits() -> None:
    assert score("edit_similarity", answered("a", "  ")).status == "not_applicable"


def test_long_texts_are_compared_in_reasonable_time() -> None:
    found = score("edit_similarity", answered("ab" * 20_000, "ba" * 20_000))
    assert found.values["distance"] == 2


def test_a_run_that_broke_down_is_not_called_not_run() -> None:
    broken = run(user("q"), case=Case(reference="a"))
    assert broken.trajectory is not None
    outcome = Outcome(status="error", reason="agent.py ended with exit code 4")
    broken = replace(broken, trajectory=replace(broken.trajectory, outcome=outcome))
    why = "the run ended without an answer: agent.py ended with exit code 4"
    assert score("exact_match", broken).explanation == why
