"""The redactor: replaces secrets in texts, in plain data and in the model, and says where each one was."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import quote as percent_encoded

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Record, Sample
from pantrace.wire.json import decode, encode
from pantrace.wire.patterns import find_all

from .encoded import Edit, apply_edits, base64_in, document_in, literals_in, percent_in, rewritten
from .generic import generic_in
from .known import KnownSecrets
from .named import KIND, named_in
from .names import is_secret, is_word, level_of, looks_drawn
from .personal import EMAIL, PERSONAL, is_card, names_a_card
from .reported import REPORTED
from .shapes import SHAPES, shapes_in
from .tokens import Span, tokens_in
from .told import told_in
from .vendors import VENDORS

T = TypeVar("T")
Counts = dict[str, int]

_DEPTH = 24
"""How deep encodings may be nested: JSON in base64 in JSON. Each makes its text longer, so real ones are not deep."""
_PERCENT_DEPTH = 3
"""The same for %XX: an address in an address. `%252525...` is as long in each round as before."""
_ROUNDS = 4
_NESTING = 100
_VALUES = ("value", "stringvalue", "string_value")
_NAMES = ("name", "key")
_PEM_BEGINS, _PEM_ENDS = (
    re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY"),
    re.compile(r"-----END [A-Z0-9 ]{0,40}-----"),
)
_MORE_SHAPES = (*VENDORS, *REPORTED)
_SHORTEST_LITERAL = 4
_SHORTEST_BEHIND, _LONGEST_BEHIND = 10, 256
_SHORT = 13
_QUIET = re.compile(r"[\w .,/-]*+")
"""Most texts of a recording are short words, which cannot contain a secret."""


class Replacement(Record, frozen=True, kw_only=True):
    """Secrets of one kind that were replaced at one place."""

    sample: str | None
    """None: in the header of the run."""
    path: str
    kind: str
    count: int


def mark(kind: str) -> str:
    """The text that replaces a secret."""
    return f"[redacted:{kind}]"


class _Seen(msgspec.Struct, frozen=True):
    """A secret in a text, or an encoded text that contains some."""

    start: int
    end: int
    rank: int
    """The most specific rules come first, because their names say most."""
    kinds: Counts
    new: str | None = None
    """The encoded text without its secrets."""


def _together(group: list[_Seen], text: str) -> tuple[int, int, str, Counts]:
    """What to do with a place that one or several rules have found."""
    start, end = group[0].start, max(each.end for each in group)
    first = min(group, key=lambda each: each.rank)
    whole = next((each for each in group if each.new is not None and (each.start, each.end) == (start, end)), None)
    if whole is None or whole.new is None:
        return start, end, mark(next(iter(first.kinds))), first.kinds
    edge = 1 if text[start] == '"' else 0
    if any(each.new is None and each.start <= start + edge and each.end >= end - edge for each in group):
        quote = text[start : start + edge]
        return start, end, f"{quote}{mark(next(iter(first.kinds)))}{quote}", first.kinds
    # The same rules have searched the decoded text already.
    return start, end, whole.new, whole.kinds


class Redactor:
    """Finds and replaces secrets; made once, used for every text."""

    def __init__(
        self,
        *,
        emails: bool = False,
        personal: bool = False,
        more: dict[str, str] | None = None,
        known: Iterable[str] = (),
    ):
        self._shapes = (*SHAPES, *(PERSONAL if personal else (EMAIL,) if emails else ()))
        self._more = [(kind, re.compile(shape, re.DOTALL)) for kind, shape in (more or {}).items()]
        # This process's own secrets are found whatever they look like; the longest first, as one may contain another.
        # Short or common words as keys ("none", "test") would be replaced all over the recording.
        drawn = [each for each in known if len(each) >= _SHORTEST_LITERAL and not is_word(each)]
        forms = {form for each in drawn for form in (each, percent_encoded(each, safe=""))}
        self._known = KnownSecrets(forms)
        # If any of these is set, even a short word may be a secret.
        self._personal = personal
        self._hard = bool(self._known or self._more or personal)

    def text(self, text: str) -> tuple[str, Counts]:
        """A text without its secrets, and their number by kind."""
        counts: Counts = {}
        return self._text(text, counts, 0), counts

    def value(self, value: Any) -> Any:
        """Plain data without its secrets."""
        return _Walk(self, 0).value(value, "")

    def sample(self, sample: Sample) -> tuple[Sample, list[Replacement]]:
        """A sample without its secrets, and every place where one was."""
        clean, found = self.record(sample)
        return clean, [msgspec.structs.replace(each, sample=clean.id) for each in found]

    def record(self, record: T, path: str = "") -> tuple[T, list[Replacement]]:
        """Any struct of the model without its secrets; the same object if it has none."""
        walk = _Walk(self, 0)
        clean: T = walk.value(record, path)
        return clean, walk.found

    def _text(self, text: str, counts: Counts, depth: int) -> str:
        if len(text) < _SHORTEST_LITERAL:
            return text
        # A text that is JSON as a whole is searched by its keys, which say more than the patterns can see.
        if depth < _DEPTH and (document := document_in(text)) is not None:
            walk = _Walk(self, depth + 1)
            clean = walk.value(document, "")
            for each in walk.found:
                counts[each.kind] = counts.get(each.kind, 0) + each.count
            return rewritten(text, document, clean) if walk.found else text
        # Several rounds: a secret may hide another one right next to it from a pattern.
        for _ in range(_ROUNDS):
            if not (edits := self._edits(text, counts, depth)):
                break
            text = apply_edits(text, edits)
        return text

    def _edits(self, text: str, counts: Counts, depth: int) -> list[Edit]:
        """What to replace. If several rules find overlapping secrets, everything that they found is replaced."""
        if len(text) <= _SHORT and not self._hard and _QUIET.fullmatch(text):
            return []
        small = text.lower()
        spans: list[Span] = [*self._known.spans(text), *tokens_in(text), *shapes_in(text, small, self._shapes)]
        spans += [*named_in(text, small), *shapes_in(text, small, _MORE_SHAPES), *generic_in(text, small)]
        spans += told_in(text, small)
        for kind, pattern in self._more:
            held = "secret" if "secret" in pattern.groupindex else 0
            spans += [(*match.span(held), kind) for match in find_all(pattern, text) if match[held]]
        seen = [_Seen(start, end, rank, {kind: 1}) for rank, (start, end, kind) in enumerate(spans)]
        if depth < _DEPTH:
            seen += self._inside(text, depth, len(seen))
        groups: list[list[_Seen]] = []
        reach = 0
        for each in sorted(seen, key=lambda each: each.start):
            if groups and each.start < reach:
                groups[-1].append(each)
            else:
                groups.append([each])
            reach = max(reach, each.end)
        edits = []
        for group in groups:
            start, end, new, kinds = _together(group, text)
            edits.append((start, end, new))
            for kind, count in kinds.items():
                counts[kind] = counts.get(kind, 0) + count
        return edits

    def _inside(self, text: str, depth: int, rank: int) -> list[_Seen]:
        """Encoded texts inside a text that contain a secret."""
        inner: Counts = {}

        def clean(text: str) -> str:
            inner.clear()
            return self._text(text, inner, depth + 1)

        return [
            _Seen(start, end, rank, dict(inner), new)
            for search in (literals_in, base64_in, *((percent_in,) if depth < _PERCENT_DEPTH else ()))
            for start, end, new in search(text, clean)
        ]


class _Walk:
    """One walk through a value, with everything that was replaced."""

    def __init__(self, redactor: Redactor, depth: int):
        self.redactor = redactor
        self.depth = depth
        self.found: list[Replacement] = []
        self._nesting = 0

    def value(self, value: Any, path: str) -> Any:
        """A struct or plain data without secrets; the same object if it has none."""
        if isinstance(value, str):
            return self.text(value, path)
        if not isinstance(value, (list, tuple, dict, msgspec.Struct)):
            return value
        if self._nesting >= _NESTING:
            return self._deep(value, path)
        self._nesting += 1
        try:
            if isinstance(value, list):
                return self._list(value, path)
            if isinstance(value, dict):
                return self._dict(value, path)
            if isinstance(value, tuple):
                items = [self.value(item, f"{path}[{index}]") for index, item in enumerate(value)]
                return value if all(map(_is, items, value)) else tuple(items)
            return self._struct(value, path)
        finally:
            self._nesting -= 1

    def _struct(self, value: msgspec.Struct, path: str) -> msgspec.Struct:
        """A struct of the model. Fields that allow only fixed words are skipped: a changed one could not be read."""
        changed = {}
        for name in _free_fields(type(value)):
            item = getattr(value, name)
            new = self.value(item, f"{path}.{name}" if path else name)
            if new is not item:
                changed[name] = new
        return msgspec.structs.replace(value, **changed) if changed else value

    def _deep(self, value: Any, path: str) -> Any:
        """Redact a value that is nested too deeply for recursion, by way of its JSON text."""
        text = encode(value).decode("utf-8", "surrogatepass")
        counts: Counts = {}
        clean = apply_edits(text, self.redactor._edits(text, counts, self.depth))
        self._note(path, counts)
        try:
            return decode(clean.encode("utf-8", "surrogatepass")) if counts else value
        # A replacement broke the JSON: rather lose the value than leave the secret in it.
        except ReadError:
            return self._replaced(path, next(iter(counts)))

    def text(self, text: str, path: str) -> str:
        counts: Counts = {}
        clean = self.redactor._text(text, counts, self.depth)
        self._note(path, counts)
        return clean if counts else text

    def _note(self, path: str, counts: Counts) -> None:
        self.found += [Replacement(sample=None, path=path, kind=kind, count=count) for kind, count in counts.items()]

    def _list(self, values: list[Any], path: str) -> list[Any]:
        if len(values) == 2 and all(isinstance(each, str) for each in values):
            # A header or a variable as a pair: ["X-Api-Key", "..."].
            name, value = values
            level = level_of(name)
            if level is not None and (looks_drawn(value) or is_secret(value, name, level, "bare")):
                return [self.text(name, f"{path}[0]"), self._hidden(value, f"{path}[1]")]
        items, in_key = [], False
        for index, value in enumerate(values):
            place = f"{path}[{index}]"
            if in_key and isinstance(value, str):
                in_key = _PEM_ENDS.search(value) is None
                items.append(self._replaced(place, "private-key") if value.strip() else value)
                continue
            flag = values[index - 1] if index and isinstance(values[index - 1], str) else ""
            if isinstance(value, str) and flag.startswith("--") and not value.startswith("-"):
                items.append(self._member(flag[2:], value, place))
                continue
            items.append(self.value(value, place))
            # A private key as a list of lines: the lines between the first and the last have no recognisable form.
            if isinstance(value, str) and _PEM_BEGINS.search(value):
                in_key = _PEM_ENDS.search(value) is None and _ends_in(values[index + 1 :])
        return values if all(map(_is, items, values)) else items

    def _dict(self, values: dict[str, Any], path: str) -> dict[str, Any]:
        # {"name": "API_KEY", "value": "..."}: the name of the value is a value itself.
        told = next((values[key] for key in values if key.lower() in _NAMES and isinstance(values[key], str)), None)
        clean: dict[str, Any] = {}
        changed = False
        for key, item in values.items():
            new_key = self.text(key, f"{path}.[key]" if path else "[key]")
            # Two keys that were different secrets must not become one, or a value would be lost.
            while new_key in clean:
                new_key += "'"
            place = f"{path}.{new_key}" if path else new_key
            name = told if told is not None and key.lower() in _VALUES else key
            new = self._member(name, item, place)
            changed = changed or new is not item or new_key != key
            clean[new_key] = new
        return clean if changed else values

    def _member(self, name: str, item: Any, path: str) -> Any:
        """A value under a name that may identify it as a secret."""
        level = level_of(name)
        if self.redactor._personal and names_a_card(name) and isinstance(item, (str, int)) and is_card(str(item)):
            return self._replaced(path, "card")
        if (kind := _kind_behind(name, item)) is not None:
            return self._replaced(path, kind)
        if level is None:
            return self.value(item, path)
        if isinstance(item, str):
            return self._hidden(item, path) if is_secret(item, name, level, "member") else self.text(item, path)
        # A PIN is a number in JSON; small numbers under such names are flags and counts.
        if isinstance(item, int) and not isinstance(item, bool) and level == "certain" and abs(item) > 999:
            return self._replaced(path, KIND)
        if isinstance(item, list) and item and all(isinstance(each, str) for each in item):
            items = [self._member(name, each, f"{path}[{index}]") for index, each in enumerate(item)]
            return item if all(map(_is, items, item)) else items
        if isinstance(item, dict) and item and all(key.lower() in _VALUES for key in item):
            held = {key: self._member(name, each, f"{path}.{key}") for key, each in item.items()}
            return item if all(map(_is, held.values(), item.values())) else held
        return self.value(item, path)

    def _hidden(self, value: str, path: str) -> str:
        """Replace a whole value; its form decides the kind."""
        kinds = self.redactor.text(value)[1]
        return self._replaced(path, next(iter(kinds), KIND))

    def _replaced(self, path: str, kind: str) -> str:
        self._note(path, {kind: 1})
        return mark(kind)


def _kind_behind(name: str, item: Any) -> str | None:
    """The kind of secret that a member's name and form show together, as `NAME = "value"` would in a text."""
    if not isinstance(item, (str, int)) or isinstance(item, bool):
        return None
    value = str(item)
    if not _SHORTEST_BEHIND <= len(value) <= _LONGEST_BEHIND or len(name) > _LONGEST_BEHIND:
        return None
    # A token with its own form says more than the name, and the words around it can stay.
    if next(iter(tokens_in(value)), None) is not None:
        return None
    text = f'{name} = "{value}"'
    whole = (len(text) - len(value) - 1, len(text) - 1)
    small = text.lower()
    found = [*shapes_in(text, small, VENDORS), *(generic_in(text, small) if isinstance(item, str) else ())]
    return next((kind for start, end, kind in found if (start, end) == whole), None)


def _is(one: Any, other: Any) -> bool:
    return one is other


def _ends_in(values: list[Any]) -> bool:
    """Whether a private key that has begun ends among these lines."""
    for value in values:
        if not isinstance(value, str):
            return False
        if _PEM_ENDS.search(value):
            return True
    return False


@cache
def _free_fields(kind: type) -> tuple[str, ...]:
    """Fields of a struct that may hold any text."""
    hints = get_type_hints(kind)
    return tuple(name for name in kind.__struct_fields__ if not _only_fixed_words(hints[name]))  # type: ignore[attr-defined]


def _only_fixed_words(hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return True
    members = [each for each in get_args(hint) if each is not type(None)] if isinstance(hint, types.UnionType) else []
    return bool(members) and all(_only_fixed_words(each) for each in members)
