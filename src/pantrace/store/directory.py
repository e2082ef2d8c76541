"""The run directory: what a run made, part by part, whole after any crash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from importlib import import_module
from pathlib import Path

import msgspec

from pantrace.errors import UsageError
from pantrace.model import Decision, Run, RunHeader, Sample, header_of, with_samples

from .durable import remove_temporaries, sync, write_errors
from .json_text import sayable
from .lock import Lock
from .manifest import Manifest, PartFile, is_whole
from .parquet import PartWriter, Staged, stage_part
from .reading import StoredScore, read_addresses, read_decisions, read_results, read_scores
from .rows import Result, decision_row
from .run_file import LOCK, MANIFEST, PARTS, RUN, RunFile, read_run_file, write_run_file
from .schema import VERSION

OWN_NAMES = {RUN, LOCK, MANIFEST, f"{MANIFEST}-wal", f"{MANIFEST}-shm", f"{MANIFEST}-journal", PARTS}
"""What a run directory is made of; anything else in it is somebody else's."""


class RunDirectory:
    """A run directory, open for reading (`open`) or for writing too (`open_for_writing`)."""

    def __init__(self, path: Path, content: RunFile, *, manifest: Manifest | None = None, lock: Lock | None = None):
        """Use `open` or `open_for_writing`."""
        self.path = path
        self.content = content
        self._manifest = manifest
        self._lock = lock

    @classmethod
    def open(cls, path: str | Path, *, writing: bool = False) -> RunDirectory:
        """A run that exists. Others may be writing it, unless `writing` asks for the writer's lock."""
        folder = Path(path)
        if not writing:
            return cls(folder, read_run_file(folder))
        read_run_file(folder)
        lock = Lock(folder / LOCK)
        try:
            content = read_run_file(folder)
        except BaseException:
            lock.release()
            raise
        return cls._locked(folder, lock, content)

    @classmethod
    def open_for_writing(cls, path: str | Path, header: RunHeader, plan: str, plan_hash: str) -> RunDirectory:
        """Begin a run, or go on with one of the same plan, whose header then stays."""
        folder = Path(path)
        _refuse_foreign(folder)
        with write_errors(folder):
            (folder / PARTS).mkdir(parents=True, exist_ok=True)
        lock = Lock(folder / LOCK)
        try:
            if not (folder / RUN).exists():
                content = RunFile(
                    store=VERSION, pantrace=_version(), plan_hash=plan_hash, plan=plan, run=header_of(header)
                )
                return cls._begun(folder, lock, content)
            content = read_run_file(folder)
            if content.plan_hash != plan_hash:
                raise UsageError(
                    f"{folder} holds a run of another plan (its hash is {content.plan_hash[:12]}, this plan's is "
                    f"{plan_hash[:12]}); choose another directory, or remove this one to begin anew"
                )
        except BaseException:
            lock.release()
            raise
        return cls._locked(folder, lock, content)

    @classmethod
    def _begun(cls, folder: Path, lock: Lock, content: RunFile) -> RunDirectory:
        begun = cls._locked(folder, lock, content)
        try:
            assert begun._manifest is not None
            if begun._manifest.parts:
                raise UsageError(f"{folder} has parts of a run but no {RUN}; choose another directory")
            with write_errors(folder):
                write_run_file(folder, content)
        except BaseException:
            begun.close()
            raise
        return begun

    @classmethod
    def _locked(cls, folder: Path, lock: Lock, content: RunFile) -> RunDirectory:
        try:
            with write_errors(folder):
                manifest = Manifest(folder / MANIFEST)
                remove_temporaries(folder)
                remove_temporaries(folder / PARTS)
        except BaseException:
            lock.release()
            raise
        return cls(folder, content, manifest=manifest, lock=lock)

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the manifest and of the lock; nothing that was committed depends on it."""
        if self._manifest is not None:
            self._manifest.close()
            self._manifest = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def header(self) -> RunHeader:
        """All of the run but its samples."""
        return self.content.run

    # Writing

    def is_done(self, part: str) -> bool:
        """Whether a part was committed and its files are still as they were."""
        found = self._writer().parts.get(sayable(part))
        return found is not None and all(is_whole(self.path / PARTS / each.file, each) for each in found.files)

    def write_part(self, part: str, results: Iterable[Result], *, again: bool = False) -> None:
        """Write and commit a part. One that is done already stays as it is, and `results` is not asked; `again` puts
        new results in its place."""
        if again or not self.is_done(part):
            self._commit(stage_part(self.path, part, results), keep=False)

    def commit(self, staged: Staged) -> None:
        """Make a part count that `stage_part` wrote here or in a worker; one that is done already stays as it is."""
        done = self.is_done(staged.part)
        self._commit(staged, keep=done)

    def _commit(self, staged: Staged, *, keep: bool, profile: str | None = None) -> None:
        manifest = self._writer()
        parts = self.path / PARTS
        if keep:
            for each in staged.files:
                (parts / each.temporary).unlink(missing_ok=True)
            return
        with write_errors(self.path):
            files = []
            for each in staged.files:
                name = f"{_stem(staged.part)}.{each.table}.parquet"
                (parts / each.temporary).replace(parts / name)
                files.append(PartFile(table=each.table, file=name, rows=each.rows, bytes=each.bytes))
            sync(parts)
            manifest.commit(staged.part, files, profile=profile)

    def replace_decisions(self, profile: str, decisions: Iterable[Decision]) -> None:
        """Commit decisions that take the place of all earlier ones of the same profile.

        The decisions on samples of one id are given in the order in which `samples` gives these."""
        self._writer()
        addresses = {sample: iter(found) for sample, found in read_addresses(self.path).items()}
        rows = []
        for decision in decisions:
            if decision.profile != profile:
                raise UsageError(f"a decision of profile {decision.profile!r} among those of {profile!r}")
            address = next(addresses.get(sayable(decision.sample), iter(())), None)
            if address is None:
                raise UsageError(f"{self.path}: a decision on {decision.sample!r}, which the run does not hold (again)")
            rows.append(decision_row(address, decision))
        digest = hashlib.sha256(sayable(profile).encode())
        with PartWriter(self.path) as writer:
            for row in rows:
                digest.update(f"{row.part}\n{row.number}\n{row.json}\n".encode())
                writer.add({"decisions": [row]})
            staged = Staged(part=f"decisions again {digest.hexdigest()}", files=writer.finish())
        self._commit(staged, keep=False, profile=sayable(profile))

    def finish(self, header: RunHeader) -> None:
        """Replace the header in `run.json`: status, results."""
        self._writer()
        content = msgspec.structs.replace(self.content, run=header_of(header))
        with write_errors(self.path):
            write_run_file(self.path, content)
        self.content = content

    def _writer(self) -> Manifest:
        if self._manifest is None:
            raise UsageError(f"{self.path} is not open for writing")
        return self._manifest

    # Reading

    def run(self) -> Run:
        """The run with its samples, read as they are iterated."""
        return with_samples(self.header, self.samples())

    def samples(self) -> Iterator[Sample]:
        """Samples in the order of part names, each with the scores that came with it and then those of the run."""
        for result in read_results(self.path, with_decisions=False):
            yield msgspec.structs.replace(result.sample, scores=result.sample.scores + result.scores)

    def results(self) -> Iterator[Result]:
        """Samples as they came, in the same order, each with the scores and the decisions of the run."""
        return read_results(self.path)

    def scores(self, wanted: Collection[str] | None = None) -> Iterator[StoredScore]:
        """All scores, those that came with the samples included; or those of these names."""
        return read_scores(self.path, wanted)

    def decisions(self) -> Iterator[Decision]:
        """Decisions that no later ones of the same profile have replaced."""
        return read_decisions(self.path)


def _version() -> str:
    # By name: the package itself stands above this room.
    return str(import_module("pantrace").__version__)


def _stem(part: str) -> str:
    """A file name for a part: itself where every file system takes it, else its hash."""
    if re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,99}", part):
        return part
    return hashlib.sha256(part.encode()).hexdigest()


def _refuse_foreign(folder: Path) -> None:
    """No run begins in a directory that holds something else."""
    if not folder.exists() or (folder / RUN).exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file; a run needs a directory")
    strange = sorted(path.name for path in folder.iterdir() if path.name not in OWN_NAMES and path.suffix != ".tmp")
    if strange:
        raise UsageError(
            f"{folder} is no run directory and not empty (it holds {strange[0]}); choose a new or an empty one"
        )
