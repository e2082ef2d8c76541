"""What everything speaks: frozen structs, and the views that follow from them."""

from __future__ import annotations

from .action import Action, Box, Point, Space, Target
from .case import Case, ExpectedCall
from .parts import Citation, Failure, Media, Part, Text, Thinking, ToolCall, ToolResult, Unknown
from .record import Extra, Record
from .report import Loss, Violation
from .run import Run, RunHeader, Sample, header_of, with_samples
from .score import Aggregate, Decision, Maker, Scale, Score
from .trajectory import Agent, Invocation, Kind, Outcome, Role, Source, Step, StepError, Tool, Trajectory
from .usage import Usage, add_usage, answer_tokens, prompt_tokens, reports, tool_prompt_tokens, total_tokens
from .views import (
    CallPair,
    MergedTurn,
    Turn,
    all_trajectories,
    call_pairs,
    final_response,
    has_failed,
    is_agents,
    is_prompt,
    merged_turns,
    pair_up,
    said,
    turns,
    usage_total,
)

__all__ = [
    "Action",
    "Agent",
    "Aggregate",
    "Box",
    "CallPair",
    "Case",
    "Citation",
    "Decision",
    "ExpectedCall",
    "Extra",
    "Failure",
    "Invocation",
    "Kind",
    "Loss",
    "Maker",
    "Media",
    "MergedTurn",
    "Outcome",
    "Part",
    "Point",
    "Record",
    "Role",
    "Run",
    "RunHeader",
    "Sample",
    "Scale",
    "Score",
    "Source",
    "Space",
    "Step",
    "StepError",
    "Target",
    "Text",
    "Thinking",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Trajectory",
    "Turn",
    "Unknown",
    "Usage",
    "Violation",
    "add_usage",
    "all_trajectories",
    "answer_tokens",
    "call_pairs",
    "final_response",
    "has_failed",
    "header_of",
    "is_agents",
    "is_prompt",
    "merged_turns",
    "pair_up",
    "prompt_tokens",
    "reports",
    "said",
    "tool_prompt_tokens",
    "total_tokens",
    "turns",
    "usage_total",
    "with_samples",
]
