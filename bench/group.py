# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A control group for a bench and all that it starts: it counts what processors did for them, and on a busy machine it has a share of its own,
which those within divide among them whatever groups they make."""

import glob
import os
import pathlib
import time

SETTLE = 0.3


class Group:
    def __init__(self):
        self.groups, self.usage, self.below = [], None, None
        here = (
            pathlib.Path("/proc/self/cgroup")
            .read_text(encoding="utf-8")
            .partition("0::/")[2]
            .partition("\n")[0]
        )
        self.name = f"toolcage-bench-{os.getpid()}"
        for homes in (
            ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu"),
            ("/sys/fs/cgroup/cpu,cpuacct",),
            (f"/sys/fs/cgroup/{here}",),
        ):
            try:
                for home in homes:
                    self.enter(home)
                self.usage = self.groups[0] / (
                    "cpuacct.usage" if homes[0].endswith("cpuacct") else "cpu.stat"
                )
                self.read()
                self.below = f"/{self.name}" if homes[0].endswith("cpuacct") else None
                return
            except OSError:
                self.close()
        print("the work of each call is not counted: that takes root, and control groups")

    def enter(self, home):
        group = pathlib.Path(home, self.name)
        if not os.path.exists(f"{home}/cgroup.procs"):
            raise FileNotFoundError(home)
        group.mkdir()
        self.groups.append(group)
        for name, normal in (("cpu.shares", 1024), ("cpu.weight", 100)):
            if (group / name).exists():  # as much as one process as nice as this one
                (group / name).write_text(str(max(2, int(normal / 1.25 ** os.nice(0)))), encoding="utf-8")
        (group / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")

    def read(self):
        """Milliseconds of processors so far."""
        said = self.usage.read_text(encoding="utf-8")
        return (
            int(said) / 1e6
            if said[0].isdigit()
            else int(dict(line.split() for line in said.splitlines())["usage_usec"]) / 1e3
        )

    def work(self, way, count):
        """Of one call; what is made ready for the next one is in it, and so is clearing up. None: it is not counted here."""
        if not self.usage:
            return None
        way()
        time.sleep(SETTLE)
        began = self.read()
        for _ in range(count):
            way()
        time.sleep(SETTLE)
        return (self.read() - began) / count

    def close(self):
        """Goes from the groups and removes them, and what runtimes and engines leave below that name with every controller."""
        left, end = self.groups, time.monotonic() + 5
        self.groups, self.usage = [], None
        for group in left:
            (group.parent / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")
        left += [
            path for path in map(pathlib.Path, glob.glob(f"/sys/fs/cgroup/*/{self.name}")) if path not in left
        ]
        left = [pathlib.Path(place) for group in left for place, _, _ in os.walk(group)]  # the deepest last
        while left:
            try:
                left[-1].rmdir()
                left.pop()
            except OSError as error:  # helpers of engines that were closed just now are in it
                if time.monotonic() > end:
                    print(f"{left.pop()} stays: {error}")
                time.sleep(0.05)
