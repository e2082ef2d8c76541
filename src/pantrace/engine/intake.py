"""Intake: inputs on their way into a run directory. What it holds of them already is not measured again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.formats import Format
from pantrace.model import Sample
from pantrace.store import Intake, Kept, Result, RunDirectory, SampleTexts, sample_of

from .fingerprint import content_hash, fingerprint, name_of, signature
from .measure import References
from .plan_judges import Judges, lacks_answers
from .portions import portions
from .read import Notes, open_run, watch
from .select import Selection
from .stored_evaluation import samples_of

AT_ONCE = 64
"""Samples that are measured, and put to judges, together."""


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
    unmatched: int = 0
    """Samples without a counterpart in the reference."""
    prompted: int = 0
    """Samples joined with the reference by their first prompt, for want of an id."""


class Intakes:
    """The inputs of one evaluation.

    A part is named by its input, its place in it and a hash of its samples. So the same samples have the same part,
    whatever the directory held before, and a part that is there already needs no measuring."""

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
        self._whole = whole
        self._names: set[str] = set()
        self._parts: list[str] = []
        self._formers = {name: part for part in directory.part_names() for name in (part, *part.rsplit("-", 1))}
        """Parts that the directory holds, also by input and place alone, for most of their samples may be where they
        were; and by the hash of their samples alone, for an input may have been renamed."""

    def take(self, path: Path, chosen: Format, variant: str) -> None:
        """Take in one input: as it was taken in before, else sample by sample."""
        name = name_of(path)
        self._names.add(name)
        left = self._left()
        if left == 0:
            return
        seen, content = signature(path, chosen), content_hash(path)
        circumstances = f"{self._circumstances} {left}"
        found = fingerprint(path, chosen, variant, content, circumstances)
        known = self._directory.intake(name, found)
        joined = self._references is None or "met" in (known.notes if known is not None else {})
        if known is None or not joined or any(map(self._lacks_answers, known.parts)):
            known = self._read(path, chosen, variant, Intake(input=name, fingerprint=found), content)
            # One that changed while it was read is read again the next time.
            if signature(path, chosen) == seen:
                self._directory.remember(known)
        else:
            self._done.reused += known.notes["samples"]
            if self._selection is not None:
                self._selection.read += known.notes.get("read", 0)
                self._selection.taken += known.notes["samples"]
            self._done.notes.broken += [ReadError(**each) for each in known.notes["broken"]]
        self._parts += known.parts
        if self._references is not None:
            self._references.met.update(known.notes["met"])
        self._done.unmatched += known.notes["unmatched"]
        self._done.prompted += known.notes["prompted"]

    def take_not_run(self, reference: Path) -> None:
        """Take in the cases of the reference that nobody ran: they count, and no metric has a number for them."""
        if self._references is None or self._selection is not None:
            return
        name = f"{name_of(reference)}r"
        self._names.add(name)
        for number, portion in enumerate(portions(self._references.not_run())):
            self._parts.append(f"{name}-{number:08d}-{portion.hash[:16]}")
            self._keep(self._parts[-1], portion, [])

    def _left(self) -> int | None:
        """Samples that may still be chosen; None without a limit."""
        chosen = self._selection
        return None if chosen is None or chosen.limit is None else chosen.limit - chosen.taken

    def settle(self) -> None:
        """Let the parts of these inputs count and no others; count the samples that do not any more."""
        before = set(self._directory.part_names(counting=True))
        left = self._directory.settle(self._parts)
        came = Counter(each for part in self._parts if left and part not in before for each in self._hashes(part))
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

    def _read(self, path: Path, chosen: Format, variant: str, empty: Intake, content: str) -> Intake:
        broken, references = self._done.notes.broken, self._references
        before = (len(broken), references.unmatched, references.prompted) if references else (len(broken), 0, 0)
        met_before = references.met if references else set()
        if references is not None:
            references.met = set()
        looked_at = self._selection.read if self._selection is not None else 0
        run = open_run(path, chosen, variant, self._done.notes.on_broken)
        samples = self._wanted(samples_of(run, chosen, path) if self._whole else run.samples)
        parts, count = [], 0
        for number, portion in enumerate(portions(samples)):
            place, hashed = f"{empty.input}-{number:08d}", portion.hash[:16]
            parts.append(f"{place}-{hashed}")
            # The last: before there were hashes, a part was named by its input's content and its place.
            places = [hashed, *(f"{empty.input}-{near:08d}" for near in (number, number + 1, number - 1))]
            formers = [self._formers[each] for each in (*places, f"{content}-{number:08d}") if each in self._formers]
            self._keep(parts[-1], portion, formers)
            count += len(portion)
        notes: dict[str, Any] = {
            "samples": count,
            "read": self._selection.read - looked_at if self._selection is not None else count,
            "broken": [_plain(error) for error in broken[before[0] :]],
            "unmatched": references.unmatched - before[1] if references else 0,
            "prompted": references.prompted - before[2] if references else 0,
        }
        if references is not None:
            notes["met"] = sorted(references.met)
            references.met |= met_before
        return Intake(input=empty.input, fingerprint=empty.fingerprint, parts=tuple(parts), notes=notes)

    def _wanted(self, samples: Iterable[Sample]) -> Iterable[Sample]:
        if self._selection is not None:
            samples = self._selection.wanted(samples)
        if self._references is not None:
            samples = map(self._references.join, samples)
        return watch(samples, self._on_sample)

    def _keep(self, part: str, portion: SampleTexts, formers: list[str]) -> None:
        unanswered = self._lacks_answers(part)
        if not unanswered and self._directory.has(part):
            self._done.reused += len(portion)
            return
        damaged = self._directory.damage(part)
        if damaged or unanswered:
            self._done.renewed += len(portion)
            self._done.damaged += damaged
        self._directory.write_part(part, self._results(portion, formers), again=True)

    def _results(self, portion: SampleTexts, formers: list[str]) -> Iterator[Result | Kept]:
        """Results of samples; those that a former part holds as they are need no measuring."""
        hashes = portion.hashes() if formers else []
        known: dict[str, Kept] = {}
        for former in formers:
            if not known.keys() >= {*hashes} and not self._directory.damage(former) and not self._lacks_answers(former):
                known |= {each.hash: each for each in self._directory.kept(former)}
        found = [known.get(each) for each in hashes] or [None] * len(portion)
        for first in range(0, len(portion), AT_ONCE):
            here = found[first : first + AT_ONCE]
            texts = portion.texts(first, first + AT_ONCE)
            fresh = [text for text, kept in zip(texts, here, strict=True) if kept is None]
            self._done.measured += len(fresh)
            self._done.reused += len(texts) - len(fresh)
            measured = zip(fresh, self._judges.results([sample_of(text) for text in fresh]), strict=True)
            for kept in here:
                if kept is None:
                    text, result = next(measured)
                    yield replace(result, text=text)
                else:
                    yield kept

    def _lacks_answers(self, part: str) -> bool:
        """Whether a part is to be judged again; a damaged one is made again anyway."""
        if self._judges.bench is None or self._directory.damage(part):
            return False
        return lacks_answers(self._directory, part)


def _plain(error: ReadError) -> dict[str, str | None]:
    return {"message": error.message, "path": error.path, "place": error.place, "remedy": error.remedy}
