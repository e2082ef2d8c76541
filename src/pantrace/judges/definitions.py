"""Metric-definition files: JSON that maps columns of recorded interactions into prompts, read as it is.

`{"metric_prefix"?, "metrics": {NAME: {metric_type, agents, score_range, dataset_mapping, template, ...}}}`. A metric of
it becomes a rubric (asked in our frame), a managed metric (judged by Vertex AI itself) or the name of a metric."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from pantrace.errors import ReadError, UsageError
from pantrace.wire import files
from pantrace.wire.json import as_kind, decode_document, encode

from .columns import Column, source_named
from .defined import Defined
from .managed import Managed, families, managed_metric, split_metric
from .placeholders import as_jinja, names_in
from .score_range import grades_of

T = TypeVar("T", bound=msgspec.Struct)

_EVERYBODY = "data_explorer_agent"
"""The agent name that means all rows."""
_UNMAPPED = {
    "prompt": Column(sources=("user_inputs",)),
    "response": Column(sources=("final_response",)),
    "conversation_history": Column(sources=("conversation_history",)),
    "history": Column(sources=("history",)),
}
"""What a placeholder means if nothing is mapped to it."""
_OWN_FORM = "Where the words above ask for a reply of another form, the form that is asked for at the end counts."


class LayerOneMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of a definition file that the built-in one of the same name measures."""

    name: str


class _Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    metric_prefix: str | None = None
    metrics: dict[str, Any]


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    metric_type: str = "llm"
    agents: list[str] | None = None
    score_range: dict[str, Any] | None = None
    is_managed: bool = False
    managed_metric_name: str | None = None
    use_gemini_format: bool | None = None
    natural_language_guidelines: str | None = None
    dataset_mapping: dict[str, Any] | None = None
    template: str | None = None


class _Mapping(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source_column: str | None = None
    transform: str | None = None
    default: Any | UnsetType = UNSET
    template: str | None = None
    source_columns: list[str] | None = None


def load_definitions(path: Path, checks: Collection[str], only: str = "") -> list[Defined | Managed | LayerOneMetric]:
    """The metrics of a file, or the one of that name; `checks` are the names of the deterministic metrics."""
    try:
        data = decode_document(files.read_all(path))
    except ReadError as error:
        raise UsageError(str(error.at(path=str(path)))) from None
    document = _typed(data, _Document, f"{path}: ")
    found: dict[str, Defined | Managed | LayerOneMetric] = {}
    for name, raw in document.metrics.items():
        # Keys with an underscore are comments in these files.
        if name.startswith("_") or not isinstance(raw, dict):
            continue
        # Our JSON reader keeps the earlier of two equal keys under this name; only the author knows which is meant.
        if doubled := re.fullmatch(r"(.+) \(duplicate \d+\)", name):
            raise UsageError(f"{path}: the metric {doubled[1]} is defined twice")
        if not name.strip():
            raise UsageError(f"{path}: a metric has an empty name; scores are called by it")
        place = f"{path}: metric {name}: "
        full = f"{document.metric_prefix}_{name}" if document.metric_prefix else name
        found[name] = _metric(name, full, _typed(raw, _Entry, place), checks, place)
    if not found:
        raise UsageError(f"{path}: defines no metric")
    return [_chosen(found, only, path)] if only else list(found.values())


def _chosen(
    found: dict[str, Defined | Managed | LayerOneMetric], wanted: str, path: Path
) -> Defined | Managed | LayerOneMetric:
    by_name = {each.name: each for each in found.values()} | found
    if wanted not in by_name:
        raise UsageError(f"{path}: defines no metric {wanted!r}; {_hint(wanted, by_name)}")
    return by_name[wanted]


def _metric(
    name: str, full: str, entry: _Entry, checks: Collection[str], place: str
) -> Defined | Managed | LayerOneMetric:
    if entry.metric_type not in ("llm", "deterministic"):
        raise UsageError(
            f"{place}unknown metric_type {entry.metric_type!r}; {_hint(entry.metric_type, ('llm', 'deterministic'))}"
        )
    if entry.metric_type == "deterministic":
        if name not in checks:
            raise UsageError(f"{place}there is no deterministic metric of this name; {_hint(name, checks)}")
        return LayerOneMetric(name=name)
    # The original program's default agent: files that list it mean every row.
    agents = () if entry.agents is None or _EVERYBODY in entry.agents else tuple(entry.agents)
    if entry.is_managed:
        metric = (entry.managed_metric_name or name).lower()
        return _managed(full, metric, entry.natural_language_guidelines, agents, place)
    if not entry.template or not entry.template.strip():
        remedy = "set is_managed to true" if entry.managed_metric_name else "give it one, or set is_managed to true"
        raise UsageError(f"{place}it has no template; {remedy}")
    return _rubric(full, entry, entry.template, agents, checks, place)


def _managed(full: str, metric: str, guidelines: str | None, agents: tuple[str, ...], place: str) -> Managed:
    """A metric of Vertex AI; a name without a version means that of the client's RubricMetric.NAME."""
    try:
        pinned = metric if metric not in families() else f"{metric}_{families()[metric].means}"
        # The original program never read guidelines: if the service takes none, they are ignored and not an error.
        taken = guidelines if families()[split_metric(pinned)[0]].guidelines else None
        return managed_metric(pinned, name=full, guidelines=taken, agents=agents)
    except UsageError as error:
        raise UsageError(f"{place}managed_metric_name: {error}") from None


def _rubric(
    full: str, entry: _Entry, template: str, agents: tuple[str, ...], checks: Collection[str], place: str
) -> Defined:
    from .prompt import variables

    mapped = {name: _column(raw, f"{place}dataset_mapping.{name}: ") for name, raw in _mapping(entry, place).items()}
    columns = {name: _asked(name, mapped, place) for name in names_in(template)}
    if not columns:
        raise UsageError(f"{place}its template has no {{placeholder}}, so there is nothing to judge")
    grades, scale = grades_of(entry.score_range, f"{place}score_range: ")
    notes = [f"the template does not use {name}" for name in mapped if name not in columns]
    if taken := full in checks:
        # A judge's scores never have a metric's name: a table would mix both.
        notes.append(f"its scores are called {full}_judge, because {full} is a metric")
    body = [as_jinja(template).strip(), _OWN_FORM]
    body[1:1] = [as_jinja(_doubled(text)) for text in (entry.natural_language_guidelines, scale) if text]
    rubric = Defined(
        name=f"{full}_judge" if taken else full,
        version=sha256(encode(entry)).hexdigest()[:12],
        title=full.replace("_", " "),
        description=str((entry.score_range or {}).get("description") or ""),
        inputs=dict.fromkeys(columns, "one_of"),
        grades=grades,
        template="\n\n".join(body),
        columns=columns,
        agents=agents,
        notes=tuple(notes),
    )
    if strange := sorted(set(columns) ^ variables(rubric.template, place.rstrip(": "))):
        raise UsageError(f"{place}{strange[0]!r} cannot be the name of a placeholder; choose another word")
    return rubric


def _doubled(text: str) -> str:
    """A text as a template in which no brace is a placeholder."""
    return text.replace("{", "{{").replace("}", "}}")


def _mapping(entry: _Entry, place: str) -> dict[str, Any]:
    found = {name: raw for name, raw in (entry.dataset_mapping or {}).items() if not name.startswith("_")}
    for name in found:
        if not re.fullmatch(r"[A-Za-z]\w*", name):
            raise UsageError(f"{place}dataset_mapping: {name!r} cannot be a placeholder; use letters, digits and _")
    return found


def _asked(name: str, mapped: dict[str, Column], place: str) -> Column:
    if name in mapped:
        return mapped[name]
    if name not in _UNMAPPED:
        close = get_close_matches(name, mapped, n=1)
        hint = f"did you mean {{{close[0]}}}?" if close else "map it in dataset_mapping"
        raise UsageError(
            f"{place}template: nothing is mapped to {{{name}}}; {hint} (braces that are only text are doubled)"
        )
    return _UNMAPPED[name]


def _column(raw: Any, place: str) -> Column:
    mapping = _typed(raw, _Mapping, place)
    if mapping.transform not in (None, "last_item"):
        raise UsageError(f"{place}unknown transform {mapping.transform!r}; {_hint(mapping.transform, ('last_item',))}")
    if mapping.template is None and mapping.source_columns is None:
        if not mapping.source_column:
            raise UsageError(f"{place}it names no source_column, and no template with source_columns")
        sources: tuple[str, ...] = (mapping.source_column,)
    else:
        if mapping.template is None or not mapping.source_columns:
            missing = "template" if mapping.template is None else "source_columns"
            raise UsageError(f"{place}template and source_columns belong together; {missing} is missing")
        if mapping.source_column is not None or mapping.transform is not None:
            extra = "source_column" if mapping.source_column is not None else "transform"
            raise UsageError(f"{place}a template takes its values from source_columns; leave {extra} out")
        sources = tuple(mapping.source_columns)
        for name in names_in(mapping.template):
            if source_named(name, sources) is None:
                known = [source.replace(":", "_") for source in sources]
                raise UsageError(f"{place}{{{name}}} is none of its source_columns; {_hint(name, known)}")
    return Column(
        sources=sources,
        template=mapping.template,
        transform="last_item" if mapping.transform else None,
        default=UNSET if mapping.default is None else mapping.default,
    )


def _typed(raw: Any, kind: type[T], place: str) -> T:
    """An object as a struct, without its notes (keys that begin with _); UsageError if it does not fit."""
    if isinstance(raw, dict):
        raw = {key: value for key, value in raw.items() if not key.startswith("_")}
    try:
        return as_kind(raw, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at ")
        if unknown := re.search(r"unknown field `([^`]+)`", what):
            raise UsageError(
                f"{place}unknown key {unknown[1]!r}; {_hint(unknown[1], kind.__struct_fields__)}"
                " (a key that begins with _ is a note)"
            ) from None
        inside = where.strip("`").removeprefix("$").lstrip(".")
        raise UsageError(f"{place}{f'{inside}: ' if inside else ''}{what[0].lower() + what[1:]}") from None


def _hint(word: str, known: Collection[str]) -> str:
    close = get_close_matches(word, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"
