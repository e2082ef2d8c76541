"""Managed metrics: rubrics that Vertex AI stores and judges by. Names and results, without a client.

The table of metrics is data, `managed.toml`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from pantrace.errors import UsageError
from pantrace.model import Maker, Scale, Score
from pantrace.wire import toml
from pantrace.wire.json import encode
from pantrace.wire.vertex.verdicts import share_met, verdict_in

from .ask import Request
from .rubric import rubric_names

_R = TypeVar("_R")

PREFIX = "vertex:"
NO_PROJECT = "no judge configured: no project for Vertex AI"
_SCALE = Scale(low=0.0, high=1.0)
_VERSION = re.compile(r"v\d+")
_NEAR = 1e-4
"""Scores are 32-bit floats."""

Input = Literal["prompt", "history", "response", "context", "reference", "rubric_groups", "agent_data", "calls"]


class Managed(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of the service, pinned to a version."""

    name: str
    """The name of its score."""
    metric: str
    """The service's name for it, with the version: general_quality_v1."""
    guidelines: str | None = None
    """What the service should look at when it makes rubrics, in plain words."""
    agents: tuple[str, ...] = ()
    """Only runs of these agents are judged; empty means all."""

    @property
    def hash(self) -> str:
        """Changes with anything that results depend on."""
        return sha256(encode([self.metric, self.guidelines, self.agents])).hexdigest()


class Family(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A metric in all its versions."""

    versions: tuple[str, ...]
    inputs: tuple[Input, ...]
    turns: Literal["one", "any"]
    instead: str | None = None
    guidelines: bool = False
    description: str

    @property
    def means(self) -> str:
        """The version that the client's RubricMetric.NAME stands for: the oldest."""
        # The oldest, because that is what the client's own name means; another default would change scores.
        return self.versions[0]


@cache
def families() -> dict[str, Family]:
    """All metrics, by name without a version."""
    text = resources.files(__package__).joinpath("managed.toml").read_text("utf-8")
    return toml.load(text, "managed.toml", dict[str, Family])


def pinned_versions(family: str) -> list[str]:
    """All versions of a metric, as named on the command line."""
    return [f"{PREFIX}{family}_{version}" for version in families()[family].versions]


def managed_names() -> list[str]:
    """All versions of all metrics, as named on the command line."""
    return [name for family in families() for name in pinned_versions(family)]


def is_managed(name: str) -> bool:
    return name.startswith(PREFIX)


def managed_metric(
    metric: str, *, name: str | None = None, guidelines: str | None = None, agents: tuple[str, ...] = ()
) -> Managed:
    """A metric by the service's name with its version, or by vertex:NAME_VERSION; UsageError for anything else."""
    metric = metric.removeprefix(PREFIX)
    # Looked up before anything else, so that a wrong name gives a suggestion and not a KeyError.
    found = families()[split_metric(metric)[0]]
    if guidelines is not None and not found.guidelines:
        raise UsageError(f"{PREFIX}{metric} takes no guidelines; these do: {_takers()}")
    return Managed(name=name or f"{PREFIX}{metric}", metric=metric, guidelines=guidelines, agents=agents)


def _takers() -> str:
    return ", ".join(each for each, family in families().items() if family.guidelines)


def with_guidelines(rubrics: Iterable[_R], guidelines: str) -> tuple[_R | Managed, ...]:
    """Rubrics, with these guidelines for the managed ones that accept some; UsageError if none does."""
    given = [
        replace(each, guidelines=guidelines) if isinstance(each, Managed) and family_of(each).guidelines else each
        for each in rubrics
    ]
    if not any(isinstance(each, Managed) and each.guidelines == guidelines for each in given):
        raise UsageError(f"--guidelines: no rubric here takes guidelines; of Vertex AI these do: {_takers()}")
    return tuple(given)


def split_metric(metric: str) -> tuple[str, str]:
    """Name and version of a metric; UsageError if there is no such version."""
    family, _, version = metric.rpartition("_")
    if not _VERSION.fullmatch(version):
        family, version = metric, ""
    if family not in families():
        close = get_close_matches(family, families(), n=1)
        hint = f"did you mean {pinned_versions(close[0])[0]}?" if close else ""
        raise UsageError(f"unknown metric {PREFIX}{metric}; {hint or '`pantrace rubrics` lists those of Vertex AI'}")
    versions = families()[family].versions
    if version not in versions:
        listed = " or ".join(pinned_versions(family))
        why = f"there is no {version} of {family}" if version else f"{PREFIX}{family} names no version"
        raise UsageError(f"{why}; scores of two versions are not comparable, so say {listed}")
    return family, version


def family_of(managed: Managed) -> Family:
    return families()[split_metric(managed.metric)[0]]


def managed_request(managed: Managed, case: dict[str, Any]) -> Request:
    """The request for one sample: everything that the answer depends on, and thus its key in the cache."""
    return Request(model=f"{PREFIX}{managed.metric}", system=managed.guidelines or "", prompt=encode(case).decode())


def trouble_in(result: dict[str, Any]) -> str | None:
    """Why a result of the service is not a score; None if it is."""
    error = result.get("error")
    if isinstance(error, dict) and error.get("code"):
        return f"the service reports error {error['code']}: {error.get('message') or 'no details'}"
    # Verdicts are enough: the share of true ones is the score.
    if result.get("rubric_verdicts"):
        return None
    score = result.get("score")
    if score is None:
        return "the service gave neither a score nor verdicts"
    # A number from the network is checked like any input: NaN would spoil every mean.
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not math.isfinite(score):
        return f"the service gave the score {str(score)[:40]!r}, which is not a number"
    if not 0 <= score <= 1:
        return f"the service gave the score {score:g}, which lies outside 0 to 1"
    return None


def managed_score(managed: Managed, result: dict[str, Any]) -> Score:
    """The score in a result of the service: the share of true verdicts, otherwise its own number."""
    if (why := trouble_in(result)) is not None:
        error = result.get("error")
        return unscored_score(managed, why, code=error.get("code") if isinstance(error, dict) else None)
    details: dict[str, Any] = _details(managed)
    given = result.get("score")
    explanation = result.get("explanation") or None
    verdicts = [verdict_in(each) for each in result.get("rubric_verdicts") or ()]
    if verdicts:
        value = share_met(verdicts)
        explanation = explanation or f"{round(value * len(verdicts))} of {len(verdicts)} rubrics are met"
        details["verdicts"] = verdicts
        if given is None or not abs(float(given) - value) < _NEAR:
            # The service may weigh its verdicts: a number that differs from their share is shown beside it.
            details |= {"score_given": given, "share_of_true_verdicts": value}
    else:
        assert given is not None
        value = float(given)
    return Score(
        name=managed.name,
        value=value,
        scale=_SCALE,
        explanation=explanation,
        details=details,
        maker=managed_maker(managed),
    )


def _details(managed: Managed) -> dict[str, Any]:
    found = {"metric": managed.metric, "rubric_hash": managed.hash}
    return {**found, "guidelines": managed.guidelines} if managed.guidelines else found


def no_project(managed: Managed) -> str:
    """Why a metric cannot be used, and which rubric of ours can replace it."""
    ours = split_metric(managed.metric)[0]
    return f"{NO_PROJECT} (the rubric {ours} can replace it)" if ours in rubric_names() else NO_PROJECT


def managed_maker(managed: Managed) -> Maker:
    return Maker(name=managed.name, kind="rubric", version=split_metric(managed.metric)[1])


def unscored_score(managed: Managed, why: str, *, code: int | str | None = None, unanswered: bool = False) -> Score:
    """An unscored score with its reason; `unanswered` if asking again later may help."""
    details = {**_details(managed), "unanswered": True} if unanswered else _details(managed)
    return Score(
        name=managed.name,
        status="unscored",
        scale=_SCALE,
        explanation=why,
        details=details if code is None else {**details, "error_code": code},
        maker=managed_maker(managed),
    )


def not_applicable(managed: Managed, why: str) -> Score:
    """A score that says why the metric does not apply to the sample."""
    return Score(
        name=managed.name,
        status="not_applicable",
        explanation=why,
        details=_details(managed),
        maker=managed_maker(managed),
    )
