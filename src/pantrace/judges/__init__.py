"""Layer 2: judges. Rubrics as data, prompts in which a recording cannot act as the judge, verdicts without guessing."""

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
    add_calibrations,
    is_judged,
    judged_by,
    read_calibrations,
)
from .criteria import guidelines_from, load_criteria
from .cut import Absent
from .defined import ALWAYS, Defined, RowOf, columns_of
from .definitions import LayerOneMetric, load_definitions
from .discreet import Discreet
from .inputs import INPUTS, asked_as, gather
from .judge import NO_JUDGE, Settings, judged, judged_material, requests_for
from .listener import Listener
from .managed import (
    NO_PROJECT,
    Managed,
    is_managed,
    managed_metric,
    managed_names,
    managed_request,
    managed_score,
    with_guidelines,
)
from .managed_inputs import managed_case
from .named import AnyRubric, load_any_rubric
from .patience import AtMost, Budgeted, Patient
from .prompt import BUDGET, Prompt, prompt_for
from .providers import PROVIDERS, Provider, Routed, split_name
from .relay import Relay
from .relay_messages import Line
from .rubric import Rubric, check_rubric, load_rubric, rubric_names
from .verdict import Unusable, Verdict, verdict_of
from .vertex import Project, Vertex

__all__ = [
    "ALWAYS",
    "BUDGET",
    "CALIBRATION_FILE",
    "INPUTS",
    "NO_JUDGE",
    "NO_PROJECT",
    "PROVIDERS",
    "Absent",
    "AnyRubric",
    "AtMost",
    "Band",
    "Budgeted",
    "Cache",
    "Cached",
    "Calibration",
    "Calibrations",
    "Defined",
    "Discreet",
    "Judge",
    "Judged",
    "LabelKind",
    "LayerOneMetric",
    "Line",
    "Listener",
    "Managed",
    "Pair",
    "Patient",
    "Project",
    "Prompt",
    "Provider",
    "Relay",
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
    "Vertex",
    "add_calibrations",
    "asked_as",
    "check_rubric",
    "columns_of",
    "gather",
    "guidelines_from",
    "is_judged",
    "is_managed",
    "judged",
    "judged_by",
    "judged_material",
    "load_any_rubric",
    "load_criteria",
    "load_definitions",
    "load_rubric",
    "managed_case",
    "managed_metric",
    "managed_names",
    "managed_request",
    "managed_score",
    "prompt_for",
    "read_calibrations",
    "requests_for",
    "rubric_names",
    "split_name",
    "verdict_of",
    "with_guidelines",
]
