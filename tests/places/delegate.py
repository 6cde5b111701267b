# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""usage: delegate.py UID COMMAND…

Runs a command in a control group below this process's own that belongs to the user, as systemd's Delegate=yes gives
it, and removes the group afterwards."""

import contextlib
import os
import subprocess
import sys


def places():
    """Mount point and own group of each hierarchy, as (directory, is version 2)."""
    groups = {}
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            _, names, path = line.rstrip("\n").split(":", 2)
            groups[names] = path
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            left, right = line.split(" - ")
            kind, _, options = right.split(" ", 2)
            root, point = left.split()[3:5]
            for names, path in groups.items():
                wanted = set(names.replace("name=", "").split(",")) <= set(
                    options.strip().replace("name=", "").split(",")
                )
                if root == "/" and (kind == "cgroup2" and not names or kind == "cgroup" and names and wanted):
                    yield point + path.rstrip("/"), not names


def delegate(uid):
    made = []
    for place, version2 in places():
        group = os.path.join(place, f"toolcage-places-{os.getpid()}")
        with contextlib.suppress(OSError):
            if version2:  # controllers are handed on where this group has no process of its own
                with open(os.path.join(place, "cgroup.controllers"), encoding="utf-8") as file:
                    for name in file.read().split():
                        with (
                            contextlib.suppress(OSError),
                            open(os.path.join(place, "cgroup.subtree_control"), "w", encoding="utf-8") as out,
                        ):
                            out.write("+" + name)
            os.mkdir(group)
            made.append(group)
            os.chown(group, uid, uid)
            for name in os.listdir(group):
                if name in ("cgroup.procs", "tasks", "cgroup.subtree_control", "cgroup.threads"):
                    os.chown(os.path.join(group, name), uid, uid)
    return made


def enter(groups):
    for group in groups:
        with (
            contextlib.suppress(OSError),
            open(os.path.join(group, "cgroup.procs"), "w", encoding="utf-8") as file,
        ):
            file.write(str(os.getpid()))


def remove(groups):
    for group in groups:
        for directory, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(directory)


def main():
    groups = delegate(int(sys.argv[1]))
    try:
        return subprocess.run(sys.argv[2:], check=False, preexec_fn=lambda: enter(groups)).returncode
    finally:
        remove(groups)


if __name__ == "__main__":
    sys.exit(main())
