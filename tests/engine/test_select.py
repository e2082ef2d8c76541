from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pantrace.engine.select import Selection, parse_since, parse_where
from pantrace.errors import UsageError
from pantrace.model import Agent, Case, Sample, Step, ToolCall, Trajectory, Usage

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def sample(id: str, created: float | None = None) -> Sample:  # noqa: A002
    step = Step(role="agent", parts=(ToolCall(name="bash"),), usage=Usage(input=1500))
    trajectory = Trajectory(
        id=f"ses_{id}", title="S1 demo", created=created, agents=(Agent(name="build"),), steps=(step,)
    )
    return Sample(id=id, case=Case(labels={"difficulty": "hard"}), trajectory=trajectory)


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
        ("nothing.there!=x", True),
    ],
)
def test_where(condition: str, holds: bool) -> None:
    selection = Selection(where=(parse_where(condition),))
    assert len(list(selection.apply([sample("a")]))) == holds


@pytest.mark.parametrize("text", ["difficulty", "=x", "a>many", "title~("])
def test_a_wrong_condition_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_where(text)


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
