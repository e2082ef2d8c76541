"""What the agent answered, and what it should have answered."""

from __future__ import annotations

import re
from functools import lru_cache

from pantrace.model import Sample, final_response

from .recorded_data import recording_of

# Kana, ideographs and Hangul: words are not separated by spaces, so characters are counted.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORDS = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")


def answer(sample: Sample) -> str | None:
    """The agent's final response; "" if it ran and gave none; None if nothing that it did was recorded."""
    if sample.trajectory is None:
        return None
    if (text := final_response(sample.trajectory)) is not None:
        return text
    return "" if recording_of(sample.trajectory).has_acted else None


def no_answer_because(sample: Sample) -> str:
    """Why there is no recorded answer."""
    if sample.trajectory is None:
        return "the case was not run"
    outcome = sample.trajectory.outcome
    if outcome is not None and outcome.status in ("error", "cancelled", "limit"):
        return f"the run ended without an answer{': ' + outcome.reason if outcome.reason else ''}"
    return "nothing of the agent was recorded"


def reference(sample: Sample) -> str | None:
    """The ideal answer: the case's, or else the final response of the expected trajectory; None if there is neither."""
    if sample.case is not None and sample.case.reference is not None:
        return sample.case.reference
    return final_response(sample.expected) if sample.expected is not None else None


@lru_cache(maxsize=4)
def even_out(text: str) -> str:
    """A text with single spaces and none at the ends; cached, as several metrics need it for the same answer."""
    return " ".join(text.split())


def words(text: str) -> list[str]:
    """Words in lower case: runs of letters and digits; each Chinese, Japanese and Korean character is one."""
    return _WORDS.findall(text.lower())
