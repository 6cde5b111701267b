#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Fails one system call of a session's call, in who keeps its state or in who puts it back: the state is the old one or the
new one, never a mix, and the next call works.

usage: sessions.py --inject I --cli C [--user ordinary] [--count N] [--seed N]
"""

import argparse
import errno
import json
import os
import shutil
import subprocess
import tempfile

import scene
from scene import check

WORDS = ("ENOSPC", "EIO", "EPERM", "ENOMEM")
NAMES = "1 2 3 4 5"


class Stage:
    def __init__(self, options):
        self.options, self.name, self.round = options, f"torture-{os.getpid()}", 0
        self.root = tempfile.mkdtemp(prefix="toolcage-torture-", dir="/var/tmp")
        self.tree = os.path.join(self.root, "ws")
        os.mkdir(self.tree)
        for name in NAMES.split():
            self.write(os.path.join(self.tree, name), "0\n")
        layer = 'workspace = { mode = "overlay", commit = "never" }\n' if scene.overlays_work() else ""
        self.places = ("/tmp/d", self.tree) if layer else ("/tmp/d",)
        self.policy = os.path.join(self.root, "policy.toml")
        self.write(
            self.policy,
            f'[tool.t]\nnetwork = "none"\nfilesystem.writable = ["{self.tree}"]\nmemory = {{ max = "256MiB", by = "any" }}\n{layer}',
        )
        self.environ = {"HOME": self.root, "PATH": "/usr/bin:/bin", "LC_ALL": "C"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(
            [self.options.cli, "session", "end", self.name],
            env=self.environ,
            capture_output=True,
            check=False,
        )
        shutil.rmtree(self.root, ignore_errors=True)

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def call(self, script, before=()):
        done = subprocess.run(
            [
                *before,
                self.options.cli,
                "exec",
                "--policy",
                self.policy,
                "--tool",
                "t",
                "--session",
                self.name,
                "--json",
                "/bin/sh",
                "-c",
                script,
            ],
            env=self.environ,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {"status": "none", "session": None, "raw": done.stdout + done.stderr}

    def change(self, before=()):
        """Everything that is kept says the same number."""
        self.round += 1
        return self.call(
            "mkdir -p /tmp/d; "
            + "; ".join(
                f"for i in {NAMES}; do rm -f {place}/$i; echo {self.round} > {place}/$i; done"
                for place in self.places
            ),
            before,
        )

    def state(self):
        """Every number that is there; and how many files there are."""
        answer = self.call("; ".join(f"cat {place}/*" for place in self.places))
        return (
            answer,
            set((answer.get("stdout") or {}).get("text", "").split()),
            len((answer.get("stdout") or {}).get("text", "").split()),
        )

    def inject(self, role, nth, number):
        with tempfile.NamedTemporaryFile("r", prefix="toolcage-torture-log-") as log:
            answer = self.change([self.options.inject, log.name, role, "call", str(nth), str(number), "--"])
            return answer, [line.split() for line in log.read().splitlines()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inject", required=True, type=os.path.abspath)
    parser.add_argument("--cli", required=True, type=os.path.abspath)
    parser.add_argument("--user")
    parser.add_argument("--count", type=int, help="so many, chosen by the seed; without it each one")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    options.seed = scene.seed(1) if options.seed is None else options.seed
    scene.become(options.user)
    with Stage(options) as stage:
        whole = len(NAMES.split()) * len(stage.places)
        first = stage.change()
        check(
            first["status"] == "ok" and first["session"]["calls"] == 1, "without a failure it is kept", first
        )
        jobs = []
        for role in ("collector", "helper"):
            _, log = stage.inject(role, 0, 0)
            seen = max((int(line[1]) for line in log if line[0] == "seen"), default=0)
            check(seen > 20, f"the calls of the {role} are counted", log[-3:])
            jobs += [(role, n + 1, word) for n in range(seen) for word in WORDS]
        bad, tried, failed, current = [], 0, 0, str(stage.round)
        for role, nth, word in scene.mostly(jobs, options.count, options.seed):
            old = current
            answer, log = stage.inject(role, nth, getattr(errno, word))
            new = str(stage.round)
            tried += 1
            stuck = [line for line in log if line[0] in ("hang", "left")]
            if stuck:
                bad.append((role, nth, word, answer, log))
                break
            if (
                answer["session"] and answer["status"] != "ok"
            ):  # the tool was ended in the middle of its work, and that was kept
                stage.change()
                current = str(stage.round)
                continue
            after, found, count = stage.state()
            failed += answer["session"] is None
            current = next(iter(found), "?")
            if (
                after["status"] != "ok"
                or len(found) != 1
                or count != whole
                or current not in (old, new)
                or (answer["session"] and current != new)
            ):
                bad.append((role, nth, word, old, new, sorted(found), count, answer, after))
                break
        check(not bad, "after any failure the state is the old one or the new one", bad)
        check(tried > 5 and failed > 0, f"{tried} lives, {failed} of which kept nothing", (tried, failed))
    scene.finish()


main()
