"""Command lines that the fuzz tries, by what is damaged; a test holds them against the commands that there are.

`{source}` is the damaged thing, `{whole}` the same undamaged. `{recording}`, `{other}`, `{gui}`, `{cases}`, `{run}` and
`{judged}` are whole ones of other kinds, `{copy}` is a run directory that may be written to. Whatever is made has a
name that begins with `made` in `{out}`: anything else there has been left behind.
"""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """A command, and how often it is tried among others."""

    words: tuple[str, ...]
    weight: float = 5

    @property
    def command(self) -> str:
        return self.words[0]


def _line(text: str, weight: float = 5) -> Line:
    return Line(tuple(text.split()), weight)


JUDGED = "--judge openai:scripted --cache {out}/made.sqlite"

RECORDING = (
    _line("detect {source} --json"),
    _line("show {source}"),
    _line("show {source} --json"),
    _line("show {source} --sample 1"),
    _line("show {source} --tools", 2),
    _line("show {source} --csv --sub-agents", 2),
    _line("measure {source} --by turn --format csv"),
    _line("measure {source}"),
    _line("measure {source} --format json -o {out}/made.json"),
    _line("measure {source} --format parquet -o {out}/made.parquet", 2),
    _line("measure {whole} --reference {source} --per sample", 2),
    _line("validate {source}"),
    _line("validate {source} --json", 2),
    _line("check {source} --rules stateless-handoff"),
    _line("check {source} --rules stateless-handoff --junit {out}/made.xml -o {out}/made.json", 2),
    _line("redact {source} -o {out}/made --personal --list {out}/made.jsonl"),
    _line("diagnose {source}"),
    _line("diagnose {source} --reference {whole} -o {out}/made.md", 2),
    _line("diagnose {whole} --reference {source} --trace-analysis {out}/made.json", 1),
    _line("diagnose {source} --budget-calls 2 -o {out}/made.json " + JUDGED, 1),
    _line("report {source} -o {out}/made.html"),
    _line("report {source} {whole} -o {out}/made.md", 2),
    _line("convert {source} --to native -o {out}/made.trace.jsonl --loss {out}/made.loss", 2),
    _line("eval {source} --out {out}/made --markdown {out}/made.md --junit {out}/made.xml --report {out}/made.json", 1),
    _line("eval {source} --out {out}/made --workshop {out}/made.workshop --json", 0.5),
    _line("compare {source} {whole} --markdown {out}/made.md"),
    _line("compare {whole} {source} --json --margin 0.1 --cluster task"),
    _line("compare {source} --split agent", 2),
    _line("compare --trend {whole} {source}", 2),
    _line("compare {source} {whole} --all-pairs --pair-by sample -v", 2),
    _line("compare {source} {whole} --rubric pairwise_quality " + JUDGED, 1),
    _line("aggregate {source} {whole} --by model"),
    _line("aggregate {source} --by backend --by config.model --json --null-as-zero", 2),
    _line("plot {source} {whole} -o {out}/made.svg", 1),
    _line("plot {source} {whole} -o {out}/made.vl.json", 2),
    _line("plot {source} {whole} --kind paired -o {out}/made.vl.json", 2),
    _line("plot {source} {whole} --kind paired -o {out}/made.svg", 0.5),
    _line("plot {source} --kind passk -o {out}/made.png", 0.5),
    _line("plot {source} --kind distribution -o {out}/made.pdf", 1),
    _line("plot {source} --kind distribution -o {out}/made.html", 0.1),
    _line("judge {source} --rubric general_quality --dry-run", 2),
    _line("judge {source} --rubric general_quality --rubric tool_use_quality -o {out}/made.json " + JUDGED, 2),
    _line("judge {source} --rubric multi_turn_general_quality -o {out}/made.trace.jsonl --repeats 2 " + JUDGED, 1),
    _line("calibrate {source} --labels {labels} --min-labels 1 -o {out}/made.json", 2),
    _line("calibrate {judged} --labels {source} --label quality_band -o {out}/made.json", 1),
    _line("migrate {source} -o {out}/made"),
    _line("migrate {source}", 1),
    _line("run {source} --agent cmd:cat --no-eval --budget-trials 1 --out {out}/made", 1),
    _line("run {source} --agent cmd:true --follow-up --budget-trials 1 --out {out}/made", 0.3),
    _line("gate {source}", 1),
    _line("query {source} select", 0.5),
    _line("power --delta 0.05 --run {source}", 1),
    _line("view {source}", 2),
)
"""`view` and `collect` are tried without their servers: what they make of an input is."""

RUN = (
    _line("query {source} {sql}"),
    _line("query {source} {run} {sql} --csv"),
    _line("compare {source} {whole}"),
    _line("compare {whole} {source} --json --metric tool_success_rate"),
    _line("compare --trend {whole} {source} {run}", 2),
    _line("compare {source} --split agent", 2),
    _line("gate {source} --json"),
    _line("gate {source} --profile {profile} --markdown {out}/made.md --junit {out}/made.xml --report {out}/made.json"),
    _line("gate {source} --baseline {whole} --margin 0.1"),
    _line("gate {copy} --baseline {source} --margin 10% --complete", 2),
    _line("report {source} -o {out}/made.html", 2),
    _line("report {source} {whole} -o {out}/made.md --json", 2),
    _line("view {source}", 2),
    _line("validate {source}"),
    _line("validate {source} --json", 2),
    _line("eval {inputs} --plan {plan} --out {source}", 2),
    _line("eval {inputs} --plan {plan} --out {source} --gate --json", 1),
    _line("run {cases} --agent cmd:cat --out {source}", 1),
    _line("run {cases} --agent cmd:cat --no-eval --again --out {source}", 1),
    _line("power --delta 0.05 --run {source}", 2),
    _line("power --cases 20 --run {source} --run {whole} --metric tool_success_rate --scores", 1),
    _line("calibrate {source} --labels {labels} --min-labels 1 -o {out}/made.json", 2),
    _line("aggregate {source} {whole}", 2),
    _line("plot {source} {whole} -o {out}/made.vl.json", 2),
    _line("plot {source} {whole} --kind paired --metric tool_success_rate -o {out}/made.vl.json", 1),
    _line("diagnose {source}", 2),
    _line("show {source}", 2),
    _line("measure {source} --json", 2),
    _line("detect {source}", 2),
    _line("convert {source} --to native -o {out}/made.trace.jsonl", 2),
    _line("judge {source} --rubric general_quality --dry-run", 1),
)

_RUBRIC = (
    _line("rubrics {source}"),
    _line("rubrics {source} --json"),
    _line("judge {recording} --rubric {source} --dry-run"),
    _line("judge {recording} --rubric {source} -o {out}/made.csv " + JUDGED),
)

SETTINGS = {
    "plan": (
        _line("eval {recording} --out {out}/made --plan {source} " + JUDGED, 4),
        _line("run {cases} --agent cmd:cat --budget-trials 1 --out {out}/made --plan {source}", 1),
    ),
    "rules": (
        _line("check {recording} --rules {source}"),
        _line("check {recording} --rules {source} --junit {out}/made.xml -o {out}/made.json"),
    ),
    "profile": (
        _line("profiles {source}"),
        _line("profiles {source} --json"),
        _line("gate {copy} --profile {source} --json"),
        _line("gate {copy} --profile {source} --markdown {out}/made.md", 2),
    ),
    "rubric": (*_RUBRIC, _line("compare {recording} {other} --rubric {source} " + JUDGED)),
    "definitions": _RUBRIC,
    "criteria": (
        *_RUBRIC,
        _line("judge {recording} --rubric vertex:general_quality_v1 --project p --dry-run --guidelines {source}"),
    ),
    "prices": (_line("measure {recording} --metric token_usage --prices {source}"),),
    "milestones": (_line("measure {gui} --metric gui --milestones {source}"),),
    "tool_map": (
        _line("show {recording} --tools --tool-map {source}"),
        _line("convert {recording} --to vertex-seed --option tool_map={source} -o {out}/made.json"),
    ),
    "calibration": (
        _line("gate {judged} --calibration {source}"),
        _line("eval {recording} --out {out}/made --calibration {source}", 1),
    ),
    "labels": (
        _line("calibrate {judged} --labels {source} --min-labels 1 -o {out}/made.json"),
        _line("calibrate {judged} --labels {source} --min-labels 1 -o {out}/made.json --details --json --gate"),
        _line("calibrate {judged} --labels {source} --order bad,good -o {out}/made.json", 2),
    ),
    "cases": (
        _line("run {source} --agent cmd:cat --no-eval --budget-trials 1 --out {out}/made", 2),
        _line("run {source} --agent cmd:cat --budget-trials 1 --out {out}/made", 1),
        _line("detect {source}", 2),
    ),
    "replies": (
        _line("judge {recording} --rubric general_quality --judge openai:scripted --replay --cache {source}"),
        _line("judge {recording} --rubric general_quality --judge openai:scripted --cache {source}"),
        _line("compare {recording} {other} --rubric pairwise_quality --judge openai:scripted --cache {source}", 1),
        _line("diagnose {recording} --judge openai:scripted --cache {source}", 1),
        _line("eval {recording} --out {out}/made --plan {plan} --judge openai:scripted --cache {source}", 1),
    ),
}
"""Files that people write, by kind."""

TEXTS = {
    "select name, avg(value) from scores group by name order by 1": _line("query {run} {source} --json"),
    "select s.id, c.name from samples s join calls c on s.id = c.sample where c.error is not null": _line(
        "query {run} {judged} {source} --csv"
    ),
    "with a as (select * from steps) select count(*), max(cost) from a, decisions": _line("query {run} {source}"),
    "label.difficulty!=easy": _line("show {recording} --where {source}"),
    "title~^S1": _line("measure {recording} --where {source}"),
    "2026-11-15T08:00": _line("show {recording} --since {source}"),
    "30m": _line("show {recording} --gap {source}"),
    "7d": _line("convert {recording} --to native -o {out}/made.trace.jsonl --until {source}"),
    "tool_success_rate.count=each": _line("measure {recording} --set {source}"),
    "label.topic": _line("measure {recording} --by {source}"),
    "token_usage.total_tokens": _line("measure {recording} --metric {source}"),
    "house=[A-Z]{3}-(\\d+)": _line("redact {recording} -o {out}/made --pattern {source}"),
    "accuracy=5%": _line("compare {recording} {other} --margin {source}"),
    "task": _line("compare {recording} {other} --cluster {source}"),
    "agent": _line("compare {recording} --split {source}"),
    "bad,middling,good": _line("calibrate {judged} --labels {labels} -o {out}/made.json --order {source}"),
    "general_quality=3": _line("calibrate {judged} --labels {labels} -o {out}/made.json --threshold {source}"),
    "question=prompt": _line("run {cases} --agent cmd:cat --no-eval --out {out}/made --column {source}"),
    "trace_id=x": _line("convert {recording} --to otlp -o {out}/made.json --option {source}"),
    "config.model": _line("aggregate {recording} {other} --by {source}"),
    "Base,Fine-tuned": _line("plot {recording} {other} -o {out}/made.vl.json --labels {source}"),
    "How it went": _line("plot {recording} {other} -o {out}/made.svg --title {source}", 1),
    "0.05": _line("power --delta {source}"),
    "0.2": _line("power --cases 20 --variance {source}"),
    "20MB": _line("report {recording} -o {out}/made.html --max-size {source}"),
    "1GB": _line("query {run} select --max-memory {source}"),
    "trajectory_accuracy": _line("metrics {source}"),
    "final_response_quality": _line("rubrics {source}"),
    "prep_default": _line("profiles {source}"),
    "general_quality": _line("judge {recording} --dry-run --rubric {source}"),
    "stateless-handoff": _line("check {recording} --rules {source}"),
    "inspect": _line("convert {recording} -o {out}/made --to {source}"),
}
"""Words of the command line that have a language of their own, and where they stand."""

EXEMPT = {
    "formats": "takes nothing",
    "schema": "takes nothing",
    "init": "takes the name of a file to write, and reads nothing",
}

EXEMPT_OPTIONS = {
    "--plugin": "Python code, which may do everything that you may",
    "--source": "the agent's code, which is shown to a judge: tests/diagnosis/test_agent_code.py",
    "--fixtures": "a folder that is copied, not read",
    "--engine": "who works, not what is read",
}

COLLECT = "collect"
"""What exporters of OpenTelemetry send is damaged, too: see `attempt.sent`."""


def every_line() -> list[Line]:
    """All of them."""
    return [*RECORDING, *RUN, *(line for lines in SETTINGS.values() for line in lines), *TEXTS.values()]
