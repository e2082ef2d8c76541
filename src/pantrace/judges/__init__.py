"""Layer 2: judges. Rubrics as data, prompts that trace text cannot speak in, verdicts that are never guessed."""

from __future__ import annotations

from .ask import Judge, Reply, Request, Unanswered
from .cache import Cache, Cached, Replayed
from .calibration import FILE as CALIBRATION_FILE
from .calibration import (
    Band,
    Calibration,
    Calibrations,
    Judged,
    LabelKind,
    Pair,
    added,
    is_judged,
    judged_by,
    read_calibrations,
)
from .inputs import INPUTS, Absent, gathered
from .judge import NO_JUDGE, Settings, judged, judged_material, requests_for
from .patience import AtMost, Budgeted, Patient
from .prompt import BUDGET, Prompt, prompt_for
from .providers import PROVIDERS, Provider, Routed, split_name
from .rubric import Rubric, check_rubric, load_rubric, rubric_names
from .verdict import Unusable, Verdict, verdict_of

__all__ = [
    "BUDGET",
    "CALIBRATION_FILE",
    "INPUTS",
    "NO_JUDGE",
    "PROVIDERS",
    "Absent",
    "AtMost",
    "Band",
    "Budgeted",
    "Cache",
    "Cached",
    "Calibration",
    "Calibrations",
    "Judge",
    "Judged",
    "LabelKind",
    "Pair",
    "Patient",
    "Prompt",
    "Provider",
    "Replayed",
    "Reply",
    "Request",
    "Routed",
    "Rubric",
    "Settings",
    "Unanswered",
    "Unusable",
    "Verdict",
    "added",
    "check_rubric",
    "gathered",
    "is_judged",
    "judged",
    "judged_by",
    "judged_material",
    "load_rubric",
    "prompt_for",
    "read_calibrations",
    "requests_for",
    "rubric_names",
    "split_name",
    "verdict_of",
]
