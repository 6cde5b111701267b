#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Kata Containers: doctor says what of it is here and what is missing, and a policy that asks for it where no engine is, is refused by name. The shim is
a stand-in that would leave a trace if anybody started it; none of this has met the real one. Calls: kata_calls.py.

usage: kata.py TOOLCAGE"""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from mounts import cover  # noqa: E402
from tap import check, finish, skip_all  # noqa: E402

TOOLCAGE, HOME = os.path.abspath(sys.argv[1]), "/opt/kata"
SHIM = f"{HOME}/bin/containerd-shim-kata-v2"
CONFIGURATION = f"{HOME}/share/defaults/kata-containers/configuration.toml"
PLACES = [f"{directory}/containerd-shim-kata-v2" for directory in ("/usr/bin", "/usr/local/bin")]


def put(path, text, mode):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path, mode)


def doctor():
    done = subprocess.run([TOOLCAGE, "doctor", "--json"], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    return [row for row in report["backends"] if row["backend"] == "kata"], report["kvm"]


def refused(text):
    put("/opt/policy.toml", text, 0o600)
    done = subprocess.run(
        [TOOLCAGE, "exec", "--policy", "/opt/policy.toml", "--tool", "t", "--json", "--", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


if os.geteuid() != 0 or not os.path.isdir("/opt"):
    skip_all("needs root and a directory /opt to cover")
if not cover("/opt"):
    skip_all("needs root to make a mount namespace")
if any(os.path.exists(path) for path in PLACES):
    skip_all("Kata is installed here")

rows, _ = doctor()
check(not rows, "where there is no Kata, doctor does not speak of it", rows)
put(SHIM, '#!/bin/sh\necho "$@" >> /opt/started\n', 0o755)
rows, _ = doctor()
check(
    len(rows) == 1
    and not rows[0]["works"]
    and SHIM in rows[0]["reason"]
    and "configuration.toml" in rows[0]["fix"],
    "a shim without a configuration is told",
    rows,
)
put(CONFIGURATION, "[hypervisor.qemu]\n", 0o644)
rows, kvm = doctor()
check(
    len(rows) == 1
    and rows[0]["works"] == kvm["works"]
    and (kvm["works"] or (kvm["reason"] in rows[0]["reason"] and "qemu" in rows[0]["fix"])),
    "one with a configuration: whether the processor boots a guest",
    (rows, kvm),
)
code, said = refused(
    '[backend.kata]\nsocket = "/opt/none"\n[tool.t]\nbackend = "kata"\nfilesystem = "none"\nimage = "system"\n'
)
check(
    code == 125 and '"subject":"/opt/none"' in said and "docker: no engine listens on" in said,
    "a policy that names it is refused where no engine is",
    (code, said),
)
code, said = refused(
    '[backend.containerd]\nruntime = "io.containerd.kata.v2"\n[tool.t]\nbackend = "containerd"\n'
)
check(
    code in (125, 126) and "runtime" in said and "crun" in said,
    "and one that names its runtime",
    (code, said),
)
check(not os.path.exists("/opt/started"), "nobody has started it")
finish()
