"""The files that ADK's context-engineering workshop writes about an evaluation, made from a run directory.

`eval_summary.json` and a log of questions and answers, in its shape and with the numbers of our metrics. What was not
measured is null, never 0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import fsum
from pathlib import Path
from typing import Any

from pantrace.model import (
    Case,
    Sample,
    Score,
    call_pairs,
    final_response,
    has_failed,
    is_prompt,
    merged_turns,
)
from pantrace.normalise.secrets import Redactor
from pantrace.store import Result, RunDirectory
from pantrace.wire.json import encode
from pantrace.wire.markdown_text import as_quotation, as_text
from pantrace.wire.output import writing
from pantrace.wire.times import time_text

from .all_scores import all_scores
from .rubric_selection import adk_row

SUMMARY, LOG = "eval_summary.json", "question_answer_log.md"
_LONG = 500
_Numbers = dict[str, list[float]]


def write_workshop(directory: Path, folder: Path) -> tuple[Path, Path]:
    """Write both files for a run directory into a folder, without secrets, because they are passed on."""
    folder.mkdir(parents=True, exist_ok=True)
    opened = RunDirectory.open(directory)
    created = time_text(opened.header.created)
    questions, redactor = _Questions(), Redactor()

    # Read twice: once for the numbers, once for the log, so that no recording stays in memory.
    def results() -> Iterator[Result]:
        return (redactor.record(each)[0] for each in opened.results())

    for result in results():
        questions.add(result)
    # Written as it goes, because the log contains whole conversations.
    with writing(folder / LOG) as log:
        head = f"**Generated:** {created or 'unknown'}\n**Total Questions:** {len(questions.cases)}\n"
        log.write(f"# Question-Answer Analysis Log\n\n{head}".encode())
        for number, result in enumerate(results(), 1):
            # Recorded text can contain lone surrogates, which UTF-8 cannot encode.
            log.write(f"\n---\n\n{_entry(result, number)}".encode("utf-8", "replace"))
    # The workshop's ids are "eval-" and a time.
    stamp = (created or "")[:19].replace("-", "").replace(":", "").replace("T", "_")
    whole = {
        "experiment_id": f"eval-{stamp}" if stamp else "eval",
        "run_type": "manual",
        "test_description": redactor.text(opened.header.name or "")[0],
        "interaction_datetime": created,
        "overall_summary": questions.overall(),
        "per_question_summary": [questions.summary(name) for name in questions.cases],
    }
    with writing(folder / SUMMARY) as file:
        file.write(encode(whole, indent=4) + b"\n")
    return folder / SUMMARY, folder / LOG


class _Questions:
    """Scores by question; a question that was asked several times counts once, with the mean of its runs."""

    def __init__(self) -> None:
        self.cases: dict[str, Case] = {}
        self.runs: dict[str, int] = {}
        self.measured: dict[str, dict[str, _Numbers]] = {}
        """Question, metric, measure: the number of each run."""
        self.details: dict[str, dict[str, dict[str, Any]]] = {}
        """Details of deterministic metrics that are not numbers, from the last run."""
        self.judged: dict[str, dict[str, list[Score]]] = {}

    def add(self, result: Result) -> None:
        name = result.sample.id
        # Runs of one question share its id; the first one describes it.
        self.cases.setdefault(name, result.sample.case or Case())
        self.runs[name] = self.runs.get(name, 0) + 1
        measured, judged = self.measured.setdefault(name, {}), self.judged.setdefault(name, {})
        for score in all_scores(result.sample, result.scores):
            if not _is_measured(score):
                judged.setdefault(score.name, []).append(score)
                continue
            numbers = measured.setdefault(score.name, {})
            # Tokens can be known if the cost is not: a metric whose main measure does not apply may have others.
            if score.status == "scored" or score.values:
                for measure, number in _numbers(score):
                    numbers.setdefault(measure, []).append(number)
                self.details.setdefault(name, {})[score.name] = _details(score)

    def overall(self) -> dict[str, Any]:
        """Means over questions; a metric without any number is left out."""
        means: dict[str, list[float]] = {}
        for measured in self.measured.values():
            for metric, numbers in measured.items():
                for measure, found in numbers.items():
                    means.setdefault(f"{metric}.{measure}", []).append(_mean(found))
        judged: dict[str, list[float]] = {}
        ranges: dict[str, dict[str, Any]] = {}
        for scores in self.judged.values():
            for metric, given in scores.items():
                if values := [float(each.value) for each in given if isinstance(each.value, (int, float))]:
                    judged.setdefault(metric, []).append(_mean(values))
                if (scale := given[0].scale) is not None and scale.low is not None and scale.high is not None:
                    ranges[metric] = {"score_range": {"min": scale.low, "max": scale.high}}
        return {
            "deterministic_metrics": {name: _mean(found) for name, found in means.items()},
            "llm_based_metrics": {
                name: {"average": _mean(found), **ranges.get(name, {})} for name, found in judged.items()
            },
        }

    def summary(self, name: str) -> dict[str, Any]:
        """The summary of one question."""
        known = self.details.get(name, {})
        found: dict[str, Any] = {
            "question_id": name,
            "runs": self.runs[name],
            "deterministic_metrics": {
                metric: {**known.get(metric, {}), **{measure: _whole(_mean(each)) for measure, each in numbers.items()}}
                or None
                for metric, numbers in self.measured[name].items()
            },
            "llm_metrics": {metric: _judged(scores) for metric, scores in self.judged[name].items()},
        }
        return {**self.cases[name].labels, **found}


def _is_measured(score: Score) -> bool:
    return score.maker is not None and score.maker.kind == "check"


def _numbers(score: Score) -> Iterator[tuple[str, float]]:
    if score.values:
        yield from ((name, number) for name, number in score.values.items() if number is not None)
    elif isinstance(score.value, (bool, int, float)):
        yield "score", float(score.value)


def _details(score: Score) -> dict[str, Any]:
    """What a metric lists in addition to its numbers: models, tools, agents."""
    return {name: value for name, value in score.details.items() if isinstance(value, list | dict | str)}


def _judged(scores: list[Score]) -> dict[str, Any]:
    """A judged or stored metric of one question: the mean of its runs, with the explanation of the last."""
    values = [float(score.value) for score in scores if isinstance(score.value, (int, float))]
    last = scores[-1]
    found: dict[str, Any] = {"score": _mean(values) if values else None}
    if last.status == "scored":
        found["explanation"] = last.explanation or ""
    else:
        found["error"] = f"{last.status}: {last.explanation or 'no reason given'}"
    if "verdicts" in last.details:
        found["rubric_verdicts"] = last.details["verdicts"]
    return found


def _mean(numbers: Iterable[float]) -> float:
    listed = list(numbers)
    return fsum(listed) / len(listed)


def _whole(number: float) -> float:
    return int(number) if number == int(number) else number


def _entry(result: Result, number: int) -> str:
    """One question of the log."""
    sample = result.sample
    row = adk_row(sample)
    scores = all_scores(sample, result.scores)
    waited = next((each.values.get("total_latency_seconds") for each in scores if each.name == "latency_metrics"), None)
    labels = sample.case.labels if sample.case is not None else {}
    listed = ", ".join(f"{key}: {value}" for key, value in labels.items())
    epoch = f" (run {sample.epoch})" if sample.epoch is not None else ""
    blocks = [
        f"## {number}. Question: `{_code(sample.id)}`{epoch}",
        "\n".join(
            [
                "| Property | Value |",
                "|----------|-------|",
                f"| **Agents** | {as_text(', '.join(map(str, row.get('agents_evaluated') or ())))} |",
                f"| **Latency** | {'N/A' if waited is None else f'{waited:.2f}s'} |",
                f"| **Metadata** | {as_text(listed) or 'None'} |",
            ]
        ),
        "### Conversation",
        *_conversation(sample),
        "### Final Response Summary",
        as_quotation(_short((final_response(sample.trajectory) if sample.trajectory else None) or "(no answer)")),
        "### Agent Trajectory",
        f"`{_code(' → '.join(row.get('trace_summary') or ()) or 'N/A')}`",
        "### Tool Calls",
        _tools(sample),
        *_scored(scores),
    ]
    return "\n\n".join(blocks) + "\n"


def _conversation(sample: Sample) -> Iterator[str]:
    asked = answered = 0
    for turn in merged_turns(sample.trajectory) if sample.trajectory is not None else ():
        if turn.role == "user" and any(is_prompt(step) for step in turn.steps):
            asked += 1
            yield f"**User Turn {asked}:**\n{as_quotation(turn.text)}"
        elif turn.text:
            answered += 1
            yield f"**Agent Turn {answered}:**\n{as_quotation(turn.text)}"


def _tools(sample: Sample) -> str:
    pairs = call_pairs(sample.trajectory, children=True) if sample.trajectory is not None else []
    if not pairs:
        return "*No tool calls recorded*"
    lines = ["| Tool | Arguments (key) | Result Summary |", "|------|-----------------|----------------|"]
    for pair in pairs:
        keys = ", ".join(pair.call.arguments) if isinstance(pair.call.arguments, dict) else "none"
        ended = "no result" if pair.result is None else "error" if has_failed(pair.result) else "success"
        lines.append(f"| `{_code(pair.call.name)}` | {as_text(keys) or 'none'} | {ended} |")
    return "\n".join(lines)


def _scored(scores: list[Score]) -> Iterator[str]:
    stored = [score for score in scores if score.maker is None or score.maker.kind == "stored"]
    if stored:
        yield "### ADK Evaluation Scores"
        yield "\n".join(f"- **{as_text(score.name)}:** {_value(score)}" for score in stored)
    yield "### Evaluation Metrics"
    for score in scores:
        if score not in stored and score.status != "not_applicable":
            yield f"#### {as_text(score.name)}: **{_value(score)}**"
            if words := _explanation(score):
                yield as_quotation(_short(words))


def _explanation(score: Score) -> str:
    if score.explanation:
        return score.explanation
    return ", ".join(f"{name} {number:g}" for name, number in score.values.items() if number is not None)


def _value(score: Score) -> str:
    value = score.value
    if score.status != "scored" or value is None:
        return score.status
    if isinstance(value, float):
        return f"{value:.2f}" if not value or abs(value) >= 0.01 else f"{value:.2g}"
    return as_text(str(value))


def _short(text: str) -> str:
    return f"{text[:_LONG]}..." if len(text) > _LONG else text


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").replace("|", "\\|").split())
