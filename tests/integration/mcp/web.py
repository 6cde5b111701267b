# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp --listen, and a client for it that knows nothing but HTTP."""

import http.client
import json
import re
import socket
import ssl
import subprocess

import scene
from scene import PATIENCE, STATELESS

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Answer:
    def __init__(self, response):
        self.status, self.heads = (
            response.status,
            {name.lower(): value for name, value in response.getheaders()},
        )
        self.text = response.read().decode()

    @property
    def json(self):
        """The message, of a body or of the last event."""
        text = self.text
        if self.heads.get("content-type") == "text/event-stream":
            text = [line[6:] for line in text.splitlines() if line.startswith("data: ")][-1]
        return json.loads(text) if text else {}

    @property
    def code(self):
        return self.json.get("error", {}).get("code")

    def __str__(self):
        return f"{self.status} {self.heads}\n{self.text[:1500]}"


class Web:
    def __init__(self, place, policy, *args, env=None, listen="127.0.0.1:0"):
        self.process = place.popen(
            "mcp",
            "--policy",
            policy,
            "--listen",
            listen,
            *args,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.said, self.port, self.token = "", None, None
        for line in self.process.stderr:
            self.said += line.decode()
            served = re.search(r"served at (https?)://(\S+):(\d+)/mcp", line.decode())
            if served:
                self.scheme, self.name, self.port = served.group(1), served.group(2), int(served.group(3))
            shown = re.search(r"Bearer (\S+)", line.decode())
            if shown:
                self.token = shown.group(1)
            if shown or (self.port and ({"--no-token", "--token-file", "--token-env"} & set(args))):
                break
        self.session = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def url(self, path="/mcp"):
        return f"{self.scheme}://{self.name}:{self.port}{path}"

    def connect(self):
        if self.scheme == "https":
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            return http.client.HTTPSConnection(self.name, self.port, timeout=60 * PATIENCE, context=context)
        return http.client.HTTPConnection(self.name, self.port, timeout=60 * PATIENCE)

    def stream(self):
        """What raw() is, within TLS where that is spoken."""
        if self.scheme == "http":
            return self.raw()
        connection = self.connect()
        connection.connect()
        return connection.sock

    def raw(self):
        return socket.create_connection((self.name, self.port), 60 * PATIENCE)

    def heads(self, more=None):
        mine = {
            **JSON,
            **({"Authorization": f"Bearer {self.token}"} if self.token else {}),
            **({"Mcp-Session-Id": self.session} if self.session else {}),
            **(more or {}),
        }
        return {name: value for name, value in mine.items() if value is not None}

    def send(self, body, heads=None, path="/mcp", method="POST"):
        """The whole answer; a head of None leaves that line out."""
        connection = self.connect()
        try:
            text = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
            connection.request(method, path, text, self.heads(heads))
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def ask(self, method, params=None, id=1, heads=None):
        return self.send(
            {
                "jsonrpc": "2.0",
                "id": id,
                "method": method,
                **({"params": params} if params is not None else {}),
            },
            heads,
        )

    def initialize(self, version="2025-06-18"):
        answer = self.ask(
            "initialize",
            {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "lines", "version": "0"}},
            heads={"Mcp-Session-Id": None},
        )
        self.session = answer.heads.get("mcp-session-id")
        return answer

    def call(self, tool, arguments=None, id=1, heads=None):
        return self.ask("tools/call", {"name": tool, "arguments": arguments or {}}, id, heads)

    def alone(self, method, params=None, heads=None, id=1, meta=STATELESS):
        """A request of the era without sessions."""
        mine = {
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": method,
            "Mcp-Session-Id": None,
            **({"Mcp-Name": params["name"]} if params and "name" in params else {}),
            **(heads or {}),
        }
        return self.ask(method, {**(params or {}), "_meta": meta}, id, mine)


class Stream:
    """A GET of /sse: its events, as they come."""

    def __init__(self, web):
        self.connection = web.connect()
        self.connection.request("GET", "/sse", headers=web.heads())
        self.response = self.connection.getresponse()
        self.place = self.event()[1] if self.response.status == 200 else None

    def event(self):
        """(event, data); (None, None) at its end."""
        name = None
        while line := self.response.readline().decode():
            if line.startswith("event: "):
                name = line[7:].strip()
            elif line.startswith("data: "):
                return name, line[6:].strip()
        return None, None

    def close(self):
        self.response.close()
        self.connection.close()


class Posted:
    """A POST whose answer is read message by message."""

    def __init__(self, web, body, heads=None, seconds=60):
        self.connection = web.connect()
        self.connection.timeout = seconds * PATIENCE
        self.connection.request("POST", "/mcp", json.dumps(body).encode(), web.heads(heads))
        self.response = self.connection.getresponse()
        self.type = self.response.getheader("Content-Type")

    def message(self):
        """The next message; None at the end."""
        if self.type != "text/event-stream":
            text = self.response.read()
            return json.loads(text) if text else None
        while line := self.response.readline():
            if line.startswith(b"data: "):
                return json.loads(line[6:])
        return None

    def messages(self):
        found = []
        while message := self.message():
            found.append(message)
        return found

    def close(self):
        self.response.close()
        self.connection.close()


def alone_heads(method, name=None):
    return {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        "Mcp-Session-Id": None,
        **({"Mcp-Name": name} if name else {}),
    }


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def waits(web, mark):
    return scene.until(lambda: scene.sleeping(mark) == 1) and web.process.poll() is None
