"""A log as the logger of Health Universe's A2A SDK (a60ee08) writes it, and the checks of its `schema.py`.

`A2ALog` writes whatever that logger can: tools that work and fail, documents, other agents, model calls, states,
progress, spans; endings with and without an error. Only the shape of the file is taken from there."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import msgspec

from pantrace.wire.zip_archive import reading

START = datetime(2026, 11, 15, 18, 28, 50, tzinfo=UTC)
SAMPLE = "5a0c7f6e-1a5b-4a3e-9f5e-2f4f3f1d9b11"
CUT = 10_000


class A2ALog:
    """Events one after the other, then the file."""

    def __init__(self, model: str = "gpt-4o") -> None:
        self.model = model
        self.events: list[dict[str, Any]] = []
        self.span: str | None = None
        self.worked = 0.0

    def _event(self, kind: str, **fields: Any) -> None:
        number = len(self.events)
        stamp = (START + timedelta(seconds=number + 1)).isoformat()
        frame = {"uuid": f"u{number}", "span_id": self.span, "timestamp": stamp, "working_start": self.worked}
        self.events.append({"event": kind, **frame, **fields})

    def tool(self, name: str, arguments: dict[str, Any], result: Any, *, seconds: float = 0.5, error: str = "") -> None:
        text = result if isinstance(result, str) else json.dumps(result) if isinstance(result, dict) else str(result)
        text = text[:CUT] + "... (truncated)" if len(text) > CUT else text
        failed = {"error": {"message": error}, "failed": True} if error else {}
        stamp = (START + timedelta(seconds=len(self.events) + 1, microseconds=40)).isoformat()
        self._event(
            "tool", type="function", id=f"c{len(self.events)}", function=name, arguments=arguments, result=text,
            working_time=seconds, completed=stamp, **failed,
        )  # fmt: skip
        self.worked += seconds

    def model_call(self, asked: str, answer: str, usage: dict[str, int] | None = None, error: str = "") -> None:
        data: dict[str, Any] = {
            "type": "model_call",
            "function": "analyze",
            "model": self.model,
            "messages": [{"role": "user", "content": asked}],
            "response": answer[:2000],
            "response_length": len(answer),
            "duration_seconds": 1.5,
        }
        data |= {"usage": usage} if usage else {}
        data |= {"error": error} if error else {}
        self._event("info", source="model:analyze", data=data)
        self.worked += 1.5

    def info(self, source: str, **data: Any) -> None:
        self._event("info", source=source, data=data)

    def state(self, state: str, message: str = "") -> None:
        self.info("a2a:task", type="task_state", state=state, **({"message": message} if message else {}))

    def begin(self, name: str) -> None:
        self._event("span_begin", id=name, name=name, parent_id=self.span)
        self.span = name

    def end(self, name: str) -> None:
        self._event("span_end", id=name)
        self.span = None

    def write(
        self, folder: Path, *, success: bool = True, error: str = "", output: str = "", scores: Any = None
    ) -> Path:
        self.state("completed" if success else "failed", error)
        # That logger adds up counts under other names than those it was given, so that its sums are zeros.
        usage = {self.model: {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}}
        begun, ended = START.isoformat(), (START + timedelta(seconds=len(self.events) + 1)).isoformat()
        times = {"started_at": begun, "completed_at": ended, "total_time": 9.0, "working_time": self.worked}
        wrong = {"error": {"message": error}} if error else {}
        sample = {
            "id": SAMPLE, "epoch": 1, "input": "Review the grant", "target": "", "messages": [],
            "output": {"model": self.model, "choices": [], **({"text": output} if output else {})},
            "events": self.events, "model_usage": usage, "metadata": {}, "store": {}, **times, "uuid": SAMPLE,
            **({"scores": scores} if scores is not None else {}), **wrong,
        }  # fmt: skip
        ids = {"eval_id": "e1", "run_id": "r1", "created": begun, "task": "reviewer"}
        spec = {
            **ids, "task_id": "reviewer-e1", "task_version": 1, "task_attribs": {}, "task_args": {},
            "task_args_passed": {}, "model": self.model, "model_generate_config": {}, "model_args": {},
            "dataset": {"name": "a2a_execution", "samples": 1, "sample_ids": [SAMPLE], "shuffled": False},
            "config": {}, "packages": {"health_universe_a2a": "0.2.0"},
        }  # fmt: skip
        header = {
            "version": 2, "status": "success" if success else "error", "eval": spec,
            "plan": {"name": "a2a_agent", "steps": [], "config": {}},
            "results": {"total_samples": 1, "completed_samples": int(success), "scores": []},
            "stats": {"started_at": begun, "completed_at": ended, "model_usage": usage}, **wrong,
        }  # fmt: skip
        summary = {
            "id": 1, "epoch": 1, "input": "Review the grant", "target": "", "metadata": {}, "scores": {},
            "model_usage": usage, **times, "uuid": SAMPLE, "retries": 0, "completed": success, "message_count": 0,
        }  # fmt: skip
        path = folder / "reviewer.eval"
        members = {
            "header.json": header,
            "samples/1_epoch_1.json": sample,
            "summaries.json": [summary],
            "_journal/start.json": {**ids, "model": self.model},
            "_journal/summaries/1.json": [summary],
        }
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, value in members.items():
                archive.writestr(name, json.dumps(value, indent=2))
        return path


class Usage(msgspec.Struct):
    """Tokens of one model."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0


class Dataset(msgspec.Struct):
    """`eval.dataset` of a header."""

    name: str
    samples: int
    sample_ids: list[str | int]
    shuffled: bool = False


class Spec(msgspec.Struct):
    """`eval` of a header. The schema has defaults for the last ones; the document demands that they are there."""

    eval_id: str
    run_id: str
    created: str
    task: str
    task_id: str
    model: str
    dataset: Dataset
    task_version: int
    task_attribs: dict[str, Any]
    task_args: dict[str, Any]
    task_args_passed: dict[str, Any]
    model_generate_config: dict[str, Any]
    model_args: dict[str, Any]
    packages: dict[str, str]
    config: dict[str, Any]


class Plan(msgspec.Struct):
    """`plan` of a header."""

    name: str
    steps: list[Any]
    config: dict[str, Any]


class Results(msgspec.Struct):
    """`results` of a header."""

    total_samples: int
    completed_samples: int
    scores: list[Any]


class Stats(msgspec.Struct):
    """`stats` of a header."""

    started_at: str
    completed_at: str
    model_usage: dict[str, Usage]


class EvalHeader(msgspec.Struct):
    """`header.json`, as strict as the document."""

    version: int
    status: Literal["success", "error"]
    eval: Spec
    plan: Plan
    results: Results
    stats: Stats
    error: dict[str, str] | None = None


class SampleSummary(msgspec.Struct, kw_only=True):
    """One entry of `summaries.json`. The document numbers samples; Inspect finds them by the id they have."""

    id: int | str
    epoch: int = 1
    input: str
    target: str = ""
    metadata: dict[str, Any] = {}
    scores: dict[str, Any] = {}
    model_usage: dict[str, Usage]
    started_at: str
    completed_at: str
    total_time: float
    working_time: float
    uuid: str
    retries: int = 0
    completed: bool
    message_count: int = 0


def accepted(path: Path) -> tuple[EvalHeader, list[SampleSummary]]:
    """The header and the summaries of a log, if the document's checks accept them."""
    with reading(path) as log:
        header = msgspec.convert(json.loads(log.read("header.json")), EvalHeader)
        return header, msgspec.convert(json.loads(log.read("summaries.json")), list[SampleSummary])
