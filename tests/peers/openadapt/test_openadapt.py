"""The real openadapt-ml reads what we write, agrees with our checks, and parses as we parse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openadapt_ml.ingest.loader import load_episodes
from openadapt_ml.runtime.policy import AgentPolicy, parse_thought_state_action
from openadapt_ml.schema import Episode, save_episode
from pydantic import ValidationError

from any_sample import samples
from goldens import golden_inputs
from pantrace.engine.convert import write
from pantrace.engine.read import read
from pantrace.errors import SampleRefused
from pantrace.formats import by_name
from pantrace.formats.format import NoOptions
from pantrace.model import Action, Sample
from pantrace.wire.gui_dsl import parse_action, parse_reply
from pantrace.wire.json import decode, encode

NAME = "openadapt-episodes"
FORMAT = by_name(NAME)
GOLDENS = [path for name, path in golden_inputs() if name == NAME]
often = settings(max_examples=500, suppress_health_check=list(HealthCheck))


def _dump(sample: Sample) -> Any:
    assert FORMAT.dump is not None
    return decode(encode(FORMAT.dump(sample, NoOptions())))


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.name)
def test_its_loader_reads_what_we_write(path: Path, tmp_path: Path) -> None:
    report = write(read(path), tmp_path / "out", to=NAME)
    loaded = load_episodes(tmp_path / "out")
    assert len(loaded) == report.samples
    written = {sample.id: _dump(sample) for sample in read(path).samples}
    for episode in loaded:
        row = written[episode.episode_id]
        assert [step.action.type.value for step in episode.steps] == [step["action"]["type"] for step in row["steps"]]


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.name)
def test_we_read_what_it_saves(path: Path, tmp_path: Path) -> None:
    for number, sample in enumerate(read(path).samples):
        episode = Episode.model_validate(_dump(sample))
        target = tmp_path / str(number) / "episode.json"
        target.parent.mkdir()
        save_episode(episode, target)
        (again,) = read(target).samples
        assert again.id == sample.id
        assert len(_actions(again)) == len(_actions(sample))


def _actions(sample: Sample) -> list[Action]:
    assert sample.trajectory is not None
    return [part for step in sample.trajectory.steps for part in step.parts if isinstance(part, Action)]


@often
@given(sample=samples())
def test_any_sample_we_write_is_valid_there(sample: Sample) -> None:
    try:
        row = _dump(sample)
    except SampleRefused:
        return
    Episode.model_validate(row)


_odd = st.sampled_from(
    [None, True, -1, 3, 0.5, "x", "", [], {}, [0.1, 0.2], [1, 2, 3], {"x": 1, "y": 2}, {"x": -1, "y": 0}]
)
_ROW = json.loads((GOLDENS[0].parent / "login_coord/episode.json").read_bytes())
_FIELDS = [
    *[(key,) for key in _ROW if key != "schema_version"],
    *[("steps", 0, key) for key in _ROW["steps"][0]],
    *[("steps", 0, part, key) for part in ("observation", "action") for key in _ROW["steps"][0][part]],
]


@often
@given(field=st.sampled_from(_FIELDS), value=_odd)
def test_our_check_agrees_with_its_validation(field: tuple[Any, ...], value: Any) -> None:
    """What it refuses, we call an error. It coerces some values (1 to true, "5" to 5) that we do not let pass."""
    row = json.loads(json.dumps(_ROW))
    place = row
    for key in field[:-1]:
        place = place[key]
    place[field[-1]] = value
    try:
        Episode.model_validate(row)
    except ValidationError:
        assert FORMAT.check is not None
        assert [each for each in FORMAT.check(row) if each.level == "error"], (field, value)


_pieces = st.sampled_from(
    [
        "CLICK(x=0.5, y=0.25)",
        "CLICK(x=.5,y=-1)",
        "CLICK(x=1.,y=0)",
        "CLICK([3])",
        "CLICK([12]) ",
        'TYPE(text="a")',
        'TYPE(text="a \\"b\\" \\\\ c")',
        'TYPE([2], "bob")',
        "TYPE([2],'it')",
        'TYPE([2], "a\\"b")',
        "TYPE('single')",
        'TYPE("a\\\\nb")',
        '{"a": 1}',
        "\n  thought: ",
        "State:",
        'TYPE([2], "it\'s")',
        'TYPE("plain")',
        "WAIT()",
        "DONE()",
        "done",
        "DONE",
        "nothing",
        "Action: ",
        "action:",
        "\nAction: ",
        "\nThought: hm",
        '\nState: {"success": true}\n',
        "State: {bad}",
        "\n",
        " ",
        "(",
    ]
)


def _said(action: Action) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "fail" if action.kind == "unparsed" else action.kind}
    if action.text is not None:
        found["text"] = action.text
    if action.target is not None and action.target.point is not None:
        found["point"] = (action.target.point.x, action.target.point.y)
    if action.target is not None and action.target.element is not None:
        found["element"] = str(action.target.element)
    return found


def _original(action: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"type": action.type.value}
    if action.text is not None:
        found["text"] = action.text
    if action.normalized_coordinates is not None:
        found["point"] = tuple(action.normalized_coordinates)
    if action.element is not None:
        found["element"] = action.element.element_id
    return found


@often
@given(text=st.lists(_pieces, max_size=6).map("".join))
def test_answers_are_parsed_as_it_parses_them(text: str) -> None:
    thought, state, line = parse_thought_state_action(text)
    reply = parse_reply(text)
    assert (reply.thought, reply.state, reply.line) == (thought, state, line)
    original = AgentPolicy._parse_action(AgentPolicy.__new__(AgentPolicy), line)
    assert _said(parse_action(line)) == _original(original)
