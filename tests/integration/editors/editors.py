# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Editors complete and check a policy with the schema of `toolcage policy schema`. The test sends requests to real language
servers, set up as docs/policy.md describes."""

import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tap import check, finish, skip_all

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS = HERE.parents[2] / "build-clients"
PATIENCE = 60
FORMS = {
    "toml": (
        ["node", HERE / "taplo.mjs", CLIENTS],
        '#:schema ./policy.schema.json\n[tool.x]\ntimeout = "5s"\n{line}\n\n',
        4,
        0,
    ),
    "yaml": (
        ["node", CLIENTS / "node_modules/yaml-language-server/bin/yaml-language-server", "--stdio"],
        "# yaml-language-server: $schema=policy.schema.json\ntool:\n  x:\n    timeout: 5s\n    {line}\n    \n",
        5,
        4,
    ),
}
LINES = {
    "toml": {"right": "pids = 4", "key": "timeoot = 3", "value": 'pids = "many"'},
    "yaml": {"right": "pids: 4", "key": "timeoot: 3", "value": "pids: many"},
}


class Server:
    """A language server, with its findings for the files that the test has opened in it."""

    def __init__(self, command, folder):
        self.folder, self.asked, self.answers, self.findings = folder, 0, queue.Queue(), {}
        self.process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )
        threading.Thread(target=self.read, daemon=True).start()
        self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": folder.as_uri(),
                "capabilities": {
                    "textDocument": {
                        "hover": {"contentFormat": ["markdown"]},
                        "completion": {},
                        "publishDiagnostics": {},
                    }
                },
                "workspaceFolders": [{"uri": folder.as_uri(), "name": "project"}],
            },
        )
        self.send({"method": "initialized", "params": {}})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self):
        while True:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                byte = self.process.stdout.read(1)
                if not byte:
                    return
                head += byte
            message = json.loads(
                self.process.stdout.read(int(head.lower().split(b"content-length:")[1].split()[0]))
            )
            if message.get("method") == "textDocument/publishDiagnostics":
                self.findings.setdefault(message["params"]["uri"], []).append(
                    message["params"]["diagnostics"]
                )
            elif "method" in message and "id" in message:
                self.send(
                    {
                        "id": message["id"],
                        "result": [None] * len(message["params"].get("items", []))
                        if message.get("params")
                        else None,
                    }
                )
            elif "id" in message:
                self.answers.put(message)

    def ask(self, method, params):
        self.asked += 1
        self.send({"id": self.asked, "method": method, "params": params})
        while True:
            message = self.answers.get(timeout=PATIENCE)
            if message["id"] == self.asked:
                return message.get("result")

    def show(self, name, text):
        file = self.folder / name
        file.write_text(text)
        self.send(
            {
                "method": "textDocument/didOpen",
                "params": {
                    "textDocument": {
                        "uri": file.as_uri(),
                        "languageId": file.suffix[1:],
                        "version": 1,
                        "text": text,
                    }
                },
            }
        )
        return file.as_uri()

    def until(self, uri, good):
        """Waits until the newest findings for a file are `good`, and returns them. After PATIENCE: all its findings so far."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            said = self.findings.get(uri, [])
            if said and good(said[-1]):
                return said[-1]
            time.sleep(0.1)
        return self.findings.get(uri)


def ask_one(form, folder):
    command, text, line, column = FORMS[form]
    server = Server(command, folder)
    try:
        for kind, expected, at in (("value", "integer", line - 1), ("key", "timeoot", None)):
            uri = server.show(f"{kind}.{form}", text.replace("{line}", LINES[form][kind]))
            said = server.until(
                uri,
                lambda findings, expected=expected, at=at: any(
                    expected in f["message"] and at in (None, f["range"]["start"]["line"]) for f in findings
                ),
            )
            check(
                said and isinstance(said[0], dict), f"{form}: a wrong {kind} is a finding at its place", said
            )
        uri = server.show(f"right.{form}", text.replace("{line}", LINES[form]["right"]))
        place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": column}}
        items = server.ask("textDocument/completion", place)
        items = items["items"] if isinstance(items, dict) else items or []
        documented = {item["label"]: json.dumps(item.get("documentation", "")) for item in items}
        check(
            {"command", "arguments", "filesystem", "network", "memory"} <= set(documented)
            and "tool" not in documented,
            f"{form}: keys of a tool are completed, and others are not",
            sorted(documented),
        )
        check(
            "The program and its arguments" in documented.get("command", ""),
            f"{form}: with their texts",
            documented.get("command"),
        )
        place["position"] = {"line": line - 2, "character": column + 2}
        hover = server.ask("textDocument/hover", place)
        check(
            hover and "The maximum duration of the call" in json.dumps(hover),
            f"{form}: a key's text is shown",
            hover,
        )
        said = server.findings.get(uri, [[]])
        check(not said[-1], f"{form}: what is right has no finding", said)
    finally:
        server.process.kill()
        server.process.wait()


def main():
    if not shutil.which("node"):
        skip_all("there is no node here")
    if not (CLIENTS / "node_modules/@taplo/lsp").exists():
        skip_all("the official clients are not here: tools/clients installs them")
    with tempfile.TemporaryDirectory(prefix="toolcage-editors-") as directory:
        folder = pathlib.Path(directory)
        schema = subprocess.run(
            [sys.argv[1], "policy", "schema"], check=True, capture_output=True, timeout=PATIENCE
        ).stdout
        (folder / "policy.schema.json").write_bytes(schema)
        for form in FORMS:
            ask_one(form, folder)
    finish()


main()
