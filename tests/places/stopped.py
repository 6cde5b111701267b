#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Without namespaces a process of ours ends what the tool started, and the user's other processes can stop it. Then the
deadline still ends the tool.

usage: stopped.py TOOLCAGE"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

POLICY = """
[tool.sleeps]
command = ["/bin/sh", "-c", "trap '' TERM; sleep 47 & sleep 47"]
filesystem = "none"
network = "none"
memory = { max = "64MiB", by = "any" }
timeout = "2s"
grace = "200ms"
without = ["proc.own", "proc.survivors", "tmp.private", "fs.stat", "limit.pids"]
"""


def commands():
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with (
                open(f"/proc/{pid}/cmdline", "rb") as file,
                open(f"/proc/{pid}/stat", encoding="utf-8") as stat,
            ):
                found[int(pid)] = (
                    int(stat.read().rsplit(")", 1)[1].split()[1]),
                    file.read().split(b"\0")[:-1],
                )
        except OSError:
            continue
    return found


def sleepers():
    return {pid: parent for pid, (parent, argv) in commands().items() if argv == [b"sleep", b"47"]}


def first():
    """Who stands for PID 1: the parent of the shell."""
    processes = commands()
    shells = [processes[pid][0] for pid in sleepers() if pid in processes]
    return next((processes[shell][0] for shell in shells if shell in processes), None)


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def main():
    with tempfile.TemporaryDirectory(prefix="toolcage-stopped-", dir="/var/tmp") as here:
        policy = os.path.join(here, "toolcage.toml")
        with open(policy, "w", encoding="utf-8") as file:
            file.write(POLICY)
        call = subprocess.Popen(
            [sys.argv[1], "call", "--policy", policy, "sleeps", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=here,
        )
        victim = until(first)
        if victim:
            os.kill(victim, signal.SIGSTOP)
        out, err = call.communicate(timeout=30)
    status = json.loads(out)["status"] if out else err.decode()
    gone = until(lambda: not sleepers(), 5)
    print(f"{status}, who was stopped: {victim}, left: {sleepers()}")
    return 0 if victim and status == "timeout" and gone else 1


sys.exit(main())
