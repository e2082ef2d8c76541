"""What is written is what is read: samples, scores, decisions, header."""

from __future__ import annotations

import tempfile
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import any_sample
from pantrace.model import (
    Aggregate,
    Decision,
    Maker,
    RunHeader,
    Sample,
    Score,
    Step,
    Text,
    ToolCall,
    Trajectory,
    Usage,
)
from pantrace.store import Result, RunDirectory, query
from pantrace.store.json_text import column_json, column_jsons, exact_json, exact_jsons
from pantrace.wire.json import NonFinite

STORED = Score(name="quality", value=0.5)
OURS = Score(name="length", value=3, maker=Maker(name="length", kind="check", version="1"))


def written(folder: Path, *results: Result, header: RunHeader | None = None) -> RunDirectory:
    with RunDirectory.open_for_writing(folder, header or RunHeader(), "plan", "hash") as directory:
        directory.write_part("a", results)
    return RunDirectory.open(folder)


def sample_of(*parts: Any, **fields: Any) -> Sample:
    return Sample(id="s", trajectory=Trajectory(steps=(Step(role="agent", parts=parts, **fields),)))


@settings(max_examples=20)
@given(
    st.lists(any_sample.samples(), max_size=3),
    st.lists(any_sample.scores(), max_size=2, unique_by=lambda score: score.name),
)
def test_samples_come_back_equal(samples: list[Sample], scores: list[Score]) -> None:
    decisions = [Decision(sample=sample.id, profile="p", passed=None, composite=0.25) for sample in samples]
    results = [
        Result(sample=sample, scores=tuple(scores), decisions=(decision,))
        for sample, decision in zip(samples, decisions, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        directory = written(Path(folder), *results)
        assert [result.sample for result in directory.results()] == samples
        assert list(directory.decisions()) == decisions
        for sample, back in zip(samples, directory.samples(), strict=True):
            fresh = [score for score in scores if score not in sample.scores]
            assert back == msgspec.structs.replace(sample, scores=(*sample.scores, *fresh))
        counted = "select count(*), sum(steps), (select count(*) from steps), sum(calls), (select count(*) from calls)"
        (counts,) = query(folder, f"{counted} from samples").rows
        assert counts[0] == len(samples)
        assert (counts[1] or 0, counts[3] or 0) == (counts[2], counts[4])


def test_scores_of_the_source_and_of_the_run_are_told_apart_and_none_is_there_twice(tmp_path: Path) -> None:
    sample = Sample(id="s", scores=(STORED, STORED))
    directory = written(tmp_path, Result(sample=sample, scores=(OURS, STORED, OURS)))
    assert [score for each in directory.samples() for score in each.scores] == [STORED, STORED, OURS]
    assert [(each.sample, each.origin, each.score) for each in directory.scores()] == [
        ("s", "source", STORED),
        ("s", "source", STORED),
        ("s", "run", OURS),
    ]


@pytest.mark.parametrize(
    "sample",
    [
        Sample(id="lone \ud800 surrogate"),
        sample_of(Text(text="\udfff")),
        sample_of(ToolCall(name="t", arguments={"key \ud800": NonFinite("1e999"), "x": NonFinite("NaN"), "y": None})),
        sample_of(ToolCall(name="t", arguments=10**40)),
        sample_of(usage=Usage(input=2**53)),
        sample_of(at=1e308),
        Sample(id="s", extra={"x": {"zero": "\x00"}}),
        Sample(id=""),
    ],
)
def test_what_json_and_columns_find_hard_comes_back(tmp_path: Path, sample: Sample) -> None:
    assert list(written(tmp_path, Result(sample=sample)).samples()) == [sample]
    for table in ("samples", "steps", "calls"):
        query(tmp_path, f"select * from {table}")


def test_numbers_that_are_not_finite_are_neither_lost_nor_in_the_way(tmp_path: Path) -> None:
    scores = (
        Score(name="nan", value=nan, details={"inner": inf, "none": None}),
        Score(name="literal", value=NonFinite("1e999"), threshold=-inf),
        Score(name="long", value=10**20 + 1),
        Score(name="word", value="good \ud800"),
        Score(name="yes", value=True),
        Score(name="none", status="unscored"),
    )
    sample = sample_of(ToolCall(name="t", arguments={"x": nan}), at=nan, usage=Usage(cost_usd=inf))
    directory = written(tmp_path, Result(sample=sample, scores=scores))
    back = [each.score for each in directory.scores()]
    assert isinstance(back[0].value, float)
    assert isnan(back[0].value)
    assert float(back[0].details["inner"]) == inf
    assert isinstance(back[1].value, float)
    assert float(back[1].value) == inf
    assert back[1].threshold is not None
    assert float(back[1].threshold) == -inf
    assert back[2].value == 10**20 + 1
    assert back[3:] == list(scores[3:])
    step = next(directory.samples()).trajectory.steps[0]  # type: ignore[union-attr]
    assert step.at is not None
    assert isnan(step.at)
    assert query(tmp_path, "select name, value, value_type, text from scores order by name").rows == [
        ("literal", None, "number", "1e999"),
        ("long", None, "number", "100000000000000000001"),
        ("nan", None, "number", "NaN"),
        ("none", None, None, None),
        ("word", None, "text", "good \\ud800"),
        ("yes", 1.0, "boolean", None),
    ]
    assert query(tmp_path, "select details->>'$.inner' from scores where name = 'nan'").rows == [("Infinity",)]
    assert query(tmp_path, "select arguments, started from calls").rows == [('{"x":"NaN"}', None)]
    assert query(tmp_path, "select started, cost_usd from steps").rows == [(None, None)]


def test_the_header_comes_back_and_finish_replaces_it(tmp_path: Path) -> None:
    header = RunHeader(name="n \ud800", created=1.5, results=(Aggregate(name="a", value=NonFinite("NaN")),))
    assert written(tmp_path, header=header).header.name == "n \ud800"
    with RunDirectory.open(tmp_path, writing=True) as directory:
        directory.finish(RunHeader(name="done", status="success", results=(Aggregate(name="a", value=0.5),)))
    assert RunDirectory.open(tmp_path).header == directory.header
    assert query(tmp_path, "select name, status, results, plan, plan_hash from runs").rows == [
        ("done", "success", '[{"name":"a","value":0.5}]', "plan", "hash")
    ]


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    results = [Result(sample=Sample(id=f"s{number}", scores=(STORED,)), scores=(OURS,)) for number in range(50)]
    first, second = written(tmp_path / "a", *results), written(tmp_path / "b", *results)
    files = [sorted((each.path / "parts").iterdir()) for each in (first, second)]
    assert [path.name for path in files[0]] == [path.name for path in files[1]]
    assert [path.name.rsplit(".", 2)[0] for path in files[0]] == ["a.samples", "a.scores"]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]


def test_a_part_may_be_larger_than_what_is_kept_in_memory(tmp_path: Path) -> None:
    results = (Result(sample=sample_of(*[ToolCall(name="t")] * 50)) for _ in range(1000))
    written(tmp_path, *results)
    assert query(tmp_path, "select count(*), max(number) from calls").rows == [(50_000, 999)]
    groups = query(tmp_path, "select max(step), count(distinct number) from steps").rows
    assert groups == [(0, 1000)]


def test_tokens_of_graders_are_not_the_samples(tmp_path: Path) -> None:
    def asked(tokens: int, **fields: Any) -> Trajectory:
        usage = Usage(input=tokens, output=tokens, total=2 * tokens)
        return Trajectory(steps=(Step(role="agent", usage=usage),), **fields)

    graders = (asked(1000, purpose="grader"), asked(500, purpose="simulated_user"), asked(10))
    written(tmp_path, Result(sample=Sample(id="s", trajectory=asked(1, children=graders))))
    columns = "total_tokens, input_tokens, output_tokens"
    assert query(tmp_path, f"select {columns} from samples").rows == [(22, 11, 11)]


ODD = (
    None,
    (),
    {},
    {"a": 1},
    {"a": None},
    {"a": nan},
    {"b": -inf},
    {"c": NonFinite("Infinity")},
    ["two\nlines", "null"],
)


@pytest.mark.parametrize("values", [ODD, (*ODD, {"half a letter": "\ud83d"}), (), ({},)])
def test_many_values_at_once_are_the_texts_of_each_alone(values: tuple[Any, ...]) -> None:
    assert exact_jsons(values) == [exact_json(each).decode() for each in values]
    assert column_jsons(values) == [column_json(each) if each else None for each in values]


def test_a_score_that_equals_one_of_the_source_is_stored_once_and_one_of_the_same_name_twice(tmp_path: Path) -> None:
    again, other = Score(name="quality", value=0.5), Score(name="quality", value=0.25)
    directory = written(tmp_path / "run", Result(sample=Sample(id="a", scores=(STORED,)), scores=(again, other, OURS)))
    rows = query(tmp_path / "run", "select origin, name, value from scores order by value").rows
    assert rows == [("run", "quality", 0.25), ("source", "quality", 0.5), ("run", "length", 3.0)]
    (found,) = directory.results()
    assert found.scores == (other, OURS)
