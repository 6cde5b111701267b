#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Machines that lack one system call of those that not every kernel or container has, one after the other.

usage: missing.py --without W --host H --walls W [--user ordinary]

Each call is answered ENOSYS, as by an older kernel, and EPERM, as by a container's filter, for the host, the helper and
the cage. A tool call then is refused with what cannot be enforced, why, and what to do; or it is caged as ever; or it is
caged with what the policy allows instead, and the result says so.
"""

import argparse
import errno
import json
import os
import subprocess

import life
import scene
from life import NUMBERS
from scene import check

CALLS = (
    "landlock_create_ruleset",
    "landlock_add_rule",
    "landlock_restrict_self",
    "openat2",
    "clone3",
    "close_range",
    "pidfd_open",
    "pidfd_send_signal",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "mount_setattr",
    "memfd_create",
    "execveat",
    "seccomp",
    "statx",
    "faccessat2",
    "unshare",
    "setns",
    "pivot_root",
    "io_uring_setup",
    "name_to_handle_at",
    "getrandom",
    "capset",
    "process_vm_readv",
    "kcmp",
    "mount",
    "umount2",
    "sethostname",
    "renameat2",
    "copy_file_range",
)
TOGETHER = {
    "Landlock": ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"),
    "the mount API": ("open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "mount_setattr"),
    "all that came since Linux 5.1": (
        "open_tree",
        "move_mount",
        "fsopen",
        "fsconfig",
        "fsmount",
        "mount_setattr",
        "openat2",
        "clone3",
        "close_range",
        "pidfd_open",
        "pidfd_send_signal",
        "faccessat2",
        "landlock_create_ruleset",
        "landlock_add_rule",
        "landlock_restrict_self",
    ),
}
# At which of them calls fail, one machine or another: where that changes, something else does the work, or nothing.
STAGES = {
    "call",
    "collect",
    "engine",
    "helper",
    "hostname",
    "landlock",
    "namespaces",
    "pivot",
    "privileges",
    "seccomp",
    "unix sockets",
}
LISTENER = 8  # SECCOMP_FILTER_FLAG_NEW_LISTENER


def refused_well(line):
    """A refusal that a person can act on."""
    error = line["error"] if line["result"] is None else line["result"]["error"]
    if not scene.proper(error):
        return f"no reason: {error}"
    missing = [] if line["result"] is None else [word for word in ("stage", "hint") if not error.get(word)]
    return f"without {' and '.join(missing)}: {error}" if missing else None


def own_records():
    """For root: a record of written files that goes with the process. Without statx its entries have no time of birth, and a
    later file with the same inode would count as written by a tool."""
    place = "/var/lib/toolcage"
    if os.geteuid() or not os.path.isdir(place):
        return []
    return [
        "unshare",
        "-m",
        "--propagation",
        "private",
        "sh",
        "-c",
        f'mount -t tmpfs none {place} && exec "$@"',
        "sh",
    ]


def try_without(options, stage, usual, numbers, errnum):
    """(what is wrong, how the calls ended, the stages at which they did) on that machine."""
    stage.reset()
    done = subprocess.run(
        [*own_records(), options.without, str(errnum), numbers, options.host, stage.policy, *scene.TOOLS],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=stage.environ,
        cwd=stage.root,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = (
        stage.canaries()
        + [f"a layer is left: {path}" for path in stage.layers()]
        + ([f"the host ended with {done.returncode}: {done.stderr[:300]}"] if done.returncode else [])
    )
    words, stages = [], set()
    for line in lines[: len(scene.TOOLS)] or [{"step": "bind", "result": None, "error": None}]:
        if line["step"] == "left":
            break
        ended = line["result"]["status"] if line["result"] else "error"
        why = (line["result"] or line)["error"] or {}
        words.append(ended if ended == "ok" else f"{ended} ({why.get('stage')}: {why.get('message')})")
        if ended in ("denied", "error"):
            stages.add(why.get("stage"))
            problem = refused_well(line)
            wrong += [f"{line['step']}: {problem}"] if problem else []
        else:
            wrong += scene.judge_call(stage, line, usual)
    return wrong, "; ".join(dict.fromkeys(words)), stages


def machines():
    for name in CALLS:
        if name in NUMBERS and name != "seccomp":
            yield name, str(NUMBERS[name])
    yield "seccomp's listener", f"{NUMBERS['seccomp']}:{LISTENER}"
    yield "seccomp", str(NUMBERS["seccomp"])
    for name, calls in TOGETHER.items():
        yield name, ",".join(str(NUMBERS[call]) for call in calls)


def main():
    parser = argparse.ArgumentParser()
    for name in ("without", "host", "walls"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--user", default="self")
    options = parser.parse_args()
    scene.become(options.user)
    if not NUMBERS:
        scene.skip_all(f"{life.HEADER} is missing: no numbers of system calls")
    with scene.Scene(options.walls) as stage:
        done = subprocess.run(
            [options.host, stage.policy, *scene.TOOLS],
            env=stage.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        usual = {
            line["step"]: line["result"]["enforcement"]
            for line in map(json.loads, done.stdout.splitlines()[: len(scene.TOOLS)])
        }
        reached = set()
        for name, numbers in machines():
            for word in ("ENOSYS", "EPERM"):
                try:
                    wrong, ended, stages = try_without(options, stage, usual, numbers, getattr(errno, word))
                except subprocess.TimeoutExpired:
                    wrong, ended, stages = ["the host hung"], "never", set()
                reached |= stages
                check(not wrong, f"{name} answers {word}: {ended}".replace("#", ""), "\n".join(wrong))
        check(
            reached >= STAGES,
            f"calls fail at {', '.join(sorted(STAGES))}",
            f"none at {sorted(STAGES - reached)}",
        )
    scene.finish()


if __name__ == "__main__":
    main()
