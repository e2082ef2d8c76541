"""Reasoning is counted once, whichever version of OpenCode wrote the numbers."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from pantrace import read, validate
from pantrace.formats.format import NoOptions
from pantrace.formats.opencode.export import dump, load
from pantrace.model import Usage, all_trajectories, usage_total
from pantrace.wire.json import decode, encode

OWN = CORPUS / "own" / "opencode"


def counts(total: int | None, output: int = 44, reasoning: int = 16, read: int = 1261) -> dict[str, Any]:
    found = {"input": 1261, "output": output, "reasoning": reasoning, "cache": {"read": read, "write": 0}}
    return found if total is None else {"total": total, **found}


def export(tokens: dict[str, Any], version: str | None, provider: str = "openai") -> dict[str, Any]:
    info = {
        "id": "ses_1",
        "slug": "s",
        "projectID": "p",
        "directory": "/",
        "title": "t",
        "time": {"created": 1, "updated": 1},
    }
    answer = {
        "id": "msg_1", "sessionID": "ses_1", "role": "assistant", "time": {"created": 2}, "parentID": "msg_0",
        "modelID": "m", "providerID": provider, "mode": "build", "agent": "build", "path": {"cwd": "/", "root": "/"},
        "cost": 0.5, "tokens": tokens,
    }  # fmt: skip
    return {
        "info": info if version is None else {**info, "version": version},
        "messages": [{"info": answer, "parts": []}],
    }


def usage_of(document: dict[str, Any]) -> Usage:
    trajectory = load(document).trajectory
    assert trajectory is not None
    usage = trajectory.steps[0].usage
    assert usage is not None
    return usage


def note(usage: Usage) -> str:
    return str(usage.extra.get("opencode", {}).get("note", ""))


@pytest.mark.parametrize(
    ("total", "version", "output", "doubt"),
    [
        (2566, "1.1.65", 44, ""),
        (2566, "1.2.1", 44, ""),
        (2566, "1.3.15", 44, ""),
        (2582, "1.3.16", 60, ""),
        (2582, "1.18.33", 60, ""),
        # A session keeps the version that began it; the total decides.
        (2582, "1.1.65", 60, "by its total, reasoning is apart from output"),
        (2566, "1.18.33", 44, "by its total, reasoning is part of output"),
        # No version, as in a run stream.
        (2566, None, 44, ""),
        (2582, None, 60, ""),
        (2566, "0.0.0-dev-202604011200", 44, ""),
        # No total: the version decides.
        (None, "0.5.29", 44, ""),
        (None, "1.3.15", 44, ""),
        (None, "v1.3.16", 60, ""),
        (None, "1.18.33", 60, ""),
        (None, "pantrace", 60, ""),
        (None, None, 60, "neither total nor version"),
        (None, "local", 60, "neither total nor version"),
        (None, "0.0.0-dev-202604011200", 60, "neither total nor version"),
        # A total that nothing adds up to decides nothing.
        (9999, "1.1.65", 44, "not the sum"),
        (9999, "1.18.33", 60, "not the sum"),
    ],
)
def test_reasoning_is_counted_once(total: int | None, version: str | None, output: int, doubt: str) -> None:
    document = export(counts(total), version)
    usage = usage_of(document)
    assert (usage.input, usage.output, usage.reasoning) == (2522, output, 16)
    assert (usage.cache_read, usage.total, usage.cost_usd) == (1261, total, 0.5)
    assert doubt in note(usage) if doubt else note(usage) == ""
    back = decode(encode(dump(load(document), NoOptions())))
    assert back["messages"][0]["info"]["tokens"] == document["messages"][0]["info"]["tokens"]


def test_google_counts_reasoning_apart_in_every_version() -> None:
    assert usage_of(export(counts(None), "1.1.0", provider="google-vertex")).output == 60
    usage = usage_of(export(counts(2582), "1.1.65", provider="google"))
    assert (usage.output, note(usage)) == (60, "")


def test_output_cannot_hold_more_reasoning_than_it_is() -> None:
    usage = usage_of(export(counts(None, output=10), "1.1.0"))
    assert (usage.output, usage.reasoning) == (26, 16)
    assert "smaller than the reasoning" in note(usage)


def test_without_reasoning_there_is_no_question() -> None:
    for version in ("1.1.65", "1.18.33", None):
        usage = usage_of(export(counts(None, reasoning=0), version))
        assert (usage.output, usage.reasoning, usage.extra) == (44, 0, {})


def test_validation_names_the_message_whose_total_contradicts_its_version(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(encode(export(counts(2566), "1.18.33")))
    (found,) = [each for each in validate(path) if "total" in each.message]
    assert (found.level, found.place) == ("warning", "messages[0].info.tokens")
    path.write_bytes(encode(export(counts(2566), "1.1.65")))
    assert [each for each in validate(path) if "total" in each.message] == []


def raw_messages(source: Path) -> list[tuple[str, dict[str, Any]]]:
    """Assistant messages as they lie on disk, each with its session."""
    if source.suffix == ".db":
        with closing(sqlite3.connect(f"file:{source}?mode=ro&immutable=1", uri=True)) as database:
            rows = database.execute("select session_id, data from message").fetchall()
        found = [(session, json.loads(data)) for session, data in rows]
    else:
        found = [(path.parent.name, json.loads(path.read_bytes())) for path in source.rglob("msg_*.json")]
    return [(session, message) for session, message in found if message["role"] == "assistant"]


@needs_corpus
@pytest.mark.parametrize(
    ("source", "holds", "sessions"),
    [
        ("storage-1.1.65", True, 6),
        ("sqlite-1.18.33/opencode.db", False, 14),
        ("project-storage-0.5.29", True, 0),
    ],
)
def test_the_sums_of_real_stores_are_those_of_their_messages(source: str, holds: bool, sessions: int) -> None:
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for session, message in raw_messages(OWN / source):
        tokens, cache = message["tokens"], message["tokens"]["cache"]
        if not any((tokens["input"], tokens["output"], message["cost"])):
            continue  # nothing was reported
        output = tokens["output"] if holds else tokens["output"] + tokens["reasoning"]
        given = tokens["input"] + cache["read"] + cache["write"]
        assert tokens["total"] == given + output, "the hand-made rule is not that of this store"
        for key, value in (("input", given), ("output", output), ("reasoning", tokens["reasoning"])):
            sums[session][key] += value
        sums[session]["total"] += tokens["total"]
        sums[session]["cost"] += message["cost"]
    read_sums = {}
    for sample in read(OWN / source).samples:
        for each in all_trajectories(sample.trajectory) if sample.trajectory else ():
            if (usage := usage_total(each, children=False)) is not None:
                read_sums[each.id] = (usage.input, usage.output, usage.reasoning, usage.total, usage.cost_usd)
    assert len(sums) == sessions
    assert read_sums.keys() == sums.keys()
    for session, found in read_sums.items():
        assert found == pytest.approx(tuple(sums[session].values()))


@pytest.mark.parametrize("odd", [None, {}, [], "", 7, {"input": None, "output": 3}, {"input": "many", "cache": 1}])
def test_counts_that_are_none_are_kept_as_they_stand(odd: Any) -> None:
    document = export(odd, "1.18.33")
    written = decode(encode(dump(load(document), NoOptions())))
    told = written["messages"][0]["info"]["tokens"]
    # Counts that OpenCode demands and nobody gave are filled in beside them.
    assert told == odd or {key: told[key] for key in odd} == odd
    assert load(written) == load(document)
