# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A client of the Model Context Protocol that reads lines, and whom it speaks to: a careless server by itself, the same
server in a cage (toolcage wrap), or the policy's own tools (toolcage mcp)."""

import contextlib
import json
import os
import select
import subprocess
import time

from scene import DIRECT, MINUTE, WITHOUT

PYTHON = "/usr/bin/python3"
# It reads members without regard to case and the last of two, as some JSON readers do. To `lie` it answers with the lines
# that it was started with, and its tool `do` is whatever its maker wants.
SERVER = r"""
import io, json, os, re, socket, sys, time
LIES = json.loads(sys.argv[1])
def fold(pairs): return {key.lower(): value for key, value in pairs}
def tell(id, result): print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
def lie(id):
    for text in LIES:
        text = text.replace("ID", json.dumps(id)).replace("LONG", "x" * (16 << 20))
        print(text.lstrip("!"), file=sys.stderr if text[0] == "!" else sys.stdout, flush=True)
def run(name, given):
    scope = {"out": ""}
    try:
        if name == "do": exec(given["code"], scope)
        if name == "match": re.search("^(a+)+$", given["text"])
        return scope["out"] if name == "do" else open(given["path"]).read() if name == "read" else f"did {name} {given.get('n')}"
    except OSError as error:
        return repr(error)
for line in io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8"):  # as the official package reads: CR ends a line, too
    try:
        batch = json.loads(line, object_pairs_hook=fold)
        for m in batch if isinstance(batch, list) else [batch]:
            if LIES and m["method"] != "tools/call" and m["id"] == 1:
                lie(m["id"])
            elif m["method"] == "tools/list":
                tell(m["id"], {"tools": [{"name": n, "description": "obey " + n, "inputSchema": {}} for n in ("read", "do", "danger")]})
            elif m["method"] == "tools/call":
                tell(m.get("id"), {"content": [{"type": "text", "text": run(m["params"]["name"], m["params"].get("arguments", {}))}]})
            else:
                tell(m["id"], {})
    except Exception as e:
        print(json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32603, "message": repr(e)}}), flush=True)
"""
POLICY = """
{runtime}[server.s]
backend = "{backend}"
image = "system"
command = [{python}, {server}, {lies}]
network = "none"
pass = ["resources", "prompts"]
{pin}filesystem = {{ readable = [{bin}], writable = [{ws}] }}
memory = {{ max = "256MiB", by = "any" }}
tool.read = {{ arguments.path = {{ read = [{ws}] }} }}
tool.count = {{ arguments.n = {{ type = "integer", minimum = 0, maximum = 10 }} }}
tool.match = {{ arguments.text = {{ pattern = "^(a+)+$" }} }}
tool.ask = {{ tier = "HumanApprove" }}
tool.do = {{}}
{without}
[defaults]
backend = "{backend}"
image = "system"
memory = {{ max = "256MiB", by = "any" }}

[tool.read]
command = ["/bin/cat", "{{path}}"]
arguments.path = {{ type = "string", read = [{ws}] }}
{without}
[tool.count]
command = ["/bin/echo", "did count", "{{n}}"]
arguments.n = {{ type = "integer", minimum = 0, maximum = 10 }}
{without}
[tool.match]
command = ["/bin/echo", "did match", "--", "{{text}}"]
arguments.text = {{ pattern = "^(a+)+$" }}
{without}
[tool.ask]
command = ["/bin/echo", "did ask"]
tier = "HumanApprove"
{without}
[tool.danger]
description = "has no command, so that nobody can call it"
"""
HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-03-26",
        "capabilities": {},
        "clientInfo": {"name": "lines", "version": "0"},
    },
}


def call(name, **given):
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": given}}


def each(s, hits):
    """Every way has to work where nothing stops it; one is enough where something should."""
    hits = list(hits)
    return all(hits) if s.how == DIRECT else any(hits)


def is_answer(message, own):
    """Has this id, of this type; or complains of a message that could not be read."""
    given = message.get("id", "none")
    return repr(given) == repr(own) or own == 1 and "error" in message and given is None


class Peer:
    def __init__(self, s, door="wrap", lies=(), program=SERVER, pinned=False):
        self.s, self.rest, self.heard = s, bytearray(), []
        server = s.write("bin/server.py", program)
        s.write("ws/inside", "inside")
        argv = [PYTHON, server, json.dumps(lies)]
        if s.how != DIRECT:
            quoted = {
                "python": PYTHON,
                "server": server,
                "bin": s.path("bin"),
                "ws": s.path("ws"),
                "lies": json.dumps(lies),
            }
            text = POLICY.format(
                runtime=s.runtime(),
                backend=s.options.backend,
                without=WITHOUT if s.options.without else "",
                pin="pin = true\n" if pinned else "",
                **{key: json.dumps(value) for key, value in quoted.items()},
            )
            argv = [s.options.toolcage, door, "--policy", s.write("servers.toml", text)]
        with open(s.path("errors"), "wb") as errors:
            self.process = subprocess.Popen(
                argv,
                env=s.environ,
                cwd=s.path("ws"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self.exchange(HELLO)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(timeout=MINUTE)
        finally:
            self.process.kill()

    def send(self, line):
        self.process.stdin.write((line if isinstance(line, str) else json.dumps(line)).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self, end):
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            ready = left > 0 and select.select([self.process.stdout], [], [], left)[0]
            more = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            if not more:
                raise AssertionError(f"no answer: {self.text()[-1000:]} {self.s.read('errors')[-1000:]}")
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        self.heard.append(line.decode(errors="replace"))
        return self.heard[-1]

    def exchange(self, line):
        """Sends a line; where it asks for an answer, hears all until that has come, or a complaint about the line."""
        self.send(line)
        own = line["id"] if isinstance(line, dict) else 1
        end = time.monotonic() + MINUTE
        while isinstance(line, dict) or '"id"' in line:
            with contextlib.suppress(ValueError):
                answer = json.loads(self.receive(end))
                if any(is_answer(one, own) for one in (answer if isinstance(answer, list) else [answer])):
                    return

    def text(self):
        return "\n".join(self.heard)


def hear(s, *lines, door="wrap", lies=(), **more):
    """What the client reads after these lines and one more, which the server must be alive to answer."""
    with Peer(s, door, lies, **more) as peer:
        for line in lines:
            peer.exchange(line)
        peer.exchange({**call("read", path=s.path("ws/inside")), "id": "last"})
        assert any('"last"' in line and "inside" in line for line in peer.heard), (
            peer.text()[-2000:] + s.read("errors")[-1000:]
        )
        return peer.text()
