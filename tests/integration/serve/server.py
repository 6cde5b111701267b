# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage serve, and a client for it that knows nothing but HTTP, over the unix socket or TCP."""

import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mcp"))
import cli  # noqa: E402

PATIENCE = int(os.environ.get("TOOLCAGE_TEST_PATIENCE", "1"))
POLICY = """
[defaults]
memory = { max = "256MiB", by = "any" }

[tool.say]
description = "Says it."
command = ["echo", "{text}"]
arguments.text = { type = "string" }

[tool.echo]
description = "Repeats its input."
command = ["cat"]

[tool.count]
description = "Adds a line to a file, and says how many there are."
command = ["sh", "-c", "echo x >> /workspace/lines; wc -l < /workspace/lines"]
filesystem.writable = ["/workspace"]

[tool.lines]
description = "Prints three lines slowly."
command = ["sh", "-c", "for i in 1 2 3; do echo line $i; sleep 0.2; done"]

[tool.bytes]
description = "Prints what is no text."
command = ["sh", "-c", "printf '\\\\377\\\\000\\\\033[2J<script>'"]

[tool.wait]
description = "Waits for a minute."
command = ["sleep", "MARK"]
timeout = "120s"

[tool.flood]
description = "Prints for a long time."
command = ["sh", "-c", "yes | head -c 16000000"]
output = "16MiB"

[tool.controls]
description = "Prints what is six times as long in JSON."
command = ["sh", "-c", "yes | head -c 16000000 | tr 'y\\\\n' '\\\\001\\\\001'"]
output = "16MiB"

[tool.asked]
description = "A person must approve each call."
command = ["echo", "approved"]
tier = "HumanApprove"
backend = "process"
"""


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60 * PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60 * PATIENCE)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.heads = {name.lower(): value for name, value in response.getheaders()}
        self.text = response.read().decode()

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def events(self):
        """(name, data) of a stream."""
        found = re.findall(r"event: (\w+)\ndata: (.*)\n", self.text)
        return [(name, json.loads(data)) for name, data in found]

    def __str__(self):
        return f"{self.status} {self.heads}\n{self.text[:1500]}"


class Server:
    def __init__(self, place, policy, *args):
        self.process = place.popen(
            "serve",
            "--policy",
            policy,
            *args,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.said, self.socket, self.port, self.token, self.operator = "", None, None, None, None
        for line in self.process.stderr:
            self.said += line.decode()
            local = re.search(r"unix socket (\S+)", line.decode())
            tcp = re.search(r"API is served at http://127.0.0.1:(\d+)/v1/", line.decode())
            token = re.search(r"Bearer (\S+)", line.decode())
            console = re.search(r"console is at \S+/#(\S+)", line.decode())
            self.operator = console.group(1) if console else self.operator
            self.socket = local.group(1) if local else self.socket
            self.port = int(tcp.group(1)) if tcp else self.port
            self.token = token.group(1) if token else self.token
            tokenless = {"--no-token", "--token-file"} & set(args) and "the tools are served" in line.decode()
            if self.socket or (self.port and (self.token or tokenless)):
                break

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def connect(self):
        if self.socket:
            return UnixConnection(self.socket)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60 * PATIENCE)

    def begin(self, method, path, body=None, **heads):
        """The connection, with a request sent on it."""
        connection = self.connect()
        mine = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        mine |= {"Content-Type": "application/json"} if body is not None else {}
        mine |= {name.replace("_", "-"): value for name, value in heads.items()}
        text = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        try:
            connection.request(
                method, path, text, {name: value for name, value in mine.items() if value is not None}
            )
        except BrokenPipeError:
            pass  # it was refused before all of it was sent
        return connection

    def ask(self, method, path, body=None, **heads):
        connection = self.begin(method, path, body, **heads)
        try:
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def run(self, tool, arguments=None, /, heads=None, **more):
        body = {"tool": tool, **({"arguments": arguments} if arguments is not None else {}), **more}
        return self.ask("POST", "/v1/calls", body, **(heads or {}))
