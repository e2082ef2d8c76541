"""File names made of ids."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pantrace.wire.file_names import FileNames

HOSTILE = [
    *("task/1", "task:1", "task\\1", "task_1", "", ".", "..", "...", "../../etc/passwd", "/etc/passwd", "C:\\x"),
    *(
        "a\0b",
        "a\nb",
        "\x1b[31m",
        "\ud800",
        "-rf",
        "~",
        "CON",
        "con.txt",
        "LPT1",
        "COM¹",
        "nul.",
        "x" * 300,
        "語" * 100,
    ),
    *("A", "a", "é", unicodedata.normalize("NFD", "é"), "STRASSE", "straße", "é" * 200, "x" * 299, " ", "  ", "*?"),
]


def test_an_id_that_is_a_name_stays_one() -> None:
    names = FileNames(".json")
    assert [names.name(each) for each in ("ses_1", "a.b", "語", "x@y+1")] == [
        "ses_1.json",
        "a.b.json",
        "語.json",
        "x@y+1.json",
    ]


def test_hostile_ids_give_safe_names_that_differ() -> None:
    names = FileNames(".session.json")
    found = [names.name(each) for each in HOSTILE]
    assert len({unicodedata.normalize("NFC", name).casefold() for name in found}) == len(HOSTILE)
    for name in found:
        assert len(name.encode()) <= 255
        assert name.endswith(".session.json")
        assert name.isprintable()
        assert not set(name) & set('/\\:*?"<>|\0')
        assert name[0] not in ".-"
        assert name.split(".")[0].upper() not in {"CON", "NUL", "LPT1", "COM1", "COM¹"}


def test_the_same_id_has_the_same_name_whatever_came_before() -> None:
    alone = {each: FileNames(".json").name(each) for each in ("task:1", "task/1")}
    together = FileNames(".json")
    assert {each: together.name(each) for each in ("task/1", "task:1")} == alone


@pytest.mark.parametrize("suffix", [".json", ".evalset_result.json", ""])
@given(ids=st.lists(st.text(max_size=400), max_size=20))
def test_any_ids(suffix: str, ids: list[str]) -> None:
    names = FileNames(suffix)
    found = [names.name(each) for each in ids]
    assert len({name.casefold() for name in found}) == len(ids)
    assert all(0 < len(name.encode()) <= 255 and "/" not in name and "\0" not in name for name in found)
