#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""How calls in virtual machines end: at their limits, by hand, and when one of the processes around them is killed.

usage: ends.py TOOLCAGE [self | ordinary]"""

import os
import signal
import sys
import time

import scene
from scene import check, finish

PATIENCE = 120


def until(what):
    """What it says once it says anything; the last answer when time is over."""
    end = time.monotonic() + PATIENCE
    while not what() and time.monotonic() < end:
        time.sleep(0.2)
    return what()


def gone(name):
    check(until(lambda: not scene.monitors()), name, scene.monitors())


scene.begin(sys.argv[2])
answer = scene.call("yes 1234567", more='output = { limit = "64KiB", over = "kill" }')
check(
    answer.json.get("status") == "limit" and answer.json.get("limit") == "output",
    "a flood ends at the limit of output",
    answer,
)
gone("and its machine with it")

answer = scene.call(
    "id -u", more='[tool.n]\nlayers = ["qemu", "process"]\nimage = "small"\nfilesystem = "none"', tool="n"
)
check(
    answer.code == 0
    and answer.json.get("layers") == ["qemu", "process"]
    and answer.json.get("backend") == "qemu"
    and "process cage inside" in answer.json["enforcement"]["priv.none"],
    "layers are named, and each wall",
    answer,
)

answer = scene.call("dd if=/dev/zero of=/dev/shm/big bs=1M count=200; head -c 300m /dev/zero | wc -c")
check(
    answer.json.get("status") in ("failed", "limit", "ok") and answer.code != 125,
    "private storage is bounded inside",
    answer,
)

answer = scene.call("x=x; while true; do x=$x$x; done")
check(
    answer.json.get("status") == "limit" and answer.json.get("limit") == "memory",
    "memory is bounded inside",
    answer,
)

answer = scene.call("i=0; while [ $i -lt 300 ]; do sleep 60 & i=$((i+1)); done", more="pids = 16")
check(
    answer.json.get("limit") == "pids" or "fork" in answer.json.get("stderr", {}).get("text", ""),
    "processes are bounded inside",
    answer,
)

answer = scene.call("exec sleep 600", more='grace = "1s"', timeout="25s")
check(answer.json.get("status") == "timeout", "a deadline is held from outside", answer)
gone("and nothing is left of it")

process = scene.start("exec sleep 600")
check(until(scene.monitors), "a machine runs")
for pid in scene.monitors():
    os.kill(pid, signal.SIGKILL)
answer = scene.end(process)
check(
    answer.code == 125 and answer.error.get("code") == "backend" and answer.error.get("subject") == "guest",
    "a monitor that is killed is an error that says so",
    answer,
)
gone("and nothing is left of it")

process = scene.start("exec sleep 600")
check(until(scene.monitors), "a machine runs")
process.send_signal(signal.SIGKILL)
process.communicate(timeout=60)
gone("no machine outlives its host")
finish()
