"""Opens an input of any shape as a run whose episodes are read lazily."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Run, Sample, Source
from pantrace.wire import files
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.extra_keys import as_extra, texts_in
from pantrace.wire.head import Head
from pantrace.wire.json import typed_decoder, unknown_keys
from pantrace.wire.optional import text_of
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.rows import OnBroken, read_log, read_rows
from pantrace.wire.times import from_iso

from . import arena, benchmark, logs
from .episode import episode_in, sample_from
from .field_names import NAME
from .older_shapes import older_episode
from .recognise import row_shape, shape_of, version_of
from .turns import Episode
from .write import episode_to, on_screen

Found = tuple[str | None, Callable[[], Sample], Path]
"""The place, reader and file of one episode."""


def load_plain(row: Any) -> Sample:
    """The sample of one episode (new, legacy or demo), without what our writer kept under `pantrace`."""
    if (older := older_episode(row)) is not None:
        return sample_from(older)
    if not isinstance(row, dict) or "episode_id" not in row or "steps" not in row:
        raise ReadError("not an episode: it needs episode_id and steps", remedy="is --from right?")
    return sample_from(episode_in(row))


load, dump = carry_rest(load_plain, lambda sample, _: episode_to(sample), CARRIER, on_screen)


def newest(row: Any) -> Any:
    """An episode of an older shape as one of the new schema; anything else as it is."""
    return row if older_episode(row) is None else dump(load(row), None)


def open_run(path: Path, on_broken: OnBroken) -> Run:
    head = Head(path)
    shape = shape_of(head)
    source = Source(format=NAME, version=version_of(head, shape) or None, path=str(path))
    if shape == "benchmark-run":
        return _benchmark_run(path, source, on_broken)
    if shape == "arena-results":
        return Run(name=path.name, source=source, samples=_samples(_arena_tasks(path, on_broken), source, on_broken))
    if shape == "episode-folder":
        return Run(name=path.name, source=source, samples=_folder(path, source, on_broken))
    if path.is_dir():
        raise ReadError("no episodes in this directory", path=str(path), remedy="is --from right?")
    if shape == "execution":
        return Run(name=path.name, source=source, samples=_samples(_executions([path], {}), source, on_broken))
    if shape == "full-eval":
        return _full_eval(path, source, on_broken)
    if shape == "arena":
        rows = [row for row in read_log(path, on_broken) if isinstance(row, dict)]
        # A traj.jsonl alone does not tell which of its parent folders are the model's and the trial's.
        found: Found = (None, partial(_build_sample, arena.task_episode, path.parent, rows, ()), path)
        return Run(name=path.name, source=source, samples=_samples([found], source, on_broken))
    if shape in ("step-log", "planner"):
        build = logs.step_log_episode if shape == "step-log" else logs.planner_episode
        return Run(
            name=path.name, source=source, samples=_samples(_group_lines(path, build, on_broken), source, on_broken)
        )
    return Run(name=path.name, source=source, samples=_samples(_episodes(path, on_broken), source, on_broken))


def beside(path: Path) -> list[Path]:
    """The other files of a task's folder, when one of them is opened alone."""
    if path.is_dir() or shape_of(Head(path)) not in ("arena", "execution"):
        return []
    return sorted(each for each in path.parent.iterdir() if each.is_file() and each != path)


def _samples(found: Iterable[Found], source: Source, on_broken: OnBroken) -> Iterator[Sample]:
    """Samples of episodes; a broken one goes to `on_broken`."""
    for place, read, path in found:
        try:
            sample = read()
        except ReadError as error:
            on_broken(error.at(path=str(path), place=place))
            continue
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, msgspec.ValidationError) as error:
            detail = f"key {error} is missing" if isinstance(error, KeyError) else str(error)
            on_broken(ReadError(f"not a record of {NAME}: {detail}", path=str(path), place=place))
            continue
        origin = msgspec.structs.replace(source, path=str(path), place=place)
        trajectory = msgspec.structs.replace(sample.trajectory, source=origin) if sample.trajectory else None
        yield msgspec.structs.replace(sample, trajectory=trajectory)


def _build_sample(build: Callable[..., Episode], *given: Any) -> Sample:
    return sample_from(build(*given))


def _folder(path: Path, source: Source, on_broken: OnBroken) -> Iterator[Sample]:
    for file in sorted(path.glob("*.json")):
        yield from _samples(_episodes(file, on_broken), source, on_broken)


def _episodes(path: Path, on_broken: OnBroken) -> Iterator[Found]:
    for place, row in read_rows(path, on_broken):
        # With `steps` beside it, the object is itself an episode.
        inner = row.get("episodes") if isinstance(row, dict) and "steps" not in row else None
        if isinstance(inner, list):
            for number, each in enumerate(inner, 1):
                yield f"episodes, item {number}", partial(load, each), path
        else:
            yield place, partial(load, row), path


def _group_lines(path: Path, build: Callable[[list[Any]], Episode], on_broken: OnBroken) -> Iterator[Found]:
    """Lines gathered by episode: one episode at a time if its lines are next to each other, otherwise all at once."""
    # A first pass over the ids is cheap, and keeps a log of many episodes from being held in memory as a whole.
    in_order = _is_grouped(path)
    groups: dict[Any, list[Any]] = {}
    for place, row in read_rows(path, on_broken):
        if not isinstance(row, dict) or not isinstance(row.get("episode_id"), str):
            on_broken(ReadError("a line without an episode_id", path=str(path), place=place))
            continue
        if in_order and groups and row["episode_id"] not in groups:
            yield from _groups_read(groups, build, path)
            groups = {}
        groups.setdefault(row["episode_id"], []).append(row)
    yield from _groups_read(groups, build, path)


def _groups_read(groups: dict[Any, list[Any]], build: Callable[[list[Any]], Episode], path: Path) -> Iterator[Found]:
    for identity, rows in groups.items():
        yield f"episode {identity}", partial(_build_sample, build, rows), path


# Only the id is decoded; lines hold whole prompts.
class _Line(msgspec.Struct):
    episode_id: Any = None


def _is_grouped(path: Path) -> bool:
    decoded = typed_decoder(_Line)
    seen: set[str] = set()
    last = None
    for _, line in files.lines(path):
        try:
            identity = str(decoded(line).episode_id)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if identity != last:
            if identity in seen:
                return False
            seen.add(identity)
            last = identity
    return True


def _full_eval(path: Path, source: Source, on_broken: OnBroken) -> Run:
    meta = Head(path).record
    meta = meta if logs.is_meta(meta) else {}
    model = text_of(meta.get("planner_model"))

    def found() -> Iterator[Found]:
        for place, row in read_rows(path, on_broken):
            # The header of the run, which `meta` already has.
            if isinstance(row, dict) and row.get("_meta") is True:
                continue
            if isinstance(row, dict) and row_shape(row) == "full-eval":
                yield place, partial(_build_sample, logs.task_result_episode, row, model), path
            else:
                on_broken(ReadError("not a task's result", path=str(path), place=place))

    config = unknown_keys(meta, ("_meta", *texts_in(meta, "planner_model")))
    return Run(name=path.name, model=model, config=config, source=source, samples=_samples(found(), source, on_broken))


def _benchmark_run(path: Path, source: Source, on_broken: OnBroken) -> Run:
    metadata = benchmark.object_if_there(path / "metadata.json")
    summary = benchmark.object_if_there(path / "summary.json")
    created = from_iso(metadata.get("created_at"))
    known = texts_in(metadata, "benchmark_name", "run_name", "model_id")
    kept = unknown_keys(metadata, (*known, *(("created_at",) if created is not None else ())))
    if summary:
        kept["summary"] = summary
    executions = sorted(path.glob("tasks/*/execution.json"))
    return Run(
        name=text_of(metadata.get("run_name")) or path.name,
        created=created,
        task=text_of(metadata.get("benchmark_name")),
        model=text_of(metadata.get("model_id")),
        source=source,
        extra=as_extra(NAME, kept),
        samples=_samples(_executions(executions, metadata), source, on_broken),
    )


def _executions(paths: Iterable[Path], run: dict[str, Any]) -> Iterator[Found]:
    for path in paths:

        def sample(path: Path = path) -> Sample:
            # A default argument binds the path now: this runs only after the loop has moved on.
            task = benchmark.object_if_there(path.with_name("task.json"))
            return sample_from(benchmark.execution_episode(benchmark.object_if_there(path), task, run))

        yield None, sample, path


def _arena_tasks(root: Path, on_broken: OnBroken) -> Iterator[Found]:
    for path in sorted(root.rglob("traj.jsonl")):
        place = path.parent.relative_to(root).parts

        def sample(path: Path = path, place: tuple[str, ...] = place) -> Sample:
            rows = [row for row in read_log(path, on_broken) if isinstance(row, dict)]
            return sample_from(arena.task_episode(path.parent, rows, place))

        yield None, sample, path
