"""Whether the answer has the shape that its case requires."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from pantrace.errors import ReadError, UsageError
from pantrace.matching.answers import answer, no_answer_because
from pantrace.model import Measure, Record, Sample
from pantrace.wire.json import decode
from pantrace.wire.text_file import bytes_of, exists

from .metric import Found, Measurement, NotApplicable, metric

if TYPE_CHECKING:
    from jsonschema_rs import Validator

SHOWN = 20
"""How many violations are listed."""

_FENCE = re.compile(r"\A\s*```[a-zA-Z0-9]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings."""

    contract: str | None = None
    """Name, or name@version, of the contract for all cases; by default the one that each case names."""
    contracts: str | None = None
    """A JSON Schema file, or a folder of them, named NAME.json or NAME@VERSION.json. They take precedence over the
    built-in ones."""

    def __post_init__(self) -> None:
        # Loaded now, so that a wrong file is reported once and not by every sample.
        if self.contracts is not None:
            _registry(self.contracts)


class _Versions(NamedTuple):
    """The versions of one contract."""

    schemas: dict[str, Validator]
    newest_first: list[str]
    """The versions that a name without a version means: the user's own if there are any, else the built-in ones."""


@metric(
    settings=Settings,
    per_turn=False,
    measures=(
        Measure(
            name="met",
            unit="share",
            better="higher",
            high=1.0,
            yes_or_no=True,
            headline=True,
            what="the answer meets its contract",
        ),
        Measure(name="violation_count", unit="count", better="lower", pooling="sum", what="violations found"),
    ),
)
def output_contract(sample: Sample, settings: Settings) -> Found:
    """Whether the final response is JSON that meets the case's contract.

    Formula: true when the response parses as JSON and its JSON Schema (draft 2020-12 unless it says otherwise) finds no
    violation. A name without a version accepts any version: `version` is the newest that is met, else the newest of
    all, whose violations are listed. If you have your own contracts for a name, the built-in ones do not count. JSON
    inside one code fence counts as JSON, with `fenced` true as a warning. An agent that ran and answered nothing
    violates it.

    Not applicable when: the case names no contract, the name is unknown (not checked is never a pass), or nothing of
    the agent was recorded.

    Source: the contracts of the Explain dataset, and your own.
    """
    wanted = settings.contract or (sample.case.contract if sample.case is not None else None)
    if wanted is None:
        return NotApplicable("the case names no output contract")
    name, _, version = wanted.partition("@")
    known = _registry(settings.contracts).get(name)
    if known is None or (version and version not in known.schemas):
        return NotApplicable(f"not checked: unknown contract {wanted}")
    given = answer(sample)
    if given is None:
        return NotApplicable(no_answer_because(sample))
    # Models like to put JSON into a code fence; a program that reads the answer may not expect one, hence `fenced`.
    fence = _FENCE.match(given)
    text = fence[1] if fence is not None else given
    met: list[str] = []
    may_be = [version] if version else known.newest_first
    version = may_be[0]
    try:
        value = decode(text.encode("utf-8", "surrogatepass"))
        met = [each for each, schema in known.schemas.items() if schema.is_valid(value)]
        version = next((each for each in may_be if each in met), version)
        violations = _violations(known.schemas[version], value)
    except (ReadError, ValueError) as error:
        # NaN, numbers beyond a float and lone surrogates: we can read these, but JSON does not allow them.
        what = f"the answer is not plain JSON: {error}" if given else "the agent gave no answer"
        violations, met = [{"path": "", "message": what}], []
        version = may_be[0]
    details = {
        "contract": name,
        "version": version or None,
        "fenced": fence is not None,
        "violations": violations[:SHOWN],
        "versions_met": sorted(met),
    }
    return Measurement(
        value=not violations,
        explanation=_message(f"{name}@{version}" if version else name, violations),
        values={"violation_count": len(violations)},
        details=details,
    )


def _violations(schema: Validator, value: Any) -> list[dict[str, str]]:
    return [
        {"path": "/".join(str(part) for part in error.instance_path), "message": error.message}
        for error in schema.iter_errors(value)
    ]


def _message(contract: str, violations: list[dict[str, str]]) -> str:
    if not violations:
        return f"meets {contract}"
    first = violations[0]
    place = f" at {first['path']}" if first["path"] else ""
    if len(violations) == 1:
        return f"violates {contract}{place}: {first['message']}"
    return f"{len(violations)} violations of {contract}, the first{place}: {first['message']}"


@cache
def _registry(path: str | None) -> dict[str, _Versions]:
    """The contracts by name; the user's own take precedence. Files are read once per process."""
    folder = files("pantrace.metrics").joinpath("contracts")
    shipped = [file for file in folder.iterdir() if file.name.endswith(".json")]
    own: list[Path] = []
    if path is not None:
        place = Path(path)
        if not exists(place):
            raise UsageError(f"there are no contracts at {path}")
        own = list(place.glob("*.json")) if place.is_dir() else [place]
    found: dict[str, _Versions] = {}
    # The user's own come last and replace built-in ones of the same name and version.
    for several in (shipped, own):
        fresh: dict[str, list[str]] = {}
        for file in sorted(several, key=_age, reverse=True):
            name, _, version = file.name.removesuffix(".json").partition("@")
            found.setdefault(name, _Versions({}, [])).schemas[version] = _compiled(file)
            fresh.setdefault(name, []).append(version)
        for name, versions in fresh.items():
            found[name] = found[name]._replace(newest_first=versions)
    return found


def _age(file: Traversable) -> list[tuple[int, str]]:
    """The sort key of a file's version: numbers in it count as numbers, so that 10 is newer than 9."""
    version = file.name.removesuffix(".json").partition("@")[2]
    return [(int(part) if part.isdecimal() else -1, part) for part in re.split(r"(\d+)", version)]


def _compiled(file: Traversable) -> Validator:
    # Imported here: it is slow to load, and most plans have no contract.
    from jsonschema_rs import validator_for

    try:
        return validator_for(decode(bytes_of(file) if isinstance(file, Path) else file.read_bytes()), retriever=_refuse)
    except (ReadError, ValueError) as error:
        raise UsageError(f"{file.name} is not a JSON Schema: {error}") from None


def _refuse(address: str) -> NoReturn:
    """Refuse references to other schemas: a metric must not read files or the network."""
    raise ValueError(f"a schema may not refer to {address}")
