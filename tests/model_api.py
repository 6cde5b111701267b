# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A model's API on this machine, for official clients and frameworks: OpenAI's chat completions and Responses, and Anthropic's
Messages, the last also streamed. The model is a script of turns: a text, or the calls [(tool, arguments), …]."""

import contextlib
import http.server
import json
import threading


def chat_completion(text, calls):
    made = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for id, name, arguments in calls
    ]
    message = {"role": "assistant", "content": text} | ({"tool_calls": made} if made else {})
    choice = {"index": 0, "finish_reason": "tool_calls" if made else "stop", "message": message}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}


def response(text, calls):
    made = [
        {
            "id": f"f{id}",
            "type": "function_call",
            "call_id": id,
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for id, name, arguments in calls
    ]
    said = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
        "status": "completed",
    }
    return {
        "id": "x",
        "object": "response",
        "created_at": 0,
        "model": "m",
        "status": "completed",
        "output": made or [said],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def message(text, calls):
    made = [{"type": "tool_use", "id": id, "name": name, "input": arguments} for id, name, arguments in calls]
    return {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": made or [{"type": "text", "text": text}],
        "stop_reason": "tool_use" if made else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def message_events(whole):
    """Anthropic's stream of this message: each block in one piece."""
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            piece = json.dumps(block["input"])
            start, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": piece}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": whole["usage"]}
    yield {"type": "message_stop"}


ANSWERS = {"/v1/chat/completions": chat_completion, "/v1/responses": response, "/v1/messages": message}


@contextlib.contextmanager
def serve(turns):
    """The API's address, and the requests that offered tools: each of them was answered with the next turn."""
    asked, left = [], list(turns)

    class Api(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = ANSWERS.get(self.path.partition("?")[0])
            if not answer or (request.get("stream") and answer is not message):
                return self.send_error(501)
            turn = "no tools, no answer"
            if request.get("tools"):
                asked.append(request)
                turn = left.pop(0)
            calls = [] if isinstance(turn, str) else [(f"c{n}", *call) for n, call in enumerate(turn, 1)]
            whole = answer(None if calls else turn, calls)
            if not request.get("stream"):
                return self.send("application/json", json.dumps(whole))
            events = message_events(whole)
            self.send(
                "text/event-stream",
                "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events),
            )

        def send(self, kind, text):
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def outputs(request):
    """{call id: (text, images in base64, marked as an error?)} of the calls that a request returns. Only Anthropic's API has such a mark."""
    found = {}
    for item in [*request.get("messages", ()), *request.get("input", ())]:
        if item.get("role") == "tool":
            found[item["tool_call_id"]] = (*_parts(item["content"]), None)
        elif item.get("type") == "function_call_output":
            found[item["call_id"]] = (*_parts(item["output"]), None)
        elif item.get("role") == "user" and isinstance(item["content"], list):
            for block in item["content"]:
                if block["type"] == "tool_result":
                    found[block["tool_use_id"]] = (*_parts(block["content"]), block.get("is_error", False))
    return found


def _parts(content):
    parts = [{"text": content}] if isinstance(content, str) else content
    images = [part["source"]["data"] for part in parts if "source" in part]
    images += [part["image_url"].partition("base64,")[2] for part in parts if "image_url" in part]
    return "".join(part.get("text", "") for part in parts), images
