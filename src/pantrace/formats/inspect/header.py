"""The header of a log (an EvalLog without samples) and a run's header, both ways."""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.errors import WriteError
from pantrace.model import Aggregate, RunHeader, header_of
from pantrace.wire.difference import ALL, NOT_WHAT_IS_ADDED, SAME, apply_difference, difference
from pantrace.wire.json import NonFinite, unknown_keys
from pantrace.wire.optional import object_of, present, text_of
from pantrace.wire.pantrace_key import CARRIER, may_carry, reads_carried
from pantrace.wire.times import from_iso, iso, time_text

from .content import own_extra
from .deviation import EXACT, deviation, restore
from .event_index import notes_of
from .migration import header_today
from .records import check_header
from .repair import repaired_header

VERSION = 2
START_NOTE, LOGGED = "start", "logged"
_NOTES = frozenset({EXACT, START_NOTE, LOGGED})
"""Notes on a log's file: how its header is spelled, how its journal begins, and how many samples it has if its list of
ids says something else."""
NO_MODEL = "none/none"

_EVAL = frozenset({"created", "task", "solver", "model", "config", "dataset", "packages"})
DEMANDED = ("model_generate_config", "model_args", "task_attribs", "task_args", "task_args_passed", "packages")
"""Fields of `eval` that the Inspect log guide requires, at least as empty objects."""


def to_header(as_read: dict[str, Any], **notes: Any) -> RunHeader:
    """A run's header from a log's, with these notes on its file. A part of a wrong type is no error: it is kept."""
    raw = header_today(as_read)
    header = _header(raw)
    carried = notes_of(raw.get("eval"))
    # Our own writer noted the exact header there, so nothing has to be guessed from Inspect's fields.
    if "run" in carried and reads_carried():
        header = apply_difference(header, carried["run"])
    else:
        notes |= deviation(_repeated_header(header), as_read)
    if notes and not is_made(header):
        header = msgspec.structs.replace(
            header, extra={**header.extra, "inspect": {**own_extra(header.extra), **notes}}
        )
    return header


def _header(raw: dict[str, Any]) -> RunHeader:
    spec = raw.get("eval")
    spec = object_of(spec)
    extra = {key: value for key, value in raw.items() if key not in ("status", "eval", "samples") and value is not None}
    # Other versions are not refused: a log of upstream's tests has version 3 and reads fine.
    if extra.get("version") == VERSION:
        del extra["version"]
    rest = {key: value for key, value in spec.items() if key not in _EVAL and value is not None}
    # Empty objects that only the guide requires are written again anyway.
    rest = {key: value for key, value in rest.items() if value or key not in DEMANDED}
    if notes_of(spec):
        rest["metadata"] = {key: value for key, value in spec["metadata"].items() if key != CARRIER}
        if not rest["metadata"]:
            del rest["metadata"]
    name = rest.pop("eval_id", None) or rest.get("run_id")
    taken: dict[str, Any] = {}
    for key, kind in (("task", str), ("solver", str), ("model", str), ("config", dict), ("dataset", dict)):
        value = spec.get(key)
        if isinstance(value, kind):
            taken["agent" if key == "solver" else key] = value
        elif value is not None:
            rest[key] = value
    created = from_iso(spec.get("created"))
    if created is None and spec.get("created") is not None:
        rest["created"] = spec["created"]
    packages = spec.get("packages")
    title = spec.get("task_display_name") or spec.get("task")
    extra["eval"] = rest
    status = raw.get("status")
    return RunHeader(
        id=text_of(name),
        name=text_of(title),
        created=created,
        environment={"packages": packages} if isinstance(packages, dict) and packages else {},
        results=tuple(aggregates(raw.get("results"))),
        status=text_of(status),
        extra={"inspect": extra},
        **taken,
    )


def aggregates(results: Any) -> list[Aggregate]:
    """One aggregate for each metric of each score; reducers and scorers are labels."""
    found = []
    scores = results.get("scores") if isinstance(results, dict) else None
    for score in scores if isinstance(scores, list) else ():
        if not isinstance(score, dict):
            continue
        labels = {key: score[key] for key in ("scorer", "reducer") if isinstance(score.get(key), str)}
        metrics = score.get("metrics")
        for key, metric in metrics.items() if isinstance(metrics, dict) else ():
            value = metric.get("value") if isinstance(metric, dict) else metric
            # NaN is Inspect's word for "unscored".
            if isinstance(value, NonFinite) or not isinstance(value, (int, float)):
                value = None
            count = score.get("scored_samples")
            found.append(
                Aggregate(
                    name=str(score.get("name")),
                    metric=key,
                    value=value,
                    n=count if isinstance(count, int) else None,
                    labels=labels,
                )
            )
    return found


class Counted(msgspec.Struct):
    """What was counted while writing the samples, for the header that is written after them."""

    ids: list[Any] = []
    epochs: int = 1
    samples: int = 0
    failed: int = 0
    model: str | None = None
    usage: dict[str, Any] = {}
    first: str | None = None
    last: str | None = None
    scores: list[dict[str, Any]] = []
    """EvalScore objects computed from the samples."""
    digest: str = ""
    """Hash over the samples' identities."""


def from_header(run: RunHeader, counted: Counted) -> dict[str, Any]:
    """A log's header; what Inspect has no field for goes to `eval.metadata.pantrace`."""
    raw = _new_header(run, counted) if is_made(run) else _repeated_header(_with_dataset(run, counted))
    raw = repaired_header(raw, counted.first)
    actual = _header(header_today(raw))
    kept = {key: value for key, value in own_extra(run.extra).items() if key not in _NOTES}
    extra = unknown_keys(run.extra, ("inspect",)) | ({"inspect": kept} if kept else {})
    bare = msgspec.structs.replace(header_of(run), source=None, extra=extra)
    change = difference(actual, bare, NOT_WHAT_IS_ADDED if is_made(run) else ALL)
    if change is not SAME and may_carry():
        raw["eval"]["metadata"] = {**(raw["eval"].get("metadata") or {}), CARRIER: {"run": change}}
    for wrong in check_header(raw, "header.json"):
        if wrong.level == "error":
            # The repairs should have left nothing wrong; if they did, no log is better than one that nobody can open.
            raise WriteError(f"inspect_ai would refuse it: {wrong.place}: {wrong.message}; nothing was written")
    return raw


def _repeated_header(run: RunHeader) -> dict[str, Any]:
    """The header of a log that came from Inspect, as it was."""
    kept = own_extra(run.extra)
    extra = {key: value for key, value in kept.items() if key not in _NOTES}
    rest = extra.pop("eval")
    spec: dict[str, Any] = {}
    if run.id is not None and run.id != rest.get("run_id"):
        spec["eval_id"] = run.id
    spec |= {key: {} for key in DEMANDED} | rest
    for key, value in (("task", run.task), ("solver", run.agent), ("model", run.model)):
        if value is not None:
            spec[key] = value
    if (created := time_text(run.created)) is not None:
        spec["created"] = created
    # `dataset.samples` is the size of the dataset, however many of its samples are written.
    spec["dataset"] = run.dataset
    spec["config"] = run.config
    if "packages" in run.environment:
        spec["packages"] = run.environment["packages"]
    raw = {"version": extra.pop("version", VERSION), "status": run.status, "eval": spec, **extra}
    return restore(present(raw), kept)


def start_of(header: dict[str, Any]) -> dict[str, Any]:
    """The first entry of a log's journal."""
    return {"version": header.get("version", VERSION), "eval": header["eval"], "plan": header.get("plan") or {}}


def is_made(run: RunHeader) -> bool:
    """Whether the header is made here, and did not come from an Inspect log."""
    return "eval" not in own_extra(run.extra)


def is_unfinished(run: RunHeader) -> bool:
    """Whether a log from Inspect has only its journal: it is still running, or has crashed."""
    kept = own_extra(run.extra)
    return run.status == "started" and "eval" in kept and "stats" not in kept


def _with_dataset(run: RunHeader, counted: Counted) -> RunHeader:
    """The run; if samples were left out, its dataset lists those that are written. Inspect's streaming reader iterates
    this list and fails at an id without a sample."""
    ids = run.dataset.get("sample_ids")
    if not isinstance(ids, list) or (not counted.ids and run.config.get("log_samples") is False):
        return run
    known, written = set(map(str, ids)), set(map(str, counted.ids))
    # A log that crashed or was cut short lists more ids than it has samples, and is written back like that.
    whole = counted.samples == own_extra(run.extra).get(LOGGED) or (run.status != "success" and written <= known)
    if known == written or whole:
        return run
    return msgspec.structs.replace(run, dataset={**run.dataset, "sample_ids": counted.ids})


def _new_header(run: RunHeader, counted: Counted) -> dict[str, Any]:
    """A header for samples of another format."""
    created = time_text(run.created) or counted.first or iso(0.0)
    task = run.task or run.name or "trajectories"
    name = run.id or counted.digest[:22]
    packages = run.environment.get("packages")
    strings = isinstance(packages, dict) and all(isinstance(each, str) for each in packages.values())
    dataset = {key: value for key, value in run.dataset.items() if key in ("name", "location") and _is_text(value)}
    spec: dict[str, Any] = {
        "eval_id": name,
        "run_id": name,
        "created": created,
        "task": task,
        # Derived from the samples, so that the same run always gets the same id. Each log needs its own: the viewer's
        # list hid logs that shared one.
        "task_id": counted.digest[22:44],
        "task_version": 0,
        "task_attribs": {},
        "task_args": run.config,
        "task_args_passed": {},
        "dataset": {
            "name": task,
            **dataset,
            "samples": len(counted.ids),
            "sample_ids": counted.ids,
            "shuffled": False,
        },
        "model": run.model or counted.model or NO_MODEL,
        "model_generate_config": {},
        "model_args": {},
        "config": {"epochs": counted.epochs},
        "packages": packages if strings else {},
    }
    if run.agent is not None:
        spec["solver"] = run.agent
    status = run.status if run.status in ("started", "success", "cancelled", "error") else "success"
    return {
        "version": VERSION,
        "status": status,
        "eval": spec,
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": counted.samples,
            "completed_samples": counted.samples - counted.failed,
            "scores": _scores(run, counted),
        },
        "stats": {
            "started_at": counted.first or created,
            "completed_at": counted.last or counted.first or created,
            "model_usage": counted.usage,
        },
    }


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _scores(run: RunHeader, counted: Counted) -> list[dict[str, Any]]:
    """The run's own aggregates, and the means of scores that have none."""
    found: dict[tuple[str, str | None], dict[str, Any]] = {}
    for each in run.results:
        # inspect_ai requires a number, and true would become 1.
        if isinstance(each.value, bool) or not isinstance(each.value, (int, float)):
            continue
        reducer = each.labels.get("reducer")
        score = found.setdefault(
            (each.name, reducer), {"name": each.name, "scorer": each.labels.get("scorer", each.name), "params": {}}
        )
        if reducer is not None:
            score["reducer"] = reducer
        if each.n is not None:
            score["scored_samples"] = each.n
        metric = each.metric or "mean"
        score.setdefault("metrics", {})[metric] = {"name": metric, "value": each.value, "params": {}}
    known = {name for name, _ in found}
    return [*found.values(), *(score for score in counted.scores if score["name"] not in known)]
