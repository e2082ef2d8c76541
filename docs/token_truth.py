"""Token truth: the tokens of one session, as each format's file tells them to a script, and as they are."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pantrace.catalog import Convention, conventions
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.formats import by_name
from pantrace.metrics import by_name as metric
from pantrace.wire import zip_archive
from pantrace.wire.files import read_all
from pantrace.wire.gemini import snake
from pantrace.wire.json import decode

PRODUCERS: dict[str, tuple[str, ...]] = {
    "opencode": ("opencode",),
    "adk-history": ("adk",),
    "adk-session": ("adk",),
    "adk-jsonl": ("adk",),
    "inspect": ("inspect_ai",),
    "claude-code": ("claude-code",),
    "codex": ("codex",),
    "gemini-cli": ("gemini-cli",),
    "qwen-code": ("qwen-code",),
    "pi": ("pi",),
    "mini-swe-agent": ("mini-swe-agent",),
    "openhands": ("openhands",),
    "openhands-v0": ("openhands-v0",),
    "agent-framework": ("agent-framework",),
    "pydantic-ai": ("pydantic-ai",),
    "langchain": ("langchain",),
    "strands": ("strands",),
    "copilot": ("copilot",),
    "atif": ("atif",),
    "anthropic-messages": ("anthropic",),
    "openai-messages": ("openai-chat",),
    "openai-responses": ("openai-responses",),
    "otlp": ("otel-genai", "openinference"),
}
"""Formats whose files report tokens, each with who counts in it. (Native files count as the model does.)"""


@dataclass(frozen=True)
class Reckoning:
    """The tokens of a session in one file."""

    session: str
    format: str
    recorded: bool
    """Whether the tool itself wrote the file; if not, pantrace did."""
    records: int
    """Usage records in the file: the same call may stand in several."""
    naive: int
    """The two plainest counts of all records, added up."""
    right: int | None
    """What pantrace measures."""
    own: int | None
    """What the file says in total; None where it has no total."""


def reckonings(session: str, path: Path, recorded: str, targets: Iterable[str]) -> list[Reckoning]:
    """A session as it was recorded, in that format, and as it is written in each of these."""
    found = [reckoning(session, path, recorded, recorded=True)]
    with TemporaryDirectory(prefix="pantrace-") as temporary:
        for to in targets:
            folder = Path(temporary) / to
            folder.mkdir()
            convert(path, folder / f"session{by_name(to).suffix}" if _one_file(to) else folder, to=to)
            found.append(reckoning(session, folder, to, recorded=False))
    return found


def _one_file(name: str) -> bool:
    return not by_name(name).is_split


def reckoning(session: str, path: Path, format_name: str, *, recorded: bool) -> Reckoning:
    """The tokens in a file, or in all files of a directory."""
    documents = json_documents(path)
    row, records = _found(documents, PRODUCERS[format_name])
    scores = [metric("token_usage").score(sample) for sample in read(path, format=format_name).samples]
    totals = [total for score in scores if (total := score.values.get("total_tokens")) is not None]
    return Reckoning(
        session=session,
        format=format_name,
        recorded=recorded,
        records=len(records),
        naive=sum(row.naive_sum(each) or 0 for each in records),
        right=int(sum(totals)) if totals else None,
        own=own_total(documents, format_name),
    )


def _found(documents: list[Any], producers: Iterable[str]) -> tuple[Convention, list[dict[str, Any]]]:
    """The usage records in documents, by the first of these producers that wrote any of them."""
    found: list[tuple[Convention, list[dict[str, Any]]]] = []
    for producer in producers:
        # The plain counts have the same names in all versions.
        row = [each for each in conventions() if each.producer == producer][-1]
        found.append((row, [each for document in documents for each in usage_records(document, row)]))
    return next((each for each in found if each[1]), found[0])


def json_documents(path: Path) -> list[Any]:
    """All JSON documents in a file: members of an archive, lines, or the file itself; in a directory, of all files."""
    if path.is_dir():
        return [each for file in sorted(path.rglob("*")) if file.is_file() for each in json_documents(file)]
    if zipfile.is_zipfile(path):
        with zip_archive.reading(path) as archive:
            return [decode(bytes(archive.read(name))) for name in archive.members]
    data = read_all(path)
    return [decode(line) for line in data.splitlines()] if path.suffix == ".jsonl" else [decode(data)]


def usage_records(value: Any, row: Convention) -> Iterator[dict[str, Any]]:
    """Every object in a document that has the two plain counts, however deep it stands."""
    if isinstance(value, dict):
        named = {**value, **{snake(key): item for key, item in value.items()}, **_attributes(value)}
        if all(type(named.get(name)) is int for name in row.naive):
            yield named
        for item in value.values():
            yield from usage_records(item, row)
    elif isinstance(value, list):
        for item in value:
            yield from usage_records(item, row)


def _attributes(span: dict[str, Any]) -> dict[str, Any]:
    """The whole numbers among the attributes of a span, by name."""
    match span.get("attributes"):
        case [*pairs]:
            found = {each.get("key"): each.get("value") for each in pairs if isinstance(each, dict)}
            return {
                str(key): int(number)
                for key, value in found.items()
                if isinstance(value, dict) and (number := value.get("intValue")) is not None
            }
    return {}


_CLAUDE_TOTAL = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")


def own_total(documents: list[Any], format_name: str) -> int | None:
    """What the tool itself gives as the total of the file."""
    found: list[Any] = []
    for document in documents:
        if not isinstance(document, dict):
            continue
        if format_name == "opencode" and isinstance(tokens := document.get("info", {}).get("tokens"), dict):
            cache = tokens.get("cache", {})
            found += [tokens.get(key) for key in ("input", "output", "reasoning")] + [*cache.values()]
        elif format_name == "inspect" and isinstance(stats := document.get("stats"), dict):
            found += [each.get("total_tokens") for each in stats.get("model_usage", {}).values()]
        elif format_name == "adk-history":
            found += [*_adk_totals(document)]
        elif format_name == "claude-code" and isinstance(used := document.get("modelUsage"), dict):
            found += [count for each in used.values() for key, count in each.items() if key in _CLAUDE_TOTAL]
        elif format_name == "atif" and isinstance(whole := document.get("final_metrics"), dict):
            found += [whole.get("total_prompt_tokens"), whole.get("total_completion_tokens")]
        elif format_name == "codex" and isinstance(payload := document.get("payload"), dict):
            if document.get("type") == "session_meta":
                found.append(None)  # the next session: its last sum so far is its total
            if isinstance(info := payload.get("info"), dict) and found:
                found[-1] = info["total_token_usage"].get("total_tokens")
    counts = [each for each in found if isinstance(each, int | float)]
    return round(sum(counts)) if counts else None


def _adk_totals(document: Any) -> Iterator[float | None]:
    """ADK 2.13's own metric, which it takes per invocation."""
    for case in document.get("eval_case_results") or ():
        for invocation in case.get("eval_metric_result_per_invocation") or ():
            for result in invocation.get("eval_metric_results") or ():
                details = (result.get("details") or {}).get("token_usage_details")
                if result.get("metric_name") == "token_usage_v1" and details:
                    yield details.get("total_tokens")
