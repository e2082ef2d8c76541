"""The remainder: applied to what was told, it gives what was meant; where it no longer fits it is left out."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from any_sample import samples
from pantrace.model import Case, Sample, Score, Step, Text, Trajectory
from pantrace.wire.json import decode, encode, to_plain
from pantrace.wire.remainder import NOT_WHAT_IS_ADDED, SAME, applied, difference


def test_equal_values_have_no_difference() -> None:
    assert difference(Sample(id="a"), Sample(id="a")) is SAME
    assert difference(Score(name="s", value=1), Score(name="s", value=1.0)) is SAME


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(told=samples(), meant=samples())
def test_a_difference_applied_gives_what_was_meant(told: Sample, meant: Sample) -> None:
    change = difference(told, meant)
    if change is not SAME:
        assert to_plain(applied(told, decode(encode(change)))) == to_plain(meant)


def test_only_what_differs_is_kept() -> None:
    told = Sample(id="a", case=Case(question="a long question", goal="g"))
    meant = Sample(id="a", case=Case(question="a long question", context="c"))
    assert difference(told, meant) == {"d": {"case": {"d": {"context": {"=": "c"}, "goal": {"-": True}}}}}
    assert difference(told, meant, NOT_WHAT_IS_ADDED) == {"d": {"case": {"d": {"context": {"=": "c"}}}}}


def test_what_no_longer_fits_is_left_out() -> None:
    def sample(*texts: str, at: float | None = None) -> Sample:
        steps = tuple(Step(role="user", parts=(Text(text=text),), at=at) for text in texts)
        return Sample(id="s", trajectory=Trajectory(steps=steps))

    change = difference(sample("a", "b"), sample("a", "b", at=1.0))
    assert applied(sample("a"), change) == sample("a")
    assert applied(Sample(id="s"), change) == Sample(id="s")
    longer = applied(sample("a", "b", "c"), change)
    assert longer.trajectory is not None
    assert [step.at for step in longer.trajectory.steps] == [1.0, 1.0, None]
