"""A gate in a test suite: `pytest docs/examples` fails when the recorded runs are not good enough."""

from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_agent_answers(pantrace_eval):
    pantrace_eval(EXAMPLES / "inspect", plan=EXAMPLES / "eval.toml")


def test_no_tool_call_fails_without_a_word(pantrace_eval):
    results = pantrace_eval(EXAMPLES / "adk", plan=EXAMPLES / "eval.toml", gate=False)
    swallowed = {row.sample: row.value for row in results.scores if row.metric == "swallowed_errors"}
    assert not any(swallowed.values()), swallowed
