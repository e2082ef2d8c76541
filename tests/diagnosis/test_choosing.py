"""Many samples: which of several findings is the cause, and how groups are counted."""

from __future__ import annotations

import msgspec

from pantrace.diagnosis import Diagnosis, Tally, as_json, diagnose_sample, diagnosis_of
from pantrace.model import Case, ExpectedCall, Outcome, Sample, Step
from short_samples import agent, call, did, result, run, usage, user

FAILED, PASSED = Outcome(status="failed"), Outcome(status="passed")


def diagnosed(*samples: Sample, examples: int = 3) -> Diagnosis:
    tally = Tally()
    for number, sample in enumerate(samples):
        named = msgspec.structs.replace(sample, id=f"s{number}")
        tally.add(diagnose_sample(named, number=number, source="pile.jsonl"))
    return diagnosis_of(tally, examples)


def failing(tool: str = "grep", text: str = "no match 7", outcome: Outcome = FAILED) -> Sample:
    return run(user("hi"), agent(*did(tool, None, error=text)), agent("done"), outcome=outcome)


def quiet(outcome: Outcome) -> Sample:
    return run(user("hi"), agent("done"), outcome=outcome)


def causes(found: Diagnosis) -> list[tuple[str, str, int]]:
    return [(each.cause, each.subject, each.samples) for each in found.groups]


def test_groups_add_up_and_unknown_comes_last() -> None:
    found = diagnosed(quiet(FAILED), quiet(FAILED), quiet(FAILED), failing(), failing(), quiet(PASSED), run(user("x")))
    assert causes(found) == [("tool_error", "grep", 2), ("unknown", "", 3)]
    assert (found.samples, found.failed, found.passed, found.unjudged) == (7, 5, 1, 1)
    assert [each.share for each in found.groups] == [0.4, 0.6]
    assert found.failed_by == {"outcome": 5}


def test_the_same_error_with_other_numbers_is_one_variant() -> None:
    found = diagnosed(failing(text="no match 7"), failing(text="no match 9"), failing(text="disk full"))
    assert [(each.text, each.samples) for each in found.groups[0].variants] == [
        ("no match <number>", 2),
        ("disk full", 1),
    ]
    assert [each.sample for each in found.groups[0].examples] == ["s0", "s2", "s1"]


def test_what_passed_samples_show_as_often_is_no_cause() -> None:
    passed = [failing(outcome=PASSED)] * 5
    assert causes(diagnosed(failing(), failing(), *passed)) == [("unknown", "", 2)]
    # Three of five hundred say nothing against two of two.
    assert causes(diagnosed(failing(), failing(), *passed[:3], *[quiet(PASSED)] * 10)) == [("tool_error", "grep", 2)]
    # Too few have passed to say anything.
    assert causes(diagnosed(failing(), failing(), *passed[:4])) == [("tool_error", "grep", 2)]


def test_a_group_says_how_often_passed_samples_show_the_same() -> None:
    found = diagnosed(failing(), failing(), failing(outcome=PASSED))
    assert (found.groups[0].passed, found.groups[0].certain) == (1, False)


def booked(*calls: tuple[str, int], outcome: Outcome = FAILED) -> Sample:
    """A run that calls tools with a number; `book` with 1 is expected."""
    steps: list[Step] = [agent(call(name, n=number), result(name)) for name, number in calls]
    case = Case(id="c", expected_calls=(ExpectedCall(name="book", arguments={"n": 1}),))
    return run(user("hi"), *steps, agent("done"), outcome=outcome, case=case)


def test_unexpected_calls_of_good_runs_are_harmless_and_others_are_not() -> None:
    good = [booked(("look", 1), ("book", 1), outcome=PASSED)] * 6
    bad = [booked(("look", 1), ("cancel", 9), ("book", 1))] * 3
    assert causes(diagnosed(*good, *bad)) == [("extra_call", "cancel", 3)]
    # Without samples that passed nobody knows whether `look` did harm; the definite difference is told first.
    alone = diagnosed(booked(("look", 1), ("book", 2)))
    assert causes(alone) == [("wrong_call", "book", 1)]
    assert causes(diagnosed(booked(("look", 1), ("book", 1)))) == [("extra_call", "look", 1)]


def test_of_several_differences_the_one_that_good_runs_do_not_show() -> None:
    good = [booked(("book", 1), outcome=PASSED)] * 8
    # Three good runs look with another number than the reference, too.
    case = Case(id="c", expected_calls=tuple(ExpectedCall(name=name, arguments={"n": 1}) for name in ("look", "book")))

    def looking(look: int, book: int, outcome: Outcome) -> Sample:
        return msgspec.structs.replace(booked(("look", look), ("book", book), outcome=outcome), case=case)

    found = diagnosed(*good, *[looking(2, 1, PASSED)] * 3, *[looking(2, 3, FAILED)] * 2)
    assert causes(found) == [("wrong_call", "book", 2)]
    assert found.groups[0].examples[0].detail == "n is 3, expected 1"


def test_waste_of_a_group_leaves_out_what_is_not_known() -> None:
    spent = run(user("a"), agent(*did("x", None, error="e")), agent("b", usage=usage(10, 5)), outcome=FAILED)
    unknown = run(user("a"), agent(*did("x", None, error="e")), agent("b"), outcome=FAILED)
    (group,) = diagnosed(spent, unknown).groups
    assert (group.waste.tokens, group.waste.partial, group.waste_unknown, group.waste.steps) == (15, True, 1, 2)
    (group,) = diagnosed(unknown).groups
    assert group.waste.tokens is None


def test_the_sentence() -> None:
    assert diagnosed().sentence == "There was no sample to diagnose."
    assert diagnosed(quiet(PASSED)).sentence == "No sample failed: 1 passed."
    assert diagnosed(quiet(FAILED)).sentence == "1 of 1 sample failed; the recordings do not show why."
    assert diagnosed(failing(), failing("sed")).sentence == "2 of 2 samples failed, each for a different reason."
    assert diagnosed(failing(), failing(), failing("sed")).sentence == (
        "3 of 3 samples failed, most often (2): grep fails."
    )


def test_what_went_wrong_in_samples_without_a_verdict_is_told_too() -> None:
    unjudged = run(user("hi"), agent(*did("grep", None, error="e")), agent("done"))
    (seen,) = diagnosed(unjudged, unjudged).seen_in_unjudged
    assert (seen.title, seen.samples, [each.sample for each in seen.examples]) == ("grep fails", 2, ["s0", "s1"])


def test_the_documented_shape() -> None:
    found = as_json(diagnosed(failing(), quiet(PASSED)))
    assert list(found) == [
        "sentence",
        "samples",
        "failed",
        "passed",
        "unjudged",
        "not_run",
        "failed_by",
        "unjudged_because",
        "seen_in_unjudged",
        "groups",
        "failures",
    ]
    (group,) = found["groups"]
    assert group["examples"] == [
        {
            "sample": "s0",
            "epoch": None,
            "source": "pile.jsonl",
            "step": 2,
            "agent": None,
            "detail": group["examples"][0]["detail"],
        }
    ]
    assert group["wasted"] == {"steps": 1, "tokens": None, "cost_usd": None, "partial": False, "samples_unknown": 1}
    assert group["judge"] is None
    (failure,) = found["failures"]
    assert (failure["cause"], failure["subject"], failure["step"], failure["by"]) == (
        "tool_error",
        "grep",
        2,
        "outcome",
    )
