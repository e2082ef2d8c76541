"""Reading an `.eval` log: pantrace against inspect_ai's own readers on the same file.

Run it with a Python that has inspect_ai: `.venvs/inspect/bin/python bench/inspect_read.py [--size N] [--json]`.
All events are walked as read_eval_log gives them: pools resolved, attachments left as references.
"""

from __future__ import annotations

from pathlib import Path

from measuring import Aim, Work, contest
from recordings import eval_log


def pantrace_reads(path: Path) -> Work:
    from pantrace.formats import by_name
    from pantrace.formats.inspect import resolved_events
    from pantrace.wire.rows import raise_broken

    open_run = by_name("inspect").open
    assert open_run is not None

    def work() -> int:
        samples = open_run(path, raise_broken).samples
        return sum(1 for sample in samples for _ in resolved_events(sample, attachments=False))

    return work


def pantrace_header(path: Path) -> Work:
    from pantrace.formats import by_name
    from pantrace.wire.rows import raise_broken

    open_run = by_name("inspect").open
    assert open_run is not None
    return lambda: len(open_run(path, raise_broken).results)


def pantrace_summaries(path: Path) -> Work:
    from pantrace.formats.inspect import summaries

    return lambda: len(summaries(path))


def inspect_reads(path: Path) -> Work:
    from inspect_ai.log import read_eval_log

    return lambda: sum(len(sample.events) for sample in read_eval_log(str(path)).samples or ())


def inspect_streams(path: Path) -> Work:
    from inspect_ai.log import read_eval_log_samples

    return lambda: sum(len(sample.events) for sample in read_eval_log_samples(str(path)))


def inspect_header(path: Path) -> Work:
    from inspect_ai.log import read_eval_log

    return lambda: len(read_eval_log(str(path), header_only=True).results.scores)


def inspect_summaries(path: Path) -> Work:
    from inspect_ai.log import read_eval_log_sample_summaries

    return lambda: len(read_eval_log_sample_summaries(str(path)))


def bare_decode(path: Path) -> Work:
    import msgspec

    from pantrace.wire import zip_archive

    def work() -> int:
        with zip_archive.reading(path) as archive:
            names = [name for name in archive.members if name.startswith("samples/")]
            return sum(len(msgspec.json.decode(archive.read(name))["events"]) for name in names)

    return work


OURS, HEADER, SUMMARIES = "pantrace: every sample", "pantrace: header only", "pantrace: summaries"
WHOLE, STREAM = "inspect_ai: read_eval_log", "inspect_ai: read_eval_log_samples"
THEIR_HEADER, THEIR_SUMMARIES = "inspect_ai: header only", "inspect_ai: summaries"
BARE = "zip and msgspec: bare decode, no model"

if __name__ == "__main__":
    contest(
        __file__,
        {
            OURS: pantrace_reads,
            WHOLE: inspect_reads,
            STREAM: inspect_streams,
            BARE: bare_decode,
            HEADER: pantrace_header,
            THEIR_HEADER: inspect_header,
            SUMMARIES: pantrace_summaries,
            THEIR_SUMMARIES: inspect_summaries,
        },
        [
            Aim(OURS, WHOLE, faster=12, memory=0.1),
            Aim(OURS, STREAM),
            Aim(OURS, BARE),
            Aim(HEADER, THEIR_HEADER),
            Aim(SUMMARIES, THEIR_SUMMARIES),
        ],
        eval_log,
        size=1000,
        unit="samples",
        rounds=2,
    )
