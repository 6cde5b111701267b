#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The boots by which it is found out whether KVM works can be asked for at all: with a device and a guest that only look like that, both monitors are
started, and say themselves what is wrong. What a refusal of toolcage's own would say is none of that. That takes no boot, so each push can do it.

usage: trial.py TOOLCAGE self"""

import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "images"))

import store  # noqa: E402
from store import check, finish, skip_all  # noqa: E402

if os.geteuid():
    skip_all("needs root to put another device in the place of /dev/kvm")
if not shutil.which("qemu-system-x86_64"):
    skip_all("no machine monitor here: tools/deps test installs it")
if not os.path.exists("/dev/kvm"):
    skip_all("there is no /dev/kvm here")

ENDED = "the machine ended before the guest ran; its last words: "


def doctor():
    done = subprocess.run(
        [store.TOOLCAGE, "doctor", "--json"], capture_output=True, text=True, check=False, timeout=240
    )
    return json.loads(done.stdout)["kvm"]


store.begin(sys.argv[2])
os.environ["XDG_STATE_HOME"] = os.path.abspath("state")
subprocess.run(["mount", "--bind", "/dev/null", "/dev/kvm"], check=True)
untried = doctor()
check(
    not untried["works"] and "no guest image" in untried["reason"] and "build guest" in untried["fix"],
    "without a guest nothing is tried, and doctor says how to get one",
    untried,
)
os.makedirs(f"{store.store()}/guest")
for name in ("kernel", "initrd"):
    with open(f"{store.store()}/guest/{name}", "wb") as out:
        out.write(b"no kernel" * 1000)
found = doctor()
reason = found["reason"] or ""
by_kvm, _, by_emulation = reason.partition("; and ")
check(
    not found["works"]
    and by_kvm.startswith(f"/dev/kvm is there, but a guest does not boot by it: {ENDED}")
    and "kvm" in by_kvm.split(ENDED)[-1],
    "the boot by KVM was asked for: the monitor says what it finds of the device",
    reason,
)
check(
    by_emulation.startswith(f"a guest does not boot by emulation: {ENDED}"),
    "and that by emulation, in which its time is counted",
    reason,
)
with open("state/toolcage/kvm-qemu", encoding="utf-8") as record:
    check(reason in record.read(), "the result of the trial is kept", reason)
finish()
