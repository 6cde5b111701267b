#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""One virtual machine, from nothing to a result.

usage: boot.py TOOLCAGE [self | ordinary]"""

import json
import os
import subprocess
import sys
from pathlib import Path

import scene
from scene import check, finish

scene.begin(sys.argv[2])
SCRIPT = "uname -r; id -u; cat; ls /; ls /sys /home 2>&1; echo bad >&2; exit 3"
report = json.loads(
    subprocess.run([scene.TOOLCAGE, "doctor", "--json"], capture_output=True, text=True, check=False).stdout
)
row = next(row for row in report["backends"] if row["backend"] == "qemu")
BY_KVM = report["kvm"]["works"]
check(
    row["works"] and ("with KVM" if BY_KVM else "emulated") in row["mechanism"],
    "doctor says that it runs, and how",
    row,
)
check(
    BY_KVM or (report["kvm"]["reason"] and report["kvm"]["fix"]),
    "the doctor names the fix for KVM",
    report["kvm"],
)
answer = scene.call(SCRIPT, stdin="input\n")
said = answer.json.get("stdout", {}).get("text", "").split("\n")
check(answer.code == 3 and answer.json.get("status") == "failed", "the tool's own end comes back", answer)
check(said[0] != os.uname().release, "it ran on a kernel of its own", answer)
check(said[1:3] == ["1000", "input"], "as nobody's id, with the call's input", answer)
check(answer.json["stderr"]["text"] == "bad\n", "standard error comes apart", answer)
check("root" not in said and "home" not in said, "it sees nothing of the host's", answer)
held = answer.json["enforcement"]
check(
    "VM " in held["priv.none"]
    and ("with KVM" if BY_KVM else "emulated") in held["priv.none"]
    and "network device" in held["net.none"],
    "the result says what held it, and whether that was the processor or emulation",
    held,
)
check(answer.json["layers"] == ["qemu"], "and in which backend", answer.json["layers"])
refused = scene.call("true", emulation="false")
check(
    BY_KVM
    or refused.code == 126
    and refused.error.get("subject") == "emulation"
    and "emulation = true" in refused.error.get("hint", ""),
    "without the policy's word for it nothing is emulated",
    refused,
)
os.mkdir("ws")
WRITES = """[tool.u]
backend = "qemu"
image = "small"
memory = { max = "64MiB", by = "any" }
timeout = "240s"
filesystem.writable = [{ path = "/ws", from = "ws" }]
"""
refused = scene.call("echo bound >/ws/made", more=WRITES + 'workspace = { mode = "bind" }', tool="u")
check(
    refused.code == 126
    and refused.error.get("code") == "unenforceable"
    and refused.error.get("subject") == "workspace"
    and not os.listdir("ws"),
    "a path of the host cannot be bound",
    refused,
)
answer = scene.call("echo made >/ws/made; echo steers >/ws/.envrc; exit 4", more=WRITES, tool="u")
rows = {os.path.basename(row["path"]): row.get("held") or row["kind"] for row in answer.json["changes"]}
check(
    answer.code == 4
    and rows == {"made": "added", ".envrc": "steers the host"}
    and os.listdir("ws") == ["made"]
    and Path("ws/made").read_text(encoding="utf-8") == "made\n",
    "without a mode its changes come back, also those of a tool that fails",
    answer,
)
scene.changes(answer.json["call"], "discard")
refused = scene.call(
    "true", more='[tool.u]\nbackend = "firecracker"\nimage = "small"\nfilesystem = "none"', tool="u"
)
check(
    refused.code == 126
    and refused.error.get("subject") == "/dev/kvm"
    and 'backend = "qemu"' in refused.error.get("hint", "")
    or refused.code == 125
    and refused.error.get("subject") == "firecracker"
    and "/usr/local/bin" in refused.error.get("hint", ""),
    "a call on Firecracker does not fall back to QEMU: it is refused, and names what is missing",
    refused,
)
AGAIN = "cat /proc/sys/kernel/random/boot_id /proc/sys/kernel/random/uuid"
kept = [scene.call(AGAIN, backend="snapshot = true") for _ in range(2)]
lines = [one.json.get("stdout", {}).get("text", "").split("\n") for one in kept]
check(
    all(one.code == 0 for one in kept) and lines[0][0] == lines[1][0] != "" and lines[0][1] != lines[1][1],
    "a machine that is kept goes on for the next call, with random numbers of its own",
    kept,
)
check(not scene.monitors(), "nothing is left of it", scene.monitors())
finish()
