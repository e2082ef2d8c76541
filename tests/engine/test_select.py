from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from pantrace.engine.select import Selection, parse_since
from pantrace.engine.where import parse_where
from pantrace.errors import UsageError
from pantrace.model import Agent, Case, Sample, Step, ToolCall, Trajectory, Usage

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def sample(id: str, created: float | None = None) -> Sample:  # noqa: A002
    step = Step(role="agent", parts=(ToolCall(name="bash", arguments={"path": "/tmp"}),), usage=Usage(input=1500))
    trajectory = Trajectory(
        id=f"ses_{id}",
        title="S1 demo",
        created=created,
        agents=(Agent(name="build"),),
        steps=(step,),
        usage={"gpt-4.1": Usage(output=7)},
    )
    labels = {"difficulty": "hard", "level": "3", "a.b": "dotted"}
    return Sample(id=id, case=Case(labels=labels), trajectory=trajectory)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", "2026-11-15T11:30:00+00:00"),
        ("2h", "2026-11-15T10:00:00+00:00"),
        ("7d", "2026-11-08T12:00:00+00:00"),
        ("1w", "2026-11-08T12:00:00+00:00"),
        ("2026-11-01T08:00+00:00", "2026-11-01T08:00:00+00:00"),
    ],
)
def test_since(text: str, expected: str) -> None:
    assert parse_since(text, NOW) == datetime.fromisoformat(expected).timestamp()


def test_today_begins_at_local_midnight() -> None:
    today, yesterday = parse_since("today", NOW), parse_since("yesterday", NOW)
    assert 0 <= NOW.timestamp() - today < 86400
    assert 82800 <= today - yesterday <= 90000


def test_what_has_no_time_is_left_out_and_counted() -> None:
    selection = Selection(since=100.0)
    assert [each.id for each in selection.apply([sample("a"), sample("b", 50.0), sample("c", 150.0)])] == ["c"]
    assert selection.undated == 1


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("agent=build", True),
        ("agent=plan", False),
        ("agent!=plan", True),
        ("label.difficulty=hard", True),
        ("label.difficulty!=hard", False),
        ("title~^S1", True),
        ("title ~ S2", False),
        ("tool=bash", True),
        ("trajectory.steps.usage.input>1000", True),
        ("trajectory.steps.usage.input<=1000", False),
        ("trajectory.steps.usage.input=1500", True),
        ("status=passed", False),
        ("agent == build", True),
        ("label.difficulty~^h", True),
        ("label.level>=3", True),
        ("label.level<3", False),
        ("label.a.b=dotted", True),
        ("trajectory.steps.kind=message", True),
        ("trajectory.steps.kind!=message", False),
        ("trajectory.steps.parts.type=call", True),
        ("trajectory.steps.parts.arguments.path=/tmp", True),
        ("trajectory.usage.gpt-4.1.output>5", True),
        ("epoch=2", False),
    ],
)
def test_where(condition: str, holds: bool) -> None:
    selection = Selection(where=(parse_where(condition),))
    assert len(list(selection.apply([sample("a")]))) == holds


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("difficulty", "is not a condition; it is one of FIELD=VALUE"),
        ("=x", "is not a condition"),
        ("agnet=build", "there is no field agnet; did you mean agent? Fields are agent, model"),
        ("agnet!=build", "did you mean agent?"),
        ("cots>0.01", "there is no field cots"),
        ("input>1000", "did you mean trajectory.steps.usage.input?"),
        ("steps.usage.input>1000", "did you mean trajectory.steps.usage.input?"),
        ("nothing.there!=x", "there is no field nothing.there"),
        ("difficulty=hard", "write a label as label.difficulty"),
        ("trajectory.stepz.usage.input>1", "did you mean trajectory.steps.usage.input? It has id, title"),
        ("trajectory.steps.usage.inptu>1", "did you mean trajectory.steps.usage.input?"),
        ("trajectory=x", "trajectory is not a single value; it has trajectory.id"),
        ("trajectory.steps~x", "trajectory.steps is not a single value; it has trajectory.steps.id"),
        ("label=hard", "label.NAME"),
        ("title.x=1", "trajectory.title is a single value without fields"),
        ("title>3", "> compares numbers, and title is not a number"),
        ("epoch>many", "> must be followed by a number, not 'many'"),
        ("epoch>nan", "> must be followed by a number"),
        ("epoch<inf", "< must be followed by a number"),
        ("epoch=first", "epoch is a number, never 'first'"),
        ("status=pass", "status is one of cancelled, error, failed, limit, passed, unscored, never 'pass'"),
        ("status!=Passed", "status is one of"),
        ("trajectory.steps.parts.synthetic=maybe", "is one of true, false, never 'maybe'"),
        ("title~(", "not a regular expression"),
    ],
)
def test_what_can_never_hold_is_refused_with_what_is_known(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        parse_where(text)


@pytest.mark.parametrize("text", ["label.dificulty=hard", "label.dificulty!=hard", "label.dificulty~x"])
def test_a_label_that_no_sample_has_is_an_error_when_all_is_read(text: str) -> None:
    with pytest.raises(
        UsageError, match=r"no sample has label.dificulty; did you mean label.difficulty\? There are label"
    ):
        list(Selection(where=(parse_where(text),)).apply([sample("a"), sample("b")]))


def test_a_label_of_any_sample_is_known_even_of_one_that_is_left_out() -> None:
    bare = Sample(id="bare", trajectory=Trajectory(created=200.0))
    chosen = Selection(since=100.0, where=(parse_where("label.difficulty=hard"),))
    assert list(chosen.apply([sample("a", 50.0), bare])) == []
    assert chosen.found_nothing is not None


def test_a_key_of_extra_that_no_sample_has() -> None:
    kept = Sample(id="a", extra={"inspect": {"limit": 3}})
    assert list(Selection(where=(parse_where("extra.inspect.limit>2"),)).apply([kept])) == [kept]
    with pytest.raises(UsageError, match=r"did you mean extra.inspect.limit\?"):
        list(Selection(where=(parse_where("extra.inspect.limits>2"),)).apply([kept]))


def test_a_limit_that_was_reached_leaves_names_unsettled() -> None:
    chosen = Selection(sessions=("a", "z"), limit=1)
    assert [each.id for each in chosen.apply([sample("a"), sample("b")])] == ["a"]


def test_nothing_selected_is_told_with_what_there_is() -> None:
    chosen = Selection(where=(parse_where("agent=plan"),))
    assert list(chosen.apply([sample("a")])) == []
    assert chosen.found_nothing == (
        "nothing was selected: 1 sample was read, but none matches --where 'agent=plan' (agent is build)"
    )
    chosen = Selection(since=100.0, where=(parse_where("epoch=2"),))
    assert list(chosen.apply([sample("a", 150.0)])) == []
    assert chosen.found_nothing is not None
    assert "--since 1970-01-01T00:01:40+00:00 --where 'epoch=2' (no sample has epoch)" in chosen.found_nothing


def test_something_selected_or_nothing_read_is_no_news() -> None:
    for samples in ([], [sample("a")]):
        chosen = Selection(where=(parse_where("agent=build"),))
        list(chosen.apply(samples))
        assert chosen.found_nothing is None


def test_a_sample_is_found_by_its_id_or_its_sessions() -> None:
    assert [each.id for each in Selection(sessions=("ses_a", "b")).apply([sample("a"), sample("b"), sample("c")])] == [
        "a",
        "b",
    ]


def test_a_limit_reads_no_more_than_it_needs() -> None:
    taken = []
    source = (taken.append(name) or sample(name) for name in "abc")  # type: ignore[func-returns-value]
    assert [each.id for each in Selection(limit=2).apply(source)] == ["a", "b"]
    assert taken == ["a", "b"]


@pytest.mark.parametrize("wanted", ["ses_x", "aa"])
def test_a_sample_that_is_not_there(wanted: str) -> None:
    with pytest.raises(UsageError, match=f"no sample '{wanted}' among the 2 that were read"):
        list(Selection(sessions=("a", wanted)).apply([sample("a"), sample("b")]))


def test_a_sample_that_is_spelt_wrong_or_is_a_sub_agent() -> None:
    parent = Sample(id="first", trajectory=Trajectory(children=(Trajectory(id="inner"),)))
    with pytest.raises(UsageError, match=r"did you mean first\?"):
        list(Selection(sessions=("frist",)).apply([parent]))
    with pytest.raises(UsageError, match="it is a sub-agent of first"):
        list(Selection(sessions=("inner",)).apply([parent]))


def test_a_selection_can_be_used_again() -> None:
    chosen = Selection(since=100.0, limit=1)
    for _ in range(2):
        assert [each.id for each in chosen.apply([sample("a"), sample("b", 150.0), sample("c", 150.0)])] == ["b"]
        assert (chosen.read, chosen.taken, chosen.undated) == (2, 1, 1)


def test_a_limit_is_for_all_piles_together() -> None:
    chosen = Selection(limit=3)
    found = [each.id for pile in ("ab", "cd", "ef") for each in chosen.wanted(map(sample, pile))]
    assert found == ["a", "b", "c"]


@pytest.mark.parametrize("text", ["99999999999999d", "999999d"])
def test_a_time_outside_the_calendar(text: str) -> None:
    with pytest.raises(UsageError, match="not a date in the calendar"):
        parse_since(text, NOW)
