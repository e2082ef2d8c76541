"""Sessions and responses of Microsoft's Agent Framework."""

from __future__ import annotations

from pathlib import Path

import pantrace
from corpus import CORPUS, needs_corpus
from goldens import ROOT as GOLDEN
from pantrace.metrics import by_name
from pantrace.model import Trajectory, call_pairs, final_response, has_failed, turns, usage_total
from session_truth import FOLDER, truth


def only(path: Path) -> Trajectory:
    (sample,) = pantrace.read(path).samples
    assert sample.trajectory is not None
    return sample.trajectory


def test_a_session_of_dotnet() -> None:
    told = only(GOLDEN / "agent-framework" / "dotnet_session.json")
    ((pair),) = call_pairs(told)
    assert (pair.call.name, pair.call.arguments) == ("search", {"query": "module"})
    assert pair.result is not None and pair.result.name == "search"
    assert final_response(told) == "AZ-900 comes first."
    assert told.steps[0].at is not None and told.agents[0].name == "curator"


@needs_corpus
def test_the_truth_of_a_session() -> None:
    wanted = truth("agent_framework/maf_as_tool")
    told = only(FOLDER / "agent_framework" / "maf_as_tool" / "session.json")
    assert len(turns(told)) == wanted["user_turns"]
    assert final_response(told) == wanted["final_answer"]
    # The agents that it used as tools have sessions of their own, which nobody wrote down.
    assert len(call_pairs(told)) == 2


@needs_corpus
def test_the_tokens_of_responses() -> None:
    told = only(FOLDER / "agent_framework" / "maf_as_tool" / "responses.json")
    total = usage_total(told)
    main = truth("agent_framework/maf_as_tool")["tokens_by_agent"]["library_desk"]
    assert total is not None
    assert (total.input, total.output, total.cache_read) == (main["input"], main["output"], main["cache_read"])


@needs_corpus
def test_public_sessions_join_no_other_format() -> None:
    folder = CORPUS / "public" / "explain" / "agentsleague" / "seed_sessions"
    found = [only(path) for path in sorted(folder.rglob("*.json"))]
    assert len(found) == 9
    assert sum(len(call_pairs(each)) for each in found) >= 15
    assert not any(has_failed(pair.result) for each in found for pair in call_pairs(each) if pair.result)


@needs_corpus
def test_handovers_in_spans_are_answered_and_counted() -> None:
    """A handover has no span of its own; how it went stands only in what the agent said last."""
    (sample,) = pantrace.read(FOLDER / "agent_framework" / "maf_handoff" / "traces.otlp.json").samples
    assert sample.trajectory is not None
    answers = {pair.call.name: pair.result and pair.result.output for pair in call_pairs(sample.trajectory)}
    assert answers["handoff_to_loans"] == '{"handoff_to": "loans"}' and None not in answers.values()
    score = by_name("agent_handoffs").score(sample)
    assert (score.value, score.details["agents_invoked_list"]) == (2, ["catalogue", "loans"])
