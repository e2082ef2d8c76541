"""Who counts as a sub-agent, and what was spent on those that do not count."""

from __future__ import annotations

from pantrace.matching.recorded_data import Recording
from pantrace.matching.sub_agents import sub_agents
from pantrace.metrics import by_name
from pantrace.model import Agent, Sample, Step, Text, ToolCall, Trajectory, Usage, agent_trajectories, usage_total


def says(agent: str | None, tokens: int, **given: object) -> Step:
    return Step(role="agent", agent=agent, model="gpt-5-mini", usage=Usage(input=tokens, output=1), **given)  # type: ignore[arg-type]


def asks(agent: str | None = None) -> Step:
    return Step(role="user", agent=agent, parts=(Text(text="go"),))


def names(trajectory: Trajectory) -> list[tuple[str | None, bool, int | None]]:
    return [(each.name, each.took_over, each.usage.input if each.usage else None) for each in sub_agents(trajectory)]


def test_one_agent_has_none() -> None:
    assert names(Trajectory()) == []
    assert names(Trajectory(steps=(asks(), says(None, 5), says("a", 6)))) == [("a", True, 6)]
    assert names(Trajectory(steps=(asks(), says("a", 5), says(None, 6), says("a", 7)))) == []


def test_an_agent_that_took_over_and_came_again_is_one() -> None:
    steps = (asks(), says("desk", 1), says("loans", 2), asks(), says("loans", 4), says("desk", 8))
    assert names(Trajectory(steps=steps)) == [("loans", True, 6)]


def test_an_agent_that_the_user_chose_is_none() -> None:
    assert names(Trajectory(steps=(asks("plan"), says("plan", 1), asks("build"), says("build", 2)))) == []
    # One that the chosen one hands over to is.
    steps = (asks("plan"), says("plan", 1), asks("build"), says("build", 2), says("helper", 4))
    assert names(Trajectory(steps=steps)) == [("helper", True, 4)]


def test_the_program_that_writes_a_summary_is_none() -> None:
    assert names(Trajectory(steps=(says("build", 1), says("compaction", 2, kind="compaction")))) == []


def test_runs_that_were_started_count_each_and_tools_that_ask_a_model_do_not() -> None:
    child = Trajectory(agents=(Agent(name="helper"),), steps=(says(None, 3), says("other", 5)))
    totals_only = Trajectory(usage={"": Usage(input=7)})
    tool = Trajectory(purpose="tool", steps=(says("search", 9),))
    grader = Trajectory(purpose="grader", steps=(says("judge", 9),))
    told = Trajectory(steps=(says("main", 1),), children=(child, child, totals_only, tool, grader))
    assert names(told) == [
        *[("helper", False, 3), ("other", True, 5)] * 2,
        (None, False, 7),
    ]


def branched() -> Trajectory:
    """A branch that started a sub-agent and was given up; and a response that the user stopped."""
    call = ToolCall(id="c", name="Task", arguments={})
    steps = (
        Step(id="1", role="user", parts=(Text(text="go"),)),
        says("main", 10, id="2", parent="1", parts=(call,)),
        says("main", 20, id="3", parent="1"),
        Step(
            id="4",
            parent="3",
            role="agent",
            model="gpt-5-mini",
            usage=Usage(input=40, output=2, partial=("output",), interrupted=True),
        ),
    )
    child = Trajectory(id="sub", caller="c", steps=(says("helper", 80),))
    kept = Trajectory(id="kept", caller="d", steps=(says("helper", 160),))
    return Trajectory(leaf="4", steps=steps, children=(child, kept))


def test_what_a_branch_started_is_given_up_with_it() -> None:
    told = branched()
    assert [each.id for each in agent_trajectories(told)] == [None, "kept"]
    assert names(told) == [("helper", False, 160)]
    recording = Recording(told)
    assert [usage.input for _, _, usage in recording.model_calls] == [20, 160]
    assert [usage.input for _, _, usage in recording.given_up] == [10, 80]
    assert [usage.input for _, _, usage in recording.interrupted] == [40]


def test_spent_is_all_of_it() -> None:
    total = usage_total(branched())
    assert total is not None and (total.input, total.output) == (180, 2)
    score = by_name("token_usage").score(Sample(id="s", trajectory=branched()))
    assert score.values["total_tokens"] == 182 and score.values["llm_calls"] == 2
    assert score.values["spent_tokens"] == 182 + 92 + 42
    assert (score.details["given_up_tokens"], score.details["interrupted_tokens"]) == (92, 42)
    rate_in, rate_out = 0.25e-6, 2e-6  # gpt-5-mini
    assert abs((score.values["spent_usd"] or 0) - (310 * rate_in + 6 * rate_out)) < 1e-12
    assert abs((score.values["estimated_cost_usd"] or 0) - (180 * rate_in + 2 * rate_out)) < 1e-12


def test_a_session_of_one_interrupted_response_was_paid_too() -> None:
    step = Step(role="agent", model="gpt-5-mini", usage=Usage(input=40, output=2, interrupted=True))
    score = by_name("token_usage").score(Sample(id="s", trajectory=Trajectory(steps=(step,))))
    assert score.status == "not_applicable" and score.values["spent_tokens"] == 42
    assert score.values.get("total_tokens") is None


def test_the_cost_of_a_model_without_a_price_is_not_known() -> None:
    given_up = Step(id="2", parent="1", role="agent", model="nobody-1", usage=Usage(input=10, output=1))
    steps = (Step(id="1", role="user"), given_up, says("a", 20, id="3", parent="1"))
    score = by_name("token_usage").score(Sample(id="s", trajectory=Trajectory(leaf="3", steps=steps)))
    assert score.values["spent_tokens"] == 32 and score.values["spent_usd"] is None
    assert score.values["estimated_cost_usd"] is not None
