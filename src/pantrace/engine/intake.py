"""Intake: inputs on their way into a run directory. What it holds of them already is not measured again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.formats import Format
from pantrace.model import Record, Sample
from pantrace.store import Intake, RunDirectory
from pantrace.wire.input_cuts import Cutting
from pantrace.wire.progress import current_progress

from .beside import Beside
from .evaluate_part import Chunk, EvaluateParts, PartRead, nobody_watches, part_place
from .executor import Executor, InProcess
from .fingerprint import content_hash, fingerprint, name_of, signature
from .input_part import InputPart, parts_of, weight_of
from .judged_counts import JudgedCounts
from .measure import References
from .plan_judges import Judges
from .portions import portions
from .read import Notes
from .search import Found
from .select import Selection

_ELSEWHERE = Sample(id="")
"""Shown to whoever counts samples, for one that was read in another process."""


@dataclass
class Done:
    """What an evaluation did, counted in samples, and what has changed since the last one into the same directory."""

    measured: int = 0
    """Measured now."""
    reused: int = 0
    """There already, of a run that was interrupted or repeated."""
    renewed: int = 0
    """Of those measured: their part was damaged or missing, or a judge had not answered."""
    superseded: int = 0
    """Not part of the results any more: their input was edited, or they are no longer selected."""
    removed: int = 0
    """Not part of the results any more: their input was not given."""
    damaged: list[Path] = field(default_factory=list)
    """Files of the run directory that were damaged or missing, and were written anew."""
    anew: tuple[str, ...] = ()
    """`run.json` or `manifest.sqlite`, when it was damaged or missing."""
    undone: list[str] = field(default_factory=list)
    """Profiles whose decisions `gate` had put in place of the plan's."""
    notes: Notes = field(default_factory=Notes.keeping)
    by: list[str] = field(default_factory=list)
    """Who did it, in words, if not this process alone."""
    inputs: dict[str, list[Path]] = field(default_factory=dict)
    """By fingerprint: several inputs under one are copies of each other."""
    unmatched: int = 0
    """Samples without a counterpart in the reference."""
    prompted: int = 0
    """Samples joined with the reference by their first prompt, for want of an id."""
    judged: JudgedCounts = field(default_factory=JudgedCounts)
    """What became of the scores that judges were asked for now."""


class _Pending:
    """An input that is being read, part by part."""

    def __init__(self, path: Path, chosen: Format, seen: str, fingerprint: Callable[[], str]):
        self.path, self.chosen, self.seen, self.fingerprint = path, chosen, seen, fingerprint
        self.parts: list[str] = []
        self.samples = 0
        self.broken: list[ReadError] = []
        self.references = References()
        self.read = 0
        self.is_given_up = False

    def absorb(self, found: PartRead) -> None:
        self.samples += found.samples
        self.broken += found.broken
        self.read += found.selection.read if found.selection is not None else found.samples
        self.is_given_up = found.is_given_up
        if found.references is not None:
            self.references.absorb(found.references)

    def intake(self, *, joined: bool) -> Intake:
        """What the whole input came to."""
        notes: dict[str, Any] = {
            "samples": self.samples,
            "read": self.read,
            "broken": [_plain(error) for error in self.broken],
            "unmatched": self.references.unmatched,
            "prompted": self.references.prompted,
        }
        if joined:
            notes["met"] = sorted(self.references.met)
        return Intake(input=name_of(self.path), fingerprint=self.fingerprint(), parts=tuple(self.parts), notes=notes)


class _Broken(Record, frozen=True, kw_only=True):
    """A record that could not be read, as `ReadError` has it."""

    message: str
    path: str | None = None
    place: str | None = None
    remedy: str | None = None


class _Notes(Record, frozen=True, kw_only=True):
    """What an intake notes, as `_Pending.intake` writes it."""

    samples: int
    read: int = 0
    broken: list[_Broken] = []
    unmatched: int = 0
    prompted: int = 0
    met: list[str] = []


class Intakes:
    """The inputs of one evaluation."""

    def __init__(
        self,
        directory: RunDirectory,
        judges: Judges,
        done: Done,
        circumstances: str,
        references: References | None,
        selection: Selection | None,
        on_sample: Callable[[Sample], None],
        *,
        whole: bool,
    ):
        """`whole`: the inputs hold numbers over whole evaluations, which are then what is counted."""
        self._directory = directory
        self._judges = judges
        self._done = done
        self._circumstances = circumstances
        self._references = references
        self._selection = selection
        self._on_sample = on_sample
        self._names: set[str] = set()
        self._parts: dict[str, Sequence[str]] = {}
        """Of each input."""
        self._pending: dict[str, _Pending] = {}
        self._beside: Beside | None = None
        """Who works here while others read; None where nobody else does."""
        self._task = EvaluateParts(
            folder=directory.path,
            ready=judges.ready,
            known=directory.known_parts(),
            formers={name: part for part in directory.part_names() for name in (part, *part.rsplit("-", 1))},
            references=references,
            selection=selection,
            whole=whole,
            bench=judges.bench,
            judges=judges,
            on_sample=on_sample,
        )

    def take(self, opened: Iterable[Found], executor: Executor, cutting: Cutting) -> None:
        """Take in inputs: as they were taken in before, else sample by sample, part by part."""
        if isinstance(executor, InProcess):
            self._take(opened, executor, cutting)
            return
        # Counted as parts come in, also where there is only one and it is read here after all.
        self._task.on_sample = nobody_watches
        with Beside() as self._beside:
            self._take(opened, executor, cutting)

    def _take(self, opened: Iterable[Found], executor: Executor, cutting: Cutting) -> None:
        is_here, watched = self._beside is None, current_progress()
        for part, records in executor.map_parts(self._task, self._handed_out(self._unknown(opened, cutting))):
            pending = self._pending[part.path]
            if watched is not None:
                watched.begin_part(part.weight)
            # Others may have read on behind the part that was one too many.
            for record in records if not pending.is_given_up else ():
                if isinstance(record, Chunk):
                    self._commit(record)
                    pending.parts.append(record.part)
                    for _ in range(0 if is_here else record.samples):
                        self._on_sample(_ELSEWHERE)
                else:
                    self._absorb(record, pending)
            if watched is not None:
                watched.end()
            if part.is_last:
                self._end(self._pending.pop(part.path))

    def _handed_out(self, parts: Iterable[InputPart]) -> Iterator[InputPart]:
        """The parts. When two are known, others begin to work: what is loaded before would only hold that up."""
        for number, part in enumerate(parts):
            yield part
            if number == 1 and self._beside is not None:
                self._beside.load_for_summary()

    def _unknown(self, opened: Iterable[Found], cutting: Cutting) -> Iterator[InputPart]:
        """The parts of the inputs that are not known. Asked for one by one: whether more are wanted may depend on those
        before."""
        for path, chosen, variant in opened:
            name = name_of(path)
            self._names.add(name)
            left = self._left()
            if left == 0:
                continue
            self._parts[name] = ()
            seen, content = signature(path, chosen), self._content(path)
            found = partial(_fingerprint, path, chosen, variant, content, f"{self._circumstances} {left}")
            # A directory that holds nothing has nothing to find again: the hash may come when everything is read.
            known = self._directory.intake(name, found()) if self._task.formers else None
            joined = self._references is None or "met" in (known.notes if known is not None else {})
            if known is None or not joined or any(map(self._task.lacks_answers, known.parts)):
                if self._task.formers:
                    self._find_again(name, content())
                self._pending[str(path)] = _Pending(path, chosen, seen, found)
                yield from parts_of(path, chosen, variant, cutting)
            else:
                self._done.inputs.setdefault(known.fingerprint, []).append(path)
                self._take_known(known)
                if (watched := current_progress()) is not None:
                    watched.add(size=weight_of(path))

    def _content(self, path: Path) -> Callable[[], str]:
        """The hash of an input, taken while others work, or when it is asked for."""
        if self._beside is None:
            return cache(partial(content_hash, path))
        return self._beside.promise(partial(content_hash, path, self._beside.is_over.is_set))

    def _find_again(self, name: str, content: str) -> None:
        """Parts of earlier versions had other names: of their input's content, then of its path, and a number."""
        formers = self._task.formers
        for former in (name, content):
            for number in count():
                if (old := formers.get(f"{former}-{number:08d}")) is None:
                    break
                formers.setdefault(part_place(name, 0, number), old)

    def _take_known(self, known: Intake) -> None:
        try:
            notes = msgspec.convert(known.notes, _Notes)
        except msgspec.ValidationError as error:
            # Only somebody who sealed it again could have changed it.
            raise ReadError(f"the manifest's record of {known.input} is damaged: {error}") from None
        self._parts[known.input] = known.parts
        self._done.reused += notes.samples
        if self._selection is not None:
            self._selection.read += notes.read
            self._selection.taken += notes.samples
        self._done.notes.broken += [ReadError(**msgspec.structs.asdict(each)) for each in notes.broken]
        if self._references is not None:
            self._references.met.update(notes.met)
        self._done.unmatched += notes.unmatched
        self._done.prompted += notes.prompted

    def _absorb(self, found: PartRead, pending: _Pending) -> None:
        pending.absorb(found)
        self._done.notes.broken += found.broken
        if self._selection is not None and found.selection is not None:
            self._selection.absorb(found.selection)
        if self._references is not None and found.references is not None:
            self._references.absorb(found.references)
            self._done.unmatched += found.references.unmatched
            self._done.prompted += found.references.prompted

    def _end(self, pending: _Pending) -> None:
        known = pending.intake(joined=self._references is not None)
        self._parts[known.input] = known.parts
        self._done.inputs.setdefault(known.fingerprint, []).append(pending.path)
        # One that changed while it was read is read again the next time.
        if signature(pending.path, pending.chosen) == pending.seen:
            self._directory.remember(known)

    def _commit(self, chunk: Chunk) -> None:
        if chunk.staged is None:
            self._directory.recall(chunk.part)
        else:
            self._directory.commit(chunk.staged, again=True)
        self._done.measured += chunk.measured
        self._done.reused += chunk.samples - chunk.measured
        self._done.renewed += chunk.samples if chunk.renewed else 0
        self._done.damaged += chunk.damaged
        if chunk.judged is not None:
            self._done.judged.absorb(chunk.judged)

    def take_not_run(self, reference: Path) -> None:
        """Take in the cases of the reference that nobody ran: they count, and no metric has a number for them."""
        if self._references is None or self._selection is not None:
            return
        name = f"{name_of(reference)}r"
        self._names.add(name)
        parts = self._parts[name] = []
        for number, portion in enumerate(portions(self._references.not_run())):
            parts.append(f"{part_place(name, 0, number)}-{portion.hash[:16]}")
            self._commit(self._task.keep(parts[-1], portion, self._judges))

    def _left(self) -> int | None:
        """Samples that may still be chosen; None without a limit."""
        chosen = self._selection
        return None if chosen is None or chosen.limit is None else chosen.limit - chosen.taken

    def settle(self) -> None:
        """Let the parts of these inputs count and no others; count the samples that do not any more."""
        before = set(self._directory.part_names(counting=True))
        parts = [part for some in self._parts.values() for part in some]
        left = self._directory.settle(parts)
        came = Counter(each for part in parts if left and part not in before for each in self._hashes(part))
        for part in left:
            if part.profile is not None:
                self._done.undone.append(part.profile)
                continue
            gone = Counter(self._hashes(part.part))
            count = (gone - came).total() if gone else part.samples
            came -= gone
            if part.part.partition("-")[0] in self._names:
                self._done.superseded += count
            else:
                self._done.removed += count

    def _hashes(self, part: str) -> list[str]:
        """Of the samples of a part; of a damaged one none is known."""
        return self._directory.sample_hashes(part) if not self._directory.damage(part) else []


def _fingerprint(path: Path, chosen: Format, variant: str, content: Callable[[], str], circumstances: str) -> str:
    return fingerprint(path, chosen, variant, content(), circumstances)


def _plain(error: ReadError) -> dict[str, str | None]:
    return {"message": error.message, "path": error.path, "place": error.place, "remedy": error.remedy}
