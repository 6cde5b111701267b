# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Calls whose changes wait for a person, for the tests of the question about them."""

import json
import os
import subprocess
import sys
import time

from cli import Place, running_as, skip_all

POLICY = """[tool.t]
filesystem.writable = ["/workspace"]
workspace = { mode = "copy", commit = "ask" }
memory = { max = "256MiB", by = "any" }
"""
ASKED = "apply these changes? y: yes"
LONG = "apply these changes? v: view all of them first"


def alone():
    """Root's staged changes are one list, in which other tests stage as well: so this one has a list of its own."""
    if os.geteuid() or running_as() != "self" or "apart" in sys.argv:
        return
    script = 'mkdir -p /run/toolcage/held && mount -t tmpfs -o mode=0755 none /run/toolcage/held && exec "$@"'
    wrapper = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
    if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode:
        skip_all("only root can make a mount namespace here")
    os.execvp(
        wrapper[0], [*wrapper, sys.executable, os.path.abspath(sys.argv[0]), sys.argv[1], "self", "apart"]
    )


def arrange():
    place = Place()
    place.policy = place.write("policy.toml", POLICY)
    place.write("home/project/a", "one\n")
    return place


def words(place, script, *more):
    return [
        "exec",
        *more,
        "--policy",
        place.policy,
        "--tool",
        "t",
        "--stdin",
        "none",
        "--",
        "sh",
        "-c",
        script,
    ]


def staged(place):
    """The calls that have staged changes, the newest first."""
    return [row["call"] for row in json.loads(place.run("changes", "--json").out)["held"]]


def rows(place, call):
    answer = json.loads(place.run("changes", call, "--json").out)
    return {os.path.basename(row["path"]): row["held"] for row in answer["changes"]}


def held(place):
    """The directory of staged changes."""
    own = running_as() == "self" and not os.geteuid()
    return "/run/toolcage/held" if own else os.path.join(place.home, ".local/state/toolcage/held")


def read(place, name):
    try:
        with open(os.path.join(place.project, name), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def discard_all(place):
    for call in staged(place):
        place.run("changes", call, "discard")


class Asker:
    """A call without a terminal, whose changes wait in the queue."""

    def __init__(self, place, script):
        before = {request["id"] for request in waiting(place)}
        self.process = place.popen(
            *words(place, script, "--queue"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        new, end = [], time.monotonic() + 30
        while not new and time.monotonic() < end and self.process.poll() is None:
            new = [request for request in waiting(place) if request["id"] not in before]
        self.request = new[0] if new else {"id": "", "digest": "", "subject": {"changes": {}}}
        self.id, self.digest = self.request["id"], self.request["digest"]
        self.changes = self.request["subject"].get("changes", {})

    def end(self):
        try:
            self.said = self.process.communicate(timeout=30)[0].decode()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.said = self.process.communicate()[0].decode() + "(killed by the test)"
        return self.process.returncode


def waiting(place):
    return json.loads(place.run("approvals", "list", "--json").out)["requests"]
