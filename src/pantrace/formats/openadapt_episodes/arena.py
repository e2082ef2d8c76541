"""Result directories of Windows Agent Arena (and of OSWorld, which are similar).

A task's folder holds traj.jsonl, result.txt (missing when the task broke off), traj.html with the task's configuration,
and one file per observation. Row 0 is the reset; the observation of each further row was made AFTER its action.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Action, Media, Outcome
from pantrace.wire import files
from pantrace.wire.extra_keys import as_extra, rest_of
from pantrace.wire.gui_code import parse_code
from pantrace.wire.json import decode_document, decode_patiently, unknown_keys
from pantrace.wire.optional import object_of, present, text_of

from .field_names import NAME
from .logs import success_of
from .older_shapes import flat_action
from .turns import Episode, Turn

_ROW = {"step_num", "action_timestamp", "action", "reward", "done", "info"}
_LIMIT = re.compile(r"\b(?:time|step)s? limit", re.IGNORECASE)
"""What the arena writes about a task that it stopped."""
_SCREENS = ("screenshot", "screenshot_file")
_MIME = {".png": "image/png", ".jpg": "image/jpeg", ".txt": "text/plain", ".json": "application/json"}


def is_row(row: Any) -> bool:
    """Whether an object is a row of a traj.jsonl."""
    return isinstance(row, dict) and {"step_num", "action_timestamp", "action"} <= row.keys()


def is_failure(row: dict[str, Any]) -> bool:
    """Whether a row is the one that run.py appends when a task breaks off."""
    return "Error" in row and ("Exception" in row or "Traceback" in row)


def task_episode(folder: Path, rows: list[dict[str, Any]], place: tuple[str, ...]) -> Episode:
    """The episode of one task; `place` are the folders from the results' root down to the task's own."""
    # traj.jsonl does not have the instruction. traj.html does, in Windows Agent Arena; OSWorld has a text file for it.
    config = _config(folder)
    instruction = text_of(config.get("instruction")) or _text(folder / "instruction.txt") or ""
    steps = [row for row in rows if is_row(row)]
    where = dict(zip(("action_space", "observation_type", "model", "trial", "domain"), place, strict=False))
    # run.py nests six folders. If only a part of the tree was given, or OSWorld's, at most the domain is known.
    if len(place) != 6:
        where = {"domain": place[-2]} if len(place) > 1 else {}
    trial = where.get("trial", "")
    metadata = {**unknown_keys(where, {"model"}), **({"task": config} if config else {})}
    verdict, outcome = _verdict(folder, next((row for row in rows if is_failure(row)), None))
    fields = {
        "episode_id": folder.name,
        "task_id": folder.name,
        "instruction": instruction,
        **verdict,
        "source": "waa" if not any("screenshot_file" in row for row in steps) else "osworld",
        "agent_model": where.get("model"),
        "created_at": _moment(steps[0]["action_timestamp"]) if steps else None,
        "metadata": metadata or None,
    }
    # Trials are counted from 0, epochs from 1.
    epoch = int(trial) + 1 if trial.isascii() and trial.isdigit() else None
    return Episode(row=fields, turns=list(_turns(folder, steps)), outcome=outcome, epoch=epoch)


def _verdict(folder: Path, failure: dict[str, Any] | None) -> tuple[dict[str, Any], Outcome | None]:
    """The verdict of result.txt, or why there is none. A task without a result has not failed."""
    written = _text(folder / "result.txt")
    if written is not None:
        try:
            reward = float(written.strip())
        except ValueError:
            raise ReadError("is not a number", path=str(folder / "result.txt")) from None
        return {"success": success_of(reward), "final_reward": reward}, None
    if failure is None:
        return {}, Outcome(status="unscored", reason="there is no result.txt")
    why = next((str(failure[key]) for key in ("Exception", "Error") if failure.get(key)), "")
    stopped = _LIMIT.search(why) is not None
    return {}, Outcome(status="limit" if stopped else "error", reason=why, extra={NAME: failure})


def _config(folder: Path) -> dict[str, Any]:
    """The task's configuration, from the first block of traj.html."""
    page = _text(folder / "traj.html")
    block = re.search(r"<pre>\s*(\{.*?\})\s*</pre>", page, re.DOTALL) if page else None
    if block is None:
        return {}
    try:
        # The JSON is escaped, as it is part of a page.
        value = decode_patiently(html.unescape(block[1]).encode("utf-8", "surrogatepass"))
    except ReadError:
        return {}
    return object_of(value)


def _text(path: Path) -> str | None:
    return files.read_all(path).decode("utf-8", "replace") if path.is_file() else None


def _moment(stamp: Any) -> str | None:
    """20260102@030405 as ISO 8601; the machine's zone is not recorded, so it is taken as UTC."""
    try:
        return datetime.strptime(str(stamp), "%Y%m%d@%H%M%S").replace(tzinfo=UTC).isoformat()
    except ValueError:
        return None


def _turns(folder: Path, rows: list[dict[str, Any]]) -> Iterator[Turn]:
    """A turn for each row that acts. Its action may be a program of several actions, each with a number."""
    reset = rows[0] if rows and rows[0]["action"] is None else None
    # Observations and the agent's own logs lie side by side in a row. The reset row has no logs yet, so its keys
    # tell the two apart; without it, only the usual observations are known.
    seen_keys = set(reset) - _ROW if reset is not None else {*_SCREENS, "accessibility_tree", "window_title"}
    acting = [row for row in rows if row is not reset]
    index = 0
    before = reset or {}
    for number, row in enumerate(acting):
        last = number == len(acting) - 1
        actions = _actions(row["action"])
        observation, files_seen = _observation(_environment_values(before, seen_keys))
        logs = rest_of(row, _ROW | seen_keys)
        linked = {key: value for key, value in logs.items() if _is_file(key, value)}
        step = {
            "step_index": index,
            "observation": observation,
            # The agent's answer is kept in a file beside the trajectory.
            "reasoning": _text(folder / linked["plan_result"]) if "plan_result" in linked else None,
            "reward": row.get("reward"),
            "done": row.get("done"),
            "timestamp": _seconds(row["action_timestamp"]),
            "step_num": row.get("step_num"),
            "action_timestamp": row.get("action_timestamp"),
            "info": row.get("info") or None,
            "logs": unknown_keys(logs, linked) or None,
            "code": row["action"] if _code_is_more(row["action"], actions) else None,
            # Every other observation is kept as the next turn's "before"; the last has no next turn.
            "observation_after": _without_screen(_environment_values(row, seen_keys))[1] or None if last else None,
        }
        seen = tuple(_media(folder, key, name, index) for key, name in {**files_seen, **linked}.items())
        # Each action becomes a step of its own when written, so numbers advance by actions, not rows.
        index += len(actions)
        after = _after(row, index - 1)
        yield Turn(row=step, actions=actions, seen=seen, after=after if last else None, leads_on=after is not None)
        before = row


def _seconds(stamp: Any) -> float | None:
    moment = _moment(stamp)
    return datetime.fromisoformat(moment).timestamp() if moment is not None else None


def _actions(action: Any) -> list[Action]:
    if isinstance(action, str):
        return list(parse_code(action))
    return [flat_action({"raw": action} if not isinstance(action, dict) else {"type": "unknown", **action})]


def _code_is_more(code: Any, actions: list[Action]) -> bool:
    """Whether the code says more than its actions repeat: imports, comments, separators."""
    return isinstance(code, str) and "\n".join(str(action.raw) for action in actions) != code


def _environment_values(row: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    """The values of a row that come from the environment."""
    return {key: value for key, value in row.items() if key in keys and value is not None}


def _without_screen(shown: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The name of the screenshot's file, and everything else."""
    key = next((key for key in _SCREENS if isinstance(shown.get(key), str)), None)
    return (shown[key], unknown_keys(shown, {key})) if key is not None else (None, dict(shown))


def _observation(shown: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """An observation of the schema, and the other files that were seen (key -> name)."""
    screen, raw = _without_screen(shown)
    title = raw.pop("window_title") if isinstance(raw.get("window_title"), str) else None
    linked = {key: raw.pop(key) for key in list(raw) if _is_file(key, raw[key])}
    return present({"screenshot_path": screen, "window_title": title, "raw": raw or None}), linked


def _is_file(key: str, value: Any) -> bool:
    """Whether a value names the file in which the recorder kept it: KEY-step_N_TIME.SUFFIX."""
    return isinstance(value, str) and value.startswith(f"{key}-step_") and "/" not in value


def _media(folder: Path, key: str, name: str, index: int) -> Media:
    """A file that was seen. Its content is kept if it is JSON (boxes on the screen); pictures and texts stay files."""
    mime = _MIME.get(Path(name).suffix.lower())
    content = _document(folder / name) if mime == "application/json" else None
    kept = as_extra(NAME, {"content": content} if content is not None else {})
    return Media(id=f"{key}-{index}", uri=name, name=key, mime=mime, extra=kept)


def _document(path: Path) -> Any:
    """The value of a JSON file; None if it is missing or torn, as its row still names it."""
    try:
        return decode_document(files.read_all(path)) if path.is_file() else None
    except ReadError:
        return None


def _after(row: dict[str, Any], index: int) -> Media | None:
    screen, _ = _without_screen(row)
    if screen is None:
        return None
    return Media(id=f"screen-{index}-after", uri=screen, mime=_MIME.get(Path(screen).suffix.lower()))
