#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Whether the processor's virtualisation boots a guest: found out once, in bounded time, and believed in neither direction without a boot.
For a user of the group that may open /dev/kvm; what is found differs from machine to machine, what is said of it must agree.

usage: kvm.py TOOLCAGE ordinary [--works]"""

import glob
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
import tap  # noqa: E402

if not os.path.exists("/dev/kvm"):
    tap.skip_all("there is no /dev/kvm here")
if os.geteuid() == 0:
    tap.TEAM = os.stat("/dev/kvm").st_gid

import scene  # noqa: E402
from scene import check, finish  # noqa: E402

BOUND = 5 + 20 + 20 + 20  # the boot by KVM, one by emulation, a longer one by KVM, and what is around
FOUND = "state/toolcage/kvm-qemu"


def ask():
    began = time.monotonic()
    answer = scene.call("true", emulation="false")
    return answer, time.monotonic() - began


def doctor():
    done = subprocess.run([scene.TOOLCAGE, "doctor", "--json"], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    return next(row for row in report["backends"] if row["backend"] == "qemu"), report["kvm"]


def record():
    with open(FOUND, encoding="utf-8") as file:
        return file.read()


scene.begin("ordinary" if os.geteuid() == 0 else "self")
if not os.access("/dev/kvm", os.R_OK | os.W_OK):
    refused, took = ask()
    check(
        refused.code == 126
        and "may not open /dev/kvm" in refused.error.get("message", "")
        and "usermod -aG kvm" in refused.error.get("hint", ""),
        "a user who may not open /dev/kvm gets a hint",
        refused,
    )
    finish()
    sys.exit()
os.environ["XDG_STATE_HOME"] = os.path.abspath("state")

first, took = ask()
works = first.code == 0
check(works or "--works" not in sys.argv, "it works where it is said to", first)
check(
    "by emulation" not in first.error.get("message", ""),
    "by emulation the same guest boots, which is what the time is counted in",
    first,
)
check(took < BOUND, "the first call ends in bounded time, whatever the processor does", took)
if works:
    check("KVM" in first.json["enforcement"]["priv.none"], "the result says that it was the processor", first)
else:
    check(
        first.code == 126
        and first.error.get("code") == "unenforceable"
        and first.error.get("subject") == "emulation"
        and "/dev/kvm is there, but" in first.error.get("message", "")
        and "emulation = true" in first.error.get("hint", ""),
        "a refusal says why the processor cannot, and what to do",
        first,
    )
kept = record()
check((kept.split(" ", 1)[1] == "boots\n") == works, "the result of the trial boot is kept", kept)
second, short = ask()
check(
    (second.code, second.error.get("message")) == (first.code, first.error.get("message"))
    and record() == kept,
    "and said again",
    second,
)
check(works or short < 2, "without another boot", short)
row, kvm = doctor()
check(
    row["works"]
    and kvm["works"] == works
    and ("with KVM" in row["mechanism"]) == works
    and bool(kvm["fix"]) != works,
    "doctor says the same, with a fix where there is something to fix",
    (row, kvm),
)
again = scene.call("true")
check(
    again.code == 0 and ("KVM" in again.json["enforcement"]["priv.none"]) == works,
    "where emulation is allowed the call runs, by what works",
    again,
)

for spoilt in ("", kept[:20], "sha256:" + "0" * 64 + " boots\n", kept.split(" ")[0] + " boots"):
    with open(FOUND, "w", encoding="utf-8") as out:
        out.write(spoilt)
    answer, took = ask()
    check(
        answer.code == first.code and record().split(" ")[:2] == kept.split(" ")[:2],
        f"a spoilt record is replaced by a new trial: {spoilt[-20:]!r}",
        answer,
    )

os.unlink(FOUND)
os.symlink("/dev/null", FOUND)
answer, took = ask()
check(
    answer.code == first.code and os.readlink(FOUND) == "/dev/null",
    "a link in the place of what is kept is not followed",
    answer,
)
os.unlink(FOUND)

answers = [scene.end(process) for process in [scene.start("true", emulation="false") for _ in range(3)]]
check([a.code for a in answers] == [first.code] * 3, "calls that come at once get the same answer", answers)
check(
    not scene.monitors()
    and not [
        p
        for p in glob.glob("/proc/[0-9]*/exe")
        if os.path.exists(p)
        and "qemu-system" in os.readlink(p)
        and os.stat(p.rsplit("/", 1)[0]).st_uid == os.getuid()
    ],
    "no monitor is left",
    scene.monitors(),
)
finish()
