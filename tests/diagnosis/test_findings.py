"""One sample: did it fail, who says so, what went wrong first, and what was spent after."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.diagnosis import Diagnosed, Failure, Tally, diagnose_sample
from pantrace.model import (
    Action,
    Agent,
    Case,
    Decision,
    ExpectedCall,
    Maker,
    Outcome,
    Sample,
    Score,
    Step,
    StepError,
    Target,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
)
from short_samples import agent, call, did, result, run, usage, user

FAILED, PASSED = Outcome(status="failed"), Outcome(status="passed")


def cause_of(sample: Sample, *scores: Score, decisions: tuple[Decision, ...] = ()) -> Failure:
    """The sample's cause, when it is alone."""
    tally = Tally()
    tally.add(diagnose_sample(sample, scores, decisions))
    (found,) = tally.failures()
    return found


def expecting(*calls: ExpectedCall) -> Case:
    return Case(id="c", expected_calls=calls)


def fails(text: str = "boom") -> tuple[ToolCall, ToolResult]:
    return did("read", None, error=text)


def click(where: str) -> Step:
    return agent(Action(kind="click", target=Target(description=where)))


CASES: dict[str, tuple[Sample, str, str, int | None]] = {
    "the outcome is an error": (run(user("hi"), outcome=Outcome(status="error", reason="refused")), "run_error", "", 1),
    "an error in words of a limit": (
        run(user("hi"), outcome=Outcome(status="error", reason="Time limit exceeded in vlc/err-1")),
        "limit",
        "",
        1,
    ),
    "cancelled": (run(user("hi"), outcome=Outcome(status="cancelled")), "cancelled", "", 1),
    "the last step broke": (
        run(user("hi"), agent(error=StepError(kind="APIError", message="400"))),
        "run_error",
        "",
        2,
    ),
    "aborted": (run(user("hi"), agent(error=StepError(kind="MessageAbortedError"))), "cancelled", "", 2),
    "blocked": (run(user("hi"), agent(stop="SAFETY", error=StepError(kind="SAFETY"))), "blocked", "", 2),
    "cut off": (run(user("hi"), agent("so far", stop="length")), "limit", "", 2),
    "a tool fails": (run(user("hi"), agent(*fails()), agent("fine"), outcome=FAILED), "tool_error", "read", 2),
    "refused arguments, in words only": (
        run(user("hi"), agent(*fails("called with invalid arguments: SchemaError")), agent("fine"), outcome=FAILED),
        "bad_arguments",
        "read",
        2,
    ),
    "no such tool": (
        run(user("hi"), agent(*did("nope", None, failure="invalid_tool")), agent("hm"), outcome=FAILED),
        "unknown_tool",
        "nope",
        2,
    ),
    "denied": (
        run(user("hi"), agent(*did("rm", None, failure="denied")), agent("hm"), outcome=FAILED),
        "denied",
        "rm",
        2,
    ),
    "a failure that was mended is no cause": (
        run(user("hi"), agent(*fails()), agent(*did("read")), agent("fine"), outcome=FAILED),
        "unknown",
        "",
        None,
    ),
    "three times the same": (
        run(user("hi"), *[agent(*did("poll", "no")) for _ in range(3)], agent("fine"), outcome=FAILED),
        "loop",
        "poll",
        2,
    ),
    "a circle of two": (
        run(user("hi"), *[agent(*did("a"), *did("b")) for _ in range(3)], agent("fine"), outcome=FAILED),
        "loop",
        "a, b",
        2,
    ),
    "other answers are no circle": (
        run(user("hi"), *[agent(*did("poll", str(n))) for n in range(4)], agent("fine"), outcome=FAILED),
        "unknown",
        "",
        None,
    ),
    "a circle that fails is a failure": (
        run(user("hi"), *[agent(*fails(), *did("think")) for _ in range(4)], agent("fine"), outcome=FAILED),
        "tool_error",
        "read",
        2,
    ),
    "a circle before a limit": (
        run(user("hi"), *[agent(*did("a")) for _ in range(3)], outcome=Outcome(status="limit")),
        "loop",
        "a",
        2,
    ),
    "a limit and nothing else": (
        run(user("hi"), agent("still at it"), outcome=Outcome(status="limit", reason="max steps")),
        "limit",
        "",
        2,
    ),
    "clicks in a circle": (
        run(user("hi"), *[click("Start") for _ in range(3)], outcome=FAILED),
        "loop",
        "click",
        2,
    ),
    "the agent gives up": (run(user("hi"), agent(Action(kind="fail")), outcome=FAILED), "gave_up", "", 2),
    "done, but it is not": (run(user("hi"), agent(Action(kind="done")), outcome=FAILED), "claimed_done", "", 2),
    "a prompt without an answer": (run(user("hi"), agent("ho"), user("and?")), "abandoned", "", 3),
    "calls and no words": (run(user("hi"), agent(*did("look"))), "no_answer", "", 2),
    "an empty reply": (run(user("hi"), agent(*did("look")), agent()), "no_answer", "", 3),
    "a call that never came back": (
        run(user("hi"), agent(*did("look")), agent(call("build", "x"))),
        "open_call",
        "build",
        3,
    ),
    "other arguments": (
        run(
            user("hi"),
            agent(call("book", seat=4), result("book")),
            agent("done"),
            case=expecting(ExpectedCall(name="book", arguments={"seat": 5})),
        ),
        "wrong_call",
        "book",
        2,
    ),
    "never called": (
        run(user("hi"), agent(*did("look")), agent("done"), case=expecting(ExpectedCall(name="book"))),
        "missing_call",
        "book",
        3,
    ),
    "expected with arguments, tried and failed": (
        run(
            user("hi"),
            agent(call("book", seat=4), result("book", None, error="sold out")),
            agent("sorry"),
            case=expecting(ExpectedCall(name="book", arguments={"seat": 5})),
        ),
        "tool_error",
        "book",
        2,
    ),
    "nothing is expected": (
        run(user("hi"), agent(*did("cancel")), agent("done"), case=expecting(), outcome=FAILED),
        "extra_call",
        "cancel",
        2,
    ),
    "half of a reward": (
        run(user("hi"), agent("done"), outcome=Outcome(status="failed", reward=0.5)),
        "partly_done",
        "",
        2,
    ),
    "the source says why": (
        run(user("hi"), agent("done"), outcome=Outcome(status="failed", reason="wrong file")),
        "stated",
        "",
        2,
    ),
    "nobody knows why": (run(user("hi"), agent("done"), outcome=FAILED), "unknown", "", None),
}


@pytest.mark.parametrize("name", CASES)
def test_the_cause_and_the_first_step(name: str) -> None:
    sample, cause, subject, step = CASES[name]
    found = cause_of(sample)
    assert (found.main.cause, found.main.subject) == (cause, subject)
    assert (found.main.place.step if found.main.place else None) == step


def verdict(sample: Sample, **fields: Any) -> tuple[str, str | None]:
    found = diagnose_sample(sample, **fields).verdict
    return found.status, found.by


def test_who_says_that_a_sample_failed() -> None:
    fine = (user("hi"), agent("ho"))
    no = Decision(sample="s", profile="p", passed=False, reasons=("Below threshold: x=0 (<1)",))
    yes, maybe = Decision(sample="s", profile="p", passed=True), Decision(sample="s", profile="p")
    assert verdict(run(*fine, outcome=PASSED), decisions=(no,)) == ("failed", "decision")
    assert verdict(run(*fine, outcome=FAILED), decisions=(yes,)) == ("passed", "decision")
    assert verdict(run(*fine, outcome=FAILED), decisions=(maybe,)) == ("failed", "outcome")
    assert verdict(run(*fine, outcome=PASSED), decisions=(maybe,)) == ("unjudged", None)
    assert verdict(run(*fine, outcome=PASSED)) == ("passed", "outcome")
    assert verdict(run(*fine, outcome=Outcome(status="error"))) == ("failed", "error")
    stored = Score(name="includes", value="I", passed=False, maker=Maker(name="inspect"))
    assert verdict(Sample(id="s", trajectory=Trajectory(steps=fine), scores=(stored,))) == ("failed", "score")
    assert verdict(run(user("hi"), agent(error=StepError(kind="APIError")))) == ("failed", "error")
    assert verdict(run(*fine, case=expecting(ExpectedCall(name="x")))) == ("failed", "reference")
    assert verdict(run(*fine, user("and?"))) == ("failed", "finding")
    assert verdict(run(*fine)) == ("unjudged", None)
    assert verdict(run(user("hi"))) == ("unjudged", None)
    assert verdict(Sample(id="s")) == ("not_run", None)


def test_numbers_that_are_neither_yes_nor_no_judge_nothing() -> None:
    scores = (Score(name="trajectory", value=0.0), Score(name="match", value=0.7))
    assert verdict(Sample(id="s", trajectory=run(user("a"), agent("b")).trajectory, scores=scores))[0] == "unjudged"


def test_a_rule_that_a_run_found_broken() -> None:
    broken = Score(name="ASKS", value=False, passed=False, explanation="no question", details={"rule": "asks first"})
    found = cause_of(run(user("hi"), agent("done")), broken)
    assert (found.main.cause, found.main.subject, found.main.detail) == ("rule", "ASKS", "no question")


def test_evidence_of_a_rule_leads_to_the_first_step_of_it() -> None:
    sample = run(user("hi"), agent("a", id="x1"), agent("b", id="x2"))
    broken = Score(name="R", value=False, passed=False, evidence=("x2", "x1"), details={"rule": "r"})
    place = cause_of(sample, broken).main.place
    assert place is not None
    assert place.step == 2


def test_a_decision_names_the_scores_that_were_too_low() -> None:
    why = ("Below threshold: polite=0.20 (<0.50)",)
    no = Decision(sample="s", profile="p", passed=False, reasons=why, deciding=("polite", "quick"))
    found = cause_of(run(user("hi"), agent("done")), decisions=(no,))
    assert (found.main.cause, found.main.subject) == ("answer", "polite")


def test_a_score_that_only_repeats_the_reward_is_no_cause() -> None:
    sample = run(user("hi"), agent("done"), outcome=Outcome(status="failed", reward=0.0))
    alone = Score(name="reward", value=0.0, passed=False)
    assert cause_of(Sample(id="s", trajectory=sample.trajectory, scores=(alone,))).main.cause == "unknown"


def test_a_broken_contract() -> None:
    case = Case(id="c", contract="no_such_contract")
    assert diagnose_sample(run(user("hi"), agent("x"), case=case)).findings == ()
    score = Score(name="output_contract", value=False, details={"contract": "plan", "violations": [{"message": "bad"}]})
    found = cause_of(run(user("hi"), agent("x"), case=Case(id="c", contract="plan")), score)
    assert (found.main.cause, found.main.subject, found.main.what) == ("contract", "plan", "bad")


def test_what_was_spent_behind_the_step() -> None:
    model = Agent(name="a", model="gpt-4o-2024-08-06")
    sample = run(
        user("hi"),
        agent(*fails(), usage=usage(100, 10), agent="a"),
        agent("x", usage=usage(1000, 100), agent="a"),
        agent("y", usage=usage(2000, 100), agent="a"),
        outcome=FAILED,
        agents=(model,),
    )
    waste = cause_of(sample).main.waste
    assert (waste.steps, waste.tokens, waste.partial) == (2, 3200, False)
    assert waste.cost_usd == pytest.approx(3000 * 2.5e-6 + 200 * 1e-5)


def test_absent_tokens_and_prices_are_not_zero() -> None:
    silent = run(user("hi"), agent(*fails()), agent("x"), outcome=FAILED)
    assert cause_of(silent).main.waste.tokens is None
    unpriced = run(user("hi"), agent(*fails()), agent("x", usage=usage(5, 5, cost_usd=0.0)), outcome=FAILED)
    waste = cause_of(unpriced).main.waste
    assert (waste.tokens, waste.cost_usd) == (10, None)
    part = run(user("hi"), agent(*fails()), agent("x", usage=usage(5, 5)), agent("y"), outcome=FAILED)
    assert cause_of(part).main.waste.partial


def test_steps_of_sub_agents_have_numbers_behind_their_parents() -> None:
    child = Trajectory(id="sub", caller="t", steps=(user("go"), agent(*fails()), agent("gave up")))
    own = (user("hi"), agent(call("task", "t"), ToolResult(call_id="t", output="ok")), agent("fine"))
    sample = Sample(id="s", trajectory=Trajectory(steps=own, children=(child,), outcome=FAILED))
    main = cause_of(sample).main
    assert main.place is not None
    assert (main.place.step, main.place.agent) == (5, "sub")
    # The sub-agent's last step, and the parent's answer behind it.
    assert main.waste.steps == 2


def test_branches_that_were_given_up_count_for_the_number_and_not_for_the_cause() -> None:
    steps = (
        Step(id="1", role="user", parts=(Text(text="hi"),)),
        Step(id="2", parent="1", role="agent", parts=fails("in the branch that was given up")),
        Step(id="3", parent="1", role="agent", parts=fails("in the branch that counts")),
    )
    main = cause_of(Sample(id="s", trajectory=Trajectory(steps=steps, leaf="3", outcome=FAILED))).main
    assert main.place is not None
    assert (main.place.step, main.detail) == (3, "in the branch that counts")


def test_a_turn_before_the_last_without_an_answer_is_seen() -> None:
    found: Diagnosed = diagnose_sample(run(user("a"), agent(*did("look")), user("b"), agent("answer")))
    assert [(each.cause, each.mended, each.place and each.place.step) for each in found.findings] == [
        ("no_answer", True, 2)
    ]


def test_the_innermost_difference_of_two_calls_is_told() -> None:
    made = call("book", pay=[{"id": "a", "amount": 250}, {"id": "b", "amount": 55}])
    wanted = ExpectedCall(name="book", arguments={"pay": [{"id": "a", "amount": 250}, {"id": "b", "amount": 5}]})
    found = cause_of(run(user("hi"), agent(made, result("book")), agent("ok"), case=expecting(wanted)))
    assert found.main.detail == "pay[1].amount is 55, expected 5"


def test_nothing_is_changed_in_the_sample() -> None:
    sample = run(user("hi"), agent(*fails(), id="own"), outcome=FAILED)
    before = repr(sample)
    diagnose_sample(sample)
    assert repr(sample) == before
