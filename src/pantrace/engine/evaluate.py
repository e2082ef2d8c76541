"""Evaluation: read, measure, check, decide, keep. What is kept already is not measured again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.errors import UsageError
from pantrace.formats import Format
from pantrace.judges import Calibrations
from pantrace.model import Run, RunHeader, Sample
from pantrace.policy import Profile
from pantrace.store import RunDirectory
from pantrace.wire.input_cuts import SPAN_BYTES, Cutting
from pantrace.wire.progress import current_progress

from .collector import seldom_collecting
from .evaluate_part import EvaluateParts
from .evaluate_sample import decide_sample
from .executor import ONE_PROCESS, Engine
from .fingerprint import content_hash, signature
from .input_part import weight_of
from .intake import Done, Intakes
from .judge import Bench
from .known_names import refuse_unknown_of, refuse_unmeasured
from .measure import References
from .nothing_read import nothing_read
from .plan import Ready
from .plan_judges import Judges
from .read import Notes, inputs, read_pile
from .select import Selection
from .shared_judges import shared_judges


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
    engine: Engine = ONE_PROCESS,
    span_bytes: int = SPAN_BYTES,
) -> Done:
    """Evaluate inputs into a run directory; the same call after a crash goes on where it was.

    Afterwards the directory holds what these inputs and this plan give, whatever it held before and whichever engine
    does it. Judges are asked from here, whoever reads and measures, so that there is one budget and one cache; a limit
    needs one process.
    """
    done = Done()
    opened = _opened(paths, out, format, done.notes)
    if selection is not None:
        selection.begin()
        selection.look_up(lambda: read_pile(paths, format=format, notes=Notes.keeping()).samples)
    refuse_unmeasured(ready, lambda: _as_joined(paths, format, ready))
    references = _references(ready)
    # Among recordings, numbers over a whole evaluation would be averaged with those of single samples.
    whole = all(chosen.stored for _, chosen, _ in opened)
    circumstances = _circumstances(ready, selection) + (" whole" if whole else "")
    header, hashed = _header(paths, ready), plan_hash(ready, judging)
    if selection is not None and not selection.is_by_part:
        engine = ONE_PROCESS
    # Made before the directory is touched: it may refuse.
    executor = engine.executor(sum(weight_of(path) for path, _, _ in opened), done.by.append, EvaluateParts)
    with (
        RunDirectory.open_for_writing(out, header, plan_text, hashed) as directory,
        ExitStack() as held,
        seldom_collecting(),
    ):
        done.anew = directory.renewed
        directory.begin(_all_of(opened, f"{circumstances} {selection.limit if selection else None}"))
        if (watched := current_progress()) is not None:
            watched.expect(path for path, _, _ in opened)
        with executor:
            bench = held.enter_context(shared_judges(judging, executor)) if judging is not None else None
            judges = held.enter_context(Judges(ready, bench))
            intakes = Intakes(directory, judges, done, circumstances, references, selection, on_sample, whole=whole)
            intakes.take(opened, executor, Cutting(span_bytes, held))
        if ready.reference is not None:
            intakes.take_not_run(ready.reference)
        intakes.settle()
        broken = [str(error) for error in done.notes.broken]
        config: dict[str, Any] = {"broken_records": broken} if broken else {}
        if _demands_all(ready, directory):
            config[COMPLETE] = True
        directory.finish(
            replace(
                header,
                created=directory.header.created,
                status="complete",
                config=config,
                dataset={**header.dataset, **_left_out(selection)},
            )
        )
    if judging is not None:
        judging.counts.absorb(done.judged)
    refuse_unknown_of(ready, out)
    return done


def _references(ready: Ready) -> References | None:
    return References.of(read_pile([ready.reference], notes=Notes())) if ready.reference else None


def _as_joined(paths: list[Path], format_name: str | None, ready: Ready) -> Iterator[Sample]:
    """All samples with what the reference says about them, only to look at them."""
    # Its own references: which of them were met is counted while the samples are evaluated.
    references = _references(ready)
    for sample in read_pile(paths, format=format_name, notes=Notes.keeping()).samples:
        yield sample if references is None else references.join(sample)


COMPLETE = "complete"
"""Set in the header's `config` if a profile that decided demands every case: later gates do not have its file."""


def _demands_all(ready: Ready, directory: RunDirectory) -> bool:
    strict = {each.name for each in ready.profiles.values() if each.complete}
    return bool(strict) and not strict.isdisjoint(directory.evaluated_profiles())


def _left_out(selection: Selection | None) -> dict[str, Any]:
    """How many samples were there and not chosen, by reason, and the limit that ended the reading before its end."""
    if selection is None:
        return {}
    found: dict[str, Any] = {}
    if selection.read > selection.taken:
        found["left_out"] = {"not selected": selection.read - selection.taken}
    if selection.limit is not None and selection.taken >= selection.limit:
        found["limit"] = selection.limit
    return found


def _opened(paths: list[Path], out: Path, format_name: str | None, notes: Notes) -> list[tuple[Path, Format, str]]:
    """The inputs, each once however often it is named; the results are none of them."""
    own = out.resolve()
    if any(path.resolve() == own for path in paths):
        raise UsageError(f"{out} is named as input and as --out; choose another directory for the results")
    found = {each[0].resolve(): each for each in inputs(paths, format_name, notes)}
    found.pop(own, None)
    if not found:
        raise nothing_read(paths, notes.broken)
    return [*found.values()]


def _circumstances(ready: Ready, selection: Selection | None) -> str:
    """What decides, beside the input itself, which samples it gives. How many are left to choose is told apart."""
    reference = content_hash(ready.reference) if ready.reference else None
    chosen: tuple[object, ...] | None = None
    if selection is not None:
        until = () if selection.until is None else (selection.until,)
        chosen = (selection.since, selection.sessions, selection.where, *until)
    return repr((reference, chosen))


def _all_of(opened: list[tuple[Path, Format, str]], circumstances: str) -> str:
    described = [(str(path), chosen.name, variant, signature(path, chosen)) for path, chosen, variant in opened]
    return sha256(repr((described, circumstances)).encode("utf-8", "surrogatepass")).hexdigest()


def _header(paths: list[Path], ready: Ready) -> RunHeader:
    return RunHeader(name=ready.plan.name, created=time.time(), dataset={"inputs": [str(path) for path in paths]})


def plan_hash(ready: Ready, judging: Bench | None = None) -> str:
    """What a run directory is bound to: the plan, and who judges."""
    judge = "" if judging is None else repr(judging.settings) + (" managed" if judging.manages else "")
    return sha256(f"{ready.hash}  {judge}".encode()).hexdigest()


def decide_again(out: Path, profile: Profile, calibrations: Calibrations | None = None) -> Run:
    """Decide every sample of a run directory by another profile; nothing is measured."""
    known = calibrations or Calibrations()
    with RunDirectory.open(out, writing=True) as directory:
        found = [decide_sample(sample, scores, profile, known) for sample, scores in directory.scored()]
        directory.replace_decisions(profile.name, found)
        return directory.run()
