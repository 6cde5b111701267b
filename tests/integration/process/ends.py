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

from scene import Answer, TOOLCAGE, below, check, end, is_root, run, start_time, until

TREE = "trap '' TERM; (sleep 60 & sleep 60) & setsid sleep 60 & echo up; while :; do sleep 1; done"


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        return sorted(" ".join(line.split()[2:5]) for line in file)


def groups():
    return {os.path.dirname(name) for name in glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)
            if "toolcage" in name}


def members(group):
    """Pids in a control group; none when it is gone."""
    with contextlib.suppress(OSError), open(os.path.join(group, "cgroup.procs"), encoding="utf-8") as file:
        return {int(pid) for pid in file.read().split()}
    return set()


def leftovers():
    """What the machine holds that a call might have left, apart from its processes."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        sockets = sorted(line.split()[-1] for line in file if "toolcage" in line)
    return {"mounts": mounts(), "sockets": sockets, "files": sorted(glob.glob("/dev/shm/*") + glob.glob("/run/toolcage/*"))}


class Running:
    """Calls that are under way, with every process of theirs."""

    def __init__(self, s, count, **grant):
        self.before = leftovers()
        self.calls = [s.popen("/bin/sh", "-c", TREE, more='timeout = "60s"\noutput = { limit = "1MiB" }', **grant)
                      for _ in range(count)]
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
        """PID 1 of each cage, as the host names it."""
        return [pid for pid in self.processes if is_first(pid)]

    def alive(self):
        return [pid for pid, started in self.processes.items() if started and start_time(pid) == started]

    def finish(self):
        for call in self.calls:
            try:
                call.communicate(timeout=15)
            except subprocess.TimeoutExpired:
                call.kill()
                call.communicate()

    def nothing_left(self, name):
        gone = until(lambda: not self.alive())
        check(gone, f"{name}: no process is left", [(pid, name_of(pid)) for pid in self.alive()])
        check(leftovers() == self.before, f"{name}: no mount, file or socket is left", f"{self.before}\n{leftovers()}")
        left = [each for each in self.groups if members(each)]
        check(not left, f"{name}: no control group holds anybody", left)


def name_of(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
        return file.read().strip()
    return ""


def is_first(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        fields = [line.split()[1:] for line in file if line.startswith("NSpid:")]
        return bool(fields) and len(fields[0]) > 1 and fields[0][-1] == "1"
    return False


def helpers_of(host):
    """The helper is nobody's child and has a session of its own, but it holds a pidfd of its host."""
    found = []
    for entry in os.listdir("/proc"):
        if name_of(entry) == "toolcage-helper":
            with contextlib.suppress(OSError), open(f"/proc/{entry}/fdinfo/4", encoding="utf-8") as file:
                if f"Pid:\t{host}\n" in file.read():
                    found.append(int(entry))
    return found


def helper_tree(host):
    found = []
    for helper in helpers_of(host):
        found += [helper, *below(helper)]
    return found


def kills(s):
    for name, victims in (("SIGKILL of the hosts", lambda r: [call.pid for call in r.calls]),
                          ("SIGKILL of the helpers", Running.helpers),
                          ("SIGKILL of every PID 1", Running.first_processes),
                          ("SIGKILL of all at once", Running.all)):
        running = Running(s, 3)
        check(len(running.processes) >= 3 * 6 and len(running.first_processes()) == 3, f"{name}: three calls run",
              {pid: name_of(pid) for pid in running.processes})
        for pid in victims(running):
            end(pid)
        running.finish()
        running.nothing_left(name)


def ordinary_end(s):
    before = leftovers()
    answer = s.shell("sleep 60 & setsid sleep 60 & (setsid sleep 60 &) ; echo done", more='timeout = "20s"')
    check(answer.status == "ok" and answer.out == "done\n" and answer.usage["wall_ms"] < 10000,
          "a call ends with its tool, not with what that left running", answer)
    check(leftovers() == before, "and leaves nothing", leftovers())


def cancel(s):
    call = s.popen("/bin/sh", "-c", "trap 'echo asked; exit 7' TERM; echo up; while :; do sleep 0.05; done",
                   more='output = { limit = "1MiB" }')
    time.sleep(1)
    end(call, signal.SIGTERM)
    out, err = call.communicate(timeout=20)
    answer = Answer(call.returncode, out, err)
    check(answer.status == "cancelled" and answer.out == "up\nasked\n" and answer.code == 143, "cancelled: asked first", answer)
    call = s.popen("/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done", more='grace = "200ms"')
    time.sleep(1)
    end(call, signal.SIGTERM)
    out, err = call.communicate(timeout=20)
    answer = Answer(call.returncode, out, err)
    check(answer.status == "cancelled" and answer.out == "up\n", "and then ended", answer)


def eight_at_once(s):
    before = leftovers()
    calls = [s.popen("/bin/sh", "-c", f"echo {n} > {s.ws}/{n}; sleep 0.3; cat {s.ws}/{n}") for n in range(8)]
    answers = []
    for call in calls:
        out, err = call.communicate(timeout=60)
        answers.append(Answer(call.returncode, out, err))
    check([answer.out for answer in answers] == [f"{n}\n" for n in range(8)], "eight at once", [str(a) for a in answers if a.status != "ok"])
    check(leftovers() == before, "and leave nothing", leftovers())
    if is_root():
        seen = set()
        calls = [s.popen("/bin/sh", "-c", "cat /proc/self/uid_map; sleep 1") for n in range(4)]
        for call in calls:
            out, err = call.communicate(timeout=60)
            seen.add(Answer(call.returncode, out, err).out.split()[1])
        check(len(seen) >= 1 and "0" not in seen, "no cage is root outside", seen)
        files = [os.stat(s.path("ws", str(n))).st_uid for n in range(8)]
        check(set(files) == {0}, "and what it writes belongs to the caller", files)


def grouped(s):
    s.works("limit.memory")
    running = Running(s, 2, memory='"128MiB"')
    check(len(running.groups) >= 2, "each call has its control group", running.groups)
    for pid in running.all():
        end(pid)
    running.finish()
    running.nothing_left("SIGKILL of all at once, in control groups")
    done = subprocess.run([TOOLCAGE, "doctor", "--clean"], env=s.environ, cwd=s.ws, capture_output=True, timeout=60, check=False)
    left = [name for name in running.groups if os.path.isdir(name)]
    check(done.returncode == 0 and not left, "doctor --clean sweeps empty groups", f"{done}\n{left}")


run(ordinary_end, cancel, eight_at_once, kills, grouped)
