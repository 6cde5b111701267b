# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""After all tests, as root: which processes, mounts, control groups and namespaces of cages are still there.

usage: leftovers.py BUILDDIR"""

import os
import subprocess
import sys
import time

import tap


def processes():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with (
                open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as comm,
                open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status,
            ):
                name = comm.read().strip()
                ids = [line for line in status if line.startswith("Uid:")][0].split()[1]
        except OSError:
            continue
        if name.startswith("toolcage") or 2000000000 <= int(ids) < 2000004096:
            found.append(f"{pid} {name} uid {ids}")
    return found


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        return [line.strip() for line in table if "toolcage" in line.split(" - ")[0].split()[4]]


def groups():
    return [path for path, _, _ in os.walk("/sys/fs/cgroup") if "toolcage" in os.path.basename(path)]


def user_namespaces():
    """Of processes: a namespace that only a descriptor holds is not seen."""
    own = os.readlink("/proc/self/ns/user")
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/user") != own:
                found.append(pid)
        except OSError:
            pass
    return found


def gone(what, look):
    """Helpers that just lost their host need a moment."""
    for _ in range(50):
        left = look()
        if not left:
            break
        time.sleep(0.2)
    tap.point(not left, f"no {what} stays", "\n".join(left))


def main():
    gone("process", processes)
    toolcage = os.path.join(sys.argv[1], "toolcage")
    if os.path.exists(toolcage):  # a run that only looks around builds nothing
        subprocess.run([toolcage, "doctor", "--clean"], capture_output=True, timeout=120, check=False)
    gone("control group", groups)
    gone("mount", mounts)
    gone("user namespace", user_namespaces)
    return tap.finish()


sys.exit(main())
