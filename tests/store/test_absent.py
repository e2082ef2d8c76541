"""What does not apply: one text for each sample in the part, a row for each score wherever somebody asks."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from pantrace.model import Maker, RunHeader, Sample, Score
from pantrace.store import Kept, Result, RunDirectory, query


def absent(name: str, why: str, **more: object) -> Score:
    maker = Maker(name=name, kind="check", version="1")
    return Score(name=name, status="not_applicable", explanation=why, maker=maker, **more)  # type: ignore[arg-type]


FIRST, LAST = absent("first", "no tools"), absent("last", "nobody said „so“")
COUNTED = absent("counted", "no price", values={"tokens": 7})
"""Does not apply, and has a number all the same."""
MADE = Score(name="made", value=1.0, maker=Maker(name="made", kind="check", version="1"))
STORED = Score(name="stored", value=0.5)
SCORES = (FIRST, MADE, COUNTED, LAST)


def kept(folder: Path, *results: Result | Kept) -> Path:
    with RunDirectory.open_for_writing(folder, RunHeader(), "", "hash") as directory:
        directory.write_part("a", results)
    return folder


def parquet(folder: Path, table: str) -> list[dict[str, object]]:
    (path,) = (folder / "parts").glob(f"*.{table}.*")
    rows: list[dict[str, object]] = pq.read_table(path).to_pylist()
    return rows


def test_a_bare_reason_has_no_row_in_the_part(tmp_path: Path) -> None:
    results = [Result(sample=Sample(id=name, scores=(STORED,)), scores=SCORES) for name in "xyz"]
    kept(tmp_path, *results)
    assert [row["name"] for row in parquet(tmp_path, "scores")] == ["stored", "made", "counted"] * 3
    # One text for all three samples.
    assert len({row["not_applicable"] for row in parquet(tmp_path, "samples")}) == 1


def test_scores_come_back_in_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    result = Result(sample=Sample(id="x", scores=(STORED,)), scores=SCORES)
    kept(tmp_path, result, Result(sample=Sample(id="y"), scores=(MADE,)), Result(sample=Sample(id="z")))
    directory = RunDirectory.open(tmp_path)
    assert [each.scores for each in directory.results()] == [SCORES, (MADE,), ()]
    assert [each.scores for each in directory.samples()] == [(STORED, *SCORES), (MADE,), ()]
    assert [each.scores for each in directory.outlines()] == [(STORED, *SCORES), (MADE,), ()]
    assert [each.score for each in directory.scores({"last", "made"})] == [MADE, LAST, MADE]


def test_a_question_sees_a_row_for_each(tmp_path: Path) -> None:
    kept(tmp_path, Result(sample=Sample(id="x", epoch=2, scores=(STORED,)), scores=SCORES))
    asked = (
        "select name, origin, status, explanation, maker, maker_kind, maker_version, sample, epoch, number from scores"
    )
    assert query(tmp_path, f"{asked} where name in ('last', 'made') order by name").rows == [
        ("last", "run", "not_applicable", LAST.explanation, "last", "check", "1", "x", 2, 0),
        ("made", "run", "scored", None, "made", "check", "1", "x", 2, 0),
    ]
    assert query(tmp_path, "select count(*), count(value), count(numbers) from scores").rows == [(5, 2, 1)]
    assert query(tmp_path, "select count(*) from score_rows").rows == [(3,)]
    whole = query(tmp_path, "select json from scores where name = 'first'").rows
    assert whole == [('{"name":"first","status":"not_applicable","explanation":"no tools","maker":'
                      '{"name":"first","kind":"check","version":"1"}}',)]  # fmt: skip


def test_one_that_sql_could_not_read_has_a_row(tmp_path: Path) -> None:
    odd = absent("odd", "half a character: \ud800")
    kept(tmp_path, Result(sample=Sample(id="x"), scores=(FIRST, odd)))
    assert next(iter(RunDirectory.open(tmp_path).results())).scores == (FIRST, odd)
    assert query(tmp_path, "select name, status from scores order by name").rows == [
        ("first", "not_applicable"),
        ("odd", "not_applicable"),
    ]
    assert len(parquet(tmp_path, "scores")) == 2


def test_what_came_with_the_sample_is_not_said_again(tmp_path: Path) -> None:
    kept(tmp_path, Result(sample=Sample(id="x", scores=(FIRST,)), scores=SCORES))
    (found,) = RunDirectory.open(tmp_path).samples()
    assert found.scores == (FIRST, MADE, COUNTED, LAST)


def test_rows_that_are_copied_keep_their_text(tmp_path: Path) -> None:
    first = kept(tmp_path / "one", *(Result(sample=Sample(id=name), scores=SCORES) for name in "xy"))
    with RunDirectory.open_for_writing(first, RunHeader(), "", "hash") as directory:
        former = directory.kept("a")
    fresh = Result(sample=Sample(id="new"), scores=(MADE,))
    second = kept(tmp_path / "two", former[1], fresh, former[0])
    assert [(each.sample.id, each.scores) for each in RunDirectory.open(second).results()] == [
        ("y", SCORES),
        ("new", (MADE,)),
        ("x", SCORES),
    ]
    assert [row["number"] for row in parquet(second, "samples")] == [0, 1, 2]
