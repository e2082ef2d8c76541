"""Evaluate a part: read it, measure and decide its samples, and stage what comes of it. Done here or by a worker; the
records it gives back are small, and who holds the run directory commits them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import Record, Sample
from pantrace.store import Kept, KnownParts, Result, SampleTexts, Staged, sample_of, stage_part

from .fingerprint import name_of
from .input_part import InputPart, open_part
from .judged_counts import JudgedCounts
from .measure import References
from .plan import Ready
from .plan_judges import Judges, lacks_answers
from .portions import FIRST, MOST, portions
from .read import GivenUp, watch
from .select import Selection
from .stored_evaluation import samples_of

if TYPE_CHECKING:  # slow to load; most workers ask no judge
    from .judge import Bench

AT_ONCE = 64
"""Samples that are measured, and put to judges, together."""


class Chunk(Record, frozen=True, kw_only=True):
    """Samples that are kept together as one part of a run directory."""

    part: str
    samples: int
    staged: Staged | None = None
    """What waits to be committed; None: the directory holds the part already."""
    measured: int = 0
    """The others were known from another part."""
    renewed: bool = False
    """The directory held it, damaged or not answered by a judge."""
    damaged: tuple[Path, ...] = ()
    judged: JudgedCounts | None = None
    """What became of the scores that judges were asked for."""


@dataclass(frozen=True, kw_only=True)
class PartRead:
    """What reading a part came to; the last of its records."""

    samples: int
    broken: list[ReadError]
    references: References | None = None
    """Only what was counted."""
    selection: Selection | None = None

    @property
    def is_given_up(self) -> bool:
        """Whether the rest of the input is not worth reading."""
        return any(isinstance(error, GivenUp) for error in self.broken)


def nobody_watches(_: Sample) -> None:
    """By name, so that it can be sent to another process."""


@dataclass(kw_only=True)
class EvaluateParts:
    """The task of one evaluation. A part of a run directory is named by its input, its place in it and a hash of its
    samples. So the same samples have the same part, whatever the directory held before, and a part that is there
    already needs no measuring."""

    folder: Path
    ready: Ready
    known: KnownParts
    formers: dict[str, str]
    """Parts that the directory holds, also by input and place alone, for most of their samples may be where they were;
    and by the hash of their samples alone, for an input may have been renamed."""
    references: References | None
    selection: Selection | None
    whole: bool
    """The inputs hold numbers over whole evaluations, which are then what is counted."""
    bench: Bench | None = None
    """Who is asked, also by workers; None: nobody."""
    judges: Judges | None = None
    """Held open by this process, for every part; a worker opens its own for each."""
    on_sample: Callable[[Sample], None] = field(default=nobody_watches)

    def __getstate__(self) -> dict[str, Any]:
        """What is held open, and whoever watches, stay here."""
        state = {**self.__dict__, "on_sample": nobody_watches, "judges": None}
        if self.references is not None:
            state["references"] = self.references.fresh()
        return state

    def __call__(self, part: InputPart) -> Iterator[Chunk | PartRead]:
        """The chunks of a part, then what reading it came to."""
        broken: list[ReadError] = []
        references = self.references.fresh() if self.references is not None else None
        selection = self.selection.fresh() if self.selection is not None else None
        run = open_part(part, broken.append)
        samples: Iterable[Sample] = samples_of(run, part.chosen, part.place()) if self.whole else run.samples
        if selection is not None:
            samples = selection.wanted(samples)
        if references is not None:
            samples = map(references.join, samples)
        name, count = name_of(part.place()), 0
        first = FIRST if part.number == 0 else MOST  # a crash late in an input may cost more than an early one
        with self._open_judges() as judges:
            for number, portion in enumerate(portions(watch(samples, self.on_sample), first)):
                place, hashed = part_place(name, part.number, number), portion.hash[:16]
                near = [part_place(name, part.number, each) for each in (number, number + 1, number - 1)]
                yield self.keep(f"{place}-{hashed}", portion, judges, [hashed, *near])
                count += len(portion)
        if references is not None:
            references = References(met=references.met, unmatched=references.unmatched, prompted=references.prompted)
        yield PartRead(samples=count, broken=broken, references=references, selection=selection)

    @contextmanager
    def _open_judges(self) -> Iterator[Judges]:
        if self.judges is not None:
            yield self.judges
            return
        with Judges(self.ready, self.bench) as judges:
            yield judges

    def lacks_answers(self, part: str) -> bool:
        """Whether a part of the directory is to be judged again."""
        return self.bench is not None and lacks_answers(self.known, part)

    def keep(self, part: str, portion: SampleTexts, judges: Judges, near: Iterable[str] = ()) -> Chunk:
        """Stage samples with their results, unless the directory has them. `near`: where else they may stand."""
        unanswered = self.lacks_answers(part)
        if not unanswered and self.known.has(part):
            return Chunk(part=part, samples=len(portion))
        damaged = self.known.damage(part)
        known = self._known(portion, [self.formers[each] for each in near if each in self.formers])
        staged = stage_part(self.folder, part, self._results(portion, known, judges))
        return Chunk(
            part=part,
            samples=len(portion),
            staged=staged,
            measured=sum(each is None for each in known),
            renewed=bool(damaged or unanswered),
            damaged=tuple(damaged),
            judged=judges.take_counts(),
        )

    def _known(self, portion: SampleTexts, formers: list[str]) -> list[Kept | None]:
        """Results of samples that a former part holds as they are: these need no measuring."""
        hashes = portion.hashes() if formers else []
        known: dict[str, Kept] = {}
        for former in formers:
            if not known.keys() >= {*hashes} and not self.known.damage(former) and not self.lacks_answers(former):
                known |= {each.hash: each for each in self.known.kept(former)}
        return [known.get(each) for each in hashes] or [None] * len(portion)

    def _results(self, portion: SampleTexts, known: list[Kept | None], judges: Judges) -> Iterator[Result | Kept]:
        for first in range(0, len(portion), AT_ONCE):
            here = known[first : first + AT_ONCE]
            texts = portion.texts(first, first + AT_ONCE)
            fresh = [text for text, kept in zip(texts, here, strict=True) if kept is None]
            measured = zip(fresh, judges.results([sample_of(text) for text in fresh]), strict=True)
            for kept in here:
                if kept is None:
                    text, result = next(measured)
                    yield replace(result, text=text)
                else:
                    yield kept


def part_place(name: str, part: int, chunk: int) -> str:
    """Where a chunk stands: in the order of these names, samples stand as they stood in their input."""
    return f"{name}-{part:04d}{chunk:08d}"
