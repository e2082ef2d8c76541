"""Every page, through both doors, from recordings of every system: what they must show, and what one can do there."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from doors import PANTRACE, Open
from known import EXAMPLES, GOLDEN, KNOWN, Known
from playwright.sync_api import Page


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.path.name)
def test_a_recording_shows_what_was_said_and_called(door: Open, known: Known) -> None:
    page = door(known.path, at=known.place)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.locator(".step").first.wait_for()
    for text in known.shows:
        scrolled_to(page, text)


def scrolled_to(page: Page, text: str) -> None:
    """Read from the top until a text comes into the page; fail where the page ends without it."""
    steps = page.locator(".steps")
    steps.evaluate("(steps) => { steps.scrollTop = 0; }")
    while True:
        page.locator(".parts.waiting").first.wait_for(state="detached")
        if page.get_by_text(text, exact=False).count():
            return
        moved = steps.evaluate(
            """(steps) => new Promise((done) => {
              const before = steps.scrollTop;
              steps.scrollTop += 500;
              requestAnimationFrame(() => requestAnimationFrame(() => done(steps.scrollTop > before)));
            })"""
        )
        assert moved, f"{text!r} is nowhere on the page"


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory of the bundled recordings."""
    folder = tmp_path_factory.mktemp("results") / "results"
    command = [*PANTRACE, "eval", str(EXAMPLES), "--plan", str(EXAMPLES / "eval.toml"), "--out", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def rows(page: Page) -> list[str]:
    return [name.inner_text() for name in page.locator("a.row .sample-name b").all()]


def test_the_table_of_samples_filters_and_sorts(door: Open, results: Path) -> None:
    page = door(results)
    assert len(rows(page)) == 13
    page.get_by_label("Filter samples by text").fill("capital")
    page.get_by_text("2 of 13").wait_for()
    assert rows(page) == ["1", "2"]
    page.get_by_label("Filter samples by text").fill("")
    page.get_by_label("Any outcome").select_option("failed")
    page.get_by_text("3 of 13").wait_for()
    page.get_by_role("columnheader", name="errors").click()
    assert rows(page)[0].startswith("ses_e1f8d0de")
    assert [cell.inner_text() for cell in page.locator("a.row .digits.bad").all()][:1] == ["3"]
    page.get_by_role("columnheader", name="errors").click()
    assert rows(page)[0] == "episode_0000_login"


def test_measures_and_failures_have_pages_of_their_own(door: Open, results: Path) -> None:
    page = door(results)
    page.get_by_role("tab", name="Measures").click()
    card = page.locator(".measure", has=page.get_by_role("heading", name="tool_success_rate", exact=True))
    card.locator(".number-line").get_by_text("54.3 %", exact=True).wait_for()
    card.get_by_text("does not apply to 8: no tool was called").wait_for()
    card.get_by_role("button", name="failed_tool_calls").click()
    card.locator(".number-line").get_by_text("1.6", exact=True).wait_for()
    page.get_by_role("tab", name="Failures").click()
    page.get_by_text("IntentResolutionExplain is unscored: no judge configured").wait_for()
    page.locator("section", has_text="Below threshold: ANSWERS").get_by_text("show in the table").first.click()
    page.get_by_text("2 of 13").wait_for()


def test_a_cause_leads_to_the_step_where_it_shows(door: Open, results: Path) -> None:
    page = door(results, at="#/run/0/failures")
    group = page.locator(".failures section", has_text="no_such_tool is called, but there is no such tool")
    group.get_by_text("Model tried to call unavailable tool").wait_for()
    group.locator(".examples a").click()
    page.locator(".step.current", has_text="no_such_tool").wait_for()
    page.locator(".findings button", has_text="no_such_tool").wait_for()


def test_keys_lead_through_steps_and_samples(door: Open, results: Path) -> None:
    page = door(results, at="#/run/0/sample/1")
    page.locator(".step").first.wait_for()
    page.keyboard.press("j")
    page.locator(".step.current#step-2").wait_for()
    assert page.url.endswith("/step/2")
    page.keyboard.press("k")
    page.locator(".step.current#step-1").wait_for()
    page.keyboard.press("n")
    page.get_by_text("Capital of Peru?").first.wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("next, previous sample").wait_for()


def test_a_link_leads_to_its_step(door: Open) -> None:
    recording = EXAMPLES / "opencode" / "multi_turn_reasoning_edit_compaction.json"
    page = door(recording, at="#/run/0/sample/ses_e1f901162ffesXODlT1I2RwJdD/step/8")
    step = page.locator("#step-8")
    step.wait_for()
    step.get_by_text("exit code 3").wait_for()
    page.wait_for_timeout(300)
    box = step.bounding_box()
    assert box is not None
    assert 150 < box["y"] < 420, "the step stands at the top of what is in sight"


def test_search_finds_words_in_arguments_and_answers(door: Open) -> None:
    page = door(EXAMPLES / "opencode" / "multi_turn_reasoning_edit_compaction.json")
    page.locator(".step").first.wait_for()
    page.keyboard.press("/")
    page.get_by_label("Search in all steps").fill("b must not be ZERO")
    page.locator(".hits button").first.wait_for()
    assert "#7" in page.locator(".hits button").first.inner_text()
    page.get_by_label("Search in all steps").press("Enter")
    page.locator(".step.current#step-7").wait_for()


def test_search_goes_through_all_samples(door: Open, results: Path) -> None:
    page = door(results, at="#/run/0/sample/1")
    page.locator(".step").first.wait_for()
    page.keyboard.press("/")
    page.get_by_label("Where to search").select_option("1")
    page.get_by_label("Search in all steps").fill("retry it once")
    page.locator(".hits button").first.click()
    page.get_by_text("The lookup timed out, I will retry it once.").first.wait_for()


def test_search_in_a_run_begins_at_its_table(door: Open, results: Path) -> None:
    page = door(results)
    page.locator("a.row").first.wait_for()
    page.keyboard.press("/")
    page.get_by_label("Search in all steps", exact=True).fill("retry it once")
    page.locator(".hits button", has_text="refund_multi_turn").first.click()
    page.locator(".step.current", has_text="The lookup timed out, I will retry it once.").wait_for()


def test_the_axis_shows_time_or_tokens(door: Open) -> None:
    page = door(EXAMPLES / "opencode" / "multi_turn_reasoning_edit_compaction.json")
    page.get_by_role("img", name="time axis: 9 min 55 s in all, 2 lanes").wait_for()
    page.locator(".axis-legend").get_by_text("1 pause squeezed").wait_for()
    page.get_by_role("button", name="tokens", exact=True).click()
    page.get_by_role("img", name="tokens of 9 model calls").wait_for()
    # The last bar is the last call: a click on it leads there, and there all of the cost is added up.
    box = page.locator("canvas.axis").bounding_box()
    assert box is not None
    page.locator("canvas.axis").click(position={"x": box["width"] * 0.69, "y": box["height"] - 4})
    page.locator(".step.current#step-13 .sum", has_text="Σ $0.01").wait_for()


def test_filters_fold_and_are_remembered(door: Open) -> None:
    page = door(EXAMPLES / "opencode" / "multi_turn_reasoning_edit_compaction.json")
    page.get_by_role("button", name="Errors only").click()
    page.get_by_text("2 of 13 steps").wait_for()
    page.get_by_role("button", name="Errors only").click()
    page.get_by_role("button", name="Unfold all").click()
    page.get_by_text("The user wants an overview. I should look at the directory first.").locator(
        "visible=true"
    ).first.wait_for()
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.reload()
    page.locator(".step").first.wait_for()
    assert page.locator("details.call[open]:not(.failed)").count() == 0


def test_an_edit_is_shown_as_a_diff(door: Open) -> None:
    page = door(EXAMPLES / "opencode" / "multi_turn_reasoning_edit_compaction.json")
    page.locator(".step").first.wait_for()
    for _ in range(6):
        page.keyboard.press("j")
    page.locator("pre.diff .added", has_text="raise ValueError").first.wait_for()


def test_a_screenshot_has_marks_where_the_hand_was(door: Open) -> None:
    page = door(EXAMPLES / "openadapt" / "login")
    frame = page.locator(".screen").first
    frame.locator(".click").wait_for()
    image, click, aim = (frame.locator(name).bounding_box() for name in ("img", ".click", ".aim"))
    assert image is not None and click is not None and aim is not None
    middle = (click["x"] + click["width"] / 2 - image["x"]) / image["width"]
    assert middle == pytest.approx(0.475, abs=0.01)
    assert aim["width"] / image["width"] == pytest.approx(0.45, abs=0.02)


def test_what_was_expected_of_a_hand_stands_beside_it(door: Open, tmp_path: Path) -> None:
    pixel = (
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5E"
        "rkJggg=="
    )
    at = {"x": 0.3, "y": 0.5, "space": "normalised"}
    parts = [
        {"type": "media", "id": "m", "mime": "image/png", "uri": pixel},
        {"type": "action", "kind": "click", "before": "m", "target": {"point": at}},
    ]
    wanted = {"type": "action", "kind": "click", "target": {"point": at | {"x": 0.9}}}
    sample = {
        "id": "s",
        "trajectory": {"steps": [{"role": "agent", "parts": parts}]},
        "expected": {"steps": [{"role": "agent", "parts": [wanted]}]},
    }
    source = tmp_path / "gui.trace.jsonl"
    source.write_text(json.dumps({"pantrace": "2", "run": {"name": "gui"}}) + "\n" + json.dumps(sample) + "\n")
    page = door(source)
    # A picture that the recording holds itself, with both marks on it; the same click elsewhere is doubtful.
    page.locator(".screen .click").wait_for()
    page.locator(".screen .wanted").wait_for()
    page.locator(".badge.warn", has_text="expected: click at (0.9, 0.5)").wait_for()


def test_scores_lead_to_their_evidence(door: Open, results: Path) -> None:
    page = door(results, at="#/run/0/sample/ses_e1f8d0de7ffejko4CpLfIMjJE5")
    page.get_by_role("tab", name="Scores").click()
    page.locator(".score-card", has_text="swallowed_errors").first.wait_for()
    page.locator(".evidence button").first.click()
    page.locator(".step.current").wait_for()


def test_expected_calls_stand_beside_those_made(door: Open) -> None:
    page = door(GOLDEN / "native" / "every_part.trace.jsonl", at="#/run/0/sample/a")
    page.get_by_role("tab", name="Expected").click()
    page.get_by_text("0 of 1 expected calls were made").wait_for()
    page.get_by_text("1 with other arguments").wait_for()
    page.locator("tr.changed", has_text="pytest").get_by_text("step 3").wait_for()


def test_sub_agents_abandoned_branches_and_compactions_are_marked(door: Open) -> None:
    page = door(GOLDEN / "native" / "every_part.trace.jsonl", at="#/run/0/sample/a")
    bar = page.locator(".group-bar", has_text="Sub-agent")
    bar.get_by_text("started by step 3").wait_for()
    page.locator("#step-4", has_text="sub task").wait_for()
    bar.get_by_role("button", name="Fold these steps").click()
    page.locator("#step-4").wait_for(state="detached")
    page.locator(".outline .entry").nth(0).click()
    # A link to a folded step unfolds it.
    page.evaluate("location.hash = '#/run/0/sample/a/step/4'")
    page.locator("#step-4.current", has_text="sub task").wait_for()
    page.get_by_text("context was compacted here").first.wait_for()
    page.locator(".group-bar", has_text="Abandoned").get_by_text("1 step of a branch that was given up").wait_for()
    assert page.locator(".step.abandoned").count() == 1


def test_notes_of_the_program_stand_aside(door: Open) -> None:
    page = door(GOLDEN / "claude-code" / "rewind.jsonl")
    line = page.locator(".note-line").first
    line.wait_for()
    before = page.locator(".step").count()
    line.click()
    page.locator(".step.kind-note").first.wait_for()
    assert page.locator(".step").count() > before


def test_the_raw_record_of_a_step_is_exact(door: Open) -> None:
    page = door(GOLDEN / "native" / "every_part.trace.jsonl", at="#/run/0/sample/a/step/3")
    page.locator("#step-3").hover()
    page.locator("#step-3").get_by_label("Show the raw record").click()
    # A number that a browser would round.
    page.locator("#step-3 .raw").get_by_text("100000000000000000000").wait_for()


def test_two_runs_are_compared(door: Open, tmp_path: Path) -> None:
    import shutil

    other = tmp_path / "other.eval"
    shutil.copy(EXAMPLES / "inspect" / "basic.eval", other)
    page = door(EXAMPLES / "inspect" / "basic.eval", other)
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("Nothing changed between A and B.").wait_for()
    page.locator("table.comparison", has_text="includes").get_by_text("no change").first.wait_for()
    page.locator("a.case").first.click()
    page.locator(".pair-row.same").first.wait_for()
    assert page.locator(".pair-row:not(.same)").count() == 0


def test_three_runs_stand_beside_each_other(door: Open, tmp_path: Path) -> None:
    import shutil

    paths = [EXAMPLES / "inspect" / "basic.eval", tmp_path / "second.eval", tmp_path / "third.eval"]
    for path in paths[1:]:
        shutil.copy(paths[0], path)
    page = door(*paths)
    assert page.get_by_role("button", name="Compare").is_disabled()
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="3 runs compared").wait_for()
    assert page.locator("tr", has_text="includes").locator(".verdict-word").count() == 2
    page.get_by_text("No case ended differently.").wait_for()


def test_a_step_is_copied_as_markdown(door: Open) -> None:
    page = door(EXAMPLES / "opencode" / "multi_turn_reasoning_edit_compaction.json")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#step-2").hover()
    page.locator("#step-2").get_by_label("Copy this step as Markdown").click()
    page.get_by_text("Step 2 copied").or_(page.get_by_role("dialog")).first.wait_for()


def test_a_phone_can_read_it(door: Open) -> None:
    page = door(EXAMPLES / "opencode" / "multi_turn_reasoning_edit_compaction.json")
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    page.locator(".step").first.wait_for()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390
