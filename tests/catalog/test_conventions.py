"""The rule book of token counts, held against recordings: input + output = total, and readers say the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from token_truth import PRODUCERS, json_documents, reckonings, usage_records

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.catalog import Convention, convention, conventions
from pantrace.engine.read import read
from pantrace.formats import by_name
from pantrace.model import Usage, all_trajectories

EXAMPLES = ROOT.parent.parent / "examples"


@pytest.mark.parametrize(
    ("producer", "version", "since"),
    [
        ("opencode", None, "nothing"),
        ("opencode", "0.0.0-dev-202601010000", "nothing"),
        ("opencode", "local", "nothing"),
        ("nobody", "1.0.0", "nothing"),
        ("opencode", "0.5.29", None),
        ("opencode", "1.3.15", None),
        ("opencode", "1.3.16", "1.3.16"),
        ("opencode", "v1.18.33", "1.3.16"),
        ("inspect_ai", "0.3.95.dev16+g6527d0861", None),
        ("inspect_ai", "0.3.184", "0.3.184"),
        ("adk", None, None),
        ("adk", "2.13.0", None),
    ],
)
def test_a_version_counts_by_one_row(producer: str, version: str | None, since: str | None) -> None:
    found = convention(producer, version)
    assert ("nothing" if found is None else found.since) == since


@pytest.mark.parametrize("producer", sorted({each.producer for each in conventions()}))
def test_the_rows_of_a_producer_leave_no_gap(producer: str) -> None:
    rows = [each for each in conventions() if each.producer == producer]
    assert (rows[0].since, rows[-1].before) == (None, None)
    assert [each.before for each in rows[:-1]] == [each.since for each in rows[1:]]
    assert all(each.source for each in rows)


RECORDINGS = [
    ("opencode", "1.1.65", "opencode", ROOT / "opencode/storage-1.1.65"),
    ("opencode", "1.18.33", "opencode", ROOT / "opencode/multi_turn_reasoning_edit_compaction.json"),
    ("adk", "2.13.0", "adk-history", ROOT / "adk-history/two_cases.evalset_result.json"),
    ("adk", "2.13.0", "adk-session", ROOT / "adk-session/saved_refund.session.json"),
    ("adk", "2.13.0", "adk-session", ROOT / "adk-session/api_server.session.json"),
    ("adk", "2.13.0", "adk-jsonl", ROOT / "adk-jsonl/reference_converter.jsonl"),
    ("inspect_ai", "0.3.285", "inspect", ROOT / "inspect/basic.eval"),
    ("claude-code", None, "claude-code", ROOT / "claude-code/rewind.jsonl"),
    ("codex", None, "codex", ROOT / "codex/codemode.jsonl"),
    ("codex", None, "codex", ROOT / "codex/note.jsonl"),
    ("gemini-cli", None, "gemini-cli", ROOT / "gemini-cli/every_line.jsonl"),
    ("gemini-cli", None, "gemini-cli", ROOT / "gemini-cli/session-2026-11-16T05-50-89e6e23f.jsonl"),
    ("mini-swe-agent", None, "mini-swe-agent", ROOT / "mini-swe-agent/steps.traj.json"),
    ("agent-framework", None, "agent-framework", ROOT / "agent-framework/python_response.json"),
    ("pydantic-ai", None, "pydantic-ai", ROOT / "pydantic-ai/shop.json"),
    ("pydantic-ai", None, "pydantic-ai", ROOT / "pydantic-ai/library.json"),
    ("langchain", None, "langchain", ROOT / "langchain/shop.json"),
    ("strands", None, "strands", ROOT / "strands/session_garden-1"),
    ("copilot", None, "copilot", ROOT / "copilot/agents.jsonl"),
    ("atif", None, "atif", ROOT / "atif/harbor_claude_code_subagent.trajectory.json"),
    ("anthropic", None, "anthropic-messages", ROOT / "anthropic-messages/exchanges.jsonl"),
    ("openai-chat", None, "openai-messages", ROOT / "openai-messages/exchanges.jsonl"),
    ("openai-responses", None, "openai-responses", ROOT / "openai-responses/exchanges.jsonl"),
    ("openai-responses", None, "openai-responses", ROOT / "openai-responses/raw_responses.json"),
    ("openinference", None, "otlp", ROOT / "otlp/openinference_openai.otlp.json"),
]
PUBLIC = [
    ("adk", "1.x", "adk-jsonl", CORPUS / "public/adk/workshop"),
    ("inspect_ai", "0.3.95", "inspect", CORPUS / "public/inspect/upstream"),
    ("opencode", "1.18.33", "opencode", CORPUS / "own/opencode/export-1.18.33"),
    ("opencode", "1.1.65", "opencode", CORPUS / "own/opencode/storage-1.1.65"),
]


def counted(path: Path, row: Convention) -> list[dict[str, Any]]:
    return [each for document in json_documents(path) for each in usage_records(document, row)]


def holds(usage: Usage) -> bool:
    return None in (usage.input, usage.output, usage.total) or (usage.input or 0) + (usage.output or 0) == usage.total


def numbers(usage: Usage) -> tuple[int | None, ...]:
    return usage.input, usage.output, usage.cache_read or None, usage.reasoning or None, usage.tool_prompt


@pytest.mark.parametrize(("producer", "version", "format_name", "path"), RECORDINGS)
def test_input_and_output_are_the_total(producer: str, version: str, format_name: str, path: Path) -> None:
    row = convention(producer, version)
    assert row is not None
    records = counted(path, row)
    assert records
    assert [each for each in records if not holds(row.usage(each))] == []
    # The readers translate by the same rules.
    by_book = {numbers(row.usage(each)) for each in records}
    trajectories = [sample.trajectory for sample in read(path, format=format_name).samples if sample.trajectory]
    steps = [step for root in trajectories for each in all_trajectories(root) for step in each.steps]
    by_reader = {numbers(step.usage) for step in steps if step.usage is not None}
    if not by_reader:  # counted for the whole session only
        by_reader = {numbers(usage) for each in trajectories for usage in (each.usage or {}).values()}
    assert by_reader
    assert by_reader <= by_book


OLD = {"total": 2566, "input": 1261, "output": 44, "reasoning": 16, "cache": {"read": 1261, "write": 0}}
"""Of a store that OpenCode 1.2.1 wrote."""


def test_the_row_of_another_version_does_not_add_up() -> None:
    old, new = convention("opencode", "1.2.1"), convention("opencode", "1.18.33")
    assert old is not None
    assert new is not None
    assert numbers(old.usage(OLD)) == (2522, 44, 1261, 16, None)
    assert (holds(old.usage(OLD)), holds(new.usage(OLD))) == (True, False)
    recorded = counted(ROOT / "opencode/multi_turn_reasoning_edit_compaction.json", new)
    assert not all(holds(old.usage(each)) for each in recorded)


@needs_corpus
@pytest.mark.parametrize(("producer", "version", "format_name", "path"), PUBLIC)
def test_recordings_in_the_wild_add_up(producer: str, version: str, format_name: str, path: Path) -> None:
    """Every call of these recordings adds up as it is read, with cached tokens among them."""
    cached = 0
    for sample in read(path, format=format_name, on_broken=lambda _: None).samples:
        for each in all_trajectories(sample.trajectory) if sample.trajectory is not None else ():
            for step in each.steps:
                if step.usage is not None:
                    assert holds(step.usage), (sample.id, step.usage)
                    cached += step.usage.cache_read or 0
    assert cached


@needs_corpus
def test_an_old_log_of_inspect_has_cached_tokens_in_its_input() -> None:
    row, new = convention("inspect_ai", "0.3.95"), convention("inspect_ai", "0.3.285")
    assert row is not None
    assert new is not None
    found = []
    for path in sorted((CORPUS / "public/inspect/upstream").iterdir()):
        if path.suffix in (".eval", ".json"):
            found += [each for each in counted(path, row) if each.get("input_tokens_cache_read")]
    assert found
    assert all(holds(row.usage(each)) for each in found)
    assert not any(holds(new.usage(each)) for each in found)


@pytest.mark.parametrize(
    ("format_name", "path", "right"),
    [
        ("opencode", EXAMPLES / "opencode/multi_turn_reasoning_edit_compaction.json", 21410),
        ("adk-history", EXAMPLES / "adk/garden_shop.evalset_result.json", 429 + 4826),
        ("inspect", EXAMPLES / "inspect/basic.eval", 69),
    ],
)
def test_a_session_has_as_many_tokens_in_every_format(format_name: str, path: Path, right: int) -> None:
    targets = [to for to in PRODUCERS if to != format_name and by_name(to).writes]
    found = reckonings("x", path, format_name, targets)
    assert {row.format: row.right for row in found} == dict.fromkeys([format_name, *targets], right)
    assert all(row.own in (None, right) for row in found if not row.recorded)
    assert any(row.naive != right for row in found)
