#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What people type first: make and make try build what runs and no test; make install goes where it is told."""
import os
import pathlib
import subprocess
import sys

from tap import check, finish

root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def planned(*words):
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(["make", "-n", *words, f"BUILD={build}"], cwd=root, env=environ, capture_output=True, text=True, check=False).stdout


def steps(target):
    return subprocess.run(["ninja", "-C", build, "-t", "commands", target], capture_output=True, text=True, check=False).stdout.splitlines()


for words in ((), ("try",)):
    plan = planned(*words)
    check(f"ninja -C {build} programs" in plan and f"ninja -C {build}\n" not in plan, f"make {' '.join(words)} builds what runs", plan)
programs = steps("programs")
check(programs and not [step for step in programs if "tests/unit" in step or "tests/fuzz" in step], "that is no test", [step for step in programs if "tests/" in step][:3])
made = " ".join(programs)
missing = [name for name in ("toolcage-helper", "toolcage-egress", "toolcage-attacks", "libtoolcage.so") if name not in made]
check(not missing, "and all that a call needs", missing)
for name in ("PREFIX", "prefix"):
    plan = planned("install", f"{name}=/opt/some where")
    check("-Dprefix=\"/opt/some where\"" in plan and plan.index("-Dprefix") < plan.index(" install -C "), f"make install {name}=… goes there", plan)
check("-n \"\" ]; then" in planned("install"), "without one it stays where it was", planned("install"))
finish()
