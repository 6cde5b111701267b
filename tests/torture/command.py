# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The command line as the host in which something fails.

Each verb finds its policy in a way of its own. Whatever fails, it ends with the tool's own exit code after a full cage,
or with 125 or 126 and a message that says what to do; and the next run works.
"""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import subprocess
import termios
import time

import life
import scene

SERVERS = ("mcp", "wrap")
ROLES = ("exec", "run", "call", "session", "shell", *SERVERS)
PATIENCE = 60
REQUESTS = (
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    },
    {"id": 2, "method": "tools/list"},
    {"id": 3, "method": "tools/call", "params": {"name": "auto", "arguments": {}}},
)


def words(stage, role):
    """Its arguments, its working directory, and what is special in its environment."""
    if role == "exec":  # the nearest policy, which is trusted
        return ["exec", *stage.command("auto")], stage.bin, {}
    if role == "run":  # the user's own policy; without it this is refused
        return ["run", *stage.command("auto")], "/usr/share", {"XDG_CONFIG_HOME": stage.config}
    if role == "session":  # each joins what the one before left
        return ["exec", "--session", stage.session, *stage.command("bind")], stage.bin, {}
    if role == "shell":
        return (
            ["shell", "--policy", stage.policy, "--tool", "auto", "--", *stage.command("shell")],
            stage.root,
            {"TERM": "xterm"},
        )
    if role == "call":
        return ["call", "--policy", stage.policy, "--json", "auto"], stage.root, {}
    server = ["--server", "walls"] if role == "wrap" else []
    return [role, "--policy", stage.policy, *server], stage.root, {}


class Run(life.Run):
    """One run of the command line, with at most one failure in it."""

    def program(self, options, stage, role):
        arguments, self.directory, more = words(stage, role)
        self.environ = stage.environ | more
        stage.trust(options.cli)
        return "host", [options.cli, *arguments]

    def follow(self, command, stage, role):
        if role == "shell":
            return self.look_inside(command)
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=self.environ,
            cwd=self.directory,
        ) as process:
            said = self.converse(process) if role in SERVERS else ""
            try:
                out, err = process.communicate(timeout=180)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return process.returncode, said + out, err

    restored = True

    def look_inside(self, command):
        """At a terminal of a person's, who is at its other end. What is said comes as one stream."""

        def take():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        ours, theirs = pty.openpty()
        said, until = b"", time.monotonic() + PATIENCE
        try:
            modes = termios.tcgetattr(theirs)
            with subprocess.Popen(
                command,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                env=self.environ,
                cwd=self.directory,
                preexec_fn=take,
            ) as process:
                while True:
                    ended = process.poll() is not None
                    if select.select([ours], [], [], 0 if ended else 0.02)[0]:
                        said += os.read(ours, 1 << 16)
                    elif ended:
                        break
                    elif time.monotonic() > until:
                        self.slow = True
                        process.kill()
            self.restored = termios.tcgetattr(theirs) == modes
        finally:
            os.close(ours)
            os.close(theirs)
        said = re.sub("\x1b\\[[0-9;?!<>]*[a-z]", "", said.decode(errors="replace").replace("\r", ""))
        return process.returncode, "caged\n" if "caged\n" in said else "", said

    def converse(self, process):
        """A client that hangs up when its last request is answered."""
        said, until = "", time.monotonic() + PATIENCE
        with contextlib.suppress(BrokenPipeError):
            for request in REQUESTS:
                process.stdin.write(json.dumps({"jsonrpc": "2.0"} | request) + "\n")
        while f'"id":{REQUESTS[-1]["id"]}' not in said.replace(" ", ""):
            if not select.select([process.stdout], [], [], max(0, until - time.monotonic()))[0]:
                self.slow = True
                break
            more = os.read(process.stdout.fileno(), 1 << 16).decode()
            if not more:
                break
            said += more
        return said

    slow = False

    @property
    def result(self):
        """The result in JSON, by `call` or in the answer of `mcp`."""
        if self.role == "call":
            return json.loads(self.stdout) if self.stdout else None
        if self.role != "mcp":
            return None
        said = self.answer(3).get("result") or {}
        result = (said.get("_meta") or {}).get("toolcage/result")
        if result:  # the text is in the content alone
            text = "".join(part.get("text", "") for part in said["content"])
            result["stdout"]["text"] = text.partition("stdout:\n")[2]
        return result

    def answer(self, number):
        return next((line for line in self.lines if line.get("id") == number), {})

    def told(self):
        """A message with what to do; unless it was just the writing of it that failed."""
        failed = self.noted("fail")
        if failed and failed[0][:2] == [str(life.NUMBERS["write"]), "2"]:
            return []
        good = any(line.startswith("hint: ") for line in self.stderr.splitlines())
        named = (
            "toolcage: " in self.stderr or ": error: " in self.stderr
        )  # the second is about the policy, as a compiler says it
        return [] if good and named else [f"{self.code} and no word of what to do: {self.stderr[:300]!r}"]

    def judge_json(self, stage, enforcement):
        wrong = scene.judge_call(stage, {"step": "auto", "result": self.result, "error": None}, enforcement)
        error = self.result["error"]
        if error and not error.get("hint"):
            wrong.append(f"no hint: {error}")
        if (self.code == 0) != (self.result["status"] == "ok") and self.role == "call":
            wrong.append(f"{self.result['status']} ends with {self.code}")
        return wrong

    def judge_answers(self):
        if self.slow:
            return ["no answer in time"]
        if self.code:
            return []
        wrong = [
            f"no answer to {request['method']}" for request in REQUESTS if not self.answer(request["id"])
        ]
        for line in self.lines:
            if "result" not in line and not line.get("error", {}).get("message"):
                wrong.append(f"neither result nor error: {line}")
        said = self.answer(3).get("result", {}).get("content", [{}])[0].get("text")
        if self.role == "wrap" and said not in (None, "caged"):
            wrong.append(f"the server said {said!r}")
        return wrong

    def judge(self, stage, base, enforcement):
        verdict, wrong = stage.verdict("auto"), []
        if verdict not in (None, "", "caged"):
            wrong.append(f"the tool found holes: {verdict}")
        if self.code not in (0, 125, 126):
            wrong.append(f"it ended with {self.code}: {self.stderr[:300]}")
        if self.result:
            wrong += self.judge_json(stage, enforcement)
        elif self.code:
            wrong += self.told()
        if self.role == "shell":
            wrong += ["it hung"] if self.slow else [] if self.restored else ["the terminal was left changed"]
        if self.role in SERVERS:
            wrong += self.judge_answers()
        elif self.role == "call":
            wrong += [] if self.code or self.result else ["0 without a result"]
        elif self.stdout not in ("", "caged\n") or (
            self.code == 0 and (not self.stdout or verdict != "caged")
        ):
            wrong.append(f"{self.code}, but it said {self.stdout!r} and wrote {verdict!r}")
        return wrong + self.judge_next(stage)

    def judge_next(self, stage):
        """One more, when the fault is over."""
        done = subprocess.run(
            [self.options.cli, "call", "--policy", stage.policy, "auto"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env=stage.environ,
            cwd=stage.root,
        )
        wrong = (
            []
            if (done.returncode, done.stdout) == (0, "caged\n")
            else [f"the next call: {done.returncode}, {done.stdout}{done.stderr}"]
        )
        if self.role == "session":
            arguments, directory, _ = words(stage, "session")
            done = subprocess.run(
                [self.options.cli, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
                env=stage.environ,
                cwd=directory,
            )
            wrong += (
                []
                if (done.returncode, done.stdout) == (0, "caged\n")
                else [f"the next of the session: {done.returncode}, {done.stderr}"]
            )
        return wrong

    def good(self):
        wrong = [f"it ended with {self.code}: {self.stderr}"] if self.code else []
        return wrong + [f"{line}" for line in (self.lines if self.role in SERVERS else []) if "error" in line]

    def enforcement(self):
        return {"auto": self.result["enforcement"]} if self.result else {}

    def ending(self):
        status = f" {self.result['status']}" if self.result else ""
        return f"{self.role} {self.code}{status}"
