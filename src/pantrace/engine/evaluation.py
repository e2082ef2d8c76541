"""Evaluation: read, measure, check, decide, keep. What is kept already is not measured again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path

from pantrace.errors import ReadError
from pantrace.judges import Calibrations
from pantrace.model import Run, RunHeader, Sample, header_of
from pantrace.policy import Profile
from pantrace.store import RunDirectory, query

from .evaluate import decide_sample
from .judge import Bench
from .judging import Judges, parts_to_ask_again
from .known_names import refuse_unknown_of
from .measure import References
from .plan import Ready
from .read import Notes, inputs, open_run, read_pile, watched
from .select import Selection

CHUNK = 64
"""Samples that are kept together: what a crash can cost is this much measuring."""


@dataclass
class Done:
    """What an evaluation did."""

    measured: int = 0
    """Samples measured now."""
    kept: int = 0
    """Samples that were there already, of a run that was interrupted or repeated."""
    notes: Notes = field(default_factory=Notes.keeping)
    unmatched: int = 0
    """Samples without a counterpart in the reference."""
    prompted: int = 0
    """Samples joined with the reference by their first prompt, for want of an id."""


def evaluate_into(
    paths: list[Path],
    out: Path,
    ready: Ready,
    plan_text: str,
    *,
    format: str | None = None,  # noqa: A002
    selection: Selection | None = None,
    on_sample: Callable[[Sample], None] = lambda _: None,
    judging: Bench | None = None,
) -> Done:
    """Evaluate inputs into a run directory; the same call after a crash goes on where it was."""
    done = Done()
    opened = list(inputs(paths, format, done.notes))
    if not opened:
        raise ReadError("nothing readable in it", path=", ".join(map(str, paths)))
    references = References.of(read_pile([ready.reference], notes=Notes())) if ready.reference else None
    header, hashed = _header(paths, ready), plan_hash(ready, selection, judging)
    with RunDirectory.open_for_writing(out, header, plan_text, hashed) as directory, Judges(ready, judging) as judges:
        again = parts_to_ask_again(out) if judging is not None else set()
        for path, chosen, variant in opened:
            digest = digest_of(path)
            end = f"{digest}-end"
            if directory.is_done(end) and not any(part.startswith(digest) for part in again):
                continue
            run = open_run(path, chosen, variant, done.notes.on_broken)
            samples = selection.apply(run.samples) if selection else run.samples
            if references is not None:
                samples = map(references.join, samples)
            _keep(directory, digest, watched(samples, on_sample), judges, done, again)
            directory.write_part(end, ())
        directory.finish(_finished(directory.header, opened, done))
    done.kept = query(out, "select count(*) from samples").rows[0][0] - done.measured
    if references is not None:
        done.unmatched, done.prompted = references.unmatched, references.prompted
    refuse_unknown_of(ready, out)
    return done


def _keep(
    directory: RunDirectory, digest: str, samples: Iterable[Sample], judges: Judges, done: Done, again: set[str]
) -> None:
    for number, chunk in enumerate(_chunks(samples)):
        part = f"{digest}-{number:08d}"
        if directory.is_done(part) and part not in again:
            continue
        directory.write_part(part, judges.results(chunk), again=part in again)
        done.measured += len(chunk)


def _chunks(samples: Iterable[Sample]) -> Iterator[list[Sample]]:
    iterator = iter(samples)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk


def _header(paths: list[Path], ready: Ready) -> RunHeader:
    return RunHeader(name=ready.plan.name, created=time.time(), dataset={"inputs": [str(path) for path in paths]})


def _finished(header: RunHeader, opened: Iterable[tuple[Path, object, str]], done: Done) -> RunHeader:
    from msgspec.structs import replace

    broken = [str(error) for error in done.notes.broken]
    config = {**header.config, "broken_records": broken} if broken else header.config
    return replace(header_of(header), status="complete", config=config)


def plan_hash(ready: Ready, selection: Selection | None, judging: Bench | None = None) -> str:
    """What a run directory is bound to: the plan, which samples were chosen, and who judges."""
    chosen = "" if selection is None else f"{selection.since} {selection.sessions} {selection.where} {selection.limit}"
    judge = "" if judging is None else repr(judging.settings) + (" managed" if judging.manages else "")
    return sha256(f"{ready.hash} {chosen} {judge}".encode()).hexdigest()


def digest_of(path: Path) -> str:
    """A hash of an input's content: of a file's bytes, of a directory's names and bytes."""
    digest = sha256()
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    for file in files:
        digest.update(str(file.relative_to(path) if path.is_dir() else "").encode() + b"\0")
        try:
            with file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror}", path=str(file)) from None
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def decide_again(out: Path, profile: Profile, calibrations: Calibrations | None = None) -> Run:
    """Decide every sample of a run directory by another profile; nothing is measured."""
    known = calibrations or Calibrations()
    with RunDirectory.open(out, writing=True) as directory:
        found = []
        for result in directory.results():
            found.append(decide_sample(result.sample, result.scores, profile, known))
        directory.replace_decisions(profile.name, found)
        return directory.run()
