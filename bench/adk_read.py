"""Reading an ADK eval history: pantrace against google-adk's own loader on the same file.

Run it with a Python that has google-adk: `.venvs/adk/bin/python bench/adk_read.py [--size N] [--json]`.
Both give whole objects: pantrace its samples (session, invocations, scores and expected trajectories merged, nothing
lost), google-adk its EvalSetResult. Both begin with the path.
"""

from __future__ import annotations

from pathlib import Path

from measuring import Aim, Work, contest
from recordings import adk_history


def pantrace_reads(path: Path) -> Work:
    from pantrace.formats import by_name
    from pantrace.wire.rows import raise_broken

    open_run = by_name("adk-history").open
    assert open_run is not None
    return lambda: sum(len(sample.trajectory.steps) for sample in open_run(path, raise_broken).samples)


def adk_parses(path: Path) -> Work:
    from google.adk.evaluation._eval_set_results_manager_utils import parse_eval_set_result_json

    def work() -> int:
        result = parse_eval_set_result_json(path.read_bytes())
        return sum(len(case.session_details.events) for case in result.eval_case_results)

    return work


def adk_validates(path: Path) -> Work:
    from google.adk.evaluation.eval_result import EvalSetResult

    def work() -> int:
        result = EvalSetResult.model_validate_json(path.read_bytes())
        return sum(len(case.session_details.events) for case in result.eval_case_results)

    return work


def bare_decode(path: Path) -> Work:
    import msgspec

    return lambda: len(msgspec.json.decode(path.read_bytes())["eval_case_results"])


OURS = "pantrace: every sample"
PARSE = "google-adk: parse_eval_set_result_json"
VALIDATE = "google-adk: EvalSetResult.model_validate_json"
BARE = "msgspec: bare decode, no model"

if __name__ == "__main__":
    contest(
        __file__,
        {OURS: pantrace_reads, PARSE: adk_parses, VALIDATE: adk_validates, BARE: bare_decode},
        [Aim(OURS, PARSE, faster=5.5), Aim(OURS, VALIDATE), Aim(OURS, BARE)],
        adk_history,
        size=200,
        unit="cases",
    )
