"""Judges over real HTTP: a scripted server on 127.0.0.1 that also misbehaves. Every failure is a retry or unscored."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopback import Act, Loopback, loopback, verdict
from pantrace.engine.judge import Access, Bench, bench, judge_all
from pantrace.judges import Settings, load_rubric
from pantrace.model import Score
from scripted import sample_of

ROOT = Path(__file__).parents[3]
RUBRIC = load_rubric("HelpfulnessExplain")
MODELS = ("openai:scripted",)


def _bench(server: Loopback, tmp_path: Path, **access: Any) -> Bench:
    reach = Access(
        keys={"openai": "none"},
        base_url=server.url,
        **{"timeout": 5.0, "first_wait": 0.01, "longest_wait": 3.0, "attempts": 3, **access},
    )
    return bench(Settings(models=MODELS), reach, cache=tmp_path / "cache.sqlite")


def _scores(run: Bench, count: int = 1) -> list[Score]:
    samples = [sample_of(name=f"s{number}", answer=f"Answer {number}") for number in range(count)]
    return [score for _, scores in judge_all(samples, [RUBRIC], run) for score in scores]


def _one(tmp_path: Path, script: Callable[[int, dict[str, Any]], Act], **access: Any) -> tuple[Score, Loopback, Bench]:
    with loopback(script) as server:
        run = _bench(server, tmp_path, **access)
        (score,) = _scores(run)
    return score, server, run


def _then(*acts: Act) -> Callable[[int, dict[str, Any]], Act]:
    """One act after the other; the last for ever."""
    return lambda number, _: acts[min(number, len(acts) - 1)]


def test_what_is_sent(tmp_path: Path) -> None:
    score, server, run = _one(tmp_path, _then(verdict(4)))
    assert score.value == 4.0
    (body,) = server.requests
    assert body["model"] == "scripted"
    assert body["temperature"] == 0.0
    system, user = body["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert any(line.startswith("| ") and line.endswith("Answer 0") for line in user["content"].splitlines())
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["score"]["enum"] == [1, 2, 3, 4, 5]
    assert run.summary()["tokens"] == 120
    assert run.summary()["cost_usd"] is None


PASSING = {
    "429 with Retry-After": Act(status=429, headers={"Retry-After": "1"}),
    "408": Act(status=408),
    "409": Act(status=409),
    "500": Act(status=500),
    "503": Act(status=503),
    "cut connection": Act(verdict(5).text * 200, cut=True),
    "slow": Act(verdict(5).text, delay=20),
    "not JSON": Act(body=b"<html>Bad gateway</html>"),
    "no body": Act(body=b""),
    "another protocol": Act(body=b'{"ok": true}'),
    "no choices": Act(body=b'{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[]}'),
    "empty reply": Act(""),
}


@pytest.mark.parametrize("trouble", PASSING)
def test_trouble_that_passes_is_a_retry(tmp_path: Path, trouble: str) -> None:
    score, server, run = _one(tmp_path, _then(PASSING[trouble], verdict(2)), timeout=1.0)
    assert (score.status, score.value) == ("scored", 2.0)
    assert len(server.requests) == 2
    assert run.summary()["retries"] == 1


@pytest.mark.parametrize("trouble", PASSING)
def test_trouble_that_stays_is_unscored(tmp_path: Path, trouble: str) -> None:
    score, server, _ = _one(tmp_path, _then(PASSING[trouble]), timeout=0.5)
    assert (score.status, score.value) == ("unscored", None)
    assert "(asked 3 times)" in (score.explanation or "")
    assert len(server.requests) == 3


REPLIES = {
    "prose around it": (Act('Well.\n```json\n{"reason": "x", "score": 3}\n```\nDone.'), 3.0, 1),
    "broken, then right": (Act('{"reason": "x", "score": '), 2.0, 2),
    "out of scale, then right": (verdict(9), 2.0, 2),
    "cut off, then right": (Act('{"reason": "x", "score": 5}', finish="length"), 2.0, 2),
}


@pytest.mark.parametrize("name", REPLIES)
def test_replies_that_are_not_as_asked(tmp_path: Path, name: str) -> None:
    act, value, calls = REPLIES[name]
    score, server, _ = _one(tmp_path, _then(act, verdict(2)))
    assert score.value == value
    assert len(server.requests) == calls
    if calls == 2:
        assert [each["role"] for each in server.requests[1]["messages"]] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize(
    ("act", "why"),
    [(Act("no idea"), "no JSON object"), (verdict(0), "out of scale"), (verdict(-1), "out of scale")],
)
def test_what_stays_unusable_is_unscored(tmp_path: Path, act: Act, why: str) -> None:
    score, server, _ = _one(tmp_path, _then(act))
    assert (score.status, score.value) == ("unscored", None)
    assert why in (score.explanation or "")
    assert score.details["samples"][0]["replies"] == [act.text, act.text]
    assert len(server.requests) == 2


def test_a_wait_beyond_all_patience(tmp_path: Path) -> None:
    score, server, _ = _one(tmp_path, _then(Act(status=429, headers={"Retry-After": "4000"})))
    assert "asks to wait 4000 s" in (score.explanation or "")
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_is_hopeless_is_asked_once(tmp_path: Path, status: int) -> None:
    with loopback(_then(Act("no entry", status=status))) as server:
        scores = _scores(_bench(server, tmp_path, concurrency=1), 10)
    assert {score.explanation for score in scores} == {f"HTTP {status}: no entry"}
    assert len(server.requests) == 1


def test_a_server_that_knows_no_schema(tmp_path: Path) -> None:
    def script(_: int, body: dict[str, Any]) -> Act:
        return Act("response_format is not supported", status=400) if "response_format" in body else verdict(4)

    with loopback(script) as server:
        scores = _scores(_bench(server, tmp_path, concurrency=1), 5)
    assert [score.value for score in scores] == [4.0] * 5
    assert len(server.requests) == 6


def test_nobody_there(tmp_path: Path) -> None:
    with loopback(_then(verdict(4))) as server:
        pass
    (score,) = _scores(_bench(server, tmp_path))
    assert (score.status, score.value) == ("unscored", None)
    assert "no answer from the server" in (score.explanation or "")


def test_log_probabilities(tmp_path: Path) -> None:
    top = [{"token": "4", "logprob": -0.5, "bytes": None}, {"token": "2", "logprob": -1.2, "bytes": None}]
    tokens = [
        {"token": '{"reason": "x", "score": ', "logprob": 0.0, "bytes": None, "top_logprobs": []},
        {"token": "4", "logprob": -0.5, "bytes": None, "top_logprobs": top},
    ]
    with loopback(_then(Act('{"reason": "x", "score": 4}', logprobs=tokens))) as server:
        run = _bench(server, tmp_path)
        run.settings = Settings(models=MODELS, weighted=True)
        (score,) = _scores(run)
    assert server.requests[0]["logprobs"] is True
    assert isinstance(score.value, float)
    assert 3 < score.value < 4


def test_a_second_run_calls_nobody_and_a_replay_needs_nobody(tmp_path: Path) -> None:
    with loopback(lambda number, body: verdict(1 + len(body["messages"][1]["content"]) % 5)) as server:
        first = _scores(_bench(server, tmp_path), 40)
        assert len(server.requests) == 40
        second = _scores(_bench(server, tmp_path), 40)
        assert len(server.requests) == 40
    replay = bench(Settings(models=MODELS), Access(), cache=tmp_path / "cache.sqlite", replay=True)
    assert first == second == _scores(replay, 40)


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    """Killed without warning at several moments; nothing that was answered is asked again."""
    source = tmp_path / "in.trace.jsonl"
    rows = [
        {
            "id": f"s{number}",
            "trajectory": {
                "steps": [
                    {"role": "user", "parts": [{"type": "text", "text": "?"}]},
                    {"role": "agent", "parts": [{"type": "text", "text": f"Answer {number}"}]},
                ]
            },
        }
        for number in range(120)
    ]
    source.write_text("\n".join(json.dumps(row) for row in [{"pantrace": "1"}, *rows]) + "\n")
    out = tmp_path / "out.jsonl"
    with loopback(lambda number, _: Act(verdict(3).text, delay=0.02)) as server:
        command = [sys.executable, "-m", "pantrace", "judge", str(source), "--rubric", "HelpfulnessExplain"]
        command += ["--judge", "openai:scripted", "--base-url", server.url, "--cache", str(tmp_path / "c.sqlite")]
        command += ["--concurrency", "4", "-o", str(out)]
        environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "", "HOME": str(tmp_path)}
        kills = 0
        while kills < 3:
            wanted = len(server.requests) + 20
            process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while len(server.requests) < wanted and process.poll() is None:
                server.stopping.wait(0.005)
            process.kill()
            process.wait()
            kills += 1
        assert not out.exists()
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
        assert 120 <= len(server.requests) <= 120 + kills * 4
    scores = [json.loads(line) for line in out.read_text().splitlines()]
    assert [score["sample"] for score in scores] == [f"s{number}" for number in range(120)]
    assert {score["value"] for score in scores} == {3.0}


def test_a_judge_is_sent_the_words_of_the_payload_and_not_those_of_the_case(tmp_path: Path) -> None:
    """`pantrace judge` on a dataset and on its native copy, as a user runs it."""
    payload = {"input": "PAYLOAD answer", "question": "PAYLOAD question"}
    row = {"case_id": "a-001", "agent_name": "a", "question": "CASE question", "model_answer": "CASE answer"}
    row |= {"context": "CASE context", "explain_inputs": {"FluencyExplain": payload}}
    source, copy = tmp_path / "cases.jsonl", tmp_path / "copy.trace.jsonl"
    source.write_text(json.dumps(row) + "\n")
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "", "HOME": str(tmp_path)}

    def run(*words: object) -> None:
        command = [sys.executable, "-m", "pantrace", *map(str, words)]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)

    run("convert", source, "--to", "native", "-o", copy)
    prompts = []
    for path in (source, copy):
        with loopback(_then(verdict(4))) as server:
            where = [
                "--judge",
                "openai:scripted",
                "--base-url",
                server.url,
                "--cache",
                tmp_path / f"{path.name}.sqlite",
            ]
            run("judge", path, "--rubric", "FluencyExplain", *where)
        (body,) = server.requests
        prompts.append(body["messages"][-1]["content"])
    assert prompts[0] == prompts[1]
    assert "| PAYLOAD answer" in prompts[0]
    assert "| PAYLOAD question" in prompts[0]
    assert "CASE" not in prompts[0]


def _anthropic(body: dict[str, Any]) -> bytes:
    return json.dumps(
        {
            "id": "x",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": '{"reason": "x", "score": 4}'}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 20},
        }
    ).encode()


def _google(body: dict[str, Any]) -> bytes:
    part = {"text": '{"reason": "x", "score": 4}'}
    return json.dumps(
        {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120},
            "modelVersion": "scripted",
        }
    ).encode()


@pytest.mark.parametrize(("provider", "body"), [("anthropic", _anthropic), ("google", _google)])
def test_the_other_dialects(tmp_path: Path, provider: str, body: Callable[[dict[str, Any]], bytes]) -> None:
    def script(number: int, request: dict[str, Any]) -> Act:
        return Act("later", status=503) if number == 0 else Act(body=body(request))

    with loopback(script) as server:
        settings = Settings(
            models=(f"{provider}:claude-haiku-4-5" if provider == "anthropic" else "google:gemini-2.5-flash",)
        )
        reach = Access(
            keys={provider: "none"}, base_url=server.url.removesuffix("/v1"), timeout=5.0, first_wait=0.01, attempts=2
        )
        (score,) = _scores(bench(settings, reach, cache=tmp_path / "c"))
    assert (score.status, score.value) == ("scored", 4.0), score.explanation
    assert score.details["tokens"] == 120
    assert len(server.requests) == 2
    assert "enum" in json.dumps(server.requests[1])
