# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A model server that follows a script: it answers with one tool call after the other, whatever it is asked, and notes what
the agent sends back. It speaks as much of the protocols of Anthropic, OpenAI (Responses and Chat Completions) and Gemini as their
agents need."""

import http.server
import json
import threading


class Script:
    """The calls to make, each (tool, arguments), and the results that came back, in order."""

    def __init__(self, calls, main=lambda tools: True):
        self.calls, self.main = list(calls), main
        self.sent, self.results, self.offered = 0, [], []
        self.lock = threading.Lock()

    def next(self):
        """The number of the next call and the call, or None at the end."""
        with self.lock:
            if self.sent >= len(self.calls):
                return None
            self.sent += 1
            return self.sent, self.calls[self.sent - 1]


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def note(script, results, tools):
    """Keeps the results of the newest request, which repeats all earlier ones."""
    if len(results) >= len(script.results):
        script.results = results
    script.offered = max(script.offered, tools, key=len)


# ---- Anthropic ----


def anthropic(script, body):
    tools = [tool.get("name") for tool in body.get("tools") or []]
    results = [
        text_of(part.get("content"))
        for message in body.get("messages", [])
        if isinstance(message.get("content"), list)
        for part in message["content"]
        if part.get("type") == "tool_result"
    ]
    mine = script.main(tools)
    call = script.next() if mine else None
    if mine:
        note(script, results, tools)
    start = {
        "id": f"msg_{script.sent}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    if call:
        number, (name, arguments) = call
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        whole = block | {"input": arguments}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "Done."}
        whole = {"type": "text", "text": "Done."}
    stop = "tool_use" if call else "end_turn"
    if not body.get("stream"):
        return start | {"content": [whole], "stop_reason": stop}
    return [
        ("message_start", {"message": start}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": stop}, "usage": {"output_tokens": 1}}),
        ("message_stop", {}),
    ]


# ---- OpenAI ----


def responses(script, body):
    tools = [tool.get("name") or tool.get("type") for tool in body.get("tools") or []]
    results = [
        text_of(item.get("output"))
        for item in body.get("input", [])
        if item.get("type") in ("function_call_output", "custom_tool_call_output")
    ]
    note(script, results, tools)
    call = script.next()
    if call:
        number, (name, arguments) = call
        if isinstance(arguments, str):
            item = {"type": "custom_tool_call", "input": arguments}
        else:
            item = {"type": "function_call", "arguments": json.dumps(arguments)}
        item |= {"id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
    else:
        item = {
            "type": "message",
            "id": "msg",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Done."}],
        }
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    done = {"id": "resp", "object": "response", "status": "completed", "output": [item], "usage": usage}
    return [
        ("response.created", {"response": {"id": "resp"}}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": done}),
    ]


def chat(script, body):
    tools = [tool["function"]["name"] for tool in body.get("tools") or []]
    results = [text_of(m.get("content")) for m in body.get("messages", []) if m.get("role") == "tool"]
    mine = script.main(tools)
    call = script.next() if mine else None
    if mine:
        note(script, results, tools)
    if call:
        number, (name, arguments) = call
        function = {"name": name, "arguments": json.dumps(arguments)}
        delta = {
            "tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]
        }
    else:
        delta = {"content": "Done."}
    base = {"id": "chat", "object": "chat.completion.chunk", "created": 0, "model": body.get("model")}
    reason = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not body.get("stream"):
        message = {"role": "assistant", "content": None} | {
            k: [{**c, "index": None} for c in v] if k == "tool_calls" else v for k, v in delta.items()
        }
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return base | {"object": "chat.completion", "choices": [choice], "usage": usage}
    return [
        (
            None,
            base | {"choices": [{"index": 0, "delta": {"role": "assistant"} | delta, "finish_reason": None}]},
        ),
        (None, base | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}),
        (None, "[DONE]"),
    ]


# ---- Gemini ----


def gemini(script, body):
    tools = [f["name"] for tool in body.get("tools") or [] for f in tool.get("functionDeclarations", [])]
    results = [
        json.dumps(part["functionResponse"]["response"])
        for content in body.get("contents", [])
        for part in content.get("parts", [])
        if "functionResponse" in part
    ]
    mine = script.main(tools)
    call = script.next() if mine else None
    if mine:
        note(script, results, tools)
    part = {"functionCall": {"name": call[1][0], "args": call[1][1]}} if call else {"text": "Done."}
    answer = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }
    return answer


def events(pairs):
    for name, data in pairs:
        if name and not name.startswith("response."):
            data = {"type": name} | data
        elif name:
            data = {"type": name, "sequence_number": 0} | data
        head = f"event: {name}\n" if name else ""
        yield f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n"


def handler(script):
    class Model(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            path = self.path.split("?")[0]
            if path.endswith("/messages"):
                answer = anthropic(script, body)
            elif path.endswith("/responses"):
                answer = responses(script, body)
            elif path.endswith("/chat/completions"):
                answer = chat(script, body)
            elif "enerateContent" in path:
                answer = gemini(script, body)
                if "stream" in path:
                    answer = [(None, answer)]
            else:
                answer = {"input_tokens": 1, "totalTokens": 1}
            if isinstance(answer, list):
                self.answer(200, "".join(events(answer)), "text/event-stream")
            else:
                self.answer(200, json.dumps(answer))

        def do_GET(self):
            self.answer(404, "{}")

        do_HEAD = do_GET

        def answer(self, code, text, kind="application/json"):
            body = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *args):
            pass

    return Model


def serve(script):
    """The server's URL; it runs until the process ends."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(script))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
