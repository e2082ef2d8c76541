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
from .cut import Absent
from .defined import ALWAYS, Defined, RowOf, columns_of, of_another_agent
from .definitions import Measured, load_definitions
from .inputs import INPUTS, gathered
from .judge import NO_JUDGE, Settings, judged, judged_material, requests_for
from .managed import Managed, not_run_here
from .patience import AtMost, Budgeted, Patient
from .prompt import BUDGET, Prompt, prompt_for
from .providers import PROVIDERS, Provider, Routed, split_name
from .rubric import Rubric, check_rubric, load_rubric, rubric_names
from .verdict import Unusable, Verdict, verdict_of

__all__ = [
    "ALWAYS",
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
    "Defined",
    "Judge",
    "Judged",
    "LabelKind",
    "Managed",
    "Measured",
    "Pair",
    "Patient",
    "Prompt",
    "Provider",
    "Replayed",
    "Reply",
    "Request",
    "Routed",
    "RowOf",
    "Rubric",
    "Settings",
    "Unanswered",
    "Unusable",
    "Verdict",
    "added",
    "check_rubric",
    "columns_of",
    "gathered",
    "is_judged",
    "judged",
    "judged_by",
    "judged_material",
    "load_definitions",
    "load_rubric",
    "not_run_here",
    "of_another_agent",
    "prompt_for",
    "read_calibrations",
    "requests_for",
    "rubric_names",
    "split_name",
    "verdict_of",
]
