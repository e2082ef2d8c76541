"""The document of an eval history: its header, and its cases not yet decoded."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.wire import files
from pantrace.wire.adk.field_types import typed_header
from pantrace.wire.adk.recase import CASE_RESULT, snake, to_snake
from pantrace.wire.adk.schema import CaseResult
from pantrace.wire.adk.trpc import DIALECT, is_case_result
from pantrace.wire.json import decode, typed_decoder
from pantrace.wire.optional import text_of

IDS = ("eval_set_result_id", "eval_set_result_name", "eval_set_id")


class _Usual(msgspec.Struct, forbid_unknown_fields=True):
    """The document as ADK writes it. Any other takes a slower path, which knows camelCase and keeps unknown keys."""

    eval_set_result_id: str
    eval_set_id: str
    eval_case_results: list[msgspec.Raw]
    eval_set_result_name: str | None = None
    creation_timestamp: float | None = None


_USUAL = typed_decoder(_Usual)
_CASE = typed_decoder(CaseResult)
_FIELDS = typed_decoder(dict[str, msgspec.Raw])
_LIST = typed_decoder(list[msgspec.Raw])
_START = re.compile(
    rb'^\s*"?\s*\{(?:\s|\\n|\\t|\\r)*(?:[^{}\[\]]{0,2000}?)\\?"(?:eval_set_result_id|evalSetResultId)\\?"'
)
_WORDED = re.compile(rb'"final_eval_status"\s*:\s*"(?:passed|failed|not_evaluated|unknown)"')
# Cases are decoded one by one, but repetitions must be counted before: for that their ids are enough.
_ID = re.compile(rb'"eval_?[iI]d"\s*:\s*("(?:[^"\\]|\\.)*")')


@dataclass
class Document:
    """An eval history that is open, with its cases not yet decoded."""

    header: dict[str, Any]
    """All but the cases, in snake_case."""
    cases: list[Any]
    """Each case as JSON text, or decoded if only the lenient decoder could read the file. Decoding each case when it is
    needed is faster than decoding all at once: the garbage collector never sees more than one of them."""
    variant: str

    def case(self, number: int) -> Any:
        """A case as a typed record if it is as google-adk writes it, else as a dictionary."""
        if isinstance(self.cases[number], msgspec.Raw):
            try:
                case = _CASE(self.cases[number])
            except (msgspec.DecodeError, UnicodeDecodeError):
                return self.plain_case(number)
            # Without a session, the invocations are all there is, and are read with their nulls.
            if case.session_details is not None and case.eval_id is not None:
                return case
        return self.plain_case(number)

    def plain_case(self, number: int) -> Any:
        """A case as a dictionary, with everything it contains."""
        case = self.cases[number]
        return decode(case) if isinstance(case, msgspec.Raw) else case

    def ids(self) -> list[str | None]:
        """The eval ids of all cases, decoding nothing else."""
        return [_case_id(raw) for raw in self.cases]

    def epochs(self) -> dict[int, int]:
        """The repetition of each case (by number) whose eval id occurs more than once."""
        ids = self.ids()
        total = Counter(ids)
        counts: dict[str, int] = {}
        epochs: dict[int, int] = {}
        for number, name in enumerate(ids, 1):
            if name is not None and total[name] > 1:
                counts[name] = counts.get(name, 0) + 1
                epochs[number] = counts[name]
        return epochs


def _case_id(raw: Any) -> str | None:
    if not isinstance(raw, dict):
        # The id comes before everything that could hold a key of the same name.
        found = _ID.search(bytes(raw)[:4096])
        raw = {"eval_id": decode(found[1])} if found is not None else {}
    name = raw.get("eval_id", raw.get("evalId"))
    return text_of(name)


def looks_like(path: Path) -> bool:
    """Whether a file begins like an eval history, plain or double-encoded."""
    try:
        return _START.search(files.read_start(path, 4096)) is not None
    except ReadError:
        return False


def document(path: Path) -> Document:
    """Open an eval history; ReadError if it is not one."""
    data = files.read_all(path)
    variant = "snake_case"
    # Up to 1.21.0, google-adk encoded the JSON twice: the file is a string that holds JSON.
    if data.lstrip()[:1] == b'"':
        try:
            inner = decode(data)
        except ReadError as error:
            raise error.at(path=str(path)) from None
        data = inner.encode("utf-8", "surrogatepass") if isinstance(inner, str) else b"null"
        variant = "double-encoded"
    try:
        usual = _USUAL(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _unusual(path, data, variant)
    row = {name: getattr(usual, name) for name in _Usual.__struct_fields__ if name != "eval_case_results"}
    cases = list(usual.eval_case_results)
    if cases and _WORDED.search(bytes(cases[0])[:4096]):
        variant = DIALECT
    return Document(header=row, cases=cases, variant=variant)


def _unusual(path: Path, data: bytes, variant: str) -> Document:
    try:
        fields: dict[str, Any] = dict(_FIELDS(data))
        decoded = {key: decode(value) for key, value in fields.items() if snake(key) != "eval_case_results"}
        # The cases stay undecoded here as well, so that only one is in memory at a time.
        cases: Any = next((_LIST(fields[key]) for key in fields if snake(key) == "eval_case_results"), None)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            decoded = decode(data)
        except ReadError as error:
            raise error.at(path=str(path)) from None
        if not isinstance(decoded, dict):
            raise _foreign(path) from None
        cases = decoded.get("eval_case_results", decoded.get("evalCaseResults"))
    if not isinstance(cases, list):
        raise _foreign(path)
    if "evalSetResultId" in decoded or "evalSetId" in decoded:
        variant = variant if variant == "double-encoded" else "camelCase"
    if any(is_dialect(each) for each in cases[:1]):
        variant = DIALECT
    row = {snake(key): value for key, value in decoded.items() if snake(key) != "eval_case_results"}
    try:
        return Document(header=typed_header(row, IDS), cases=cases, variant=variant)
    except ReadError as error:
        raise error.at(path=str(path)) from None


def is_dialect(case: Any) -> bool:
    """Whether a case is in the dialect of trpc-agent-go."""
    try:
        value = case if isinstance(case, dict) else decode(case)
    except ReadError:
        return False
    return isinstance(value, dict) and is_case_result(to_snake(value, CASE_RESULT))


def _foreign(path: Path) -> ReadError:
    return ReadError("not an eval history: no list eval_case_results", path=str(path), remedy="is --from right?")
