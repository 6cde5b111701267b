#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Twenty machines at once where there is memory for ten: those for which there is none are refused by name, the others run, and whatever
becomes of one, nothing is left of any.

usage: crowd.py TOOLCAGE [self | ordinary]"""

import os
import re
import signal
import sys
import time

import scene
from scene import check, finish

CROWD, PLACES = 20, 10
# The tool's memory, its private storage, the guest's and the monitor's own, as docs/machines.md counts them.
EACH = 64 + 8 + 128 + 384
PATIENCE = 300
KEPT = "snapshot = true\n"


def start(script, places, **how):
    return scene.start(
        script, backend=f'{KEPT}at_once = "{places * EACH}MiB"', more='disk = "8MiB"', timeout="600s", **how
    )


def until(what):
    end = time.monotonic() + PATIENCE
    while not what() and time.monotonic() < end:
        time.sleep(0.1)
    return what()


def is_refused(answer):
    error = answer.error
    return (
        answer.code == 126
        and error.get("code") == "unenforceable"
        and error.get("stage") == "machine"
        and error.get("subject") == "memory"
        and re.search(r"MiB are free, and this one may grow to \d+ MiB", error.get("message", ""))
        and "at_once" in error.get("hint", "")
    )


def gone(name):
    check(until(lambda: not scene.monitors()), name, scene.monitors())


scene.begin(sys.argv[2])
alone = scene.end(start("echo yes", 1))
check(
    alone.code == 0 and alone.json["stdout"]["text"] == "yes\n",
    "one alone runs, in all of the room that there is",
    alone,
)
gone("and is gone")

# Those that have a place stay until every one has been answered that has none.
crowd = [start("read line; echo $line", PLACES) for _ in range(CROWD)]
check(
    until(lambda: sum(process.poll() is not None for process in crowd) >= CROWD - PLACES),
    "calls without a place are answered at once",
    [process.poll() for process in crowd],
)
answers = [scene.end(process, f"{number}\n") for number, process in enumerate(crowd)]
ran = [number for number, answer in enumerate(answers) if answer.code == 0]
check(
    len(ran) == PLACES,
    "as many run as have a place",
    (ran, [answer.error for answer in answers if answer.code]),
)
check(
    all(answers[number].json["stdout"]["text"] == f"{number}\n" for number in ran),
    "calls have their own input and output",
)
check(
    all(is_refused(answer) for answer in answers if answer.code),
    "other calls are refused, with the reason and a hint",
    [answer for answer in answers if answer.code and not is_refused(answer)][:1],
)
gone("nothing is left of any")

# A host that is killed takes its machine with it, and gives back what that had.
holder = start("read line", 1)
check(until(scene.monitors), "a machine has the only place")
refused = scene.end(start("true", 1))
check(is_refused(refused), "so another one has none", refused)
holder.send_signal(signal.SIGKILL)
holder.communicate(timeout=60)
gone("its host is killed, and no machine is left")
after = scene.end(start("echo yes", 1))
check(after.code == 0, "and its place is free again", after)
gone("nothing is left")
finish()
