"""A scripted model on 127.0.0.1 in four dialects: chat completions, Responses, Anthropic's messages, Gemini's contents.

Whatever it is asked, it first looks into note.txt with the shell tool that it is offered, then answers with what the
tool gave; a program that wants its answer from a command (mini-swe-agent) gets it so. Each call has its own token
counts, and all of them are logged."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SHELLS = ("Bash", "bash", "exec_command", "shell", "shell_command", "run_shell_command")
Json = dict[str, Any]
SUBMITTING = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


class ScriptedModel(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls: list[Json] = []
        self.asked: list[Json] = []
        """The bodies of all requests."""
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def count(self, path: str, tool: str | None) -> tuple[int, int, int]:
        """Number, prompt tokens and answer tokens of a call that is now being answered."""
        with self.lock:
            number = len(self.calls) + 1
            self.calls.append({"path": path, "input": 1000 + 10 * number, "output": 20 + number, "tool": tool})
        return number, 1000 + 10 * number, 20 + number


@contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    server = ScriptedModel()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _shell(tools: list[Json]) -> tuple[str, Json] | None:
    """The shell among the tools, and the arguments that look into the note."""
    for tool in tools:
        inner = tool.get("function", tool)
        name, schema = inner.get("name"), _schema(inner)
        if name not in SHELLS:
            continue
        known = schema.get("properties") or {}
        key = "cmd" if "cmd" in known else "command"
        as_list = known.get(key, {}).get("type") == "array"
        found: Json = {key: ["bash", "-lc", "cat note.txt"] if as_list else "cat note.txt"}
        if "description" in known:
            found["description"] = "Show the note"
        return str(name), found
    return None


def _schema(tool: Json) -> Json:
    names = ("parameters", "input_schema", "parametersJsonSchema")
    return next((tool[name] for name in names if tool.get(name)), {})


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedModel
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(json.dumps({"object": "list", "data": []}).encode(), "application/json")

    def do_HEAD(self) -> None:
        self._send(b"", "application/json")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        self.server.asked.append(body)
        path = self.path.partition("?")[0]
        if path.endswith("/chat/completions"):
            self._chat(body)
        elif path.endswith("/responses"):
            self._responses(body)
        elif path.endswith("/messages"):
            self._messages(body)
        elif path.endswith(("GenerateContent", "generateContent")):
            self._contents(body, streamed="stream" in path)
        else:
            self._send(json.dumps({"input_tokens": 1}).encode(), "application/json")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: list[Json], *, named: bool, done: bool) -> None:
        lines = [(f"event: {each['type']}\n" if named else "") + f"data: {json.dumps(each)}\n\n" for each in events]
        self._send("".join([*lines, "data: [DONE]\n\n" if done else ""]).encode(), "text/event-stream")

    def _chat(self, body: Json) -> None:
        answered = any(each["role"] == "tool" for each in body["messages"])
        shell = None if answered else _shell(body.get("tools") or [])
        if answered and SUBMITTING in json.dumps(body["messages"]):
            shell = ("bash", {"command": f"echo {SUBMITTING} && echo The note says 42"})
        number, prompt, words = self.server.count("chat", shell[0] if shell else None)
        usage = {"prompt_tokens": prompt, "completion_tokens": words, "total_tokens": prompt + words}
        message: Json = {"role": "assistant", "content": None if shell else f"The note says 42 ({number})."}
        if shell:
            call = {"name": shell[0], "arguments": json.dumps(shell[1])}
            message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": call}]
        reason = "tool_calls" if shell else "stop"
        base = {"id": f"chat-{number}", "created": 1, "model": body.get("model")}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            whole = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
            self._send(json.dumps(whole).encode(), "application/json")
            return
        if shell:
            message["tool_calls"][0]["index"] = 0
        chunk = {**base, "object": "chat.completion.chunk"}
        deltas: list[tuple[Json, str | None]] = [(message, None), ({}, reason)]
        events = [{**chunk, "choices": [{"index": 0, "delta": d, "finish_reason": f}]} for d, f in deltas]
        self._stream([*events, {**chunk, "choices": [], "usage": usage}], named=False, done=True)

    def _responses(self, body: Json) -> None:
        given = body.get("input") or []
        answered = any(str(each.get("type", "")).endswith("call_output") for each in given if isinstance(each, dict))
        shell = None if answered else _shell(body.get("tools") or [])
        number, prompt, words = self.server.count("responses", shell[0] if shell else None)
        if shell:
            item: Json = {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": f"call_{number}",
                "name": shell[0],
                "arguments": json.dumps(shell[1]),
                "status": "completed",
            }
        else:
            text = {"type": "output_text", "text": f"The note says 42 ({number}).", "annotations": []}
            item = {"type": "message", "id": f"m_{number}", "role": "assistant", "content": [text]}
            item["status"] = "completed"
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        usage = {"input_tokens": prompt, "output_tokens": words, "total_tokens": prompt + words, **details}
        response = {"id": f"resp_{number}", "object": "response", "status": "completed", "model": body.get("model")}
        whole = {**response, "output": [item], "usage": usage}
        self._stream(
            [
                {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
                {"type": "response.output_item.added", "output_index": 0, "item": item},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": whole},
            ],
            named=True,
            done=False,
        )

    def _messages(self, body: Json) -> None:
        blocks = [block for each in body["messages"] if isinstance(each["content"], list) for block in each["content"]]
        answered = any(block.get("type") == "tool_result" for block in blocks)
        shell = None if answered else _shell(body.get("tools") or [])
        number, prompt, words = self.server.count("messages", shell[0] if shell else None)
        text = f"The note says 42 ({number})."
        if shell:
            block: Json = {"type": "tool_use", "id": f"toolu_{number}", "name": shell[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(shell[1])}
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        reason = "tool_use" if shell else "end_turn"
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model")}
        usage = {"input_tokens": prompt, "output_tokens": 1}
        start = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            filled = {**block, "input": shell[1]} if shell else {"type": "text", "text": text}
            whole = {**start, "content": [filled], "stop_reason": reason, "usage": {**usage, "output_tokens": words}}
            self._send(json.dumps(whole).encode(), "application/json")
            return
        self._stream(
            [
                {"type": "message_start", "message": start},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": reason, "stop_sequence": None},
                    "usage": {"output_tokens": words},
                },
                {"type": "message_stop"},
            ],
            named=True,
            done=False,
        )

    def _contents(self, body: Json, *, streamed: bool) -> None:
        parts = [part for each in body["contents"] for part in each.get("parts") or ()]
        tools = [each for tool in body.get("tools") or () for each in tool.get("functionDeclarations") or ()]
        answered = any("functionResponse" in part for part in parts)
        shell = None if answered else _shell(tools)
        number, prompt, words = self.server.count("contents", shell[0] if shell else None)
        part: Json = {"text": f"The note says 42 ({number})."}
        if shell:
            part = {"functionCall": {"id": f"call_{number}", "name": shell[0], "args": shell[1]}}
        usage = {"promptTokenCount": prompt, "candidatesTokenCount": words, "totalTokenCount": prompt + words}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted-1"}
        if streamed:
            self._stream([whole], named=False, done=False)
        else:
            self._send(json.dumps(whole).encode(), "application/json")
