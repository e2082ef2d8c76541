"""The server: who is answered, what is served, labels that stay, a run that is being written."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from doors import PANTRACE, server
from playwright.sync_api import Page

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"


def asked(address: str, path: str, *, method: str = "GET", body: Any = None, **headers: str) -> tuple[int, bytes]:
    """An answer to a request with any headers, be they ones that no browser would send."""
    where = urlsplit(address)
    assert where.hostname is not None
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=20)
    try:
        data = json.dumps(body).encode() if body is not None else None
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=data, headers=named)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def evaluated(folder: Path) -> Path:
    command = [*PANTRACE, "eval", str(EXAMPLES / "inspect"), "--out", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return evaluated(tmp_path_factory.mktemp("results") / "results")


@pytest.fixture(scope="module")
def address(results: Path) -> Iterator[str]:
    with server(results, "--label-as", "ada") as found:
        ready(found)
        yield found


def ready(address: str) -> dict[str, Any]:
    """The index, when there is something in it."""
    for _ in range(200):
        index: dict[str, Any] = json.loads(asked(address, "/index")[1])
        if index["edition"]:
            return index
        time.sleep(0.1)
    raise AssertionError("nothing was packed")


def token(address: str) -> str:
    found = re.search(rb'data-token="([^"]+)"', asked(address, "/")[1])
    assert found is not None
    return found[1].decode()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1", ""])
def test_another_host_is_refused(address: str, host: str) -> None:
    for path in ("/", "/index", "/data/x"):
        status, body = asked(address, path, Host=host)
        assert status in (400, 403)
        assert b"basic" not in body


def test_another_site_is_refused(address: str) -> None:
    assert asked(address, "/index", Origin="https://evil.example")[0] == 403
    assert asked(address, "/index", Origin="null")[0] == 403
    assert asked(address, "/index", Sec_Fetch_Site="cross-site")[0] == 403
    assert asked(address, "/index", Origin=address.rstrip("/"))[0] == 200


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/data/..%2f..%2fetc%2fpasswd", "/data/index", "/run.json", "/static/x"]
)
def test_no_path_leads_to_a_file(address: str, path: str) -> None:
    status, body = asked(address, path)
    assert status == 404
    assert b"root:" not in body


def test_a_label_needs_the_token_of_the_page(address: str, results: Path) -> None:
    label = {"run": "0", "sample": "2", "label": "pass"}
    for headers in ({}, {"X_Pantrace": "wrong"}, {"X_Pantrace": ""}):
        assert asked(address, "/label", method="POST", body=label, **headers)[0] == 403
    assert not (results / "labels.jsonl").exists()


@pytest.mark.parametrize(
    "label",
    [
        [],
        "x",
        {"run": "7", "sample": "2", "label": "pass"},
        {"run": "0", "sample": "none", "label": "pass"},
        {"run": "0", "sample": "2", "label": "perhaps"},
        {"run": "0", "sample": "2", "score": "much"},
        {"run": "0", "sample": "2", "comment": "x" * 20_000},
        {"run": "0", "sample": ["2"], "label": "pass"},
    ],
)
def test_what_is_no_label_is_refused(address: str, results: Path, label: Any) -> None:
    before = (results / "labels.jsonl").read_bytes() if (results / "labels.jsonl").exists() else b""
    status, _ = asked(address, "/label", method="POST", body=label, X_Pantrace=token(address))
    assert status == 400
    assert ((results / "labels.jsonl").read_bytes() if (results / "labels.jsonl").exists() else b"") == before


def test_labels_are_kept_and_calibrate_reads_them(address: str, results: Path, page: Page, tmp_path: Path) -> None:
    page.goto(address + "#/run/0/sample/1")
    page.get_by_role("button", name="good").click()
    page.get_by_text("Label kept").wait_for()
    page.get_by_text("by ada").wait_for()
    page.keyboard.press("n")
    page.get_by_text("Capital of Peru?").first.wait_for()
    page.get_by_label("Comment").fill("wrong city")
    page.get_by_role("button", name="bad").click()
    page.get_by_text("by ada").wait_for()
    lines = [json.loads(line) for line in (results / "labels.jsonl").read_text().splitlines()]
    assert [(line["id"], line["label"], line.get("comment", ""), line["by"]) for line in lines] == [
        ("1", "pass", "", "ada"),
        ("2", "fail", "wrong city", "ada"),
    ]
    table = tmp_path / "labels.csv"
    table.write_bytes(asked(address, "/labels/0.csv")[1])
    command = [*PANTRACE, "calibrate", str(results), "--labels", str(table), "--metric", "includes", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["calibrations"][0]["n"] == 2, done.stderr


def test_blind_mode_hides_the_verdict_until_there_is_a_label(address: str, page: Page) -> None:
    page.goto(address + "#/run/0/sample/3")
    page.locator(".sample-head .score-line").wait_for()
    page.get_by_text("blind").click()
    page.get_by_text("Verdicts are hidden until you have labelled this sample.").wait_for()
    assert page.locator(".sample-head .score-line, .sample-head .status").count() == 0
    page.get_by_role("button", name="good").click()
    page.locator(".sample-head .score-line").wait_for()


def test_the_queue_holds_what_has_no_label(address: str, page: Page) -> None:
    page.goto(address + "#/run/0/samples")
    page.locator("a.row").first.wait_for()
    labelled = page.locator("a.row .badge").count()
    page.locator("summary", has_text="Labels").click()
    page.get_by_label("only those without a label").check()
    page.get_by_text(f"{5 - labelled} of 5").wait_for()
    assert page.locator("a.row .badge").count() == 0


def test_a_label_in_the_queue_leads_to_the_next(page: Page, tmp_path: Path) -> None:
    folder = evaluated(tmp_path / "results")
    with server(folder, "--label-as", "ada") as found:
        ready(found)
        page.goto(found + "#/run/0/samples")
        page.locator("summary", has_text="Labels").click()
        page.get_by_role("button", name="Label 5 samples").click()
        for number in range(5):
            page.get_by_text(f"{number} of 5 samples labelled").wait_for()
            page.keyboard.press("2" if number % 2 else "1")
        page.get_by_text("The queue is done").wait_for()
        page.goto("about:blank")
    lines = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    assert sorted(line["id"] for line in lines) == ["1", "2", "3", "4", "5"]
    assert [line["label"] for line in lines] == ["pass", "fail", "pass", "fail", "pass"]


def test_a_step_is_labelled_by_its_own_name(address: str, results: Path, page: Page) -> None:
    page.goto(address + "#/run/0/sample/2/step/3")
    step = page.locator("#step-3.current")
    step.get_by_role("button", name="Label this step").click()
    step.get_by_label("Comment").fill("says nothing")
    step.get_by_role("button", name="bad").click()
    step.get_by_role("button", name="Label this step").click()
    step.locator(".step-label", has_text="says nothing").get_by_text("labelled by ada").wait_for()
    last = json.loads((results / "labels.jsonl").read_text().splitlines()[-1])
    assert (last["id"], last["label"], last["comment"]) == ("2", "fail", "says nothing")
    known = subprocess.run([*PANTRACE, "show", str(results), "--sample", "2", "--json"], capture_output=True, text=True)
    assert last["step"] in known.stdout or last["step"].startswith("#")
    page.reload()
    page.locator("#step-3 .step-label", has_text="says nothing").wait_for()
    # The table for `calibrate` is about samples.
    assert b"says nothing" not in asked(address, "/labels/0.csv")[1]


def test_what_others_said_stays_hidden_until_there_is_a_label(page: Page, tmp_path: Path) -> None:
    folder = evaluated(tmp_path / "results")
    kept = {"sample": "4", "id": "4", "label": "fail", "comment": "wrong planet", "by": "grace", "at": 1.0}
    (folder / "labels.jsonl").write_text(json.dumps(kept) + "\n")
    with server(folder, "--label-as", "ada") as found:
        ready(found)
        page.goto(found + "#/run/0/sample/4")
        page.get_by_text("blind").click()
        page.get_by_text("Verdicts are hidden").wait_for()
        assert page.get_by_text("wrong planet").count() == 0
        page.get_by_role("button", name="good").click()
        page.get_by_text("grace: fail (wrong planet)").wait_for()
        page.goto("about:blank")


def test_a_run_directory_that_is_damaged_is_told_and_the_rest_is_shown(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    command = [*PANTRACE, "eval", str(EXAMPLES / "inspect"), str(EXAMPLES / "adk"), "--out", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    parts = sorted(path for path in (folder / "parts").rglob("*.parquet") if "samples" in path.name)
    assert len(parts) == 2
    parts[0].write_bytes(parts[0].read_bytes()[:100])
    with server(folder) as found:
        ready(found)
        page.goto(found)
        page.locator(".note-box", has_text=f"{parts[0].name}: this part of the run is damaged").first.wait_for()
        page.locator("a.row").first.click()
        page.locator(".step .said").first.wait_for()
        page.goto("about:blank")


def test_recordings_keep_no_labels(page: Page) -> None:
    with server(EXAMPLES / "inspect" / "basic.eval") as found:
        ready(found)
        page.goto(found + "#/run/0/sample/1")
        page.locator(".step").first.wait_for()
        assert page.locator(".label-bar").count() == 0
        page.goto("about:blank")
        label = {"run": "0", "sample": "1", "label": "pass"}
        assert asked(found, "/label", method="POST", body=label, X_Pantrace=token(found))[0] == 400


def test_a_run_that_is_written_meanwhile_shows_its_progress(page: Page, tmp_path: Path) -> None:
    folder = evaluated(tmp_path / "results")
    with server(folder) as found:
        ready(found)
        page.goto(found + "#/run/0/samples")
        page.locator("a.row").nth(4).wait_for()
        command = [*PANTRACE, "eval", str(EXAMPLES / "inspect"), str(EXAMPLES / "adk"), "--out", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
        page.get_by_text("7 samples").first.wait_for(timeout=30_000)
        page.goto("about:blank")  # a page that still asks would complain of the server's end


def test_ctrl_c_ends_it_and_a_used_port_is_said(tmp_path: Path) -> None:
    with server(EXAMPLES / "inspect" / "basic.eval") as found:
        port = str(urlsplit(found).port)
        command = [*PANTRACE, "view", str(EXAMPLES / "inspect" / "basic.eval"), "--port", port, "--no-open"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2
        assert "choose another with --port" in done.stderr
    # `server` itself asserts that Ctrl-C ended it without a traceback.


def test_another_address_needs_the_word() -> None:
    command = [
        *PANTRACE,
        "view",
        str(EXAMPLES / "inspect" / "basic.eval"),
        "--host",
        "0.0.0.0",
        "--port",
        "0",
        "--no-open",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout is not None
        shown = running.stdout.readline().strip()
        where = urlsplit(shown)
        local = f"http://127.0.0.1:{where.port}/"
        try:
            assert asked(local, "/index")[0] == 403
            assert asked(local, f"/index?{where.query}x")[0] == 403
            assert asked(local, f"/index?{where.query}")[0] == 200
        finally:
            running.terminate()


def test_recordings_that_an_agent_is_still_making_come_in(page: Page, tmp_path: Path) -> None:
    agent = tmp_path / "agent.sh"
    # Each trial waits until the page has shown the one before.
    agent.write_text(
        '#!/bin/sh\nread question\nwhile ! test -e "$0.$question"; do sleep 0.1; done\necho answer $question\n'
    )
    agent.chmod(0o755)
    cases = tmp_path / "cases.jsonl"
    cases.write_text("".join(json.dumps({"id": name, "question": name}) + "\n" for name in ("one", "two")))
    folder = tmp_path / "results"
    command = [*PANTRACE, "run", str(cases), "--agent", f"cmd:{agent}", "--out", str(folder)]
    (tmp_path / "agent.sh.one").touch()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        while not any(path.read_text().count("\n") > 1 for path in folder.glob("recordings/*")):
            assert running.poll() is None
            page.wait_for_timeout(100)
        with server(folder) as found:
            ready(found)
            page.goto(found + "#/run/0/samples")
            page.locator("a.row", has_text="one").wait_for()
            assert page.locator("a.row").count() == 1
            (tmp_path / "agent.sh.two").touch()
            page.locator("a.row", has_text="two").wait_for()
            page.goto("about:blank")
        running.wait(60)
