"""Settings with something wrong in them: plans, rules, rubrics, price tables, maps, labels and tables of cases."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import tomllib
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from fuzz.damaged_text import damaged_text
from fuzz.mutations import HOSTILE, RAW, bytes_, changed_value
from pantrace.cli.init import PLAN

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/pantrace"


class Setting(NamedTuple):
    """A file of settings that is right."""

    kind: str
    name: str
    content: bytes


WORDS: tuple[Any, ...] = (
    *HOSTILE,
    "(a+)+$",
    "(",
    "[z-a]",
    "(?P<a>x)(?P<a>y)",
    "{{ question",
    "{% if a %}",
    "{{ ''.__class__.__mro__ }}",
    "{{ question | replace('a', question) }}",
    "{% for a in question %}{{ question }}{% endfor %}",
    "{a.b[0]}",
    "*",
    "-*",
    ".",
    "/dev/zero",
    "~nobody-has-this-name/x",
    "openai:",
    "vertex:",
    "vertex:x",
    ["*", "*"],
    {"in": "final_response", "matches": "(x+x+)+y"},
    {"all": [{"any": [{"not": {}}]}]},
    10**400,
)
"""Values that mean something in settings, too."""


@cache
def settings() -> tuple[Setting, ...]:
    """Every file of settings that there is to begin with: built in, in examples, in the docs, and made up."""
    named = [
        ("plan", ROOT / "examples/eval.toml"),
        ("rules", ROOT / "examples/rules.toml"),
        ("profile", ROOT / "examples/profile.toml"),
        ("definitions", ROOT / "examples/metric_definitions.json"),
        *(("rules", path) for path in sorted((SOURCE / "rules/packs").glob("*.toml"))),
        *(("profile", path) for path in sorted((SOURCE / "policy/profiles").glob("*.toml"))),
        *(("rubric", path) for path in sorted((SOURCE / "judges/rubrics").glob("*.toml"))),
        *((path.name.partition(".")[0], path) for path in sorted(Path(__file__).with_name("settings").glob("*.*[!d]"))),
    ]
    found = [Setting(kind, path.name, path.read_bytes()) for kind, path in named]
    # The built-in price table is long; what it is made of is in the docs, too.
    found += [Setting("plan", "init.toml", re.sub(r"(?m)^# (?=[a-z\[])", "", PLAN).encode())]
    return (*found, *_in_the_docs())


def _in_the_docs() -> list[Setting]:
    found = []
    for path in sorted((ROOT / "docs").rglob("*.md")):
        for number, text in enumerate(re.findall(r"(?ms)^```toml\n(.*?)^```", path.read_text())):
            if kind := _kind(text):
                found.append(Setting(kind, f"{path.stem}-{number}.toml", text.encode()))
    return found


def _kind(text: str) -> str | None:
    """What a block of TOML in the docs is; None where it is none of ours."""
    try:
        keys = tomllib.loads(text).keys()
    except tomllib.TOMLDecodeError:
        return None
    signs = {"rule": "rules", "template": "rubric", "models": "prices", "thresholds": "profile"}
    signs |= {"login_basic": "milestones", "measure": "plan", "judge": "plan", "run": "plan", "check": "plan"}
    return next((kind for sign, kind in signs.items() if sign in keys), None)


def damaged_setting(given: Setting, work: Path, dice: random.Random) -> tuple[Path, str]:
    """A file of settings with something wrong in it, and what."""
    path = work / given.name
    path.write_bytes(given.content)
    if given.name.endswith(".sqlite"):
        return path, _damaged_database(path, dice)
    deed = dice.choices((_values, _text, _bytes), (5, 3, 1))[0]
    return path, deed(path, given, dice)


def _values(path: Path, given: Setting, dice: random.Random) -> str:
    value = parsed(given)
    if value is None:
        return _text(path, given, dice)
    value, told, raw = changed_value(dice, value, WORDS)
    text = written(value, path.suffix)
    if raw is not None:
        text = text.replace(f'"{RAW}"', raw).replace(f"'{RAW}'", raw)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return told


def _text(path: Path, given: Setting, dice: random.Random) -> str:
    text, told = damaged_text(dice, given.content.decode(), [str(each) for each in WORDS])
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return told


def _bytes(path: Path, given: Setting, dice: random.Random) -> str:
    return bytes_(dice, path, path)


def parsed(given: Setting) -> Any:
    """Its content as plain values; None where it has no such form."""
    suffix, text = Path(given.name).suffix, given.content.decode()
    if suffix == ".toml":
        return tomllib.loads(text)
    if suffix == ".json":
        return json.loads(text)
    if suffix == ".yaml":
        return yaml.safe_load(text)
    if suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return None


def written(value: Any, suffix: str) -> str:
    """Plain values as a file of that kind; what it has no word for is written all the same."""
    if suffix == ".toml":
        if not isinstance(value, dict):
            return _toml(value)
        return "".join(f"{_key(key)} = {_toml(item)}\n" for key, item in value.items())
    if suffix == ".yaml":
        return yaml.safe_dump(value, allow_unicode=False)
    if suffix == ".jsonl" and isinstance(value, list):
        return "".join(json.dumps(each) + "\n" for each in value)
    return json.dumps(value)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value) if isinstance(value, float) else json.dumps(value, default=str)


def _key(key: Any) -> str:
    return json.dumps(str(key))


def _damaged_database(path: Path, dice: random.Random) -> str:
    """Replies of judges that are not what was kept."""
    if dice.random() < 0.3:
        return bytes_(dice, path, path)
    with closing(sqlite3.connect(path)) as database:
        return changed_cell(database, dice)


def changed_cell(database: sqlite3.Connection, dice: random.Random) -> str:
    """Put something else into a cell of some table."""
    tables = [row[0] for row in database.execute("select name from sqlite_master where type = 'table'")]
    filled = [table for table in tables if database.execute(f'select 1 from "{table}" limit 1').fetchone()]
    if not filled:
        return "nothing: all tables are empty"
    table = dice.choice(filled)
    column = dice.choice([row[1] for row in database.execute(f'pragma table_info("{table}")')])
    (cell,) = dice.choice(database.execute(f'select "{column}" from "{table}"').fetchall())
    new = dice.choice((None, 7, -1, 2**62, 1.5, "", "x" * 100_000, b"\xff\x00", "{}", "[]", "../../x", "\x00", "null"))
    if isinstance(cell, str) and cell.startswith(("{", "[")) and dice.random() < 0.7:
        changed, _, _ = changed_value(dice, json.loads(cell), HOSTILE)
        new = json.dumps(changed)
    try:
        database.execute(f'update "{table}" set "{column}" = ? where "{column}" is ?', (new, cell))
        database.commit()
    except sqlite3.Error as error:
        return f"nothing: {error}"
    return f"{table}.{column} = {new!r:.60}"
