"""The run directory: the results of a run, part by part, intact after any crash."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from importlib import import_module
from pathlib import Path

import msgspec

from pantrace.errors import ReadError, UsageError
from pantrace.model import Decision, Run, RunHeader, Sample, Score, header_of, with_samples
from pantrace.places import BucketRun, bucket_run_of, path_at, run_path_at

from .durable import database_files, refuse_special, remove_temporaries, sync, write_errors
from .json_text import sayable
from .known_parts import KnownParts, damaged_files
from .lock import Lock
from .manifest import CommittedPart, Damaged, Intake, PartFile, committed_parts, damaged_manifest
from .manifest_writer import Manifest
from .opening import begun, refuse_foreign
from .parquet import PartWriter, Staged, file_name, stage_part
from .reading import (
    OnDamage,
    StoredScore,
    read_addresses,
    read_decisions,
    read_evaluated_profiles,
    read_kept,
    read_outlines,
    read_results,
    read_rows,
    read_scored,
    read_scores,
)
from .rows import Kept, Result, decision_item, json_hash
from .run_file import LOCK, MANIFEST, PARTS, RunFile, read_run_file, write_run_file
from .schema import VERSION
from .unfinished import RUNNING
from .verify import damage, damaged_part, now_verified


class RunDirectory:
    """A run directory, open for reading (`open`) or for writing too (`open_for_writing`)."""

    def __init__(
        self,
        path: Path,
        content: RunFile,
        *,
        manifest: Manifest | None = None,
        lock: Lock | None = None,
        remote: BucketRun | None = None,
    ):
        """Use `open` or `open_for_writing`."""
        self.path = path
        self.content = content
        self.renewed: tuple[str, ...] = ()
        """Names of files that were damaged or missing when the directory was opened for writing, and have been started
        again."""
        self._manifest = manifest
        self._lock = lock
        self._remote = remote
        """The bucket that contains the directory, if there is one and we write it."""

    @classmethod
    def open(cls, path: str | Path, *, writing: bool = False) -> RunDirectory:
        """An existing run. Another process may be writing it, unless `writing` asks for the writer's lock."""
        folder = path_at(path)
        content = read_run_file(folder)
        if not writing:
            return cls(folder, content)
        refuse_special(folder / LOCK, *database_files(folder / MANIFEST))
        lock, remote = Lock(folder / LOCK), None
        try:
            remote = _entered(folder)
            # Again, now that nobody else can change it: the first reading was only to fail early.
            content = read_run_file(folder)
            # Raises a ReadError if the manifest is missing; opening it for writing would create an empty one.
            committed_parts(folder / MANIFEST)
            with write_errors(folder):
                manifest = Manifest(folder / MANIFEST)
            _claim(remote, manifest)
        except Damaged as error:
            _let_go(lock, remote)
            raise damaged_manifest(folder / MANIFEST, error) from None
        except BaseException:
            _let_go(lock, remote)
            raise
        return cls(folder, content, manifest=manifest, lock=lock, remote=remote)

    @classmethod
    def open_for_writing(cls, path: str | Path, header: RunHeader, plan: str, plan_hash: str) -> RunDirectory:
        """Start a run, or continue one of the same plan, which keeps its header. Damaged files are started again."""
        folder = run_path_at(path)
        refuse_foreign(folder)
        with write_errors(folder):
            (folder / PARTS).mkdir(parents=True, exist_ok=True)
        refuse_special(folder / LOCK, *database_files(folder / MANIFEST))
        lock, remote = Lock(folder / LOCK), None
        try:
            remote = _entered(folder)
            with write_errors(folder):
                wanted = RunFile(
                    store=VERSION, pantrace=_version(), plan_hash=plan_hash, plan=plan, run=header_of(header)
                )
                content, manifest, renewed = begun(folder, wanted)
                remove_temporaries(folder)
                remove_temporaries(folder / PARTS)
            _claim(remote, manifest)
        except BaseException:
            _let_go(lock, remote)
            raise
        directory = cls(folder, content, manifest=manifest, lock=lock, remote=remote)
        directory.renewed = renewed
        return directory

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # A wrong command changes nothing: the results are still those of the evaluation before.
        if kind is not None and issubclass(kind, UsageError) and self._manifest is not None:
            self._manifest.withdraw(RUNNING)
        self.close()

    def close(self) -> None:
        """Release the manifest and the lock. What was committed does not depend on it."""
        if self._manifest is not None:
            if all(file.sha256 is not None for part in self._manifest.parts.values() for file in part.files):
                now_verified(self.path)
            self._manifest.close()
            self._manifest = None
        remote, self._remote = self._remote, None
        # The lock last: until the bucket has everything, no other process of this machine may touch the working copy.
        try:
            if remote is not None:
                remote.leave()
        finally:
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    @property
    def header(self) -> RunHeader:
        """The run without its samples."""
        return self.content.run

    # Writing

    def is_done(self, part: str) -> bool:
        """Whether a part counts and its files are intact."""
        return sayable(part) in self._writer().parts and not self.damage(part)

    def damage(self, part: str) -> list[Path]:
        """The files of a part, counting or set aside, that are damaged or missing."""
        found = self._writer().known(sayable(part))
        return damaged_files(self.path, found) if found is not None else []

    def write_part(self, part: str, results: Iterable[Result | Kept], *, again: bool = False) -> None:
        """Write and commit a part. If it is done already it stays as it is, and `results` is not consumed; `again`
        replaces it."""
        if again or not self.is_done(part):
            self._commit(stage_part(self.path, part, results), keep=False)

    def commit(self, staged: Staged, *, again: bool = False) -> None:
        """Make a part count that `stage_part` wrote, here or in a worker. If it is done already it stays as it is;
        `again` replaces it."""
        self._commit(staged, keep=not again and self.is_done(staged.part))

    def _commit(self, staged: Staged, *, keep: bool, profile: str | None = None) -> None:
        manifest = self._writer()
        parts = self.path / PARTS
        if keep:
            for each in staged.files:
                if not each.is_sent:
                    (parts / each.temporary).unlink(missing_ok=True)
            return
        with write_errors(self.path):
            files = []
            for each in staged.files:
                name = file_name(staged.part, each.table, each.sha256)
                if not each.is_sent:
                    (parts / each.temporary).replace(parts / name)
                elif self._remote is not None:
                    self._remote.note(name, each.bytes)
                files.append(
                    PartFile(table=each.table, file=name, rows=each.rows, bytes=each.bytes, sha256=each.sha256)
                )
            # Names before rows: after a power cut, a manifest row must not name a file that the directory has lost.
            sync(parts)
            manifest.commit(staged.part, files, profile=profile)
        if self._remote is not None:
            # Files before the manifest, for the same reason: whoever reads the manifest in the bucket must find its
            # parts.
            here = [file.file for file, each in zip(files, staged.files, strict=True) if not each.is_sent]
            self._remote.send(here)
            self._remote.publish()

    def replace_decisions(self, profile: str, decisions: Iterable[Decision]) -> None:
        """Commit decisions that replace all earlier ones of the same profile.

        If several samples have the same id, their decisions must be in the order of `samples`."""
        self._writer()
        # A decision has only an id, which repeats if a case was run several times: the n-th is for the n-th sample.
        addresses = {sample: iter(found) for sample, found in read_addresses(self.path).items()}
        rows = []
        for decision in decisions:
            if decision.profile != profile:
                raise UsageError(f"a decision of profile {decision.profile!r} among those of {profile!r}")
            address = next(addresses.get(sayable(decision.sample), iter(())), None)
            if address is None:
                raise UsageError(f"{self.path}: a decision on {decision.sample!r}, which the run does not have (again)")
            rows.append(decision_item(address, decision))
        digest = hashlib.sha256(sayable(profile).encode())
        with PartWriter(self.path) as writer:
            for row in rows:
                digest.update(f"{row.address.part}\n{row.address.number}\n{row.json}\n".encode())
                writer.batch.add_item("decisions", row)
            staged = Staged(part=f"decisions again {digest.hexdigest()}", files=writer.finish())
        self._commit(staged, keep=False, profile=sayable(profile))

    def finish(self, header: RunHeader) -> None:
        """Replace the header in `run.json`: status, results. From now on the evaluation has ended."""
        self._writer()
        content = msgspec.structs.replace(self.content, run=header_of(header))
        with write_errors(self.path):
            write_run_file(self.path, content)
            self._writer().withdraw(RUNNING)
        self.content = content

    # Going on, when inputs have changed

    def begin(self, signature: str) -> None:
        """Record what a run is made of. If an earlier run of something else never ended, none of its parts counts until
        it is requested again: old and new samples must not be mixed."""
        manifest = self._writer()
        with write_errors(self.path):
            if manifest.settled:
                manifest.note({RUNNING: signature})
            elif manifest.fact("begun") != signature:
                manifest.set_all_aside()
                manifest.note({"begun": signature})

    def part_names(self, *, counting: bool = False) -> list[str]:
        """All parts: those set aside, then those that count; or only the latter."""
        manifest = self._writer()
        return [*(() if counting else manifest.aside), *manifest.parts]

    def has(self, part: str) -> bool:
        """Whether a part is there and intact, even if it is set aside; `settle` makes it count."""
        if self._writer().known(sayable(part)) is None or self.damage(part):
            return False
        self.recall(part)
        return True

    def recall(self, part: str) -> None:
        """Make an intact part count again; within an edition, only `settle` does that."""
        with write_errors(self.path):
            self._writer().recall(sayable(part))

    def known_parts(self) -> KnownParts:
        """All parts at this moment, for workers to read."""
        manifest = self._writer()
        return KnownParts(self.path, {**{name: part for name, (_, part) in manifest.aside.items()}, **manifest.parts})

    def kept(self, part: str) -> list[Kept]:
        """The results of a part, as they were written."""
        found = self._writer().known(part)
        return read_kept(self.path, found) if found is not None else []

    def sample_hashes(self, part: str) -> list[str]:
        """The hash of each sample of a part."""
        found = self._writer().known(part)
        rows = read_rows(self.path, found, "samples", "json") if found is not None else iter(())
        return [json_hash(json) for (json,) in rows]

    def intake(self, name: str, fingerprint: str) -> Intake | None:
        """What reading an input with this fingerprint produced; None if not all of its parts are there."""
        found = self._writer().intake(name, fingerprint)
        return found if found is not None and all(map(self.has, found.parts)) else None

    def remember(self, intake: Intake) -> None:
        """Record what reading an input produced, so that it does not have to be read again."""
        self._writer().remember(intake)

    def settle(self, parts: Iterable[str]) -> list[CommittedPart]:
        """Make exactly these parts count, all at once and in this order. Returns those that no longer count; they are
        set aside until the next edition, so that the previous command can bring them back."""
        manifest = self._writer()
        with write_errors(self.path):
            left = manifest.settle(parts)
            needed = {file.file for part in manifest.parts.values() for file in part.files}
            needed |= {file.file for _, part in manifest.aside.values() for file in part.files}
            for path in (self.path / PARTS).glob("*.parquet"):
                if path.name not in needed:
                    path.unlink(missing_ok=True)
            # Files of workers that died, or whose part was done by another worker in the meantime.
            remove_temporaries(self.path / PARTS)
        if self._remote is not None:
            # Nothing is deleted before the new manifest is in the bucket: if that fails, the old one is still complete.
            self._remote.publish(now=True)
            self._remote.sweep(needed)
        return left

    def _writer(self) -> Manifest:
        if self._manifest is None:
            raise UsageError(f"{self.path} is not open for writing")
        return self._manifest

    # Reading

    def run(self) -> Run:
        """The run with its samples, which are read while you iterate."""
        return with_samples(self.header, self.samples())

    def samples(self) -> Iterator[Sample]:
        """Samples in the order of the inputs, each with the scores of its source, then those of the run."""
        for result in read_results(self.path, with_decisions=False):
            yield msgspec.structs.replace(result.sample, scores=result.sample.scores + result.scores)

    def outlines(self) -> Iterator[Sample]:
        """The same samples without what the agent did: only scores, and those fields of case and outcome that have a
        column. Reads a small part of the directory."""
        return read_outlines(self.path)

    def scored(self) -> Iterator[tuple[Sample, tuple[Score, ...]]]:
        """The same, but each with the scores of its source only, next to a tuple of the run's scores."""
        return read_scored(self.path)

    def results(self, on_damage: OnDamage | None = None) -> Iterator[Result]:
        """Samples as they were read, in the same order, each with the scores and decisions of the run. With
        `on_damage`, damaged parts are reported and skipped instead of ending the iteration."""
        return read_results(self.path, on_damage=on_damage)

    def damaged(self) -> Iterator[ReadError]:
        """Every file of a part that is missing or not as it was written."""
        for part in committed_parts(self.path / MANIFEST):
            for file in part.files:
                path = self.path / PARTS / file.file
                if why := damage(path, file):
                    yield damaged_part(path, why)

    def scores(self, wanted: Collection[str] | None = None) -> Iterator[StoredScore]:
        """All scores, including those of the source; or only those with these names."""
        return read_scores(self.path, wanted)

    def decisions(self) -> Iterator[Decision]:
        """Decisions that have not been replaced by later ones of the same profile."""
        return read_decisions(self.path)

    def evaluated_profiles(self) -> tuple[str, ...]:
        """The profiles by which the evaluation itself decided, without those of a later gate."""
        return read_evaluated_profiles(self.path)


def _version() -> str:
    # Imported by name, because the package is above this layer.
    return str(import_module("pantrace").__version__)


def _entered(folder: Path) -> BucketRun | None:
    """Become the only writer of a run directory in a bucket; None if it is not in a bucket."""
    remote = bucket_run_of(folder)
    if remote is not None:
        remote.enter()
    return remote


def _claim(remote: BucketRun | None, manifest: Manifest) -> None:
    """Change the manifest in the bucket, so that the next write of a suspended earlier writer fails."""
    if remote is not None:
        manifest.note({"writer": remote.token})
        remote.publish(now=True)


def _let_go(lock: Lock, remote: BucketRun | None) -> None:
    if remote is not None:
        remote.abandon()
    lock.release()
