"""The remainder: applied to what was told, it gives what was meant; where it no longer fits it is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from any_sample import samples
from pantrace import read
from pantrace.errors import ReadError
from pantrace.model import Action, Case, Media, Part, Sample, Score, Step, Text, Trajectory
from pantrace.wire.difference import NOT_WHAT_IS_ADDED, SAME, Comparing, apply_difference, as_places, difference
from pantrace.wire.json import decode, encode, to_plain


def test_equal_values_have_no_difference() -> None:
    assert difference(Sample(id="a"), Sample(id="a")) is SAME
    assert difference(Score(name="s", value=1), Score(name="s", value=1.0)) is SAME


@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(told=samples(), meant=samples())
def test_a_difference_applied_gives_what_was_meant(told: Sample, meant: Sample) -> None:
    change = difference(told, meant)
    if change is not SAME:
        assert to_plain(apply_difference(told, decode(encode(change)))) == to_plain(meant)


def test_only_what_differs_is_kept() -> None:
    told = Sample(id="a", case=Case(question="a long question", goal="g"))
    meant = Sample(id="a", case=Case(question="a long question", context="c"))
    assert difference(told, meant) == {"d": {"case": {"d": {"context": {"=": "c"}, "goal": {"-": True}}}}}
    assert difference(told, meant, NOT_WHAT_IS_ADDED) == {"d": {"case": {"d": {"context": {"=": "c"}}}}}


def test_parts_that_were_told_are_not_told_again() -> None:
    def sample(*parts: Part) -> Sample:
        return Sample(id="a", trajectory=Trajectory(steps=(Step(role="agent", parts=parts),)))

    told = sample(Media(id="screen-0", data="iVBORw0KGgo"), Action(kind="click", before="screen-0"))
    meant = sample(
        Media(id="m", data="iVBORw0KGgo"), Text(text="now"), Action(kind="click", before="m"), Text(text="!")
    )
    change = decode(encode(difference(told, meant)))
    assert apply_difference(told, change) == meant
    assert change["d"]["trajectory"]["d"]["steps"]["l"]["0"]["d"]["parts"]["a"] == [
        [0, {"d": {"id": {"=": "m"}}}],
        {"=": {"type": "text", "text": "now"}},
        [1, {"d": {"before": {"=": "m"}}}],
        {"=": {"type": "text", "text": "!"}},
    ]
    shorter = sample(Media(id="screen-0", data="iVBORw0KGgo"))
    assert apply_difference(shorter, change) == shorter


def test_what_no_longer_fits_is_left_out() -> None:
    def sample(*texts: str, at: float | None = None) -> Sample:
        steps = tuple(Step(role="user", parts=(Text(text=text),), at=at) for text in texts)
        return Sample(id="s", trajectory=Trajectory(steps=steps))

    change = difference(sample("a", "b"), sample("a", "b", at=1.0))
    assert apply_difference(sample("a"), change) == sample("a")
    assert apply_difference(Sample(id="s"), change) == Sample(id="s")
    longer = apply_difference(sample("a", "b", "c"), change)
    assert longer.trajectory is not None
    assert [step.at for step in longer.trajectory.steps] == [1.0, 1.0, None]


@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(told=samples(), meant=samples())
def test_both_spellings_give_the_same(told: Sample, meant: Sample) -> None:
    change = difference(told, meant, Comparing(paired_by=("type",)))
    places = decode(encode(as_places(change)))
    assert (places == []) == (change is SAME)
    assert to_plain(apply_difference(told, places)) == to_plain(meant)


def test_places_name_what_is_set_and_what_is_taken_away() -> None:
    told = Sample(id="a", case=Case(question="q", goal="g"), trajectory=Trajectory(steps=(Step(role="user"),)))
    meant = Sample(id="a", case=Case(question="q"), trajectory=Trajectory(steps=(Step(role="user", at=1.0),)))
    assert as_places(difference(told, meant)) == [[["case", "goal"]], [["trajectory", "steps", 0, "at"], 1.0]]
    assert as_places(SAME) == []


def test_what_cannot_fit_is_an_error() -> None:
    sample = Sample(id="a", trajectory=Trajectory(steps=(Step(role="user"),)))
    with pytest.raises(ReadError, match="do not match"):
        apply_difference(sample, [[["trajectory", "steps", 1, "at"], 1.0]])
    with pytest.raises(ReadError, match="broken: Expected `str`"):
        apply_difference(sample, {"d": {"id": {"=": 5}}})


@pytest.mark.parametrize(
    ("rule", "places"),
    [
        (Comparing(), [[["labels", "level"], "two"], [["labels", "extra"]], [["goal"]]]),
        (Comparing(ignored=frozenset({"labels"})), [[["goal"]]]),
        (Comparing(data=frozenset({"labels"})), [[["labels"], {"topic": "t", "level": "two"}], [["goal"]]]),
        (Comparing(closed=frozenset({"labels"})), [[["labels", "level"], "two"], [["labels", "extra"]]]),
        (Comparing(closed=frozenset()), [[["labels", "level"], "two"]]),
    ],
)
def test_a_rule_says_what_counts(rule: Comparing, places: list[Any]) -> None:
    told = Case(labels={"topic": "t", "level": "one", "extra": "x"}, goal="g")
    meant = Case(labels={"topic": "t", "level": "two"})
    assert as_places(difference(told, meant, rule)) == places


CARRIED = Path(__file__).parent / "carried"
FILES = {
    "adk-history": "history.evalset_result.json",
    "adk-session": "session.json",
    "adk-evalset": "cases.evalset.json",
    "adk-jsonl": "interactions.jsonl",
    "inspect": "log.json",
    "explain": "report.json",
}


def _readings(path: Path, format_name: str) -> list[Any]:
    found: list[Any] = [to_plain(sample) for sample in read(path, format=format_name).samples]
    for sample in found:
        for told in (sample.get("trajectory", {}), sample.get("expected", {})):
            told.pop("source", None)
    return found


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items() if key != "pantrace"}
    return [_bare(item) for item in value] if isinstance(value, list) else value


def _holds(now: Any, then: Any) -> bool:
    """Whether all that was read then is read now; a reader may have learnt to keep more."""
    if isinstance(now, dict) and isinstance(then, dict):
        return all(key in now and _holds(now[key], value) for key, value in then.items())
    if isinstance(now, list) and isinstance(then, list):
        return len(now) == len(then) and all(_holds(one, other) for one, other in zip(now, then, strict=True))
    return bool(now == then)


@pytest.mark.parametrize("format_name", FILES)
def test_files_of_older_versions_are_read_as_ever(format_name: str, tmp_path: Path) -> None:
    path = CARRIED / FILES[format_name]
    then = decode((CARRIED / "readings.json").read_bytes())[path.name]
    assert _holds(_readings(path, format_name), then)
    bare = tmp_path / path.name
    rows = path.read_bytes().splitlines() if path.suffix == ".jsonl" else [path.read_bytes()]
    bare.write_bytes(b"\n".join(encode(_bare(decode(row))) for row in rows))
    assert not _holds(_readings(bare, format_name), then)
