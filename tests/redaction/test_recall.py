"""Redaction as it is published: recall over planted secrets, and nothing else touched."""

from __future__ import annotations

import importlib.util
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

from corpus import CORPUS, needs_corpus
from pantrace.engine.read import Notes, read_pile
from pantrace.normalise.secrets import Redactor
from redaction.recall import Planting, plantings
from thorough import thorough

ROOT = Path(__file__).parents[2]
LEAST = 0.95


def _measuring() -> ModuleType:
    spec = importlib.util.spec_from_file_location("measure_security", ROOT / "docs/measure_security.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def found() -> list[Planting]:
    return list(plantings())


def test_nearly_all_of_many_kinds_are_found_at_every_place(found: list[Planting]) -> None:
    assert len({each.kind for each in found}) >= 150
    places = {each.place for each in found}
    assert len(places) >= 9
    for place in places:
        here = [each for each in found if each.place == place]
        recall = sum(each.found for each in here) / sum(each.planted for each in here)
        assert recall >= LEAST, f"{place}: {recall:.3f}"


def test_the_published_table_is_what_is_measured(found: list[Planting]) -> None:
    table = _measuring().recall_table(found)
    assert table in (ROOT / "docs/redaction.md").read_text("utf-8"), "run python docs/measure_security.py"


def test_recall_is_measured_and_not_assumed() -> None:
    class Blind(Redactor):
        def record(self, record: object, path: str = "") -> tuple[object, list[object]]:  # type: ignore[override]
            return record, []

    assert sum(each.found for each in plantings(Blind())) == 0


KNOWN = {"geheim$parole"}
"""What stands in the standard library as a password, in an example."""


def test_code_that_handles_secrets_is_left_alone() -> None:
    library = Path(sysconfig.get_path("stdlib"))
    paths = [library / f"{name}.py" for name in ("getpass", "netrc", "ftplib", "smtplib", "imaplib", "secrets", "hmac")]
    paths += sorted((library / "urllib").glob("*.py")) + sorted((library / "http").glob("*.py"))
    for path in paths:
        text = path.read_text("utf-8")
        _, counts = Redactor().text(text)
        if counts:
            assert sum(counts.values()) == sum(text.count(each) for each in KNOWN), f"{path.name}: {counts}"


@thorough
@needs_corpus
def test_recordings_without_a_secret_come_through_unchanged() -> None:
    """Every replacement in the corpus was looked at: there is none, so each new one is to be looked at, too."""
    redactor = Redactor()
    replaced = [
        (each.sample, each.path, each.kind)
        for tree in ("own", "public")
        for sample in read_pile([CORPUS / tree], notes=Notes.keeping()).samples
        for each in redactor.sample(sample)[1]
    ]
    assert replaced == []
