# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The loops of docs/python.md with the official clients of OpenAI and Anthropic, against a server of this machine that asks for one
call and then ends. Runs itself again under the clients' interpreter."""

import contextlib
import http.server
import json
import os
import pathlib
import re
import sys
import tempfile
import threading

import tap

ROOT = pathlib.Path(sys.argv[1])
CLIENTS = ROOT / "build-clients/python/bin/python"
if not CLIENTS.exists():
    tap.skip("the loops of docs/python.md", "the official clients are not here: tools/clients")
    tap.finish()
if "TOOLCAGE_LOOPS" not in os.environ:
    os.execve(CLIENTS, [CLIENTS, *sys.argv], {**os.environ, "TOOLCAGE_LOOPS": "1"})

import anthropic  # noqa: E402
import openai  # noqa: E402
import toolcage  # noqa: E402

ARGUMENTS = {"file": "/workspace/notes.txt"}
REFUSED = {"file": "/etc/shadow"}


@contextlib.contextmanager
def api(answers):
    """A model's API that gives these answers in turn: its address, and the requests that it was sent."""
    asked, left = [], list(answers)

    class Api(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps(left.pop(0)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()


def openai_answer(content=None, calls=()):
    calls = [
        {"id": name, "type": "function", "function": {"name": "count", "arguments": json.dumps(arguments)}}
        for name, arguments in calls
    ]
    message = {"role": "assistant", "content": content} | ({"tool_calls": calls} if calls else {})
    choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}


def anthropic_answer(content=None, calls=()):
    blocks = [
        {"type": "tool_use", "id": name, "name": "count", "input": arguments} for name, arguments in calls
    ]
    return {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": blocks or [{"type": "text", "text": content}],
        "stop_reason": "tool_use" if blocks else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def check_loop(name, answer, loop):
    """The model asks for a call that is granted and one that is refused, reads both, and ends."""
    asks = [answer(calls=[("c1", ARGUMENTS), ("c2", REFUSED)]), answer(content="two lines")]
    with api(asks) as (url, asked):
        said = loop(url)
    told = json.dumps(asked[-1]["messages"])
    tap.check(said == "two lines", f"{name}: the loop returns the model's last text", said)
    tap.check(
        len(asked) == 2 and "2 /workspace/notes.txt" in told and "denied: " in told,
        f"{name}: the model reads what the call printed, and why the other was refused",
        asked,
    )


page = (ROOT / "docs/python.md").read_text()
program = next(
    text for text in re.findall(r"^```python\n(.*?)^```", page, flags=re.S | re.M) if "_loop(" in text
)
loops = {}
exec(program.partition("\npolicy = ")[0], loops)  # the functions, without what the page prints
with tempfile.TemporaryDirectory(prefix="toolcage-loops-") as here:
    os.chmod(here, 0o755)
    os.chdir(here)
    pathlib.Path("notes.txt").write_text("one\ntwo\n")
    policy = toolcage.Policy.from_text(re.search(r"^```toml\n(.*?)^```", page, flags=re.S | re.M).group(1))
    question = {"role": "user", "content": "How many lines?"}
    with toolcage.Engine() as engine:
        check_loop(
            "openai",
            openai_answer,
            lambda url: loops["openai_loop"](
                openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=30),
                engine,
                policy,
                [question],
                model="m",
            ),
        )
        check_loop(
            "anthropic",
            anthropic_answer,
            lambda url: loops["anthropic_loop"](
                anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=30),
                engine,
                policy,
                [question],
                model="m",
                max_tokens=9,
            ),
        )
tap.finish()
