"""The corpus, file by file: which format each is, and that detection agrees.

`unknown`: not a recording. `refused X`: a file of another tool that is not read; the refusal names it. `tree X`: the
file is part of a directory that X reads as one.
"""

from __future__ import annotations

from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from runpy import run_path

import pytest

from corpus import CORPUS, needs_corpus
from pantrace.engine.read import Notes, read_pile
from pantrace.errors import UnknownFormat
from pantrace.formats import NO_FORMAT, detect

DOCS = Path(__file__).parents[2] / "docs"
TABLE = [
    ("*README.md", "unknown"),
    # SQLite's own files, which other programs leave beside a database that they open.
    ("*.db-shm", "unknown"),
    ("*.db-wal", "unknown"),
    # OpenCode
    ("own/opencode/export-1.18.33/*.json", "opencode"),
    ("own/opencode/run-format-json-1.18.33/*.ndjson", "opencode"),
    ("own/opencode/sqlite-1.18.33/opencode.db", "opencode"),
    ("own/opencode/sqlite-1.18.33/tool-output/*", "unknown"),
    ("own/opencode/storage-1.1.65/*", "tree opencode own/opencode/storage-1.1.65"),
    ("own/opencode/project-storage-0.5.29/*", "tree opencode own/opencode/project-storage-0.5.29"),
    ("own/opencode/reference-gsd-lite/eval_run_reference_1.18.33.json", "vertex-seed"),
    ("own/opencode/reference-gsd-lite/l1_report.json", "unknown"),
    ("public/opencode/gsd-lite/*.yaml", "unknown"),
    ("public/vertex/*.json", "vertex-result"),
    # ADK
    ("own/adk/*.evalset_result.json", "adk-history"),
    ("own/adk/*.evalset.json", "adk-evalset"),
    ("own/adk/*.session.json", "adk-session"),
    ("own/adk/api_run_response.events.json", "adk-session"),
    ("own/adk/*_session_service.sqlite", "adk-session"),
    ("own/adk/shop_set.reference_converter_output.jsonl", "adk-jsonl"),
    ("own/adk/dev_server.trace.json", "otlp"),
    ("own/adk/test_config.json", "unknown"),
    ("public/adk/adk_repo/*.session.json", "adk-session"),
    ("public/adk/adk_repo/*.test.json", "adk-evalset"),
    ("public/adk/workshop/*.session.json", "adk-session"),
    ("public/adk/workshop/*.evalset.json", "adk-evalset"),
    ("public/adk/workshop/*.test.json", "adk-evalset"),
    ("public/adk/workshop/*.jsonl", "adk-jsonl"),
    ("public/adk/workshop/cs_conversation_scenarios.json", "adk-evalset"),
    ("public/adk/workshop/*.csv", "adk-jsonl"),
    ("public/adk/workshop/*_golden*.json", "adk-golden"),
    ("public/adk/workshop/*", "unknown"),
    # Inspect
    ("own/inspect/expected.json", "unknown"),
    ("own/inspect/*.eval", "inspect"),
    ("own/inspect/*.json", "inspect"),
    ("public/inspect/upstream/*", "inspect"),
    # OpenAdapt
    ("own/openadapt/golden/*", "unknown"),
    ("own/openadapt/episodes/*.json", "openadapt-episodes"),
    ("own/openadapt/episodes/*.parquet", "refused Parquet"),
    ("own/openadapt/episodes/*.png", "unknown"),
    ("own/openadapt/evals_run/waa_eval_fixture/*", "tree openadapt-episodes own/openadapt/evals_run/waa_eval_fixture"),
    ("own/openadapt/evals_run/*.jsonl", "openadapt-episodes"),
    ("own/openadapt/evals_run/planner_trajectories/*.png", "unknown"),
    ("own/openadapt/waa_results/show_result.stdout.txt", "unknown"),
    ("own/openadapt/waa_results/*", "tree openadapt-episodes own/openadapt/waa_results"),
    ("public/openadapt/eval_json/*.json", "openadapt-eval"),
    ("public/openadapt/episodes/*.json", "openadapt-episodes"),
    ("public/openadapt/openadapt_evals_demos/*__demo.json", "openadapt-episodes"),
    ("public/openadapt/online_mind2web/result.json", "refused Mind2Web"),
    ("public/openadapt/*", "unknown"),
    # Explain
    ("own/explain/policy-facts.json", "unknown"),
    ("public/explain/agentsleague/seed_sessions/*", "agent-framework"),
    ("public/explain/agentsleague/*", "explain"),
    # What other tools write
    ("make/*", "unknown"),
    ("own/sessions/_truth/*", "unknown"),
    ("own/sessions/expected.json", "unknown"),
    ("own/sessions/otlp/adk*/session.json", "adk-session"),
    ("own/sessions/*.otlp.json", "otlp"),
    ("own/sessions/*.otlp.pb", "otlp"),
    ("own/sessions/atif/*", "atif"),
    ("own/sessions/claude_code/*", "claude-code"),
    ("own/sessions/gemini_cli/*/chats/*", "gemini-cli"),
    ("own/sessions/mini_swe_agent/*.json", "mini-swe-agent"),
    ("own/sessions/agent_framework/maf_as_tool/session.json", "agent-framework"),
    ("own/sessions/agent_framework/maf_as_tool/responses.json", "agent-framework"),
    ("own/sessions/agent_framework/*.otlp.*", "otlp"),
    ("own/sessions/codex/*", "codex"),
    ("own/sessions/otlp/*/to_input_list.json", "openai-responses"),
    (
        "own/sessions/openhands_v1/condense/*",
        "tree openhands own/sessions/openhands_v1/condense/17fa5fccdaf847ee95643ac543ccffc7",
    ),
    (
        "own/sessions/openhands_v1/errors/*",
        "tree openhands own/sessions/openhands_v1/errors/f10016443a554c438167053bca6a48d3",
    ),
    (
        "own/sessions/openhands_v1/delegate/*",
        "tree openhands own/sessions/openhands_v1/delegate/a622b56adf9748678f753b129aa96b80",
    ),
    ("own/sessions/agent_framework/maf_handoff/workflow_events.jsonl", "refused Framework"),
    ("own/sessions/gemini_cli/work/*", "refused Gemini"),
    ("own/sessions/otlp/*/messages_to_dict.json", "langchain"),
    ("own/sessions/otlp/*/all_messages.json", "pydantic-ai"),
    ("own/sessions/strands_session/*", "tree strands own/sessions/strands_session/session_library-1"),
    ("own/agent_framework/*.json", "agent-framework"),
    ("own/aider/*", "refused Aider"),
    ("own/anthropic_messages/*", "anthropic-messages"),
    ("own/atif/*", "atif"),
    ("own/azure_ai_evaluation/*", "refused Azure"),
    ("own/claude_code/*", "claude-code"),
    ("own/codex/*", "codex"),
    ("own/deepeval/*", "deepeval"),
    ("own/gemini_cli/*", "gemini-cli"),
    ("own/langfuse/*", "otlp"),
    ("own/langgraph/*", "langchain"),
    ("own/langsmith/*", "langsmith"),
    ("own/lm_eval/task.yaml", "unknown"),
    ("own/lm_eval/*", "refused lm-evaluation-harness"),
    ("own/mini_swe_agent/*.json", "mini-swe-agent"),
    ("own/mlflow/*", "otlp"),
    ("own/openai_agents/*", "openai-responses"),
    ("own/openai_messages/*", "openai-messages"),
    ("own/openai_responses/*", "openai-responses"),
    ("own/openhands_v1/*", "tree openhands own/openhands_v1/c6a40e8911fc46a49ddcc3b932d9bc1f"),
    ("own/otlp/*", "otlp"),
    ("own/promptfoo/*", "promptfoo"),
    ("own/pydantic_ai/*", "pydantic-ai"),
    ("own/qwen_code/*", "qwen-code"),
    ("own/strands_session/*", "tree strands own/strands_session/session_garden-1"),
    # Two documents side by side in one, for a test of its owner's.
    ("public/atif/phoenix_subagent_trajectories.json", "unknown"),
    ("public/atif/*", "atif"),
    ("public/claude_code/*", "claude-code"),
    ("public/claude_code_otel/*", "otlp"),
    ("public/codex/*", "codex"),
    ("public/copilot/*", "copilot"),
    ("public/agentv/*", "refused agentv"),
    ("public/otel/*", "otlp"),
    ("public/strands_extractors/codex_exec_json.json", "codex"),
    ("public/strands_extractors/codex_session_rollout.json", "openai-responses"),
    # Pieces of sessions, made for a test of their owner's.
    ("public/strands_extractors/*", "unknown"),
    ("public/swe_agent/*", "swe-agent"),
    ("public/mini_swe_agent/*", "mini-swe-agent"),
    ("public/tau_bench/*", "tau-bench"),
    ("public/gemini_cli/NOT_A_SESSION_api_stream_mock.jsonl", "unknown"),
]

FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file()) if CORPUS.exists() else []


def expected(path: Path) -> str:
    name = str(path.relative_to(CORPUS))
    return next((kind for pattern, kind in TABLE if fnmatch(name, pattern)), "not in the table")


@cache
def found(path: Path) -> str:
    try:
        return detect(path)[0].name
    except UnknownFormat as error:
        return "unknown" if error.message.startswith(NO_FORMAT) else f"refused: {error.message} ({error.remedy})"


@needs_corpus
def test_every_file_is_claimed_as_the_table_says() -> None:
    wrong = []
    for path in FILES:
        kind = expected(path)
        if kind.startswith("tree "):
            _, name, root = kind.split(" ")
            # The tree may begin below the folder named.
            folders = [CORPUS / root, *(CORPUS / root).glob("*"), *(CORPUS / root).glob("*/*")]
            actual = name if any(folder.is_dir() and found(folder) == name for folder in folders) else "no tree"
            kind = name
        else:
            actual = found(path)
        if kind.startswith("refused "):
            _, name = kind.split(" ")
            kind = actual if actual.startswith("refused: ") and name in actual.partition(" (")[0] else kind
        if actual != kind:
            wrong.append(f"{path.relative_to(CORPUS)}: {actual}, the table says {kind}")
    assert wrong == []


@needs_corpus
def test_the_docs_name_every_file_with_what_is_found_in_it() -> None:
    found = run_path(str(DOCS / "make_corpus.py"))
    # What SQLite leaves beside a database comes and goes with its readers.
    told = [line for line in found["page"](CORPUS).splitlines() if ".db-" not in line]
    assert told == (DOCS / "corpus.md").read_text().splitlines(), "run docs/make_corpus.py"


RECORDINGS = [path for path in FILES if expected(path).split()[0] not in ("unknown", "refused", "tree", "not")]
RECORDINGS += sorted({CORPUS / expected(path).split()[2] for path in FILES if expected(path).startswith("tree ")})


@needs_corpus
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: str(path.relative_to(CORPUS)))
def test_every_recording_reads(path: Path) -> None:
    run = read_pile([path], notes=Notes())
    samples = list(run.samples)
    assert samples or run.results
    assert all(sample.id for sample in samples)


def test_a_lone_event_of_openhands_v0_is_refused_by_name(tmp_path: Path) -> None:
    """V0 kept each event in a file of its own; alone it is no conversation."""
    path = tmp_path / "3.json"
    path.write_text('{"id":3,"timestamp":"2025-01-01","source":"user","message":"hi","action":"message","args":{}}')
    with pytest.raises(UnknownFormat, match="one event of a conversation of OpenHands V0") as refused:
        detect(path)
    assert refused.value.remedy is not None and "`openhands-v0`" in refused.value.remedy
