"""The paired figure rests on the statistics of `compare`, clusters included."""

from __future__ import annotations

from pathlib import Path

import pytest

from pantrace.engine.compare import compare_sides
from pantrace.engine.compare_side import side_of
from pantrace.engine.convert import write_run
from pantrace.engine.metric_values import read_evaluations
from pantrace.engine.plot import figure
from pantrace.engine.read import Notes, read
from pantrace.errors import UsageError
from pantrace.model import Case, Run, Sample, Scale, Score
from pantrace.stats import paired_difference

BEFORE = (0.1, 0.4, 0.5, 0.2, 0.9, 0.6, 0.3, 0.8)
AFTER = (0.3, 0.6, 0.7, 0.1, 0.8, 0.5, 0.4, 0.9)
TOPICS = ("a", "a", "a", "b", "b", "b", None, None)


def written(path: Path, values: tuple[float, ...]) -> Path:
    samples = [
        Sample(
            id=f"c{place}",
            case=Case(id=f"c{place}", labels={} if topic is None else {"topic": topic}),
            scores=(Score(name="quality", value=value, scale=Scale(low=0, high=1)),),
        )
        for place, (value, topic) in enumerate(zip(values, TOPICS, strict=True))
    ]
    write_run(Run(samples=samples), path, to="native", measure=False)
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [written(tmp_path / "before.trace.jsonl", BEFORE), written(tmp_path / "after.trace.jsonl", AFTER)]


def drawn(files: list[Path], cluster: str | None, kind: str = "paired") -> dict[str, object]:
    found = read_evaluations(files, cluster=cluster, notes=Notes())
    return figure(kind, found, ["before", "after"], ["quality"], cluster=cluster)  # type: ignore[arg-type]


def band(found: dict[str, object]) -> tuple[float, float]:
    (layer,) = [each for each in found["layer"] if each["mark"]["type"] == "rect"]  # type: ignore[attr-defined]
    row = layer["data"]["values"][0]
    return row["low"], row["high"]


@pytest.mark.parametrize("cluster", [None, "topic"])
def test_the_band_is_the_interval_that_compare_gives(cluster: str | None, files: list[Path]) -> None:
    sides = [side_of(run, run.samples, cluster=cluster) for run in map(read, files)]
    (told,) = compare_sides(sides[0], sides[1])
    assert told.difference is not None
    assert band(drawn(files, cluster)) == (told.difference.low, told.difference.high)


def test_cases_of_one_cluster_count_together_and_those_without_alone(files: list[Path]) -> None:
    found = drawn(files, "topic")
    asked = paired_difference(BEFORE, AFTER, [topic or place for place, topic in enumerate(TOPICS)]).estimate
    assert band(found) == (asked.low, asked.high)
    assert band(found) != band(drawn(files, None))
    subtitle = found["title"]["subtitle"]  # type: ignore[index]
    assert subtitle[0].endswith("95 % paired clustered t interval over 4 clusters.")
    assert subtitle[2] == "Cases of one topic are treated as a group."
    (points,) = [each for each in found["layer"] if each["mark"]["type"] == "point"]  # type: ignore[attr-defined]
    clusters = {row["case"]: row.get("cluster") for row in points["data"]["values"]}
    assert clusters == {f"c{place}": topic for place, topic in enumerate(TOPICS)}


def test_a_case_is_not_in_a_cluster_of_the_same_name(tmp_path: Path) -> None:
    def side(path: Path, values: tuple[float, float, float]) -> Path:
        topics = ("c1", None, "c1")
        samples = [
            Sample(
                id=f"c{place}",
                case=Case(id=f"c{place}", labels={} if topic is None else {"topic": topic}),
                scores=(Score(name="quality", value=value),),
            )
            for place, (value, topic) in enumerate(zip(values, topics, strict=True))
        ]
        write_run(Run(samples=samples), path, to="native", measure=False)
        return path

    pair = [side(tmp_path / "a.trace.jsonl", (0.0, 0.0, 0.0)), side(tmp_path / "b.trace.jsonl", (0.1, 0.5, 0.3))]
    assert "over 2 clusters" in drawn(pair, "topic")["title"]["subtitle"][0]  # type: ignore[index]


@pytest.mark.parametrize(
    ("kind", "cluster", "message"),
    [("paired", "colour", "cluster='colour': no case has it"), ("comparison", "topic", "is for kind paired")],
)
def test_a_cluster_that_would_change_nothing_is_refused(
    kind: str, cluster: str, message: str, files: list[Path]
) -> None:
    with pytest.raises(UsageError, match=message):
        drawn(files, cluster, kind)
