# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The same five questions to every program that hosts our tools: a call works, /etc/shadow is absent, there is no network, a call is
killed at its timeout, a refusal is a sentence that a model can act on. A host answers with {question: (text, is it an error?, seconds)}."""

import os
import pathlib
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mcp"))
import scene  # noqa: E402
from scene import PATIENCE, cli  # noqa: E402

HOSTS = pathlib.Path(__file__).resolve().parents[3] / "build-hosts"
CONNECT = "import socket; socket.create_connection(('127.0.0.1', PORT), 2)"
POLICY = f"""
[tool.read_csv]
description = "Reads a table."
command = ["cat", "{{path}}"]
arguments.path = {{ type = "string", read = ["/workspace"] }}
filesystem = {{ readable = ["/workspace"] }}

[tool.peek]
description = "Reads what no grant shows."
command = ["cat", "/etc/shadow"]

[tool.connect]
description = "Connects to the host."
command = ["/usr/bin/python3", "-c", "{CONNECT}"]

[tool.wait]
description = "Waits for a minute."
command = ["sleep", "MARK"]
timeout = "1s"
"""
CALLS = {
    "works": ("read_csv", {"path": "/workspace/a.csv"}),
    "shadow": ("peek", {}),
    "network": ("connect", {}),
    "timeout": ("wait", {}),
    "refusal": ("read_csv", {"path": "/etc/shadow"}),
}


class Scene:
    """A place with the policy and a table, and a server on the host that an uncaged tool would reach."""

    def __init__(self):
        self.place = cli.Place()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.mark = f"60.{os.getpid()}{time.monotonic_ns() % 1000000}"
        self.port = str(self.listener.getsockname()[1])
        self.place.write("home/project/a.csv", "name,rows\nx,1\n")
        self.policy = self.place.write(
            "home/project/tools.toml", POLICY.replace("MARK", self.mark).replace("PORT", self.port)
        )

    def __enter__(self):
        bare = (
            subprocess.run(
                ["/usr/bin/python3", "-c", CONNECT.replace("PORT", self.port)], check=False
            ).returncode
            == 0
        )
        cli.check(bare and os.path.exists("/etc/shadow"), "without a cage the file and the server are there")
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.place.__exit__()

    def judge(self, host, answers):
        text, error, _ = answers["works"]
        cli.check(not error and "name,rows" in text, f"{host}: a call works", answers["works"])
        text, error, _ = answers["shadow"]
        cli.check(
            error and "No such file" in text and "root:" not in text,
            f"{host}: /etc/shadow is absent",
            answers["shadow"],
        )
        text, error, _ = answers["network"]
        cli.check(error and "refused" in text, f"{host}: there is no network", answers["network"])
        text, error, seconds = answers["timeout"]
        cli.check(
            error and "deadline of 1 s" in text and seconds < 20 * PATIENCE,
            f"{host}: a call is killed at its timeout",
            answers["timeout"],
        )
        cli.check(scene.until(lambda: scene.sleeping(self.mark) == 0), f"{host}: and nothing of it is left")
        text, error, _ = answers["refusal"]
        cli.check(
            error and "outside the bounds of the argument" in text and "/workspace" in text,
            f"{host}: a refusal is a sentence that says what is allowed",
            answers["refusal"],
        )
