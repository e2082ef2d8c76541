"""Finding: a problem in one sample, where it happened, and what kind of cause it is."""

from __future__ import annotations

from pantrace.model import Record

CAUSES = {
    "run_error": "the run broke down",
    "blocked": "the provider blocked the answer",
    "cancelled": "the run was cancelled",
    "loop": "goes round in circles: {}",
    "tool_error": "{} fails",
    "bad_arguments": "{} refuses its arguments",
    "unknown_tool": "{} is called, but there is no such tool",
    "denied": "{} is denied",
    "limit": "a limit was reached",
    "wrong_call": "{} is called with unexpected arguments",
    "missing_call": "{} is expected but never called",
    "extra_call": "{} is called but not expected",
    "wrong_action": "does something else where {} is expected",
    "contract": "the answer breaks the contract {}",
    "rule": "the rule {} is broken",
    "gave_up": "the agent gives up",
    "claimed_done": "the agent says that the task is done, but it is not",
    "open_call": "ends while {} has not answered",
    "abandoned": "the last prompt gets no answer",
    "no_answer": "ends without an answer",
    "stated": "as the source says",
    "partly_done": "the task is done only in part",
    "answer": "not good enough by {}",
    "unknown": "no cause seen in the recording",
}
"""Name of each cause -> its sentence; {} is the tool, rule, contract or score concerned."""

ABOUT_TOOLS = ("tool_error", "bad_arguments", "unknown_tool", "denied")
NOTHING_EXPECTED = "no call is expected"
ABOUT_REFERENCE = ("wrong_call", "missing_call", "extra_call", "wrong_action")


class Place(Record, frozen=True, kw_only=True):
    """A step, by the number that `pantrace show` prints in front of it."""

    step: int
    """1-based."""
    agent: str | None = None
    """Id of the sub-agent whose step it is; None: the sample's own agent."""


class Waste(Record, frozen=True, kw_only=True):
    """What was spent after the step that went wrong. None: not recorded, which is not zero."""

    steps: int | None = None
    """Steps of agents."""
    tokens: int | None = None
    cost_usd: float | None = None
    partial: bool = False
    """Some of these steps report no tokens or have no price: the numbers are lower bounds."""


class Finding(Record, frozen=True, kw_only=True):
    """A problem in a sample."""

    cause: str
    """A name from CAUSES."""
    subject: str = ""
    """The tool, rule, contract or score concerned."""
    what: str = ""
    """The error without the parts that differ between samples (ids, paths, numbers), so that equal errors can be
    counted."""
    detail: str = ""
    """The error as this sample has it."""
    address: str | None = None
    """Step at which it begins, as an address of `Numbered`; None if no step shows it."""
    place: Place | None = None
    """The same for people."""
    waste: Waste = Waste()
    times: int = 1
    hard: bool = False
    """Enough on its own to call the sample failed."""
    mended: bool = False
    """The agent corrected it later: seen, but not a cause."""
    omission: bool = False
    """Something was not done. The step is the last one at which it could have been, so nothing was wasted after it."""

    @property
    def key(self) -> tuple[str, str]:
        """What samples of one group share."""
        return self.cause, self.subject


def title_of(cause: str, subject: str) -> str:
    """A cause in a few words."""
    return CAUSES[cause].format(subject or "something")
