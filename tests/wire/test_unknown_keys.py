"""Unknown keys: kept at their level, named with their place, and nothing else touched."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from any_sample import samples
from pantrace.model import Sample
from pantrace.wire.json import to_plain
from pantrace.wire.unknown_keys import UnknownKey, with_unknown

ROW: dict[str, Any] = {
    "id": "a",
    "foo": 1,
    "trajectory": {
        "agents": [{"name": "x", "colour": "red"}],
        "usage": {"m": {"input": 1, "bar": 2}},
        "steps": [{"role": "user", "parts": [{"type": "text", "text": "t", "qux": [1]}]}],
    },
    "scores": [{"name": "s", "value": 1, "maker": {"name": "j", "kind": "rubric", "mood": "good"}}],
}


def test_each_key_stands_at_its_own_level() -> None:
    sample = with_unknown(ROW, Sample, "native")
    assert sample.extra == {"native": {"foo": 1}}
    trajectory = sample.trajectory
    assert trajectory is not None and trajectory.usage is not None
    assert trajectory.agents[0].extra == {"native": {"colour": "red"}}
    assert trajectory.usage["m"].extra == {"native": {"bar": 2}}
    assert trajectory.steps[0].parts[0].extra == {"native": {"qux": [1]}}
    # Who made a score has no room of its own.
    assert sample.scores[0].extra == {"native": {"maker.mood": "good"}}


def test_places_and_known_keys_are_told() -> None:
    told: list[UnknownKey] = []
    with_unknown(ROW, Sample, "native", told.append)
    assert [(each.place, each.key) for each in told] == [
        ("", "foo"),
        ("trajectory.agents[0]", "colour"),
        ("trajectory.usage.m", "bar"),
        ("trajectory.steps[0].parts[0]", "qux"),
        ("scores[0].maker", "mood"),
    ]
    assert "trajectory" in told[0].known and "input" in told[2].known


def test_what_extra_holds_already_stays() -> None:
    row = {"id": "a", "foo": 1, "extra": {"native": {"old": 2}, "other": {"x": 3}}}
    assert with_unknown(row, Sample, "native").extra == {
        "native": {"old": 2, "foo": 1},
        "other": {"x": 3},
    }


@given(samples())
def test_a_sample_without_unknown_keys_is_the_same(sample: Sample) -> None:
    told: list[UnknownKey] = []
    row = to_plain(sample)
    assert with_unknown(row, Sample, "native", told.append) == msgspec.convert(row, Sample)
    assert told == []


@given(samples(), st.data())
def test_a_key_put_anywhere_is_found(sample: Sample, data: st.DataObject) -> None:
    row = to_plain(sample)
    objects = [row]
    if "trajectory" in row:
        objects += [row["trajectory"], *row["trajectory"].get("steps", ())]
        objects += [part for step in row["trajectory"].get("steps", ()) for part in step.get("parts", ())]
    data.draw(st.sampled_from(objects))["unheard of"] = {"deep": [1]}
    told: list[UnknownKey] = []
    found = with_unknown(row, Sample, "here", told.append)
    assert [each.key for each in told] == ["unheard of"]
    # What has no room of its own hands it to its holder, under the way to it.
    assert 'unheard of":{"deep":[1]}}' in msgspec.json.encode(found).decode()
