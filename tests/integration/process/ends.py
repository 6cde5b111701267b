#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""However a call ends, and whoever is killed meanwhile: nothing of it stays."""

import contextlib
import glob
import os
import signal
import subprocess
import time

from scene import (
    PATIENCE,
    TOOLCAGE,
    below,
    check,
    end,
    finish,
    helpers_of,
    is_root,
    name_of,
    run,
    runs,
    start_time,
    until,
)

TREE = "trap '' TERM; (sleep 60 & sleep 60) & setsid sleep 60 & echo up; while :; do sleep 1; done"


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        return sorted(" ".join(line.split()[2:5]) for line in file)


def groups():
    return {
        os.path.dirname(name)
        for name in glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)
        if "toolcage" in name
    }


def members(group):
    """Pids in a control group; none when it is gone."""
    with contextlib.suppress(OSError), open(os.path.join(group, "cgroup.procs"), encoding="utf-8") as file:
        return {int(pid) for pid in file.read().split()}
    return set()


def leftovers(s):
    """What the machine holds that a call might have left, apart from its processes; others may run tests of theirs beside us."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        # in directories of the product; other tests name theirs after it
        sockets = sorted(
            line.split()[-1] for line in file if "/toolcage/" in line and "/var/tmp/" not in line
        )
    # a directory that whoever needs it first makes, for all that come, has a word for its name; what is one call's has its number
    files = [*glob.glob(f"/dev/shm/{own_name(s)}*"), *glob.glob("/run/toolcage/*[0-9]*")]
    return {"mounts": mounts(), "sockets": sockets, "files": sorted(files)}


def own_name(s):
    return os.path.basename(s.root)


class Running:
    """Calls that are under way, with every process of theirs."""

    def __init__(self, s, count, **grant):
        self.s, self.before = s, leftovers(s)
        self.calls = [
            s.popen(
                "/bin/sh",
                "-c",
                f"> /dev/shm/{own_name(s)}; {TREE}",
                more='timeout = "60s"\noutput = { limit = "1MiB" }',
                **grant,
            )
            for _ in range(count)
        ]
        # a sleep below a shell below PID 1 below the helper: the cage is up
        until(lambda: all(len(self.sleepers(call)) >= 3 for call in self.calls), 20)
        self.processes = {pid: start_time(pid) for pid in self.all()}
        # others may make groups at the same time: these are the ones that hold somebody of ours
        self.groups = {name for name in groups() if members(name) & set(self.processes)}

    @staticmethod
    def sleepers(call):
        return [pid for pid in helper_tree(call.pid) if name_of(pid) == "sleep"]

    def all(self):
        found = []
        for call in self.calls:
            found += [call.pid, *helper_tree(call.pid)]
        return found

    def helpers(self):
        return [pid for call in self.calls for pid in helpers_of(call.pid)]

    def first_processes(self):
        """PID 1 of each cage that runs something, as the host names it."""
        return [pid for pid in self.processes if is_first(pid) and below(pid)]

    def alive(self):
        return [pid for pid, started in self.processes.items() if started and start_time(pid) == started]

    def finish(self):
        for call in self.calls:
            try:
                call.communicate(timeout=15 * PATIENCE)
            except subprocess.TimeoutExpired:
                call.kill()
                call.communicate()

    def nothing_left(self, name):
        gone = until(lambda: not self.alive())
        check(gone, f"{name}: no process is left", [(pid, name_of(pid)) for pid in self.alive()])
        check(
            leftovers(self.s) == self.before,
            f"{name}: no mount, file or socket is left",
            f"{self.before}\n{leftovers(self.s)}",
        )
        left = [each for each in self.groups if members(each)]
        check(not left, f"{name}: no control group holds anybody", left)


def is_first(pid):
    with (
        contextlib.suppress(OSError),
        open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file,
    ):
        fields = [line.split()[1:] for line in file if line.startswith("NSpid:")]
        return bool(fields) and len(fields[0]) > 1 and fields[0][-1] == "1"
    return False


def helper_tree(host):
    found = []
    for helper in helpers_of(host):
        found += [helper, *below(helper)]
    return found


def kills(s):
    for name, victims in (
        ("SIGKILL of the hosts", lambda r: [call.pid for call in r.calls]),
        ("SIGKILL of the helpers", Running.helpers),
        ("SIGKILL of every PID 1", Running.first_processes),
        ("SIGKILL of all at once", Running.all),
    ):
        running = Running(s, 3)
        check(
            len(running.processes) >= 3 * 6 and len(running.first_processes()) == 3,
            f"{name}: three calls run",
            {pid: name_of(pid) for pid in running.processes},
        )
        for pid in victims(running):
            end(pid)
        running.finish()
        running.nothing_left(name)


def ordinary_end(s):
    before = leftovers(s)
    answer = s.shell(
        f"> /dev/shm/{own_name(s)}; sleep 60 & setsid sleep 60 & (setsid sleep 60 &) ; echo done",
        more='timeout = "20s"',
    )
    check(
        answer.status == "ok" and answer.out == "done\n" and answer.usage["wall_ms"] < 10000,
        "a call ends with its tool, not with what that left running",
        answer,
    )
    check(leftovers(s) == before, "and leaves nothing", f"{before}\n{leftovers(s)}")


BREED = """
trap '' TERM
marker=$0
breed() { while :; do /bin/sh -c 'trap "" TERM; echo x >> log; sleep 0.01; :' "$marker" & done; }
(setsid /bin/sh -c 'trap "" TERM; while :; do echo y >> log; done' "$marker" &)
until [ -s log ]; do :; done
(breed & breed) & # the last fork of this shell: they take every process that the limit has
i=0
while [ $i -lt 10000 ]; do i=$((i + 1)); done
echo done
"""


def marked(marker):
    """Pids whose command line holds the marker, apart from those that wait for the call."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{entry}/cmdline", "rb") as file:
            line = file.read().split(b"\0")
            if marker in line and b"exec" not in line:
                found.append(int(entry))
    return found


def outlives_its_parent(s):
    """Without a cage. The survivor names itself, once it is what it is going to be: while a process
    changes its program it has no command line to be found by, and would outlive this test."""
    survivor = 'trap "" TERM; echo $$; while :; do sleep 0.1; done'
    naked = subprocess.run(
        [
            "/bin/sh",
            "-c",
            f"(setsid sh -c '{survivor}' > pid 2> /dev/null &); until [ -s pid ]; do :; done; cat pid",
        ],
        capture_output=True,
        cwd=s.ws,
        timeout=60 * PATIENCE,
        check=True,
    )
    pid = int(naked.stdout)
    started = start_time(pid)
    check(started and name_of(pid) == "sh", "without a cage a process outlives its parent", naked)
    end(pid)
    check(until(lambda: start_time(pid) != started), "until somebody ends it", pid)


def survivors(s):
    marker, log = os.path.basename(s.root), s.path("ws", "log")
    outlives_its_parent(s)
    for _ in range(5):
        answer = s.call("/bin/sh", "-c", BREED, marker, more='timeout = "60s"')
        alive, size = marked(marker.encode()), os.path.getsize(log)
        ok = answer.status == "ok" and answer.out == "done\n" and not alive
        time.sleep(0.05)
        if not ok or os.path.getsize(log) != size or not size:
            break
    check(
        ok and os.path.getsize(log) == size > 0,
        "a tool that forks and ignores SIGTERM is gone before the answer",
        f"{answer}\nalive {alive}, {size} bytes, then {os.path.getsize(log)}",
    )


def cancel(s):
    name = f"60.{os.getpid()}"
    call = s.popen(
        "/bin/sh",
        "-c",
        f"trap 'echo asked; exit 7' TERM; echo up; sleep {name} & while :; do sleep 0.05; done",
        more='output = { limit = "1MiB" }',
    )
    until(lambda: runs("sleep", name))
    end(call, signal.SIGTERM)
    answer = finish(call)
    check(
        answer.status == "cancelled" and answer.out == "up\nasked\n" and answer.code == 143,
        "cancelled: asked first",
        answer,
    )
    call = s.popen(
        "/bin/sh",
        "-c",
        f"trap '' TERM; echo up; sleep {name} & while :; do sleep 0.05; done",
        more='grace = "200ms"',
    )
    until(lambda: runs("sleep", name))
    end(call, signal.SIGTERM)
    answer = finish(call)
    check(answer.status == "cancelled" and answer.out == "up\n", "and then ended", answer)


def eight_at_once(s):
    before = leftovers(s)
    calls = [s.popen("/bin/sh", "-c", f"echo {n} > {s.ws}/{n}; sleep 0.3; cat {s.ws}/{n}") for n in range(8)]
    answers = [finish(call) for call in calls]
    check(
        [answer.out for answer in answers] == [f"{n}\n" for n in range(8)],
        "eight at once",
        [str(a) for a in answers if a.status != "ok"],
    )
    check(leftovers(s) == before, "and leave nothing", f"{before}\n{leftovers(s)}")
    if is_root():
        calls = [s.popen("/bin/sh", "-c", "cat /proc/self/uid_map; sleep 1") for n in range(4)]
        seen = {finish(call).out.split()[1] for call in calls}
        check(len(seen) >= 1 and "0" not in seen, "no cage is root outside", seen)
        files = [os.stat(s.path("ws", str(n))).st_uid for n in range(8)]
        check(set(files) == {0}, "written files belong to the caller", files)


def grouped(s):
    s.works("limit.memory")
    running = Running(s, 2, memory='"128MiB"')
    check(len(running.groups) >= 2, "calls have different control groups", running.groups)
    for pid in running.all():
        end(pid)
    running.finish()
    running.nothing_left("SIGKILL of all at once, in control groups")
    done = subprocess.run(
        [TOOLCAGE, "doctor", "--clean"],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        timeout=60 * PATIENCE,
        check=False,
    )
    left = [name for name in running.groups if os.path.isdir(name)]
    check(done.returncode == 0 and not left, "doctor --clean sweeps empty groups", f"{done}\n{left}")


run(ordinary_end, survivors, cancel, eight_at_once, kills, grouped)
