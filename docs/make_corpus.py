"""Writes docs/corpus.md: every file that pantrace was tried on, what it was recognised as, and what was found in it.

Needs the recordings, which are not part of the repository: PANTRACE_CORPUS=DIR python docs/make_corpus.py
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from pantrace.engine.read import Notes, inputs, open_run
from pantrace.formats import detect
from pantrace.model import Trajectory, call_pairs, has_failed, usage_total

COLUMNS = """| input | format | samples | calls | failed | tokens in | tokens out |
|---|---|---|---|---|---|---|
"""
HEAD = """# Recordings that pantrace was tried on

The recordings in `own/` were made by running the named tools, most of them with a scripted model; those in `public/`
come from public repositories. Neither is part of pantrace's repository. `docs/make_corpus.py` writes this page, and a
test checks it.

A sub-agent's calls and tokens are counted in its sample. An empty cell means not reported, which is not zero; `>=`
means that the recording leaves out a part.

"""

TRUTH = """
## Compared with the model's log

`own/sessions` has 29 recordings of sessions with sub-agents, forks, compactions and aborts. The model was a script,
and its log has the correct values. `tests/formats/test_session_truth.py` compares every recording with that log:
turns, calls, calls that failed, were denied or interrupted, tokens of each call and in total, sub-agents with their
tokens, and the final answer. 21 of the 29 have all of it. Changing any of these numbers in the log makes the test of
that recording fail.

If pantrace counts by another rule than the log, the test compares both counts:

- `claude_code/rewind`: the user went back. 9,559 input tokens are on the path that was kept and count, 5,635 on the
  abandoned branch; together they are the 15,194 of the log. Turns (2 + 1) and calls (2 + 1) are divided in the same
  way. `pantrace show` lists the total, because both were paid for.
- `claude_code/trouble`: 14,629 input tokens belong to complete responses. One response was interrupted after it had
  reported 2,685; these are shown beside the total, as a lower bound, and are part of what was spent.
- `codex/codemode`, `codex/agents2`: the model called 5 and 7 tools; some are scripts that run commands. pantrace counts
  the commands (7 and 7), since a script "completes" when its command fails: 2 failures and 1, while the log has 1 and 0
  for the scripts.
- `openhands_v1/errors`: the second question ended in an error. The log calls the answer to the first one final; for
  pantrace there is no final answer, and the outcome is an error.
- Agents that control is handed to (`otlp/openinference_openai_agents`, `otlp/openllmetry_openai_agents`, `otlp/adk`,
  `otlp/adk_latest`, `agent_framework/maf_handoff`) continue in the same trajectory under their own names. They count
  as sub-agents, like those that are started and have their own trajectory (`agent_handoffs.sub_agents`).

What the recordings do not contain:

- `claude_code/` (all four): reasoning tokens (51, 98, 14 and 14). Claude Code writes what Anthropic's API reports,
  which has no such number; they are part of the output.
- `claude_code/long`: the call that wrote the summary, 3,215 tokens in and 101 out. It is not in any file: 28,549 and
  782 of 31,764 and 883 are there, and the total is marked as a lower bound (`>=`).
- `otlp/strands`, `otlp/strands_latest`: reasoning tokens (57 and 54). The spans have no attribute for them.
- `otlp/adk`: all text, so the two questions and the answer. Content was not recorded in spite of both switches; a note
  at the beginning says so. The number of turns, two, is known from the traces.
- `otlp/adk`, `otlp/adk_latest`: that one call failed (`lend_book`). The tool returned a text, "Error: book M-9 is
  reserved"; its span has no error, no status and no event.
- `otlp/adk_latest`: which text was thoughts. The spans do not distinguish it.
- `otlp/pydantic_ai`, `otlp/pydantic_ai_v2`: numbers that are zero. The spans leave them out.
"""

PARTS = """
## Part of another input

Logs of sub-agents, and output that a tool printed in addition to its session. In a directory they are read with their
session, and count once. Files inside a directory that is one input are not listed.

| file | part of |
|---|---|
"""

NOT_READ = """
## Not read

Files of known tools that pantrace does not read, and files that are left out for another reason:

| file | why |
|---|---|
"""

NO_RECORDINGS = "\nNot recordings (expected values, configuration, pictures, logs of the scripted model):\n\n"
PAGE = Path(__file__).with_name("corpus.md")


def page(corpus: Path) -> str:
    """The page, of what lies in a directory now."""
    notes = Notes.keeping()
    lines = []
    formats: Counter[str] = Counter()
    read: set[Path] = set()
    for path, chosen, variant in inputs([corpus / "own", corpus / "public"], None, notes):
        told = [each.trajectory for each in open_run(path, chosen, variant, notes.on_broken).samples]
        formats[chosen.name] += 1
        read.add(path)
        cells = _counted([each for each in told if each is not None])
        lines.append(f"| `{path.relative_to(corpus)}` | {chosen.name} | {len(told)} | {cells} |\n")
    left = [(each.path.relative_to(corpus), each.reason) for each in notes.ignored]
    refused = [f"| `{path}` | {reason} |\n" for path, reason in left if reason != "no known format"]
    others = [f"- `{path}`\n" for path, reason in left if reason == "no known format"]
    known = read | {each.path for each in notes.ignored}
    parts = [f"| `{path.relative_to(corpus)}` | {_owner(path, corpus)} |\n" for path in _files(corpus, known)]
    count = f"{sum(formats.values())} inputs in {len(formats)} formats.\n\n"
    return "".join([HEAD, count, COLUMNS, *lines, TRUTH, PARTS, *parts, NOT_READ, *refused, NO_RECORDINGS, *others])


def _files(corpus: Path, known: set[Path]) -> list[Path]:
    """Files that are no input, nor inside of one."""
    found = [path for name in ("own", "public") for path in sorted((corpus / name).rglob("*")) if path.is_file()]
    return [path for path in found if not known & {path, *path.parents} and ".db-" not in path.name]


def _owner(path: Path, corpus: Path) -> str:
    owner = detect(path)[0].owner(path)
    return f"`{owner.relative_to(corpus)}`" if owner is not None else ""


def _counted(told: list[Trajectory]) -> str:
    whole = [each for top in told for each in _with_children(top)]
    pairs = [pair for each in whole for pair in call_pairs(each)]
    failed = sum(pair.result is not None and has_failed(pair.result) for pair in pairs)
    totals = [total for each in whole if (total := usage_total(each, children=False)) is not None]
    tokens = [[value for each in totals if (value := getattr(each, name)) is not None] for name in ("input", "output")]
    cut = [any(name in each.partial for each in totals) for name in ("input", "output")]
    marks = [">= " if each else "" for each in cut]
    cells = [f"{mark}{sum(each):,}" if each else "" for mark, each in zip(marks, tokens, strict=True)]
    return " | ".join([str(len(pairs)), str(failed), *cells])


def _with_children(trajectory: Trajectory) -> list[Trajectory]:
    return [trajectory, *(each for child in trajectory.children for each in _with_children(child))]


if __name__ == "__main__":
    PAGE.write_text(page(Path(os.environ["PANTRACE_CORPUS"])))
