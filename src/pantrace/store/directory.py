"""The run directory: what a run made, part by part, whole after any crash."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import UsageError
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
from .verify import now_verified


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
        """What was damaged or missing when the directory was opened for writing, and has been begun anew: names of
        files."""
        self._manifest = manifest
        self._lock = lock
        self._remote = remote
        """Where the directory really is, if that is a bucket and we write it."""

    @classmethod
    def open(cls, path: str | Path, *, writing: bool = False) -> RunDirectory:
        """A run that exists. Others may be writing it, unless `writing` asks for the writer's lock."""
        folder = path_at(path)
        content = read_run_file(folder)
        if not writing:
            return cls(folder, content)
        refuse_special(folder / LOCK, *database_files(folder / MANIFEST))
        lock, remote = Lock(folder / LOCK), None
        try:
            remote = _entered(folder)
            content = read_run_file(folder)
            committed_parts(
                folder / MANIFEST
            )  # says what is wrong; the writer would begin a new one where there is none
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
        """Begin a run, or go on with one of the same plan, whose header then stays. What is damaged is begun anew."""
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

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the manifest and of the lock; nothing that was committed depends on it."""
        if self._manifest is not None:
            if all(file.sha256 is not None for part in self._manifest.parts.values() for file in part.files):
                now_verified(self.path)
            self._manifest.close()
            self._manifest = None
        remote, self._remote = self._remote, None
        try:
            if remote is not None:
                remote.leave()
        finally:
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    @property
    def header(self) -> RunHeader:
        """All of the run but its samples."""
        return self.content.run

    # Writing

    def is_done(self, part: str) -> bool:
        """Whether a part counts and its files are as they were written."""
        return sayable(part) in self._writer().parts and not self.damage(part)

    def damage(self, part: str) -> list[Path]:
        """The files of a part, counting or set aside, that are damaged or missing."""
        found = self._writer().known(sayable(part))
        return damaged_files(self.path, found) if found is not None else []

    def write_part(self, part: str, results: Iterable[Result | Kept], *, again: bool = False) -> None:
        """Write and commit a part. One that is done already stays as it is, and `results` is not asked; `again` puts
        new results in its place."""
        if again or not self.is_done(part):
            self._commit(stage_part(self.path, part, results), keep=False)

    def commit(self, staged: Staged, *, again: bool = False) -> None:
        """Make a part count that `stage_part` wrote here or in a worker; one that is done already stays as it is.
        `again` puts the new one in its place."""
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
            sync(parts)
            manifest.commit(staged.part, files, profile=profile)
        if self._remote is not None:
            here = [file.file for file, each in zip(files, staged.files, strict=True) if not each.is_sent]
            self._remote.send(here)
            self._remote.publish()

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
            rows.append(decision_item(address, decision))
        digest = hashlib.sha256(sayable(profile).encode())
        with PartWriter(self.path) as writer:
            for row in rows:
                digest.update(f"{row.address.part}\n{row.address.number}\n{row.json}\n".encode())
                writer.batch.add_item("decisions", row)
            staged = Staged(part=f"decisions again {digest.hexdigest()}", files=writer.finish())
        self._commit(staged, keep=False, profile=sayable(profile))

    def finish(self, header: RunHeader) -> None:
        """Replace the header in `run.json`: status, results."""
        self._writer()
        content = msgspec.structs.replace(self.content, run=header_of(header))
        with write_errors(self.path):
            write_run_file(self.path, content)
        self.content = content

    # Going on, when inputs have changed

    def begin(self, signature: str) -> None:
        """Say what a run is made of. Where an earlier run of something else never ended, none of its parts counts until
        it is asked for again: old and new samples must not stand side by side."""
        manifest = self._writer()
        with write_errors(self.path):
            if not manifest.settled and manifest.fact("begun") != signature:
                manifest.set_all_aside()
                manifest.note({"begun": signature})

    def part_names(self, *, counting: bool = False) -> list[str]:
        """All parts: those that are set aside, then those that count; or only these."""
        manifest = self._writer()
        return [*(() if counting else manifest.aside), *manifest.parts]

    def has(self, part: str) -> bool:
        """Whether a part is there whole, be it set aside; `settle` lets it count."""
        if self._writer().known(sayable(part)) is None or self.damage(part):
            return False
        self.recall(part)
        return True

    def recall(self, part: str) -> None:
        """Let a part that is there whole count again; of an edition, `settle` does that."""
        with write_errors(self.path):
            self._writer().recall(sayable(part))

    def known_parts(self) -> KnownParts:
        """All parts as of now, for workers to look into."""
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

    def rows(self, part: str, table: str, *names: str, only: tuple[str, Collection[str]]) -> Iterator[tuple[Any, ...]]:
        """Some columns of a part's table: those rows that have one of these texts in this column."""
        found = self._writer().known(part)
        return read_rows(self.path, found, table, *names, only=only) if found is not None else iter(())

    def intake(self, name: str, fingerprint: str) -> Intake | None:
        """What an input came to when it was read with this fingerprint; None when its parts are not all there."""
        found = self._writer().intake(name, fingerprint)
        return found if found is not None and all(map(self.has, found.parts)) else None

    def remember(self, intake: Intake) -> None:
        """Keep what an input came to, so that it need not be read again."""
        self._writer().remember(intake)

    def settle(self, parts: Iterable[str]) -> list[CommittedPart]:
        """Let exactly these parts count, all at once and in this order; gives those that counted before and do not any
        more. They are set aside until the next edition, so that the command before can bring them back."""
        manifest = self._writer()
        with write_errors(self.path):
            left = manifest.settle(parts)
            needed = {file.file for part in manifest.parts.values() for file in part.files}
            needed |= {file.file for _, part in manifest.aside.values() for file in part.files}
            for path in (self.path / PARTS).glob("*.parquet"):
                if path.name not in needed:
                    path.unlink(missing_ok=True)
            # Of workers that died, and of those whose part was done again elsewhere.
            remove_temporaries(self.path / PARTS)
        if self._remote is not None:
            self._remote.publish(now=True)
            self._remote.sweep(needed)
        return left

    def _writer(self) -> Manifest:
        if self._manifest is None:
            raise UsageError(f"{self.path} is not open for writing")
        return self._manifest

    # Reading

    def run(self) -> Run:
        """The run with its samples, read as they are iterated."""
        return with_samples(self.header, self.samples())

    def samples(self) -> Iterator[Sample]:
        """Samples in the order of the inputs, each with the scores that came with it and then those of the run."""
        for result in read_results(self.path, with_decisions=False):
            yield msgspec.structs.replace(result.sample, scores=result.sample.scores + result.scores)

    def outlines(self) -> Iterator[Sample]:
        """The same samples without what the agent did: scores, and of case and outcome what the columns say. Reads a
        small part of the directory."""
        return read_outlines(self.path)

    def scored(self) -> Iterator[tuple[Sample, tuple[Score, ...]]]:
        """The same, but only with the scores that came with the samples, and beside each of them those of the run."""
        return read_scored(self.path)

    def results(self, on_damage: OnDamage | None = None) -> Iterator[Result]:
        """Samples as they came, in the same order, each with the scores and the decisions of the run. Who wants to be
        told of damaged parts gets the samples of all others."""
        return read_results(self.path, on_damage=on_damage)

    def scores(self, wanted: Collection[str] | None = None) -> Iterator[StoredScore]:
        """All scores, those that came with the samples included; or those of these names."""
        return read_scores(self.path, wanted)

    def decisions(self) -> Iterator[Decision]:
        """Decisions that no later ones of the same profile have replaced."""
        return read_decisions(self.path)

    def evaluated_profiles(self) -> tuple[str, ...]:
        """The profiles by which the evaluation itself decided; a gate that was tried later adds none."""
        return read_evaluated_profiles(self.path)


def _version() -> str:
    # By name: the package itself stands above this room.
    return str(import_module("pantrace").__version__)


def _entered(folder: Path) -> BucketRun | None:
    """Be the one writer of a run directory in a bucket; None of any other."""
    remote = bucket_run_of(folder)
    if remote is not None:
        remote.enter()
    return remote


def _claim(remote: BucketRun | None, manifest: Manifest) -> None:
    """Change the manifest in the bucket, so that one who wrote it before and does not know of us can do so no more."""
    if remote is not None:
        manifest.note({"writer": remote.token})
        remote.publish(now=True)


def _let_go(lock: Lock, remote: BucketRun | None) -> None:
    if remote is not None:
        remote.abandon()
    lock.release()
