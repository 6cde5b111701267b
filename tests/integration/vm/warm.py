#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""`warm`: a command that runs before a machine is kept. Copies find in memory what it has read, and nothing else of it; each has random
numbers and addresses of its own; a command that fails is the call's failure, and no machine is kept.

usage: warm.py TOOLCAGE [self | ordinary]"""

import glob
import os
import shutil
import sys

import scene
from scene import check, finish

LARGE = shutil.which("qemu-system-x86_64") or "/bin/sh"  # a file of many pages
READ_MIB = os.path.getsize(LARGE) >> 20
SCRIPT = (
    "while read -r name size unit; do case $name in Cached:) echo $size;; esac; done < /proc/meminfo; dd if=/dev/urandom bs=16 count=1 2>/dev/null | od -An -tx1;"
    "while read -r range rest; do case $rest in *stack*) echo $range;; esac; done < /proc/self/maps; echo /tmp/* /dev/shm/*; echo $(ls -d /proc/[0-9]*) | wc -w; echo ${LEAK-none}; cat"
)
WARM = 'warm = ["/bin/sh", "-c", "cat /bin/qemu-system-x86_64 > /dev/null; echo left > /tmp/left; export LEAK=leak; sleep 1000 & echo shown; echo shown >&2; test -z \\"$OWN\\""]'


def call(more, stdin=""):
    answer = scene.call(
        SCRIPT, stdin, backend="snapshot = true", more=more + '\nenv = { set = { OWN = "own" } }'
    )
    lines = answer.json.get("stdout", {}).get("text", "").split("\n") + [""] * 6
    answer.cached, answer.random, answer.address, answer.rest = (
        int(lines[0] or 0) >> 10,
        lines[1],
        lines[2],
        [line for line in lines[3:] if line],
    )
    return answer


def kept():
    return glob.glob(os.path.join(scene.state(), "machines", "*.record"))


scene.begin(sys.argv[2], LARGE)
for name, command, words in (
    ("a command that is not there", '["/bin/absent"]', "absent"),
    ("one that fails", '["/bin/sh", "-c", "exit 3"]', "exit code 3"),
):
    failed = scene.call("true", backend="snapshot = true", more=f"warm = {command}")
    check(
        failed.code == 125
        and failed.error.get("stage") == "warm"
        and failed.error.get("subject") == "warm"
        and words in failed.error.get("message", ""),
        f"{name} is an error that says so",
        failed,
    )
check(not kept(), "and no machine is kept", kept())
cold = [call("") for _ in range(2)][-1]
check(cold.code == 0 and len(kept()) == 1, "without it a machine is kept as before", cold)
first = call(WARM, "input")
check(
    first.code == 0 and len(kept()) == 2 and first.rest[-1] == "input",
    "with it another one is, and the call that keeps it has its own input",
    first,
)
copies = [call(WARM) for _ in range(2)]
check(
    all(one.code == 0 for one in copies) and len(kept()) == 2, "later calls go on from the snapshot", copies
)
check(
    all(one.cached >= cold.cached + READ_MIB * 3 // 4 for one in copies),
    "files that the warm-up read are in memory",
    [cold.cached, *(one.cached for one in copies)],
)
check(
    all(
        one.rest[-1] == "none" and one.rest[0] == "/tmp/* /dev/shm/*" and one.json["stderr"]["text"] == ""
        for one in copies
    ),
    "nothing that it wrote, started, set or printed is there",
    [one.rest for one in copies],
)
check(
    len({one.rest[-2] for one in (cold, *copies)}) == 1,
    "as many processes as without it",
    [one.rest for one in (cold, *copies)],
)
check(
    len({one.random for one in (first, *copies)}) == 3
    and len({one.address for one in (first, *copies)}) == 3,
    "random numbers and addresses are each copy's own",
    [(one.random, one.address) for one in (first, *copies)],
)
check(not scene.monitors(), "nothing is left running", scene.monitors())
finish()
