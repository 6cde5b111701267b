#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Kills a process of toolcage at a random moment, with many calls running, and looks for what is left.

usage: kills.py --crowd C --host H --walls W [--user ordinary] [--rounds N] [--calls N] [--role R] [--seed N]

Killed is the host, its helper, PID 1 of a cage, or another child of the helper (one that gathers changes, or
waits to become a cage). Afterwards, without anybody's help: every process is gone, no mount is on the host, nothing is in
the user's trees that no tool wrote, a host that lives has an answer for every call. Control groups may stay, empty; the
next engine sweeps them.
"""

import argparse
import collections
import contextlib
import ctypes
import os
import random
import signal
import subprocess
import time

import scene  # first: it says where the next one is
import mounts
from scene import check

PATIENCE = 20
SUBREAPER = 36


def status(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def family():
    """pid: its status, of everything below this program; who lost a parent is our child (see main)."""
    known, parents = {}, {os.getpid()}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            known[int(name)] = status(name)
    while True:
        more = {pid for pid, s in known.items() if int(s["PPid"]) in parents and pid not in parents}
        if not more:
            return {pid: known[pid] for pid in parents if pid in known and pid != os.getpid()}
        parents |= more


def role(pid, s, host, helper):
    if pid == host:
        return "host"
    if pid == helper:
        return "helper"
    inner = s.get("NSpid", "").split()
    if int(s["PPid"]) == helper:
        return "PID 1" if len(inner) > 1 and inner[-1] == "1" else "child"
    return None


def where(pid):
    """What a process waits in."""
    text = ""
    for name in ("wchan", "syscall"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", encoding="utf-8") as file:
            text += file.read().strip() + " "
    return text


def reap():
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


class Rounds:
    def __init__(self, options, stage, rng):
        self.options, self.stage, self.rng = options, stage, rng
        self.killed, self.helpers, self.mounts = collections.Counter(), set(), set(mounts.table())
        self.words = collections.Counter()

    def choose(self, host):
        people = family()
        helpers = [
            pid
            for pid, s in people.items()
            if s["Name"].startswith("toolcage-helper") and int(s["PPid"]) == os.getpid()
        ]
        helper = helpers[0] if helpers else -1
        self.helpers.update(helpers)
        roles = collections.defaultdict(list)
        for pid, s in people.items():
            name = role(pid, s, host, helper)
            if name:
                roles[name].append(pid)
        name = self.rng.choice(sorted(roles)) if self.options.role not in roles else self.options.role
        return name, self.rng.choice(roles[name])

    def one(self):
        """What is wrong after one killing."""
        self.stage.reset()
        crowd = subprocess.Popen(
            [self.options.crowd, self.stage.policy, str(self.options.calls), *scene.TOOLS, "stay", "stay"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.stage.root,
            env=self.stage.environ,
        )
        time.sleep(self.rng.random() ** 2 * 1.5)
        name, pid = self.choose(crowd.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        self.killed[name] += 1
        time.sleep(self.rng.random() * 0.2)
        wrong = []
        try:
            out, err = crowd.communicate(timeout=2 * PATIENCE)
            if name != "host":
                wrong += self.judge(crowd, out, err)
        except subprocess.TimeoutExpired:
            crowd.kill()
            crowd.communicate()
            wrong.append("the host hung")
        wrong += self.leftovers()
        return [f"after the {name} was killed: {problem}" for problem in wrong]

    def judge(self, crowd, out, err):
        words = out.splitlines()
        self.words.update(word for word in words if not word.startswith("left"))
        if crowd.returncode:
            # the helper was killed while the engine was made
            return (
                []
                if crowd.returncode == 125 and err.startswith("crowd: ")
                else [f"the host ended with {crowd.returncode}: {err[:200]}"]
            )
        if not words or words[-1] != "left 0":
            return [f"the host says {words[-1:]}"]
        return (
            []
            if len(words) == self.options.calls + 1
            else [f"{len(words) - 1} answers to {self.options.calls} calls"]
        )

    def leftovers(self):
        until = time.monotonic() + PATIENCE
        while True:
            reap()
            people = family()
            if not people or time.monotonic() > until:
                break
            time.sleep(0.01)
        wrong = [
            f"still there: {pid} {s['Name']} {s['State']}, parent {s['PPid']}, pids {s['NSpid'].split()}, in {where(pid)}"
            for pid, s in people.items()
        ]
        for pid in people:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wrong += [f"a mount: {line}" for line in set(mounts.table()) - self.mounts]
        for path in scene.leftover_groups(self.helpers):
            with contextlib.suppress(OSError), open(path + "/cgroup.procs", encoding="utf-8") as file:
                wrong += [f"processes in {path}"] if file.read() else []
        return wrong + self.stage.canaries()


def main():
    parser = argparse.ArgumentParser()
    for name in ("crowd", "host", "walls"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--user", default="self")
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--role", help="whom to kill where there is one: host, helper, PID 1, child")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    mounts.apart()
    scene.become(options.user)
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)  # whoever loses its parent becomes ours
    with scene.Scene(options.walls) as stage:
        with open(stage.policy, "a", encoding="utf-8") as policy:
            policy.write(
                '\n[tool.stay]\ncommand = ["/bin/sh", "-c", "sleep 100 & sleep 100"]\nfilesystem = "none"\n'
            )
        rounds = Rounds(
            options, stage, random.Random(scene.seed(1) if options.seed is None else options.seed)
        )
        wrong = []
        for number in range(options.rounds):
            wrong += [f"round {number}: {problem}" for problem in rounds.one()]
        check(
            not wrong,
            f"{options.rounds} killings with {options.calls} calls running leave nothing: {dict(rounds.killed)}",
            "\n".join(wrong),
        )
        print(f"# the calls of hosts that lived ended: {dict(rounds.words)}")
        before, layers = len(scene.leftover_groups(rounds.helpers)), len(stage.layers())
        subprocess.run(
            [options.host, stage.policy, "auto"],
            env=stage.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        left = scene.leftover_groups(rounds.helpers)
        check(not left, f"the next engine sweeps the {before} empty control groups", "\n".join(left))
        left = stage.layers()
        check(not left, f"and the {layers} layers of overlays", "\n".join(left))
    scene.finish()


if __name__ == "__main__":
    main()
