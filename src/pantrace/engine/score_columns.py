"""Score columns: one pass over a run directory turns its rows into plain columns of numbers, which can be summed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pantrace.store import absent_of, column_value, read_tables

from .figures import Figures, NumberTexts
from .listed_texts import codes_of, has_text
from .reduce import REASONS

MOST_GROUPS = 12
"""A label with more different values than this is not used for groups."""
UNLABELLED = "(none)"
"""The value of samples that do not have a label."""

# From here on samples, cases and measures are numbers: their names would be stored millions of times. Samples with the
# same agent and labels form one bunch, and scores are counted for each bunch of a part: a few rows for thousands of
# samples. Only if every sample has labels of its own are there as many rows as scores.
_SETUP = (
    "create temp table members (bunch uinteger, group_id usmallint)",
    "create temp table statuses (bunch uinteger, made usmallint, status utinyint, scores uinteger)",
    # One text says what does not apply to a sample. Each text has a number; this table has the scores that it contains.
    "create temp table absences (bunch uinteger, absence uinteger, scores uinteger)",
    "create temp table absent (absence uinteger, made usmallint)",
)
STATUSES = {"scored": 0, "not_applicable": 1, "unscored": 2, "failed": 3}
_SAMPLE_COLUMNS = ("number", "sample", "case_id", "agent", "labels", "trajectories", "not_applicable")
_SCALE_COLUMNS = ("scale_low", "scale_high", "better", "value_type")
_SCORE_COLUMNS = (
    *("number", "origin", "name", "maker_kind", "status", "value", "explanation", "numbers"),
    *_SCALE_COLUMNS,
)
_SCORE_TEXTS = ("origin", "name", "maker_kind", "status", "explanation", "numbers", "better", "value_type")
_AT_ONCE = 200_000
"""Scores that are inserted into the database at a time."""

Made = tuple[str, str | None]
"""Name and kind of maker."""


@dataclass
class MadeScores:
    """What is known about all scores of one name and kind of maker."""

    id: int
    main: str = ""
    """The measure that a score's own value belongs to."""
    reasons: Counter[str] = field(default_factory=Counter)
    keys: dict[str, int] = field(default_factory=dict)
    """Its measures, by the last part of their address."""
    booleans: bool = False
    """Whether values are true or false."""
    has_scored: bool = False
    """Whether the next three come from a row with a value."""
    scale_low: float | None = None
    scale_high: float | None = None
    better: Any = None

    def count_reason(self, why: str, count: int) -> None:
        """Count scores that have no value for this reason."""
        if why in self.reasons or len(self.reasons) < REASONS:
            self.reasons[why] += count


class Columns:
    """The pass over a run directory: rows of samples and scores become columns of numbers in a database."""

    def __init__(self, database: Any, out: Path, mains: Mapping[str, str]) -> None:
        """`mains`: the main measure of each metric; scores of earlier versions have no others."""
        self._database = database
        self._mains = mains
        self.made: dict[Made, MadeScores] = {}
        self.order: dict[str, int] = {}
        """Metrics in the order of the first sample's scores."""
        self.samples = 0
        self.groups: list[str] = []
        self.cases: dict[str, int] = {}
        """Name -> number."""
        self._measures = 0
        self._absences = 0
        self._bunches: dict[tuple[str | None, str | None], int] = {}
        """Agent and labels -> number."""
        self._waiting: dict[str, list[tuple[Any, ...]]] = {}
        self._texts = NumberTexts()
        self.figures = Figures()
        self.case_of: Any = None
        """The case of each sample, by place."""
        self.was_run: Any = None
        """For each place, whether the sample was run."""
        self._bunch_of: Any = None
        """The bunch of each place."""
        self.members: list[tuple[Any, list[int]]] = []
        """For each label that makes groups: the code of each place, and the group of each code."""
        import numpy as np
        import pyarrow as pa

        self._places: list[tuple[Any, Any, Any]] = []
        for step in _SETUP:
            database.execute(step)
        both = (
            read_tables(out, "samples", _SAMPLE_COLUMNS, ("agent", "labels", "not_applicable")),
            read_tables(out, "scores", _SCORE_COLUMNS, _SCORE_TEXTS),
        )
        for samples, scores in zip(*both, strict=True):
            places = self._add_samples(samples, scores) if samples is not None else None
            if not self.order:
                self.order = _order(samples, scores)
            if samples is not None:
                self._add_absent(samples)
            if scores is not None:
                self._add_scores(scores, places)
            if sum(len(each[0]) for each in self._waiting.get("statuses", ())) > _AT_ONCE:
                self._flush()
            # Arrow would keep tens of megabytes of parts that have been read.
            pa.default_memory_pool().release_unused()
        self._flush()
        none = np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0, bool)
        columns = zip(*(self._places or [none]), strict=True)
        self.case_of, self._bunch_of, self.was_run = (np.concatenate(each) for each in columns)
        self._places.clear()
        self._add_groups()

    @property
    def repeats(self) -> bool:
        """Whether any case has more than one sample."""
        return len(self.cases) < self.samples

    def _add_samples(self, table: Any, scores: Any) -> Any:
        """The place of each of a part's samples, by its number in the part."""
        import numpy as np

        numbers = table.column("number").to_numpy()
        first = self.samples
        self.samples += len(numbers)
        places = np.zeros(int(numbers.max()) + 1, np.uint32)
        places[numbers] = np.arange(first, self.samples, dtype=np.uint32)
        names = zip(table.column("case_id").to_pylist(), table.column("sample").to_pylist(), strict=True)
        cases = [self.cases.setdefault(sample if case is None else case, len(self.cases)) for case, sample in names]
        was_run = table.column("trajectories").to_numpy() > 0
        if scores is not None:
            # A score in the source means that the sample was run, even if the source has no trajectory.
            came = scores.column("number").to_numpy()[has_text(scores.column("origin").chunk(0), "source")]
            was_run |= np.isin(numbers, came)
        agents, labels = table.column("agent").chunk(0), table.column("labels").chunk(0)
        pairs = codes_of(agents) * (len(labels.dictionary) + 1) + codes_of(labels)
        _, rows, positions = np.unique(pairs, return_index=True, return_inverse=True)
        keys = [(agents[row].as_py(), labels[row].as_py()) for row in rows.tolist()]
        bunches = np.array([self._bunches.setdefault(key, len(self._bunches)) for key in keys], np.uint32)[positions]
        self._places.append((np.array(cases, np.uint32), bunches, was_run))
        return places

    def _add_absent(self, table: Any) -> None:
        """Count what does not apply. Many samples share a text, so each text is decoded once."""
        import numpy as np

        absent = table.column("not_applicable").chunk(0)
        texts, codes = absent.dictionary.to_pylist(), codes_of(absent)
        here = codes < len(texts)
        if not here.any():
            return
        counts = np.bincount(codes[here], minlength=len(texts))
        bunches = self._places[-1][1]
        self._count("absences", bunches[here], (codes[here] + self._absences).astype(np.uint32))
        for code, text in enumerate(texts):
            ids = []
            for _, score in absent_of(text):
                made = self._made_by((score.name, score.maker.kind if score.maker else None))
                ids.append(made.id)
                if score.explanation is not None:
                    made.count_reason(score.explanation, int(counts[code]))
            self._wait("absent", np.full(len(ids), self._absences + code, np.uint32), np.array(ids, np.uint16))
        self._absences += len(texts)

    def _add_scores(self, table: Any, places: Any) -> None:
        import numpy as np

        table = _without_doubles(table)
        names, kinds = table.column("name").chunk(0), table.column("maker_kind").chunk(0)
        pairs = codes_of(names) * (len(kinds.dictionary) + 1) + codes_of(kinds)
        status_column = table.column("status").chunk(0)
        words = [STATUSES.get(word, 3) for word in status_column.dictionary.to_pylist()]
        statuses = np.array(words, np.uint8)[codes_of(status_column)]
        # Scored rows first, because a score that does not apply has no scale.
        order = np.argsort(statuses != 0, kind="stable")
        _, first, ordered = np.unique(pairs[order], return_index=True, return_inverse=True)
        codes = np.empty_like(ordered)
        codes[order] = ordered
        made = [self._made(table, int(row), scored=not statuses[row]) for row in order[first]]
        ids = np.array([each.id for each in made], np.uint16)[codes]
        where = places[table.column("number").to_numpy()]
        bunches = self._places[-1][1]
        self._count("statuses", bunches[where - (self.samples - len(bunches))], ids, statuses)
        self._add_reasons(table.column("explanation").chunk(0), codes, statuses, made)
        self._add_figures(table, where, codes, statuses, made)

    def _made_by(self, key: Made) -> MadeScores:
        """What is known about all scores of a name and kind of maker."""
        if key not in self.made:
            self.made[key] = MadeScores(
                id=len(self.made), main=self._mains.get(key[0], "") if key[1] == "check" else ""
            )
        return self.made[key]

    def _made(self, table: Any, row: int, *, scored: bool) -> MadeScores:
        """The same for scores like the one in a row; the first one with a value says which scale they have."""
        found = self._made_by((table.column("name")[row].as_py(), table.column("maker_kind")[row].as_py()))
        if not found.has_scored:
            found.has_scored = scored
            found.scale_low, found.scale_high, found.better, kind = (
                table.column(name)[row].as_py() for name in _SCALE_COLUMNS
            )
            found.booleans = kind == "boolean"
        return found

    @staticmethod
    def _add_reasons(explanations: Any, codes: Any, statuses: Any, made: list[MadeScores]) -> None:
        import numpy as np

        texts = explanations.dictionary
        reasons = codes_of(explanations)
        given = (statuses != 0) & (reasons < len(texts))
        found, counts = np.unique(codes[given].astype(np.int64) * (len(texts) + 1) + reasons[given], return_counts=True)
        for code, count in zip(found.tolist(), counts.tolist(), strict=True):
            # Only these texts are converted: scored rows have explanations, too, and almost all are different.
            made[code // (len(texts) + 1)].count_reason(texts[code % (len(texts) + 1)].as_py(), count)

    def _add_figures(self, table: Any, where: Any, codes: Any, statuses: Any, made: list[MadeScores]) -> None:
        import numpy as np
        import pyarrow as pa

        numbers, values = table.column("numbers").chunk(0), table.column("value").chunk(0)
        text_codes, none = codes_of(numbers), len(numbers.dictionary)
        rows = np.flatnonzero(text_codes < none)
        rows = rows[np.argsort(codes[rows], kind="stable")]
        for code, own in _stretches(codes[rows], rows):
            # Many samples have the same numbers, so each text is decoded once for all its rows.
            known, positions = np.unique(text_codes[own], return_inverse=True)
            columns = self._texts.columns(numbers.dictionary.take(pa.array(known)).to_pylist())
            for key, column in columns.items():
                figures = column[positions]
                there = ~np.isnan(figures)
                if there.any():
                    self.figures.add(self._key(made[code].keys, key), where[own][there], figures[there])
        rows = np.flatnonzero(np.asarray(values.is_valid()) & (text_codes == none) & (statuses == 0))
        rows = rows[np.argsort(codes[rows], kind="stable")]
        single = values.to_numpy(zero_copy_only=False)
        for code, own in _stretches(codes[rows], rows):
            self.figures.add(self._key(made[code].keys, made[code].main), where[own], single[own])

    def _key(self, keys: dict[str, int], key: str) -> int:
        return keys[key] if key in keys else self._new_key(keys, key)

    def _new_key(self, keys: dict[str, int], key: str) -> int:
        self._measures += 1
        keys[key] = self._measures
        return self._measures

    def _flush(self) -> None:
        import numpy as np

        for table, batches in self._waiting.items():
            self._insert(table, *(np.concatenate(column) for column in zip(*batches, strict=True)))
        self._waiting.clear()

    def _count(self, table: str, *columns: Any) -> None:
        """How often each combination of these numbers occurs."""
        import numpy as np

        # One code for each combination: numpy counts single numbers far faster than rows.
        sizes = [int(each.max(initial=0)) + 1 for each in columns]
        codes = np.zeros(len(columns[0]), np.uint64)
        for each, size in zip(columns, sizes, strict=True):
            codes = codes * np.uint64(size) + each.astype(np.uint64)
        found, counts = np.unique(codes, return_counts=True)
        self._wait(table, *np.unravel_index(found.astype(np.int64), sizes), counts)

    def _wait(self, table: str, *columns: Any) -> None:
        self._waiting.setdefault(table, []).append(columns)

    def _insert(self, table: str, *columns: Any) -> None:
        import pyarrow as pa

        names = [f"column_{number}" for number in range(len(columns))]
        self._database.register("batch", pa.table([pa.array(each) for each in columns], names=names))
        self._database.execute(f"insert into {table} select * from batch")
        self._database.unregister("batch")

    def _add_groups(self) -> None:
        """The samples of each group by agent or label, for labels with more than one but not too many values. Samples
        without the label are a group, too: the groups together are the whole."""
        import numpy as np

        named = [dict(_labels(*key)) for key in self._bunches]
        labels = dict.fromkeys(label for pairs in named for label in pairs)
        contents = {label: {pairs.get(label, UNLABELLED) for pairs in named} for label in labels}
        useful = {label for label, found in contents.items() if 1 < len(found) <= MOST_GROUPS}
        for label in contents:
            if label not in useful:
                continue
            codes = np.full(len(named), 255, np.uint8)
            names: dict[str, int] = {}
            for bunch, pairs in enumerate(named):
                codes[bunch] = names.setdefault(pairs.get(label, UNLABELLED), len(names))
            here = np.flatnonzero(codes < len(names))
            ids = range(len(self.groups), len(self.groups) + len(names))
            self._insert("members", here.astype(np.uint32), (codes[here] + np.uint16(ids.start)).astype(np.uint16))
            self.members.append((codes[self._bunch_of], [*ids]))
            self.groups += [f"{label}={content}" for content in names]
        self._bunches.clear()
        self._bunch_of = None


def _order(samples: Any, scores: Any) -> dict[str, int]:
    """Names in the order of the first sample's scores: those of the source, then those of the run."""
    names: list[str] = []
    if samples is None:
        return {}
    number, text = samples.column("number")[0].as_py(), samples.column("not_applicable")[0].as_py()
    if scores is not None:
        count = int((scores.column("number").to_numpy() == number).sum())
        first = scores.slice(0, count)
        origins = first.column("origin").to_pylist()
        names = first.column("name").to_pylist()
    came = origins.count("source") if names else 0
    for place, score in absent_of(text) if text else ():
        names.insert(came + place, score.name)
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def _stretches(codes: Any, rows: Any) -> Iterator[tuple[int, Any]]:
    """The rows of each code; both are sorted by the code."""
    import numpy as np

    found, starts = np.unique(codes, return_index=True)
    for place, code in enumerate(found.tolist()):
        yield code, rows[starts[place] : starts[place + 1] if place + 1 < len(found) else None]


def _without_doubles(table: Any) -> Any:
    """Scores that an earlier run left in the input count only if this run has no such score of its own."""
    import pyarrow as pa

    came = has_text(table.column("origin").chunk(0), "source") & has_text(table.column("maker_kind").chunk(0), "check")
    if not came.any():
        return table
    columns = (table.column(name).to_pylist() for name in ("number", "name", "origin", "maker_kind"))
    rows = list(zip(*columns, strict=True))
    made = {(number, name) for number, name, origin, kind in rows if origin == "run" and kind == "check"}
    keep = [origin == "run" or kind != "check" or (number, name) not in made for number, name, origin, kind in rows]
    return table if all(keep) else table.filter(pa.array(keep)).combine_chunks()


def _labels(agent: str | None, labels: str | None) -> list[tuple[str, str]]:
    """What a sample can be grouped by: the labels of its case, and its agent."""
    found = {name: str(value) for name, value in column_value(labels, dict[str, Any]).items()} if labels else {}
    return list((found | {"agent": agent} if agent else found).items())
