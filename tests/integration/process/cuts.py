#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Commits that are cut: everything of toolcage's is killed while many files come back. The next start completes them, or
leaves the tree as it was; no temporary file stays, and whoever asks is told which commits were cut.

usage: cuts.py TOOLCAGE [self | ordinary] [ROUNDS [FILES]]"""

import contextlib
import json
import os
import random
import subprocess
import sys
import time

from scene import TOOLCAGE, below, check, end, helpers_of, is_root, run, seed, start_time, until

COPY = 'workspace = { mode = "copy" }\ntimeout = "60s"\n'
OVERLAY = 'workspace = { mode = "overlay", commit = "always" }\ntimeout = "60s"\n'
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 4
FILES = int(sys.argv[4]) if len(sys.argv) > 4 else 1000


def living(pids):
    """Of these pids with their start times, those that still are."""
    return [pid for pid, started in pids.items() if started and start_time(pid) == started]


def contents(s):
    found = {}
    for name in os.listdir(s.ws):
        with contextlib.suppress(FileNotFoundError):  # an earlier helper may be clearing away already
            found[name] = b"" if os.path.isdir(s.path("ws/" + name)) else s.read("ws/" + name)
    return found


def doctor(s, *flags):
    done = subprocess.run(
        [TOOLCAGE, "doctor", *flags, "--json"],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return json.loads(done.stdout)


def cut_once(s, dice, mode):
    """Kills everything at some moment of a commit; was it cut in the middle?"""
    for i in range(FILES):
        s.write(f"ws/{i}", "old")
    process = s.popen(
        "/bin/sh",
        "-c",
        f"cd {s.ws}; for i in *; do echo new > $i; done",
        more=mode,
    )
    first = s.path("ws/0"), s.path(f"ws/{FILES // 2}"), s.path(f"ws/{FILES - 1}")
    until(
        lambda: (
            process.poll() is not None
            or any(os.lstat(name).st_size != 3 for name in first)
            or any(name.startswith(".toolcage") for name in os.listdir(s.ws))
        ),
        60,
    )
    time.sleep(dice.random() * 0.05)
    ours = {}  # its helper, which may be nobody's child, and what that has started
    for _ in range(3):
        for first in helpers_of(process.pid):
            ours.update({pid: start_time(pid) for pid in [first, *below(first)]})
        for pid in living(ours):
            end(pid)
    end(process)
    process.communicate()
    until(lambda: not living(ours), 20)
    found = contents(s)
    left = [name for name in found if name.startswith(".toolcage")]
    new = sum(text == b"new\n" for text in found.values())
    torn = [name for name, text in found.items() if name not in left and text not in (b"old", b"new\n")]
    check(not torn, "every file is the old one or the new one", torn[:5])
    return 0 < new < FILES or bool(left), new, left


def new_files(s):
    return sum(text == b"new\n" for text in contents(s).values())


def cuts(s):
    dice = random.Random(seed(7))
    cut = untold = leftovers = 0
    modes = [COPY, OVERLAY] if s.call("/bin/true", more=OVERLAY).status == "ok" else [COPY]
    for number in range(ROUNDS):
        was_cut, new, left = cut_once(s, dice, modes[number % len(modes)])
        leftovers += bool(left)
        answer = s.call("/bin/true", writable=[])
        until(lambda: not any(name.startswith(".toolcage") for name in os.listdir(s.ws)))  # beside the call
        remains = [name for name in os.listdir(s.ws) if name.startswith(".toolcage")]
        says = answer.err
        for _ in range(6):  # the journals are read beside the call, which may end first
            says += s.call("/bin/sleep", "0.1", writable=[]).err if was_cut else ""
        until(lambda: new_files(s) in (0, FILES))
        report = doctor(s)
        told = any(s.ws in line for line in report["cuts"])
        cut += was_cut
        untold += was_cut and new > 0 and not told
        check(not remains, "no temporary file is left after the next start", remains)
        check(
            new_files(s) == FILES if new else new_files(s) in (0, FILES),
            "and the tree is whole",
            (new, new_files(s)),
        )
        if told:
            times = says.count("interrupted: `toolcage doctor`")
            # root's journals are one place, and another root's call may have said it
            check(times == 1 or (is_root() and times == 0), "a next call says it once", says)
            check("toolcage: " not in s.call("/bin/true", writable=[]).err, "and the one after that no more")
            doctor(s, "--clean")
            check(not any(s.ws in line for line in doctor(s)["cuts"]), "once it is cleaned it is forgotten")
        else:
            check(not was_cut or new == 0, "a cut commit is told", (was_cut, new, report["cuts"]))
    print(f"# {cut} of {ROUNDS} commits were cut, {leftovers} left a temporary file", flush=True)
    check(cut >= ROUNDS // 3 and not untold, "enough were cut, and all of them were told", (cut, untold))


def regular(s):
    s.write("ws/file", "old\n")
    answer = s.shell(f"echo new > {s.ws}/file", more=COPY)
    check(
        answer.status == "ok"
        and s.read("ws/file") == b"new\n"
        and not any(s.ws in line for line in doctor(s)["cuts"]),
        "a commit that ends leaves nothing to tell",
        answer,
    )


def named(s):
    """What a dead process staged for a commit: what has the name that is written there goes, and nothing else."""
    base = "/run/toolcage" if is_root() else s.path("home/.local/state/toolcage")
    ids = [f"{random.randrange(1 << 64):016x}" for _ in range(3)]
    os.makedirs(f"{base}/commits", exist_ok=True)
    for name in ids:
        s.write(f"ws/.toolcage-{name}-0", "half")
    os.mkdir(s.path(f"ws/.toolcage-{ids[1]}-1"), 0o700)
    s.write(f"ws/.toolcage-{ids[1]}-1/a", "half")
    for name, text in ((ids[0], f"Tedit\0I{ids[1]}\0R{s.ws}\0F\0D\0"), (ids[2], "")):
        with open(
            os.open(f"{base}/commits/{name}", os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8"
        ) as file:
            file.write(text)
    s.call("/bin/true", writable=[])
    until(lambda: not any(os.path.exists(f"{base}/commits/{name}") for name in ids))
    left = sorted(name for name in os.listdir(s.ws) if name.startswith(".toolcage"))
    check(
        left == sorted(f".toolcage-{name}-0" for name in (ids[0], ids[2])),
        "it goes, and no other",
        (ids, left),
    )
    left = [name for name in ids if os.path.exists(f"{base}/commits/{name}")]
    check(not left and not any(s.ws in line for line in doctor(s)["cuts"]), "nothing was cut", left)


run(regular, named, cuts)
