"""Harbor's own models accept what we write as ATIF, from every format, and what they accept comes back as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harbor.models.trajectories import Trajectory  # type: ignore[import-not-found]
from pydantic import ValidationError

from corpus import CORPUS, needs_corpus
from goldens import golden_inputs
from pantrace.engine.convert import convert
from pantrace.errors import NothingWritten, PantraceError
from pantrace.formats import by_name


def written(path: Path, folder: Path, *, carry: bool = True) -> list[Path]:
    """The documents that a recording becomes."""
    try:
        return convert(path, folder / "out", to="atif", measure=False, carry=carry).outputs
    except NothingWritten:
        return []


@pytest.mark.parametrize("carry", [True, False])
@pytest.mark.parametrize(
    ("name", "path"), golden_inputs(), ids=[f"{name}/{path.name}" for name, path in golden_inputs()]
)
def test_every_golden_is_accepted(name: str, path: Path, carry: bool, tmp_path: Path) -> None:
    for document in written(path, tmp_path, carry=carry):
        Trajectory.model_validate_json(document.read_bytes())


def accepted(path: Path) -> bool:
    try:
        Trajectory.model_validate_json(path.read_bytes())
    except (ValidationError, UnicodeDecodeError):
        return False
    return True


@needs_corpus
def test_every_recording_of_the_corpus_is_accepted(tmp_path: Path) -> None:
    tried, refused = 0, {}
    small = [path for path in sorted(CORPUS.rglob("*")) if path.is_file() and path.stat().st_size < 500_000]
    for number, path in enumerate(small):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            documents = written(path, folder)
        except PantraceError:
            continue
        for document in documents:
            tried += 1
            try:
                Trajectory.model_validate_json(document.read_bytes())
            except ValidationError as error:
                refused[f"{path.relative_to(CORPUS)} {document.name}"] = str(error).splitlines()[:4]
    # A document that Harbor refuses is written again as it was: nobody asked for its repair.
    own = {name: why for name, why in refused.items() if not name.startswith(("own/atif", "public/atif"))}
    assert own == {}
    assert tried > 200


@needs_corpus
def test_what_harbor_accepts_it_reads_alike_from_our_copy(tmp_path: Path) -> None:
    tried = 0
    for number, path in enumerate(sorted(CORPUS.rglob("*.json"))):
        if path.stat().st_size < 5_000_000 and b'"ATIF-v' in path.read_bytes()[:4096] and accepted(path):
            target = tmp_path / f"{number}.json"
            convert(path, target, to="atif", strict=True)
            one, two = (Trajectory.model_validate_json(each.read_bytes()) for each in (path, target))
            given, ours = json.loads(one.model_dump_json()), json.loads(two.model_dump_json())
            inside = len(by_name("atif").load(json.loads(path.read_bytes())).trajectory.children)
            if len(two.subagent_trajectories or ()) > inside:
                # What lay in a file beside it stands in the copy.
                for key in ("subagent_trajectories", "schema_version", "extra"):
                    given.pop(key), ours.pop(key)
            assert ours == given, path
            tried += 1
    assert tried > 35
