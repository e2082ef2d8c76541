"""Rule files: a small declarative language over trajectories (TOML). A rule that does not apply is not a pass."""

from __future__ import annotations

from .evaluate import rule_score, rule_scores
from .language import Condition, Fits, Rule, RuleFile, demanded_arguments, load_rules, packs, tool_names, with_tool_map

__all__ = [
    "Condition",
    "Fits",
    "Rule",
    "RuleFile",
    "demanded_arguments",
    "load_rules",
    "packs",
    "rule_score",
    "rule_scores",
    "tool_names",
    "with_tool_map",
]
