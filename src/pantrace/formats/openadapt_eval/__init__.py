"""The evaluation JSON of OpenAdapt-ML: one file is one run, with aggregates and no samples.

Spec: the "Evaluation JSON Schema Documentation" of openadapt-ml, v1.0: `{config_path, backend, dsl_mode, metrics{13}}`.
Detect: an object whose `metrics` (or, in legacy files, whose top level) has metrics of that document.
Lost: samples, and everything in a run's header that the document has no field for.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pantrace.errors import ReadError
from pantrace.formats.format import Format
from pantrace.model import Record, Run, RunHeader, Source, Violation
from pantrace.wire.field_map import is_number
from pantrace.wire.head import Head
from pantrace.wire.json import encode, unknown_keys
from pantrace.wire.output import writing
from pantrace.wire.output_row import Row
from pantrace.wire.rows import OnBroken
from pantrace.wire.times import from_iso, time_text
from pantrace.wire.whole_document import document_in

from .metrics import BY_TYPE, METRICS, NAME, aggregates, by_type, metrics_object
from .stored import STORED
from .validation import check

VERSION = "1.0"

_PECULIAR = set(METRICS) - {"num_episodes", "num_steps", "element_accuracy"}
"""Names that no other format uses."""

DURATION = "eval_duration_seconds"
"""How long the evaluation took, as measured by the tool that ran it."""
_HEADER = ("config_path", "backend", "dsl_mode")
_CONFIG = ("config_path", "dsl_mode", "training_timestamp", DURATION)
_ENVIRONMENT = {"device": "device", "gpu_model": "gpu", "memory_gb": "memory_gb"}
"""Field of the file -> key of `Run.environment`."""
# The document lists these as future fields. No real file has them yet, but a reader must not take them for metrics.
_EXTENSIONS = (
    "schema_version",
    "eval_timestamp",
    DURATION,
    "training_timestamp",
    *_ENVIRONMENT,
    "checkpoint_path",
    BY_TYPE,
    "deprecated_metrics",
)
_FIELDS = {*_HEADER, *_EXTENSIONS, "metrics"}


class Options(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an eval JSON is written."""

    document_parity: bool = False
    """Write 0 where the document says "not nullable" and there is no value. Off, because only null is honest there."""
    schema_version: bool = False
    """Write `schema_version: "1.0"`, which the document lists as a future extension."""
    config_path: str | None = None
    """Path of the configuration that was evaluated; by default what the source says. Left out if unknown."""
    backend: str | None = None
    """The model's backend (qwen3, qwen2_5, claude, openai, dummy); by default what the source says."""
    dsl_mode: Literal["coord", "som"] | None = None
    """How the model names its targets; by default what the source says, else coord."""
    checkpoint_path: str | None = None
    """The weights that were evaluated."""
    device: str | None = None
    """Where the policy ran; the machine that evaluates is never taken for it."""
    gpu_model: str | None = None
    """Its graphics card."""
    memory_gb: float | None = None
    """The card's memory."""
    training_timestamp: str | None = None
    """When the weights were trained."""


def detect(head: Head) -> str | None:
    row = head.document
    if not isinstance(row, dict):
        return None
    metrics = row.get("metrics")
    if isinstance(metrics, dict):
        named = _PECULIAR.intersection(metrics) or ("config_path" in row and "backend" in row)
        return str(row.get("schema_version") or VERSION) if named else None
    flat = any(name in row and (row[name] is None or is_number(row[name])) for name in _PECULIAR)
    # Rows of other logs may have such a name beside their `steps`.
    return "legacy" if flat and "metrics" not in row and "steps" not in row else None


def migrate(document: dict[str, Any]) -> dict[str, Any]:
    """A legacy document as one of v1.0; the input is not changed.

    Fields that the legacy file lacks become "unknown" (`config_path`, `backend`) or null (metrics)."""
    flat = document.get("metrics", document)
    if not isinstance(flat, dict):
        raise ReadError("metrics must be an object", place="metrics")
    inner = dict(flat) if "metrics" in document else unknown_keys(flat, _FIELDS)
    header = {"config_path": "unknown", "backend": "unknown", "dsl_mode": "coord"}
    rest = {key: value for key, value in document.items() if key in _FIELDS or "metrics" in document}
    return {**header, **rest, "metrics": {**dict.fromkeys(METRICS), **inner}}


def open_run(path: Path, on_broken: OnBroken) -> Run:
    version, document = _document(path)
    source = Source(format=NAME, version=version, path=str(path))
    try:
        return _run(document, source)
    except ReadError as error:
        raise error.at(path=str(path)) from None


def _document(path: Path) -> tuple[str, dict[str, Any]]:
    row = document_in(path)
    if not isinstance(row, dict) or not ("metrics" in row or set(METRICS).intersection(row)):
        raise ReadError("not an eval JSON: it has no metrics", path=str(path), remedy="is --from right?")
    return str(row.get("schema_version") or VERSION) if "metrics" in row else "legacy", row


def _run(row: dict[str, Any], source: Source) -> Run:
    document = migrate(row)
    if "metrics" in row:
        # "unknown" marks a migrated legacy file. A newer file that lacks these fields must not look like one.
        document = unknown_keys(document, [name for name in ("config_path", "backend") if name not in row])
    metrics = document["metrics"]
    config: dict[str, Any] = {name: document[name] for name in _CONFIG if name in document}
    kept = unknown_keys(document, _FIELDS)
    for name in ("schema_version", "deprecated_metrics"):
        if name in document:
            kept[name] = document[name]
    created = _moment(document.get("eval_timestamp"))
    # Not a time that we can read; it is written back as it was.
    if created is None and "eval_timestamp" in document:
        kept["eval_timestamp"] = document["eval_timestamp"]
    types = document.get(BY_TYPE, metrics.get(BY_TYPE))
    per_type = by_type(types) if types is not None else []
    if per_type is None:
        kept[BY_TYPE] = types
    backend, checkpoint = document.get("backend"), document.get("checkpoint_path")
    # These two become typed fields of the run, so a wrong type cannot be kept there.
    if backend is not None and not isinstance(backend, str):
        raise ReadError("must be text", place="backend")
    if checkpoint is not None and not isinstance(checkpoint, str):
        raise ReadError("must be text", place="checkpoint_path")
    return Run(
        created=created,
        model=backend,
        config=config,
        environment={ours: document[theirs] for theirs, ours in _ENVIRONMENT.items() if theirs in document},
        checkpoint=checkpoint,
        results=(*aggregates(metrics), *(per_type or ())),
        source=source,
        extra={NAME: kept} if kept else {},
    )


def _moment(value: Any) -> float | None:
    return float(value) if is_number(value) else from_iso(value)


def save(run: RunHeader, rows: Iterable[Row], target: Path, options: Options) -> None:
    for _ in rows:  # there is no place for samples; consuming them lets the engine report each as lost
        pass
    with writing(target) as file:
        file.write(encode(document_of(run, options), indent=2) + b"\n")


def document_of(run: RunHeader, options: Options) -> dict[str, Any]:
    """The eval JSON of a run: every known metric is there, null where there is no value."""
    metrics, types = metrics_object(run.results, zeros=options.document_parity)
    kept = dict(run.extra.get(NAME, {}))
    document: dict[str, Any] = {"schema_version": kept.pop("schema_version", VERSION)}
    if not options.schema_version and "schema_version" not in run.extra.get(NAME, {}):
        document = {}
    fields = {
        "config_path": run.config.get("config_path"),
        "backend": run.model,
        "dsl_mode": run.config.get("dsl_mode", "coord"),
        "eval_timestamp": time_text(run.created),
        DURATION: run.config.get(DURATION),
        "training_timestamp": run.config.get("training_timestamp"),
        **{theirs: run.environment.get(ours) for theirs, ours in _ENVIRONMENT.items()},
        "checkpoint_path": run.checkpoint,
    }
    # A null that was read is written back; a field that was absent stays absent.
    nulls = [name for name in ("training_timestamp",) if name in run.config]
    nulls += [theirs for theirs, ours in _ENVIRONMENT.items() if ours in run.environment]
    for name, value in fields.items():
        given = getattr(options, name, None)
        value = given if given is not None else value
        if value is not None or name in nulls:
            document[name] = value
    document["metrics"] = metrics
    if types:
        document[BY_TYPE] = types
    return {**document, **kept}


def validate(path: Path) -> Iterable[Violation]:
    return check(_document(path)[1])


FORMAT = Format(
    name=NAME,
    title="OpenAdapt evaluation JSON: one run's metrics",
    spec="openadapt-ml, Evaluation JSON Schema Documentation v1.0",
    detect=detect,
    open=open_run,
    save=save,
    check=check,
    validate=validate,
    migrate=migrate,
    options=Options,
    layout="document",
    suffix=".json",
    stored=STORED,
    clusters="num_episodes",
    reencoded={"metrics.*_ci[]": "the limits of a metric's interval"},
    lost={
        "sample": "an eval JSON has a run's metrics and no samples",
        "run.results[].n": "a metric is a bare number",
        "run.results[].metric": "a metric is a bare number",
        "run.results[].labels": "only metrics per action type have a place",
        "run.config": "only config_path, dsl_mode and training_timestamp have a place",
        "run.environment": "only device, gpu and memory_gb have a place",
    },
)
