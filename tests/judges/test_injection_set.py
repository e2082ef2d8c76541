"""Orders to the judge in every disguise: verdicts do not move, and the published share is what is measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from judges.injection_set import Figure, figures

PAGE = Path(__file__).parents[2] / "docs/security.md"


@pytest.fixture(scope="module")
def found() -> list[Figure]:
    return figures()


def test_an_order_moves_a_judge_that_obeys_all_it_reads(found: list[Figure]) -> None:
    assert all(each.moved for each in found if each.judge == "everything")


def test_no_order_moves_a_judge_that_knows_what_is_quoted(found: list[Figure]) -> None:
    assert [each for each in found if each.judge != "everything" and each.moved] == []
    assert all(each.judged for each in found)


def test_the_published_share_is_what_is_measured(found: list[Figure]) -> None:
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (\d.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE))
    for family in {each.family for each in found}:
        here = [each for each in found if each.family == family]
        assert rows[family] == " | ".join(map(str, [here[0].judged, *(each.moved for each in here)]))
