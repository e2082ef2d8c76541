"""GUI actions written as Python code: pyautogui calls and the `computer` object of Windows Agent Arena.

The code is parsed, never run. Each statement becomes one action whose `raw` is its text; a statement that is not
understood becomes an action of kind `unknown`. pyautogui's points are pixels, those of `computer.mouse` are normalised.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from pantrace.model import Action, Point, Target

_WORDS = {"DONE": "done", "FAIL": "fail", "WAIT": "wait"}
_SCROLL_UNIT = 100
"""OpenAdapt counts one pyautogui scroll click as 100."""

_MAX_CODE = 100_000


class NotUnderstood(Exception):
    """Raised for a call whose arguments are not plain values, or that is not a GUI action."""


def parse_code(code: str) -> tuple[Action, ...]:
    """The actions of a piece of code, in order; at least one."""
    word = code.strip()
    if word in _WORDS:
        return (Action(kind=_WORDS[word], raw=code),)
    statements = _statements(word)
    if statements is None:
        return (Action(kind="unknown", raw=code),)
    found: list[Action] = []
    # Models write imports before their calls; these are not actions.
    for statement in statements:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue
        text = ast.get_source_segment(word, statement) or ast.unparse(statement)
        found.extend(_actions(statement, text))
    return tuple(found) or (Action(kind="unknown", raw=code),)


def _statements(code: str) -> list[ast.stmt] | None:
    # Python's parser needs far more memory than its input, and may crash on deeply nested code.
    if not code or len(code) > _MAX_CODE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a typed text is not our concern
            return ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _actions(statement: ast.stmt, text: str) -> Iterator[Action]:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Name) and call.id in _WORDS:
        yield Action(kind=_WORDS[call.id], raw=text)
        return
    try:
        if not isinstance(call, ast.Call):
            raise NotUnderstood
        arguments = [_plain(argument) for argument in call.args]
        named = {keyword.arg: _plain(keyword.value) for keyword in call.keywords if keyword.arg is not None}
        read = _reader(_path(call.func))
        understood = list(read(arguments, named, text))
    except (NotUnderstood, TypeError, ValueError, IndexError, KeyError):
        yield Action(kind="unknown", raw=text)
    else:
        yield from understood


def _path(func: ast.expr) -> tuple[str, ...]:
    """pyautogui.click -> ("pyautogui", "click")."""
    if isinstance(func, ast.Name):
        return (func.id,)
    if isinstance(func, ast.Attribute):
        return (*_path(func.value), func.attr)
    raise NotUnderstood


def _plain(value: ast.expr) -> Any:
    try:
        # Literals only: nothing of the recording is ever evaluated.
        return ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise NotUnderstood from None


Read = Callable[[list[Any], dict[str, Any], str], Iterator[Action]]


def _reader(path: tuple[str, ...]) -> Read:
    read: Read | None = None
    if path[0] == "computer":
        read = _COMPUTER.get(".".join(path[1:]))
    elif path in (("time", "sleep"), ("pyautogui", "sleep")):
        read = _sleep
    elif len(path) == 1 or path[0] == "pyautogui":
        read = _PYAUTOGUI.get(path[-1])
    if read is None:
        raise NotUnderstood
    return read


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NotUnderstood
    return value


def _words(value: Any) -> str:
    if not isinstance(value, str):
        raise NotUnderstood
    return value


def _point(arguments: list[Any], named: dict[str, Any], space: Any = "pixels") -> Point | None:
    pair = list(arguments[:2])
    if len(pair) == 1 and isinstance(pair[0], (tuple, list)):
        pair = list(pair[0])
    x = pair[0] if pair else named.get("x")
    y = pair[1] if len(pair) > 1 else named.get("y")
    if x is None and y is None:
        return None
    return Point(x=_number(x), y=_number(y), space=space)


def _aim(arguments: list[Any], named: dict[str, Any], space: Any = "pixels") -> Target | None:
    point = _point(arguments, named, space)
    return None if point is None else Target(point=point)


def _pointing(kind: str) -> Read:
    def read(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
        yield Action(kind=kind, target=_aim(arguments, named), raw=text)

    return read


# pyautogui.click(x, y, clicks, interval, button): hence the positions 2 and 4.
def _click(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
    clicks = named.get("clicks", arguments[2] if len(arguments) > 2 else 1)
    button = named.get("button", arguments[4] if len(arguments) > 4 else "left")
    by_button = {"left": "click", "primary": "click", "right": "right_click", "secondary": "right_click"}
    kind = by_button.get(button, f"{button}_click")
    if kind == "click" and clicks in (2, 3):
        kind = "double_click" if clicks == 2 else "triple_click"
    yield Action(kind=kind, target=_aim(arguments, named), raw=text)


def _write(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
    message = arguments[0] if arguments else named["message"]
    if isinstance(message, list):  # pyautogui presses the keys of a list one by one
        for key in message:
            yield Action(kind="key", key=_words(key), raw=text)
        return
    yield Action(kind="type", text=_words(message), raw=text)


def _press(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
    keys = arguments[0] if arguments else named["keys"]
    times = named.get("presses", arguments[1] if len(arguments) > 1 else 1)
    # At most 100: a hostile file could ask for a billion presses.
    for key in [keys] * int(_number(min(times, 100))) if isinstance(keys, str) else keys:
        yield Action(kind="key", key=_words(key), raw=text)


def _hotkey(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
    keys = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else arguments
    names = [_words(key) for key in keys]
    kind = "hotkey" if len(names) > 1 else "key"
    yield Action(kind=kind, key=names[-1], modifiers=tuple(names[:-1]), raw=text)


def _one_key(kind: str) -> Read:
    def read(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
        yield Action(kind=kind, key=_words(arguments[0] if arguments else named["key"]), raw=text)

    return read


def _scroll(forward: str, backward: str) -> Read:
    def read(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
        clicks = _number(arguments[0] if arguments else named["clicks"])
        direction = forward if clicks > 0 else backward
        target = _aim(arguments[1:], named)
        yield Action(kind="scroll", direction=direction, amount=abs(clicks) * _SCROLL_UNIT, target=target, raw=text)

    return read


def _drag(space: Any = "pixels") -> Read:
    def read(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
        yield Action(kind="drag", end=_point(arguments, named, space), raw=text)

    return read


def _sleep(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
    yield Action(kind="wait", seconds=_number(arguments[0] if arguments else named["secs"]), raw=text)


def _move_to_mark(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
    mark = arguments[0] if arguments else named["id"]
    if isinstance(mark, bool) or not isinstance(mark, (int, str)):
        raise NotUnderstood
    yield Action(kind="hover", target=Target(element=mark), raw=text)


def _move_to_share(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
    yield Action(kind="hover", target=_aim(arguments, named, "normalised"), raw=text)


def _scroll_towards(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
    direction = _words(arguments[0] if arguments else named.get("dir", named.get("direction")))
    yield Action(kind="scroll", direction=direction, raw=text)


def _chord(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
    keys = _words(arguments[0] if arguments else named.get("key"))
    yield from _hotkey(keys.split("+") if len(keys) > 1 else [keys], {}, text)


def _app(kind: str) -> Read:
    def read(arguments: list[Any], named: dict[str, Any], text: str) -> Iterator[Action]:
        yield Action(kind=kind, app=_words(arguments[0] if arguments else next(iter(named.values()))), raw=text)

    return read


_PYAUTOGUI: dict[str, Read] = {
    "click": _click,
    "leftClick": _pointing("click"),
    "doubleClick": _pointing("double_click"),
    "tripleClick": _pointing("triple_click"),
    "rightClick": _pointing("right_click"),
    "middleClick": _pointing("middle_click"),
    "moveTo": _pointing("hover"),
    "mouseDown": _pointing("mouse_down"),
    "mouseUp": _pointing("mouse_up"),
    "dragTo": _drag(),
    "write": _write,
    "typewrite": _write,
    "press": _press,
    "keyDown": _one_key("key_down"),
    "keyUp": _one_key("key_up"),
    "hotkey": _hotkey,
    "scroll": _scroll("up", "down"),
    "hscroll": _scroll("right", "left"),
}

_COMPUTER: dict[str, Read] = {
    "mouse.move_id": _move_to_mark,
    "mouse.move_abs": _move_to_share,
    "mouse.single_click": _pointing("click"),
    "mouse.double_click": _pointing("double_click"),
    "mouse.right_click": _pointing("right_click"),
    "mouse.scroll": _scroll_towards,
    "mouse.drag": _drag("normalised"),
    "keyboard.write": _write,
    "keyboard.press": _chord,
    "os.open_program": _app("open_app"),
    "window_manager.switch_to_application": _app("window_focus"),
}
