"""Run directories with something wrong in them. A part of them is sealed again: an attacker can compute hashes, too,
and what lies behind the seals is only reached so."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from fuzz.damaged_settings import changed_cell
from fuzz.mutations import HOSTILE, RAW, bytes_, changed_value
from pantrace.store.json_text import exact_json
from pantrace.store.manifest import COLUMNS, seal_of


def damaged_run(whole: Path, copy: Path, dice: random.Random) -> str:
    """A changed copy of a run directory; says what was changed."""
    shutil.copytree(whole, copy)
    deeds = (_run_file, _manifest, _bytes_of_a_file, _part, _labels, _gone, _strange)
    return " and ".join(
        dice.choices(deeds, (3, 4, 3, 5, 1, 1, 1))[0](copy, dice) for _ in range(dice.choice((1, 1, 2)))
    )


def _run_file(copy: Path, dice: random.Random) -> str:
    path = copy / "run.json"
    if not path.is_file():
        return "run.json is gone already"
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError):  # an earlier deed left no JSON
        return bytes_(dice, copy, path)
    value, told, raw = changed_value(dice, content, HOSTILE)
    sealed = dice.random() < 0.7 and raw is None and isinstance(value, dict)
    if sealed:
        value = {key: item for key, item in value.items() if key != "sha256"}
        if dice.random() < 0.5:
            value["sha256"] = sha256(exact_json(value)).hexdigest()
    text = json.dumps(value)
    path.write_text(text.replace(f'"{RAW}"', raw) if raw is not None else text)
    return f"run.json{' (sealed)' if sealed else ''}: {told}"


def _manifest(copy: Path, dice: random.Random) -> str:
    path = copy / "manifest.sqlite"
    try:
        with closing(sqlite3.connect(path)) as database:
            if dice.random() < 0.2:
                table = dice.choice([*COLUMNS, "seal"])
                database.execute(dice.choice((f"drop table {table}", f"delete from {table}")))
                database.commit()
                told = f"{table} emptied or dropped"
            else:
                told = changed_cell(database, dice)
            return f"manifest{' (sealed)' if dice.random() < 0.7 and _sealed(database) else ''}: {told}"
    except sqlite3.Error as error:
        return f"manifest: {error}"


def _sealed(database: sqlite3.Connection) -> bool:
    """The rows as they are now, sealed as their writer would."""
    try:
        rows = {
            table: [tuple(row) for row in database.execute(f"select {', '.join(columns)} from {table}")]
            for table, columns in COLUMNS.items()
        }
        database.execute("update seal set value = ?", (f"{seal_of(rows):064x}",))
        database.commit()
    except sqlite3.Error:
        return False
    return True


def _files(copy: Path) -> list[Path]:
    return sorted(each for each in copy.rglob("*") if each.is_file() and each.name != "lock")


def _bytes_of_a_file(copy: Path, dice: random.Random) -> str:
    files = _files(copy)
    return bytes_(dice, copy, dice.choice(files)) if files else "no file"


def _part(copy: Path, dice: random.Random) -> str:
    """Rows or columns of a part that are other ones, with the hash that belongs to them."""
    files = [each for each in _files(copy) if each.suffix == ".parquet"]
    if not files:
        return "no part"
    path = dice.choice(files)
    if dice.random() < 0.3:
        told = bytes_(dice, copy, path)
    else:
        try:
            table, told = _changed_table(parquet.read_table(path), dice)
            parquet.write_table(table, path)
        except (pa.ArrowException, OSError) as error:
            told = f"not changed: {error}"
    data = path.read_bytes()
    try:
        with closing(sqlite3.connect(copy / "manifest.sqlite")) as database:
            database.execute(
                "update files set sha256 = ?, bytes = ? where file = ?",
                (sha256(data).hexdigest(), len(data), path.name),
            )
            database.commit()
            _sealed(database)
    except (sqlite3.Error, UnicodeDecodeError):  # an earlier deed left no manifest
        pass
    return f"{path.name} (sealed): {told}"


def _changed_table(table: pa.Table, dice: random.Random) -> tuple[pa.Table, str]:
    if not table.column_names:
        return table, "no column"
    name = dice.choice(table.column_names)
    place = table.column_names.index(name)
    deed = dice.choice(
        ("drop", "null", "text", "number", "value", "value", "value", "rename", "rows", "none", "nested")
    )
    if deed == "drop":
        table = table.drop_columns([name])
    elif deed == "rename":
        table = table.rename_columns([f"{each}x" if each == name else each for each in table.column_names])
    elif deed == "rows":
        table = pa.concat_tables([table, table])
    elif deed == "none":
        table = table.slice(0, 0)
    else:
        table = table.set_column(place, name, _column(table.column(name), deed, table.num_rows, dice))
    return table, f"{deed} {name}"


def _column(column: pa.ChunkedArray, deed: str, rows: int, dice: random.Random) -> pa.Array:
    if deed == "null":
        return pa.nulls(rows, column.type)
    if deed == "number":
        return pa.array([dice.choice((0, -1, 2**62)) for _ in range(rows)], pa.int64())
    if deed == "nested":
        return pa.array([[{"a": 1}]] * rows)
    if deed == "text":
        return pa.array([dice.choice(("", "x", "{", "\x00", "../../x")) for _ in range(rows)])
    values = column.to_pylist()
    if values:
        values[dice.randrange(rows)] = _fitting(values, column.type, dice)
    return pa.array(values, column.type)


def _fitting(values: list[Any], kind: pa.DataType, dice: random.Random) -> Any:
    """A hostile value that its column can hold."""
    if pa.types.is_floating(kind):
        return dice.choice((float("nan"), float("inf"), -1e308, 0.0, None))
    if pa.types.is_integer(kind):
        return dice.choice((-1, 2**31 - 1, 0, None))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        text = next((each for each in values if isinstance(each, str) and each.startswith(("{", "["))), None)
        if text is not None and dice.random() < 0.7:
            changed, _, _ = changed_value(dice, json.loads(text), HOSTILE)
            return json.dumps(changed)
        return dice.choice(("", "{", "\x00", "x" * 100_000, "../../x", "null", "nan", "\x1b[2J", None, "[1]"))
    return None


def _labels(copy: Path, dice: random.Random) -> str:
    path = copy / "labels.jsonl"
    good = {"sample": "a", "id": "1", "epoch": 1, "by": "me", "label": "pass", "time": 1.0}
    value, told, raw = changed_value(dice, good, HOSTILE)
    text = json.dumps(value)
    path.write_text((text.replace(f'"{RAW}"', raw) if raw is not None else text) + "\n")
    return f"labels: {told}"


def _gone(copy: Path, dice: random.Random) -> str:
    files = _files(copy)
    if not files:
        return "no file"
    path = dice.choice(files)
    path.unlink()
    return f"{path.name} is gone"


def _strange(copy: Path, dice: random.Random) -> str:
    """A folder, a link to nowhere or to itself, or a pipe in the place of a file."""
    files = _files(copy)
    if not files:
        return "no file"
    path = dice.choice(files)
    path.unlink()
    what = dice.choice(("folder", "link", "itself", "pipe"))
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path if what == "itself" else "nowhere")
    return f"{path.name} is a {what}"
