"""Judge parts: what judges say of their samples. Workers read, make prompts and read verdicts; who asks is elsewhere
(`shared_judges`)."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice

from pantrace.judges import AnyRubric
from pantrace.model import Case, Record, Sample, Score
from pantrace.store.json_text import exact_json, from_exact_json

from .input_part import InputPart
from .judge import Bench, judge_all
from .pile_parts import PartNotes, PileTask


class _Judged(Record, frozen=True, kw_only=True):
    sample: Sample
    scores: list[Score]


@dataclass(kw_only=True)
class PartJudged(PartNotes):
    """What one part came to."""

    texts: list[bytes] = field(default_factory=list)
    """Samples with their scores, as JSON: unpickled structs would be written with all their defaults."""

    def judged(self) -> Iterator[tuple[Sample, list[Score]]]:
        """The samples with their scores."""
        for text in self.texts:
            found = from_exact_json(text, _Judged)
            yield found.sample, found.scores


@dataclass(kw_only=True)
class JudgeParts(PileTask):
    """The task of one `judge`."""

    rubrics: Sequence[AnyRubric]
    bench: Bench
    whole: bool
    """Whether the samples are wanted with their scores; else only what names them is sent back."""

    def __call__(self, part: InputPart) -> Iterator[PartJudged]:
        found = PartJudged()
        self.read(part, found, partial(self._judge, found))
        yield found

    def together(self, parts: Sequence[InputPart]) -> Iterator[list[PartJudged]]:
        """What each of several small parts comes to. They are read first and judged together: asked about one after the
        other, a judge would mostly get one question at a time."""
        read: list[tuple[PartJudged, list[Sample]]] = []
        trouble = None
        for part in parts:
            found, samples = PartJudged(), list[Sample]()
            try:
                self.read(part, found, lambda _, some, into=samples: into.extend(some))  # type: ignore[misc]
            except Exception as error:  # noqa: BLE001 -- raised behind the results of the parts before
                trouble = error
                break
            read.append((found, samples))
        every = chain.from_iterable(samples for _, samples in read)
        with closing(self._judged(every)) as judged:
            for found, samples in read:
                found.texts = [*islice(judged, len(samples))]
                found.samples = len(samples)
                yield [found]
        if trouble is not None:
            raise trouble

    def _judge(self, found: PartJudged, _: str, samples: Iterable[Sample]) -> None:
        found.texts = [*self._judged(samples)]
        found.samples = len(found.texts)

    def _judged(self, samples: Iterable[Sample]) -> Generator[bytes, None, None]:
        with closing(judge_all(samples, self.rubrics, self.bench)) as judged:
            for sample, scores in judged:
                yield exact_json(_Judged(sample=sample if self.whole else _named(sample), scores=scores))


def _named(sample: Sample) -> Sample:
    """What a table of scores says of a sample."""
    case = Case(id=sample.case.id) if sample.case is not None else None
    return Sample(id=sample.id, epoch=sample.epoch, case=case)
