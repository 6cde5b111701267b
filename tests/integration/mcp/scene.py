# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the scripts beside this one share: a policy with a few tools, and a plain client that speaks lines."""

import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import cli  # noqa: E402

# A slow machine (an emulator, a sanitizer) says by how much its calls may take longer.
PATIENCE = int(os.environ.get("TOOLCAGE_TEST_PATIENCE", "1"))
CLIENTS = pathlib.Path(__file__).resolve().parents[3] / "build-clients"
# one pixel
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
POLICY = """
[defaults]
memory = { max = "256MiB", by = "any" }

[tool.add]
title = "Adder"
description = "Adds two integers."
command = ["sh", "-c", "echo $(($1 + $2))", "add", "{a}", "{b}"]
arguments.a = { type = "integer", minimum = 0, maximum = 1000 }
arguments.b = { type = "integer" }

[tool.note]
description = "Writes a note into the workspace."
command = ["sh", "-c", "cat > /workspace/note.txt"]
stdin = "{text}"
arguments.text = { type = "string", maxLength = 100 }
filesystem = { writable = ["/workspace"] }

[tool.peek]
description = "Reads a file that no grant shows."
command = ["cat", "SECRET"]

[tool.draw]
description = "Makes files, and prints a word."
command = ["sh", "-c", "cd /workspace && echo PICTURE | base64 -d > 'a b.png' && echo //4= | base64 -d > c.bin && echo a,b > d.csv && echo marker-word"]
filesystem = { writable = ["/workspace"] }
collect = ["*"]

[tool.bytes]
description = "Makes a file that no model reads."
command = ["sh", "-c", "head -c 9000 /dev/zero > /workspace/z.bin"]
filesystem = { writable = ["/workspace"] }
collect = ["*.bin"]

[tool.picture]
description = "Prints a picture."
command = ["sh", "-c", "echo PICTURE | base64 -d"]

[tool.say]
description = "Says it."
command = ["echo", "{*}"]
arguments.s = { type = "string", optional = true }
arguments.n = { type = "integer", optional = true }

[tool.optional]
description = "Tries what it does not need."
command = ["/usr/bin/python3", "-c", "import ctypes, sys; libc = ctypes.CDLL(None); [libc.syscall(n, 0, 0, 0, 0) for n in (300, 321, 425, 298, 250, 323)]; sys.exit(int(sys.argv[1]))", "{code}"]
arguments.code = { type = "integer" }

[tool.connect]
description = "Connects to the host."
command = ["/usr/bin/python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 9), 2)"]

[tool.wait]
description = "Waits for a minute."
command = ["sleep", "MARK"]
timeout = "120s"

[tool.fail]
description = "Fails."
command = ["sh", "-c", "echo broken >&2; exit 3"]

[tool.large]
description = "A large answer."
command = ["sh", "-c", "head -c 900000 /dev/zero | tr '\\\\0' x"]

[tool.asked]
description = "A person must approve each call, and nobody can be asked."
command = ["true"]
tier = "HumanApprove"

[tool.unlisted]
description = "Has no command, so no model can call it."
"""


def under_clients_python(*needed, what="clients"):
    """Runs this program again under the interpreter of the official clients; skipped where these, or what is needed besides, are not here."""
    python = CLIENTS / "python/bin/python"
    cli.require_user()
    if not all(path.exists() for path in (python, *needed)):
        cli.skip_all(f"the official {what} are not here: tools/clients installs them")
    if sys.prefix != str(CLIENTS / "python"):
        os.execv(python, [str(python), *sys.argv])


def place_with_policy():
    """(place, policy file, a number of seconds that only this test's sleeping tool has in its command line)"""
    place = cli.Place()
    mark = f"60.{os.getpid()}{time.monotonic_ns() % 1000000}"
    place.write("home/secret.txt", "the secret\n")
    text = (
        POLICY.replace("PICTURE", PNG)
        .replace("SECRET", place.root + "/home/secret.txt")
        .replace("MARK", mark)
    )
    return place, place.write("home/project/tools.toml", text), mark


def sleeping(mark):
    """Processes that run `sleep MARK`, as the whole machine sees them."""
    found = 0
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += entry.read_bytes().split(b"\0")[:2] == [b"sleep", mark.encode()]
        except OSError:
            pass
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, seconds=20):
    end = time.monotonic() + seconds * PATIENCE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


# A sanitizer keeps what was freed, hundreds of MiB of it, and what a process holds then says nothing of what it uses.
MEASURED = {
    "ASAN_OPTIONS": ":".join([*filter(None, [os.environ.get("ASAN_OPTIONS")]), "quarantine_size_mb=1"])
}


class Server:
    """toolcage mcp, and a client for it that knows nothing but lines of JSON."""

    def __init__(self, place, policy, *args, env=None):
        self.process = place.popen(
            "mcp",
            "--policy",
            policy,
            *args,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
        )
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                if stream:
                    stream.close()
            except BrokenPipeError:
                pass

    def send(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(text + b"\n")
        self.process.stdin.flush()

    def receive(self, seconds=30):
        """The next message; None when none came in time."""
        end = time.monotonic() + seconds * PATIENCE
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                return None
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def ask(self, method, params=None, id=1):
        self.send(
            {
                "jsonrpc": "2.0",
                "id": id,
                "method": method,
                **({"params": params} if params is not None else {}),
            }
        )
        return self.receive() or {}

    def initialize(self, version="2025-11-25"):
        answer = self.ask(
            "initialize",
            {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "lines", "version": "0"}},
            "init",
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def call(self, tool, arguments=None, id=1, meta=None):
        params = {"name": tool, "arguments": arguments or {}, **({"_meta": meta} if meta else {})}
        return self.ask("tools/call", params, id)

    def end(self, seconds=30):
        """Closes the input; the exit code, or None when it does not end."""
        self.process.stdin.close()
        try:
            return self.process.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            return None
