"""Managed metrics through Google's real client, which talks to a server on 127.0.0.1 instead of the service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from agentplatform import types
from agentplatform._genai import _evals_constant as constants
from google.oauth2.credentials import Credentials
from msgspec.structs import replace

from corpus import CORPUS, needs_corpus
from loopback import Act, Loopback, Script, loopback
from pantrace.engine.judge import Access, Bench, bench, judge_all
from pantrace.engine.read import read
from pantrace.errors import UsageError
from pantrace.judges import Managed, Project, Settings, Vertex, managed_metric, managed_names
from pantrace.judges.managed import families
from pantrace.model import Case, Sample, Score
from scripted import sample_of

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
REAL = CORPUS / "public" / "vertex" / "vertex_EvaluationResult_jsonpickle_gsd-lite.json"
QUALITY = managed_metric("general_quality_v1")
TALK, *_ = read(GOLDEN / "vertex-agent" / "sessions.jsonl").samples


def result(**fields: Any) -> Act:
    return Act(body=json.dumps({"metricResults": [fields]}).encode())


def nine() -> Act:
    """A result as the service gives it: what is false is null, or left out."""

    def verdict(number: int) -> dict[str, Any]:
        rubric = {"content": {"property": {"description": f"Property {number}."}}, "type": "T", "importance": "HIGH"}
        told: dict[str, Any] = {"evaluatedRubric": rubric, "reasoning": f"because {number}"}
        return {**told, "verdict": True} if number < 5 else {**told, "verdict": None} if number < 7 else told

    return result(score=0.5555556, explanation="", rubricVerdicts=[verdict(number) for number in range(9)])


def judging(server: Loopback, *, cache: Path | None = None, timeout: float = 20.0, **access: Any) -> Bench:
    """The whole row of judges, with the real client at its end."""
    address = server.url.removesuffix("/v1")
    reach = Access(
        vertex=Project(project="my-project", location="us-central1", base_url=address),
        timeout=timeout,
        first_wait=0.01,
        longest_wait=0.1,
        **access,
    )
    run = bench(Settings(), reach, cache=cache)
    assert run.vertex is not None
    run.vertex._credentials = Credentials(token="a-token")
    return run


def scores_of(run: Bench, *samples: Sample, metrics: tuple[Managed, ...] = (QUALITY,)) -> list[Score]:
    return [score for _, scores in judge_all(samples, metrics, run) for score in scores]


def asked(sample: Sample, metric: Managed) -> dict[str, Any]:
    """The request that the client sends."""
    with loopback(lambda *_: result(score=1.0)) as server:
        (score,) = scores_of(judging(server), sample, metrics=(metric,))
        assert score.value == 1.0, score.explanation
        assert server.paths == ["/v1beta1/projects/my-project/locations/us-central1/:evaluateInstances"]
        return server.requests[0]


def test_our_table_is_the_clients() -> None:
    media = {name for name in constants.SUPPORTED_PREDEFINED_METRICS if name.startswith("gecko_")}
    ours = {name.removeprefix("vertex:") for name in managed_names()}
    assert ours == constants.SUPPORTED_PREDEFINED_METRICS - media


EVERYTHING = replace(
    sample_of(),
    case=Case(context="Two were eaten.", reference="Three."),
    extra={"vertex-agent": {"rubric_groups": {"mine": [{"content": {"property": {"description": "It counts."}}}]}}},
)


@pytest.mark.parametrize("name", managed_names())
def test_the_request_names_the_version_and_holds_what_the_metric_needs(name: str) -> None:
    request = asked(EVERYTHING, managed_metric(name))
    (metric,) = request["metrics"]
    assert metric["predefined_metric_spec"]["metric_spec_name"] == name.removeprefix("vertex:")
    instance = request["instance"]
    if "multi_turn" not in name or "general" in name or "text" in name:
        contents = instance["prompt"]["contents"]["contents"]
        assert [part["text"] for content in contents for part in content["parts"]] == ["How many are left?"]
    if "tool_use" not in name and "multi_turn_t" not in name.replace("multi_turn_text", ""):
        (response,) = instance["response"]["contents"]["contents"]
        assert response["parts"] == [{"text": "Three are left."}]
    assert ("reference" in instance) == ("final_response_match" in name)
    assert ("otherData" in instance) == ("grounding" in name)
    assert ("rubricGroups" in instance) == ("reference_free" in name)


@pytest.mark.parametrize("name", ["multi_turn_tool_use_quality_v1", "multi_turn_trajectory_quality_v1"])
def test_a_conversation_arrives_with_its_agents_tools_calls_and_answers(name: str) -> None:
    data = asked(TALK, managed_metric(name))["instance"]["agent_eval_data"]
    tools = data["agents"]["build"]["tools"][0]["function_declarations"]
    assert [tool["name"] for tool in tools] == ["read", "bash", "task"]
    assert data["agents"]["build"]["instruction"] == "You are a careful programmer."
    parts = [part for turn in data["turns"] for event in turn["events"] for part in event["content"]["parts"]]
    calls = [part["function_call"] for part in parts if "function_call" in part]
    assert [(call["id"], call["name"]) for call in calls] == [
        ("call_1", "read"),
        ("call_2", "read"),
        ("call_3", "bash"),
        ("call_4", "bash"),
    ]
    assert calls[2]["args"] == {"command": "pytest -q"}
    answers = [part["function_response"] for part in parts if "function_response" in part]
    assert answers[1]["response"] == {"error": "File not found: missing.txt"}


def test_a_conversation_is_sent_as_contents_before_its_last_answer() -> None:
    instance = asked(TALK, managed_metric("multi_turn_general_quality_v1"))["instance"]
    contents = instance["prompt"]["contents"]["contents"]
    assert [content.get("role") for content in contents] == ["user", "model", None]
    assert contents[-1]["parts"] == [{"text": "Run the tests and ask the reviewer."}]
    (answer,) = instance["response"]["contents"]["contents"]
    assert answer["parts"] == [{"text": "One test fails: `div` is not tested for zero."}]


def test_guidelines_are_those_of_each_metric_and_no_others() -> None:
    metrics = (QUALITY, replace(QUALITY, guidelines="Be terse."), replace(QUALITY, guidelines="Be kind."))
    with loopback(lambda *_: result(score=1.0)) as server:
        scores_of(judging(server), sample_of(), metrics=metrics)
        specs = [request["metrics"][0]["predefined_metric_spec"] for request in server.requests]
    sent = {(spec.get("metric_spec_parameters") or {}).get("guidelines") for spec in specs}
    assert sent == {None, "Be terse.", "Be kind."}


def test_five_of_nine(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    with loopback(lambda *_: nine()) as server:
        first, second = judging(server, cache=cache), judging(server, cache=cache)
        (score,) = scores_of(first, sample_of())
        assert scores_of(second, sample_of()) == [score]
        assert len(server.requests) == 1
    assert (score.value, score.status) == (5 / 9, "scored")
    assert [each["verdict"] for each in score.details["verdicts"]] == [True] * 5 + [False] * 4
    assert score.details["verdicts"][8] == {
        "verdict": False,
        "description": "Property 8.",
        "type": "T",
        "importance": "HIGH",
        "reasoning": "because 8",
    }
    assert (first.summary()["calls"], second.summary()["calls"], second.summary()["cached"]) == (1, 0, 1)


def plain(value: Any) -> Any:
    """What jsonpickle wrapped, unwrapped."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "py/state" in value:
        return plain(value["py/state"].get("__dict__"))
    if "py/reduce" in value:
        return value["py/reduce"][1]["py/tuple"][0]
    if "py/id" in value:
        return None
    return {key: plain(each) for key, each in value.items()}


@needs_corpus
def test_the_real_result_of_the_service_is_read_as_it_was_meant() -> None:
    found = plain(json.loads(REAL.read_bytes()))["eval_case_results"]
    results = [each["response_candidate_results"][0]["metric_results"]["general_quality_v1"] for each in found]
    assert results
    for real in results:
        told = {name: real.get(name) for name in ("score", "explanation", "rubric_verdicts")}
        with loopback(lambda *_, told=told: result(**told)) as server:
            (score,) = scores_of(judging(server), sample_of())
        assert score.value == pytest.approx(real["score"], abs=1e-6)
        assert "score_given" not in score.details
        assert len(score.details["verdicts"]) == len(real["rubric_verdicts"])
    assert round(results[0]["score"], 4) == 0.5556


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (Act(status=429, body=b'{"error": {"code": 429, "message": "slow down"}}'), 429),
        (Act(status=500, body=b'{"error": {"code": 500, "message": "oh"}}'), 500),
        (Act(status=503, body=b"<html>no JSON</html>"), 503),
        (Act(body=b'{"metricResults": [{"sco'), None),
        (Act(body=b"[]"), None),
        (Act(body=b'{"metricResults": "none"}'), None),
        (Act(body=b"{}"), None),
        (result(rubricVerdicts=[{"evaluatedRubric": {"importance": {}}, "verdict": True}]), None),
        (result(explanation="I would rather not"), None),
        (result(score=0.0, error={"code": 8, "message": "RESOURCE_EXHAUSTED"}), 8),
        (Act(body=b'{"metricResults": [{"score": 1}]}', cut=True), None),
    ],
    ids=lambda each: str(getattr(each, "body", each))[:30],
)
def test_trouble_that_may_pass_is_asked_again_and_else_unscored(trouble: Act, code: int | None) -> None:
    script: Script = lambda number, _: trouble if number < 2 else result(score=1.0)  # noqa: E731
    with loopback(script) as server:
        run = judging(server, attempts=3)
        (score,) = scores_of(run, sample_of())
        assert (score.value, run.summary()["retries"]) == (1.0, 2)
    with loopback(lambda *_: trouble) as server:
        (score,) = scores_of(judging(server, attempts=2), sample_of())
        assert len(server.requests) == 2
    assert (score.status, score.value) == ("unscored", None)
    assert "(asked 2 times)" in (score.explanation or "")
    assert score.details.get("error_code") == code


@pytest.mark.parametrize(("status", "again"), [(400, 2), (403, 1), (404, 1)])
def test_what_asking_again_cannot_help(status: int, again: int) -> None:
    refusal = json.dumps({"error": {"code": status, "message": "no", "status": "NO"}}).encode()
    with loopback(lambda *_: Act(status=status, body=refusal)) as server:
        scores = scores_of(judging(server, concurrency=1), sample_of(), sample_of(question="And pears?"))
        assert len(server.requests) == again, "one who is not let in does not knock for every sample"
    assert {score.explanation for score in scores} == {f"HTTP {status}: no"}


def test_a_wait_that_the_server_asks_for_is_heeded() -> None:
    act = Act(status=429, headers={"retry-after": "600"}, body=b'{"error": {"code": 429, "message": "later"}}')
    with loopback(lambda *_: act) as server:
        (score,) = scores_of(judging(server), sample_of())
        assert len(server.requests) == 1
    assert score.explanation == "HTTP 429: later; it asks to wait 600 s, which is too long"


def test_a_silent_server_and_an_absent_one() -> None:
    with loopback(lambda *_: Act(delay=5.0, body=b"{}")) as server:
        (late,) = scores_of(judging(server, timeout=0.3, attempts=1), sample_of())
    (gone,) = scores_of(judging(server, attempts=1), sample_of())
    assert late.explanation == "no reply within 0.3 s (asked once)"
    assert "no answer from the server: ConnectError" in (gone.explanation or "")


def test_many_at_once_come_back_in_order() -> None:
    def script(_: int, body: dict[str, Any]) -> Act:
        text = body["instance"]["prompt"]["contents"]["contents"][0]["parts"][0]["text"]
        return result(score=int(text) / 100)

    samples = [sample_of(question=str(number), name=f"s{number}") for number in range(40)]
    with loopback(script) as server:
        assert [score.value for score in scores_of(judging(server), *samples)] == [each / 100 for each in range(40)]


@needs_corpus
def test_recorded_sessions_reach_the_service_with_every_call() -> None:
    database = CORPUS / "own" / "opencode" / "sqlite-1.18.33" / "opencode.db"
    metrics = tuple(map(managed_metric, ("multi_turn_task_success_v1", "multi_turn_tool_use_quality_v1")))
    with loopback(lambda *_: result(score=1.0)) as server:
        run = judging(server)
        scores = scores_of(run, *read(database).samples, metrics=metrics)
        assert {score.status for score in scores} == {"scored", "not_applicable"}
        assert run.summary()["unscored"] == 0
        assert len(server.requests) == run.summary()["scored"] > 10
        told = json.dumps(server.requests)
    assert told.count("function_call") > 15


def test_without_credentials_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    with pytest.raises(UsageError, match="no credentials for Google Cloud: run `gcloud auth"):
        Vertex(Project(project="p", location="l")).open()


class _Tokens(BaseHTTPRequestHandler):
    """Gives a token to whoever asks, as Google's token server does."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        data = b'{"access_token": "a-token", "expires_in": 3600, "token_type": "Bearer"}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the name in the library
        """Tests have their own words."""


@contextmanager
def key_file(folder: Path) -> Iterator[Path]:
    """A service account whose tokens come from a server of ours."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    server = HTTPServer(("127.0.0.1", 0), _Tokens)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "key.json"
    account = {
        "type": "service_account",
        "project_id": "my-project",
        "private_key_id": "1",
        "private_key": key.decode(),
        "client_email": "judge@my-project.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": f"http://127.0.0.1:{server.server_address[1]}/token",
    }
    path.write_text(json.dumps(account))
    try:
        yield path
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


def test_the_command_from_end_to_end(tmp_path: Path) -> None:
    """Application default credentials, project from the environment, the cache, and a replay without either."""
    source = str(GOLDEN / "vertex-agent" / "sessions.jsonl")

    def ran(*arguments: str, **environment: str) -> tuple[int, dict[str, Any], str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GOOGLE_")}
        done = subprocess.run(
            [sys.executable, "-m", "pantrace", *arguments, "--cache", str(tmp_path / "cache.sqlite"), "--json"],
            capture_output=True,
            text=True,
            env={**clean, "NO_GCE_CHECK": "true", "PYTHONPATH": str(ROOT / "src"), **environment},
            timeout=120,
            check=False,
        )
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr

    named = {"GOOGLE_CLOUD_PROJECT": "my-project", "GOOGLE_CLOUD_LOCATION": "us-central1"}
    judge = ("judge", source, "--rubric", "vertex:multi_turn_general_quality_v1")
    with key_file(tmp_path) as key, loopback(lambda *_: nine()) as server:
        there = {**named, "GOOGLE_APPLICATION_CREDENTIALS": str(key)}
        address = ("--base-url", server.url.removesuffix("/v1"))
        code, first, words = ran(*judge, *address, **there)
        assert code == 0, words
        assert "Traceback" not in words
        assert [score["value"] for score in first["scores"]] == [5 / 9, 5 / 9, None]
        assert (first["summary"]["calls"], len(server.requests)) == (2, 2)
        code, second, words = ran(*judge, *address, **there)
        assert (code, second["scores"]) == (0, first["scores"])
        assert (second["summary"]["calls"], second["summary"]["cached"], len(server.requests)) == (0, 2, 2)
    code, replayed, _ = ran(*judge, "--replay")
    assert (code, replayed["scores"]) == (0, first["scores"])
    code, _, words = ran(*judge, **named)
    assert (code, words.count("\n")) == (2, 1)
    assert "no credentials for Google Cloud" in words


def test_a_name_without_a_version_means_what_it_means_to_the_client() -> None:
    for family, each in families().items():
        meant = getattr(types.RubricMetric, family.upper())
        assert meant._get_api_metric_spec_name() == f"{family}_{each.means}"
