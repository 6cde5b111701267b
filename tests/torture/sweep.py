#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Fails the n-th system call, and the n-th allocation, of every process that takes part in a call, for every n.

usage: sweep.py --inject I --host H --walls W --cli C [--user ordinary] [--count N] [--seed N] [--part I/N] [--role R]… [--only R:K:N:E]

Whatever fails, a call ends with a proper error or was run with every wall; nothing is left; the next call works. A host
makes an engine and a call in each mode of the workspace, whose tool tries the walls (walls.c), while inject.c fails
one thing in one of: host, starter, helper, carrier, collector, init, tool; or the host is the command line itself (command.py). Without --count every n is tried with each errno that the call
can have; with it, so many of them, chosen by the seed. --part 2/5 is the second fifth.
"""

import argparse
import collections
import errno
import os
import subprocess

import command
import life
import scene
from life import NAMES
from scene import check

ROLES = ("host", "starter", "helper", "carrier", "collector", "init", "tool", *command.ROLES)
USUAL = ("EPERM", "ENOMEM")
NEW = ("EPERM", "ENOSYS", "ENOMEM")
ERRNOS = {  # what a kernel, a filter or a full machine really answers
    "openat": ("EMFILE", "EPERM"),
    "open": ("EMFILE", "EPERM"),
    "read": ("EIO", "EINTR"),
    "write": ("ENOSPC", "EINTR"),
    "pread64": ("EIO",),
    "poll": ("EINTR", "ENOMEM"),
    "epoll_wait": ("EINTR",),
    "recvmsg": ("ENOMEM", "EINTR"),
    "recvfrom": ("ENOMEM", "EINTR"),
    "sendmsg": ("ENOBUFS", "EINTR"),
    "clone": ("EAGAIN", "EPERM"),
    "clone3": NEW,
    "brk": ("ENOMEM",),
    "mmap": ("ENOMEM",),
    "mprotect": ("ENOMEM",),
    "epoll_ctl": ("ENOMEM", "ENOSPC"),
    "pidfd_send_signal": ("EPERM", "ENOSYS"),
    "lseek": ("EINVAL",),
    "open_tree": NEW,
    "move_mount": NEW,
    "fsopen": NEW,
    "fsconfig": NEW,
    "fsmount": NEW,
    "mount_setattr": NEW,
    "openat2": NEW,
    "close_range": NEW,
    "memfd_create": NEW,
    "landlock_create_ruleset": NEW,
    "landlock_add_rule": NEW,
    "landlock_restrict_self": NEW,
    "seccomp": ("EPERM", "ENOMEM", "EBUSY"),
    "ioctl": ("ENOMEM", "EPERM"),
    "pipe2": ("EMFILE", "ENFILE"),
    "socketpair": ("EMFILE", "ENFILE"),
    "dup2": ("EBUSY",),
    "execve": ("ENOMEM", "EACCES"),
    "execveat": ("ENOMEM", "ENOSYS"),
    "clock_nanosleep": ("EINTR",),
    "getrandom": ("ENOSYS",),
}

SPARE = {"pids", "cpuacct"}  # what these do has a second mechanism, which the result names
SWEEPS = 10  # a helper that ends early leaves its sweep to the next one


def life_of(role):
    return command.Run if role in command.ROLES else life.Run


class Sweep:
    def __init__(self, options):
        self.options, self.bad, self.ran, self.outcomes = options, [], 0, collections.Counter()
        self.base, self.enforcement = {}, {}

    def measure(self, stage):
        """Lives without a failure: how many calls each role makes, and what a good result looks like."""
        jobs = []
        for role in self.options.role or ROLES:
            for kind in ("call", "alloc"):
                for _ in range(5):
                    run = life_of(role)(self.options, stage, role, kind, 0, 0)
                    if run.noted("heap"):  # the helper's end was seen, which others are held against
                        break
                self.base[role, kind] = run
                self.enforcement = run.enforcement()
                wrong = self.judge(stage, run, role, kind) + run.good()
                if role in ("host", "helper", *command.ROLES) and not run.number("seen"):
                    wrong.append("nothing was counted")
                check(not wrong, f"{role}, {kind}: nothing fails, and the tools are caged", "\n".join(wrong))
                calls = [NAMES.get(int(rest[0]), rest[0]) for rest in run.noted("call")]
                if kind == "alloc":
                    jobs += [(role, kind, n + 1, "ENOMEM") for n in range(run.number("seen") + 2)]
                for n, name in enumerate(calls):
                    jobs += [(role, kind, n + 1, word) for word in ERRNOS.get(name, USUAL)]
        return jobs

    def judge(self, stage, run, role, kind):
        base = self.base[role, kind]
        wrong = [f"left: {' '.join(rest)}" for rest in run.noted("left")] + [
            "the host hung" for _ in run.noted("hang")
        ]
        wrong += run.judge(stage, base, self.enforcement)
        for tool, groups in run.groups().items():
            free = SPARE | ({"memory"} if (tool, "limit.memory") in scene.OPEN else set())
            if groups | free != base.groups().get(tool, set()) | free:
                wrong.append(f"{tool} ran in the groups {groups}, not {base.groups().get(tool)}")
        helpers = [rest[1] for rest in run.noted("role") if rest[0] == "helper"]
        for _ in range(SWEEPS):  # the next engine sweeps, but perhaps it came before the last one's end
            if not scene.leftover_groups(helpers) and not stage.layers():
                break
            subprocess.run(
                [self.options.host, stage.policy, "auto"],
                env=stage.environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        wrong += [f"a group is left: {path}" for path in scene.leftover_groups(helpers)]
        wrong += [f"a layer is left: {path}" for path in stage.layers()]
        return wrong + stage.canaries()

    def try_one(self, stage, job):
        if stage is None:
            return scene.Scene(self.options.walls)
        role, kind, nth, word = job
        try:
            # the helper may end with a root or a spare more than in the life that it is compared with: a leak shows again
            for _ in range(3):
                run = life_of(role)(self.options, stage, role, kind, nth, getattr(errno, word))
                wrong = self.judge(stage, run, role, kind)
                if not wrong or not all(line.startswith("the helper ends with") for line in wrong):
                    break
            what = run.what()
            self.outcomes[run.ending()] += 1
            # a life is not the same twice: what failed may be another call, which cannot fail like that
            if kind == "call" and what != "nothing" and (word not in ERRNOS.get(what, USUAL) or run.cannot()):
                wrong = []
        except (subprocess.TimeoutExpired, ValueError, KeyError, OSError) as problem:
            wrong, what = [repr(problem)], "?"
        self.ran += 1
        if wrong:
            self.bad.append((job, what, wrong))
            if self.options.verbose:
                print(f"# {role}:{kind}:{nth}:{word} ({what}): " + "; ".join(wrong)[:600], flush=True)
        return None

    def report(self, jobs):
        for role in self.options.role or ROLES:
            for kind in ("call", "alloc"):
                total = sum(1 for job in jobs if job[:2] == (role, kind))
                bad = [entry for entry in self.bad if entry[0][:2] == (role, kind)]
                text = "\n".join(
                    f"{':'.join(map(str, job))} ({what}): {'; '.join(wrong)}"[:600]
                    for job, what, wrong in bad
                )
                if total:
                    check(not bad, f"{role}: each failing {kind} ends in an error or in a full cage", text)
        print(f"# {self.ran} of {len(jobs)} failures were tried; they ended: {dict(self.outcomes)}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("inject", "host", "walls", "cli"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--user", default="self")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--role", action="append", choices=ROLES)
    parser.add_argument("--only", help="one failure again: ROLE:KIND:N:ERRNO")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    scene.become(options.user)
    if options.only:
        options.role = [options.only.split(":")[0]]
    sweep = Sweep(options)
    with scene.Scene(options.walls) as stage:
        jobs = sweep.measure(stage)
    if options.only:
        role, kind, nth, word = options.only.split(":")
        jobs, options.verbose = [(role, kind, int(nth), word)], True
    jobs = scene.sample(jobs, options.count, scene.seed(1) if options.seed is None else options.seed)
    jobs = scene.part_of(jobs, options.part)
    scene.each(options.workers, jobs, sweep.try_one)
    sweep.report(jobs)
    scene.finish()


if __name__ == "__main__":
    main()
