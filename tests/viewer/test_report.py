"""The report as a file: how large it is, what it leaves out, what it never takes in."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pantrace.cli import cli
from pantrace.errors import PantraceError
from pantrace.library.evaluate import evaluate
from pantrace.model import RunHeader
from pantrace.viewer import Shown, ShownRun, write_report
from pantrace.viewer.page import policy, program, style

sys.path.insert(0, str(Path(__file__).parent))
from hostile import TEXTS, write

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
BLOCK = re.compile(
    r'<script type="application/octet-stream" id="([^"]+)" data-mime="([^"]+)"( data-plain)?>([^<]*)</script>'
)


def report(target: Path, *words: str | Path) -> str:
    """The text of a report that the command writes."""
    done = CliRunner().invoke(cli, ["report", *map(str, words), "-o", str(target)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return target.read_text()


def blocks(page: str) -> dict[str, Any]:
    """All that a report holds, unpacked."""
    found: dict[str, Any] = {}
    for key, mime, plain, text in BLOCK.findall(page):
        data = base64.b64decode(text)
        if mime in ("image/png", "image/jpeg", "image/gif", "image/webp"):
            found[key] = data
        else:
            unpacked = data if plain else gzip.decompress(data)
            found[key] = (
                json.loads(unpacked) if mime == "application/json" else unpacked.decode("utf-8", "surrogatepass")
            )
    return found


def recording(target: Path, *samples: dict[str, Any]) -> Path:
    target.parent.mkdir(exist_ok=True, parents=True)
    header = {"pantrace": "2", "run": {"name": "made up"}}
    target.write_text("".join(json.dumps(each) + "\n" for each in (header, *samples)))
    return target


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "agent", "parts": [{"type": "text", "text": text}], **more}


def test_an_empty_report_is_small() -> None:
    file = BytesIO()
    write_report(Shown(title="nothing", runs=[ShownRun(name="none", header=RunHeader(), samples=())]), file)
    assert len(file.getvalue()) < 250_000
    vendored = ROOT / "src/pantrace/viewer/web/vendor"
    assert sum(path.stat().st_size for path in vendored.glob("*.js")) < 150_000
    for script in vendored.glob("*.js"):
        assert (vendored / f"{script.stem}.LICENSE.txt").read_text()


def test_the_modules_join_into_one_script() -> None:
    joined = program()
    web = ROOT / "src/pantrace/viewer/web"
    top = re.compile(r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)
    names = [name for path in web.glob("*.js") for name in top.findall(path.read_text())]
    assert not [name for name, times in Counter(names).items() if times > 1], "two modules use one name at their top"
    # Indentation is taken out of the joined script: a template over several lines would be changed by that.
    assert not [path.name for path in web.glob("*.js") if re.search(r"(?<!\^)\$\{", path.read_text())]
    assert not re.search(r"^(import|export)\b", joined, re.MULTILINE)
    # What would end the element that it stands in.
    assert "</script" not in joined.lower()
    assert "</style" not in style().lower()


def test_every_module_is_in_the_script() -> None:
    from pantrace.viewer.page import PROGRAM

    web = ROOT / "src/pantrace/viewer/web"
    there = {str(path.relative_to(web)) for path in web.rglob("*.js")}
    assert there == set(PROGRAM)


def test_the_policy_names_hashes_and_nothing_else() -> None:
    for served in (False, True):
        text = policy(served=served)
        assert "unsafe" not in text
        assert "http" not in text
        assert "*" not in text
        assert "require-trusted-types-for 'script'" in text


def test_no_text_of_a_recording_stands_in_the_document_itself(tmp_path: Path) -> None:
    page = report(tmp_path / "report.html", write(tmp_path / "hostile.trace.jsonl"))
    outside = BLOCK.sub("", page).replace(program(), "").replace(style(), "")
    assert "VISIBLE-TO-THE-END" not in re.sub(r"<title>[^<]*</title>", "", outside)
    assert len(re.findall("<script", outside)) == 1
    assert len(TEXTS) == next(iter(blocks(page)["index"]["runs"]))["samples"]


def test_a_long_text_is_whole_in_a_block_of_its_own(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(20_000))
    sample = {"id": "a", "trajectory": {"steps": [said(text)]}}
    found = blocks(report(tmp_path / "report.html", recording(tmp_path / "a.trace.jsonl", sample)))
    assert text in [value for value in found.values() if isinstance(value, str)]
    rows = [row for value in found.values() if isinstance(value, dict) for row in _rows(value)]
    (((path, cut),),) = [row["cuts"] for row in rows if "cuts" in row]
    assert path == ["steps", 0, "parts", 0, "text"]
    assert cut["size"] == len(text)


def _rows(block: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for value in block.values() if isinstance(value, list) for row in value if isinstance(row, dict)]


def media(uri: str) -> dict[str, Any]:
    return {"id": "a", "trajectory": {"steps": [{"role": "agent", "parts": [{"type": "media", "uri": uri}]}]}}


def test_a_picture_beside_the_recording_is_taken_in(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "shot.png").write_bytes(PNG)
    source = recording(tmp_path / "runs" / "a.trace.jsonl", media("elsewhere/shot.png"))
    assert PNG in blocks(report(tmp_path / "report.html", source)).values()


@pytest.mark.parametrize("way", ["absolute", "upwards", "link", "file address", "own source"])
def test_a_picture_elsewhere_is_never_taken_in(tmp_path: Path, way: str) -> None:
    secret = tmp_path / "private" / "secret.png"
    secret.parent.mkdir()
    secret.write_bytes(PNG)
    runs = tmp_path / "runs"
    runs.mkdir()
    sample = media(
        {"absolute": str(secret), "upwards": "../private/secret.png", "link": "shot.png"}.get(way, secret.as_uri())
    )
    if way == "link":
        (runs / "shot.png").symlink_to(secret)
    if way == "own source":
        # A recording may claim to have been read anywhere.
        sample = media("secret.png")
        sample["trajectory"]["source"] = {"format": "native", "path": str(secret.parent / "x.json")}
    page = report(tmp_path / "report.html", recording(runs / "a.trace.jsonl", sample))
    assert PNG not in blocks(page).values()


def test_what_is_no_picture_is_not_taken_in(tmp_path: Path) -> None:
    (tmp_path / "notes.png").write_text("a password")
    page = report(tmp_path / "r.html", recording(tmp_path / "a.trace.jsonl", media("notes.png")))
    assert not any(isinstance(value, bytes) for value in blocks(page).values())


def graded(name: str, status: str, text: str) -> dict[str, Any]:
    return {"id": name, "trajectory": {"steps": [said(text)], "outcome": {"status": status}}}


def noise(seed: int, size: int) -> str:
    import random

    return "".join(random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=size))


def test_a_smaller_report_drops_pictures_then_texts_then_what_passed(tmp_path: Path) -> None:
    samples = [graded(f"good {number}", "passed", noise(number, 30_000)) for number in range(30)]
    samples += [graded("bad", "failed", noise(99, 30_000)), graded("long", "failed", noise(7, 200_000))]
    picture = media("data:image/png;base64," + base64.b64encode(PNG + noise(3, 90_000).encode()).decode())
    source = recording(tmp_path / "a.trace.jsonl", *samples, picture | {"id": "seen"})
    whole = report(tmp_path / "whole.html", source)
    less = report(tmp_path / "less.html", source, "--max-size", str(len(whole) - 50_000))
    assert "pictures" in blocks(less)["index"]["dropped"][0]
    assert len(blocks(less)["index"]["dropped"]) == 1
    least = report(tmp_path / "least.html", source, "--max-size", "600kB")
    assert len(least) <= 600_000
    dropped = blocks(least)["index"]["dropped"]
    assert [each.partition(":")[0] for each in dropped] == [
        "pictures",
        "long texts (their beginnings are here)",
        "the steps of samples that passed",
    ]
    assert noise(99, 30_000) in json.dumps(list(blocks(least).values())), "what failed is still there"
    done = CliRunner().invoke(cli, ["report", str(source), "-o", str(tmp_path / "no.html"), "--max-size", "1kB"])
    assert isinstance(done.exception, PantraceError)
    assert "cannot be made smaller" in str(done.exception)
    assert not (tmp_path / "no.html").exists()


def test_samples_are_chosen(tmp_path: Path) -> None:
    samples = [graded("one", "passed", "x"), graded("two", "failed", "y"), {"id": "three", "trajectory": {"steps": []}}]
    source = recording(tmp_path / "a.trace.jsonl", *samples)

    def keys(*words: str) -> list[str]:
        page = blocks(report(tmp_path / "r.html", source, *words))
        keys: list[str] = page[page["index"]["runs"][0]["table"]]["key"]
        return keys

    assert keys() == ["one", "two", "three"]
    assert keys("--failed-only") == ["two"]
    assert keys("--sample", "three", "--sample", "one") == ["one", "three"]
    assert keys("--limit", "1") == ["one"]
    done = CliRunner().invoke(cli, ["report", str(source), "-o", str(tmp_path / "no.html"), "--sample", "four"])
    assert isinstance(done.exception, PantraceError)
    assert not (tmp_path / "no.html").exists()


def test_secrets_are_replaced_everywhere(tmp_path: Path) -> None:
    token = "ghp_" + noise(5, 36)
    sample = graded("a", "failed", f"token {token}") | {"case": {"question": f"use {token}"}}
    sample["scores"] = [{"name": "s", "value": 1.0, "explanation": token}]
    source = recording(tmp_path / "a.trace.jsonl", sample)
    assert token in json.dumps(list(blocks(report(tmp_path / "open.html", source, "--no-redact")).values()))
    page = report(tmp_path / "r.html", source)
    assert token not in json.dumps([value for value in blocks(page).values() if not isinstance(value, bytes)])
    assert "[redacted:" in json.dumps(list(blocks(page).values()))


def test_repeated_ids_get_names_of_their_own(tmp_path: Path) -> None:
    same = [graded("same", "passed", str(number)) | {"epoch": 1 + number % 2} for number in range(4)]
    page = blocks(report(tmp_path / "r.html", recording(tmp_path / "a.trace.jsonl", *same)))
    assert page[page["index"]["runs"][0]["table"]]["key"] == ["same", "same (epoch 2)", "same #2", "same (epoch 2) #2"]


def test_a_broken_record_is_told_and_the_rest_is_there(tmp_path: Path) -> None:
    source = recording(tmp_path / "a.trace.jsonl", graded("one", "passed", "x"))
    with source.open("a") as file:
        file.write('{"id": "two", "trajectory": 7}\n')
    page = blocks(report(tmp_path / "r.html", source))
    run = page["index"]["runs"][0]
    assert run["samples"] == 1
    assert "line 3" in run["notes"][0]


def spoken(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "agent", "parts": [{"type": "text", "text": text}], **more}


def test_a_sub_agent_follows_its_call_and_has_a_name(tmp_path: Path) -> None:
    calls = [
        {"type": "call", "id": f"c{number}", "name": "task", "arguments": {"subagent_type": name, "prompt": "go"}}
        for number, name in enumerate(("reader", "writer"))
    ]
    children = [
        {"id": f"0000000{number}", "caller": f"c{number}", "steps": [spoken("in"), spoken("out")]} for number in (0, 1)
    ]
    steps = [{"role": "agent", "parts": calls}, spoken("after")]
    source = recording(tmp_path / "a.trace.jsonl", {"id": "s", "trajectory": {"steps": steps, "children": children}})
    page = next(block["s"] for block in blocks(report(tmp_path / "r.html", source)).values() if "s" in block)
    assert [branch["name"] for branch in page["branches"]] == [None, "reader", "writer"]
    assert [branch["first"] for branch in page["branches"]] == [0, 1, 3]
    # Both were started by the first step, also the one whose rows stand behind those of the other.
    assert [branch["caller"] for branch in page["branches"]] == [None, 0, 0]
    assert page["heads"]["branch"] == [0, 1, 1, 2, 2, 0]
    assert page["heads"]["ref"] == ["#1", "#3", "#4", "#5", "#6", "#2"]


def test_a_title_is_what_was_asked_and_not_what_a_program_inserted(tmp_path: Path) -> None:
    steps = [
        {"role": "user", "kind": "synthetic", "parts": [{"type": "text", "text": "<context>"}]},
        {"role": "user", "parts": [{"type": "text", "text": "Bake bread"}]},
    ]
    source = recording(tmp_path / "a.trace.jsonl", {"id": "s", "trajectory": {"steps": steps}})
    tables = [block for block in blocks(report(tmp_path / "r.html", source)).values() if "toolNames" in block]
    assert tables[0]["title"] == ["Bake bread"]


def test_the_table_knows_measures_reasons_and_causes(tmp_path: Path) -> None:
    out = tmp_path / "results"
    assert CliRunner().invoke(cli, ["eval", str(EXAMPLES / "opencode"), "--out", str(out)]).exit_code == 0
    page = blocks(report(tmp_path / "r.html", out))
    table = next(block for block in page.values() if "toolNames" in block)
    names = table["scores"]
    assert {"token_usage.total_tokens", "tool_success_rate.failed_tool_calls"} <= set(names)
    assert "token_usage" not in names, "a metric with measures is a column for each of them, and none for itself"
    assert len(names["token_usage.total_tokens"]) == table["size"] == 2
    assert all(why[1] for whys in table["whys"].values() for why in whys if why[0] == "not_applicable")
    found = {group["title"]: group["samples"] for group in table["causes"]["groups"]}
    assert all(row is not None for samples in found.values() for _, row in samples) or not found
    assert page["index"]["runs"][0]["plots"] == [], "two values are no distribution"


def test_plots_of_a_run_are_those_of_pantrace_plot(tmp_path: Path) -> None:
    page = blocks(report(tmp_path / "r.html", EXAMPLES / "inspect"))
    titles = [plot["title"] for plot in page["index"]["runs"][0]["plots"]]
    assert "distribution of includes" in titles


def test_the_same_input_gives_the_same_blocks(tmp_path: Path) -> None:
    pages = [blocks(report(tmp_path / f"{name}.html", EXAMPLES / "opencode")) for name in "ab"]
    for page in pages:
        del page["index"]["made"]
    assert pages[0] == pages[1]


def test_a_cost_that_nobody_reported_is_estimated_and_says_so(tmp_path: Path) -> None:
    usage = {"input": 1_000_000, "output": 100_000}
    told = [said("Priced.", model="gpt-4.1-mini", usage=usage)]
    paid = [said("Paid.", model="gpt-4.1-mini", usage=usage | {"cost_usd": 5.0})]
    strange = [said("Who knows.", model="nobody-9", usage=usage)]
    samples = [
        {"id": name, "trajectory": {"steps": steps}} for name, steps in (("a", told), ("b", paid), ("c", strange))
    ]
    source = recording(tmp_path / "costs.trace.jsonl", *samples)
    page = blocks(report(tmp_path / "r.html", source))
    table = page[page["index"]["runs"][0]["table"]]
    # A million in at $0.40, a tenth of a million out at $1.60 a million.
    assert table["cost"] == [pytest.approx(0.56), 5.0, None]
    assert table["estimated"] == [True, None, None]
    heads = [page[table["block"][place]][key]["heads"]["cost"] for place, key in enumerate("abc")]
    assert heads == [[pytest.approx(0.56)], [5.0], [None]]
    assert "about $5.56 (estimated)" in report(tmp_path / "r.md", source)


def test_one_time_for_everything_is_no_duration(tmp_path: Path) -> None:
    steps = [said("One.", at=1.79e9), said("Two.", at=1.79e9)]
    source = recording(tmp_path / "times.trace.jsonl", {"id": "a", "trajectory": {"steps": steps}})
    page = blocks(report(tmp_path / "r.html", source))
    assert page["index"]["runs"][0]["seconds"] is None


def test_the_first_screen_of_a_long_sample_needs_no_unpacking(tmp_path: Path) -> None:
    steps = [said(f"Step {number}. {noise(number, 4_000)}") for number in range(1_000)]
    source = recording(tmp_path / "long.trace.jsonl", {"id": "long", "trajectory": {"steps": steps}})
    text = report(tmp_path / "r.html", source)
    before, _, behind = text.partition("<script>")
    assert all(plain for _, _, plain, _ in BLOCK.findall(before))
    assert len(before) < 250_000
    page = blocks(before)
    table = page[page["index"]["runs"][0]["table"]]
    sample = page[table["block"][0]]["long"]
    first, _, key, name = sample["chunks"][0]
    assert (first, page[key][name][0]["steps"][0]["parts"][0]["text"][:7]) == (0, "Step 0.")
    assert len(sample["heads"]["role"]) == 60
    assert len(blocks(behind)[sample["rest"]]["role"]) == sample["size"] == 1_000


def test_markdown_is_short_and_text_stays_text(tmp_path: Path) -> None:
    page = report(tmp_path / "r.md", write(tmp_path / "hostile.trace.jsonl"))
    assert f"**{len(TEXTS)} samples**" in page
    assert "<script" not in page.replace("\\<script", "")
    assert "\n|" in page
    assert len(page) < 30_000


def test_the_page_of_a_sample_tells_what_was_spent_on_branches_that_were_given_up() -> None:
    from pantrace.engine.listing import listed as line_of
    from pantrace.model import Sample, Step, Trajectory, Usage
    from pantrace.viewer.sample_page import counts_of, page_of
    from pantrace.viewer.shown import ShownSample

    def step(name: str, parent: str | None, tokens: int) -> Step:
        return Step(role="agent", id=name, parent=parent, model="gpt-4o", usage=Usage(input=tokens, output=0))

    steps = (step("a", None, 1_000), step("b", "a", 10_000), step("c", "a", 100))
    for leaf, spent in (("c", 11_100), (None, None)):
        sample = Sample(id="s", trajectory=Trajectory(steps=steps, leaf=leaf))
        page = page_of(ShownSample(sample), "s", [], [])
        assert (page["spent"] or {}).get("tokens") == spent
        # The list of samples and the totals of a run count what `show` lists: all that was paid.
        listed = line_of(sample)
        counts = counts_of(sample, [])
        assert (counts["tokens"], counts["cost"]) == (listed.tokens, listed.cost)
        assert counts["tokens"] == 11_100


def test_runs_of_one_plan_are_called_by_their_directories(tmp_path: Path) -> None:
    for name in ("monday", "friday"):
        evaluate(EXAMPLES / "inspect", out=tmp_path / name, plan=EXAMPLES / "eval.toml")
    found = blocks(report(tmp_path / "report.html", tmp_path / "monday", tmp_path / "friday"))["index"]
    assert [run["name"] for run in found["runs"]] == ["monday", "friday"]
    sentences = [row["sentence"] for row in found["comparisons"][0]["rows"] if row.get("sentence")]
    assert sentences and all("friday" in each and "monday" in each and "demo" not in each for each in sentences)
