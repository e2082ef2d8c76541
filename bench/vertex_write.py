"""Writing for Vertex: pantrace's rows against the Gen AI evaluation client's own converters on the same sessions.

Run it with a Python that has google-cloud-aiplatform: `.venvs/vertex/bin/python bench/vertex_write.py [--json]`.
pantrace turns samples into rows and bytes. The client turns those bytes into its evaluation cases (its loader, then
its converter, as `evaluate()` does): the only converters it has go that way. The work is of the same kind, rows of the
same content in another shape, and not the same.
"""

from __future__ import annotations

from pathlib import Path

from measuring import Aim, Work, contest
from recordings import made_sample, vertex_rows

TURNS = 6


def _written(path: Path, to: str) -> Work:
    from pantrace.formats import by_name
    from pantrace.wire.json import encode

    dump = by_name(to).dump
    assert dump is not None
    count = sum(1 for _ in path.open("rb"))
    samples = [made_sample(number, turns=TURNS) for number in range(count)]
    options = by_name(to).options()
    return lambda: sum(1 for sample in samples if encode(dump(sample, options)))


def pantrace_agent(path: Path) -> Work:
    return _written(path, "vertex-agent")


def pantrace_flat(path: Path) -> Work:
    return _written(path, "vertex-flat")


def pantrace_seed(path: Path) -> Work:
    return _written(path, "vertex-seed")


def _loaded(path: Path, to: str, schema: str) -> Work:
    from google.auth.credentials import AnonymousCredentials
    from vertexai._genai import _evals_data_converters as converters
    from vertexai._genai import _evals_utils

    class Nobody:
        """What the loader wants of an API client; it never calls anyone for local files."""

        project = "no-project"
        location = "nowhere"
        _credentials = AnonymousCredentials()

    source = vertex_rows(path.parent, sum(1 for _ in path.open("rb")), to)
    loader = _evals_utils.EvalDatasetLoader(api_client=Nobody())
    kind = getattr(converters.EvalDatasetSchema, schema)

    def work() -> int:
        rows = loader.load(str(source))
        return len(converters.merge_response_datasets_into_canonical_format([rows], [kind]).eval_cases)

    return work


def client_agent(path: Path) -> Work:
    return _loaded(path, "vertex-agent", "FLATTEN")


def client_flat(path: Path) -> Work:
    return _loaded(path, "vertex-flat", "FLATTEN")


def client_seed(path: Path) -> Work:
    return _loaded(path, "vertex-seed", "GEMINI")


AGENT, FLAT, SEED = "pantrace: vertex-agent", "pantrace: vertex-flat", "pantrace: vertex-seed"
THEIR_AGENT, THEIR_FLAT = "client: agent_data rows", "client: flat rows"
THEIR_SEED = "client: seed rows (tools dropped)"


def make(folder: Path, count: int) -> Path:
    return vertex_rows(folder, count, "vertex-agent")


if __name__ == "__main__":
    contest(
        __file__,
        {
            AGENT: pantrace_agent,
            THEIR_AGENT: client_agent,
            FLAT: pantrace_flat,
            THEIR_FLAT: client_flat,
            SEED: pantrace_seed,
            THEIR_SEED: client_seed,
        },
        [Aim(AGENT, THEIR_AGENT, faster=15), Aim(FLAT, THEIR_FLAT, faster=15), Aim(SEED, THEIR_SEED, faster=15)],
        make,
        size=300,
        unit="sessions",
    )
