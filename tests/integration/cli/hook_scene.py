# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the tests of toolcage hook share: an agent without a model."""

import json
import os
import subprocess
import tempfile

from cli import ORDINARY, TOOLCAGE, Place, running_as

tempfile.tempdir = "/var/tmp"  # a project below /tmp is below the cages' private one
EVENTS = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool"}
SHELL = {"claude": "Bash", "codex": "Bash", "gemini": "run_shell_command"}


class Agent:
    """An agent's calls of its hook in one project, and the shell in which it runs what comes back."""

    def __init__(self, name="claude", project="project"):
        self.name, self.place = name, Place()
        self.project = os.path.dirname(self.place.write(f"home/{project}/notes.txt", "notes\n"))
        self.secret = self.place.write("home/.ssh/id_ed25519", "secret key\n")
        self.outside = os.path.dirname(self.place.write("home/other/file.txt", "other\n"))
        self.session = "0a1b2c3d"
        self.place.environ |= {"CLAUDE_PROJECT_DIR": self.project, "GEMINI_PROJECT_DIR": self.project}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.place.run("session", "end", f"{self.name}-{self.session}")
        self.place.__exit__()

    def input(self, tool, arguments, **more):
        line = {"session_id": self.session, "cwd": self.project, "hook_event_name": EVENTS[self.name]}
        transcript = os.path.join(self.place.home, "transcript.jsonl")
        return line | {"tool_name": tool, "tool_input": arguments, "transcript_path": transcript} | more

    def ask(self, given, *options):
        text = given if isinstance(given, (str, bytes)) else json.dumps(given)
        data = text if isinstance(text, bytes) else text.encode()
        return self.place.run("hook", *options, self.name, stdin=data, cwd=self.project)

    def tool(self, tool, **arguments):
        return self.ask(self.input(tool, arguments))

    def command(self, text, *options, **more):
        """What the agent runs instead of the text; None if it may not run."""
        return self.replaced(
            self.ask(self.input(SHELL[self.name], {"command": text, "timeout": 5} | more), *options)
        )

    @staticmethod
    def replaced(answer):
        if answer.code != 0:
            return None
        out = json.loads(answer.out).get("hookSpecificOutput", {})
        return (out.get("updatedInput") or out.get("tool_input") or {}).get("command")

    def shell(self, line, shell="bash", cwd=None, env=None):
        drop = ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups"]
        return subprocess.run(
            [*(drop if running_as() == "ordinary" else []), shell, "-c", line],
            cwd=cwd or self.project,
            env=env or self.place.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )

    def run(self, text, shell="bash", cwd=None):
        line = self.command(text)
        return self.shell(line, shell, cwd) if line else None


def reason(answer):
    """The text of a refusal; None if the tool may run."""
    if answer.code == 2:
        return answer.err
    if answer.code != 0 or not answer.out.strip():
        return None
    out = json.loads(answer.out)
    if out.get("decision") == "deny":
        return out["reason"]
    out = out.get("hookSpecificOutput", {})
    return out.get("permissionDecisionReason") if out.get("permissionDecision") == "deny" else None
