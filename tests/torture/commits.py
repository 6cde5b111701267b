#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Kills the process that commits, or everything of toolcage's, before each system call of a commit: after the next start
the user's trees are as they were or as the tool had them, byte for byte and mode for mode, and nothing else is left.

usage: commits.py --inject I --cli C [--user ordinary] [--count N] [--seed N]
"""

import argparse
import json
import os
import shutil
import stat
import subprocess
import tempfile
import time

import scene
from scene import check

MODES = {"overlay": "overlay", "copy": "copy"}
KILLS = {"collector": -1, "all but the host": -2, "all": -3}
BEFORE = """
mkdir ws two; cd ws; for i in a b z k h1; do echo 1 > $i; done; ln h1 h2; ln -s a l; chmod 640 b
mkdir d x m r r/s; echo 1 > d/f; echo 1 > d/g; echo 1 > x/y; echo 1 > r/s/t; mv ../policy.toml policy.toml
cd ../two; echo 1 > p; mkdir q; echo 1 > q/r
"""
TOOL = """
cd ws; echo two > a; rm b; ln -sfn b l; echo two > d/f; mv d/g g; rm -r x; echo file > x; rm z; mkdir z; echo in > z/w
chmod 700 m; rm h1; echo three > h2; chmod 755 k; mkdir -p n/o; echo new > n/o/p; chmod 550 n; mv r moved
echo evil >> policy.toml; mkdir .git; echo evil > .envrc
cd ../two; echo two > p; rm q/r; echo 1 > s; mkdir t; echo u > t/u
"""
PATIENCE = 20


class Stage:
    def __init__(self, options, mode):
        self.options = options
        self.root = tempfile.mkdtemp(prefix="toolcage-torture-", dir="/var/tmp")
        self.trees = [os.path.join(self.root, name) for name in ("ws", "two")]
        self.policy = os.path.join(self.root, "policy.toml")
        self.text = f'''[tool.t]
network = "none"
filesystem.writable = ["{self.root}/ws", "{self.root}/two"]
memory = {{ max = "256MiB", by = "any" }}
workspace = {{ mode = "{MODES[mode]}", commit = "always" }}
'''
        self.plain = os.path.join(self.root, "plain.toml")
        with open(self.plain, "w", encoding="utf-8") as file:
            file.write('[tool.t]\nnetwork = "none"\n')
        self.environ = {"HOME": self.root, "PATH": "/usr/bin:/bin", "LC_ALL": "C"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.toolcage("doctor", "--clean")
        subprocess.run(["chmod", "-R", "u+rwX", self.root], check=False)
        shutil.rmtree(self.root, ignore_errors=True)

    def toolcage(self, *args, before=()):
        return subprocess.run(
            [*before, self.options.cli, *args],
            env=self.environ,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    def reset(self):
        subprocess.run(["chmod", "-R", "u+rwX", *self.trees], stderr=subprocess.DEVNULL, check=False)
        for tree in self.trees:
            shutil.rmtree(tree, ignore_errors=True)
        with open(self.policy, "w", encoding="utf-8") as file:
            file.write(self.text)
        subprocess.run(["/bin/sh", "-c", BEFORE], cwd=self.root, check=True)

    def call(self, script, before=()):
        policy = os.path.join(self.root, "ws/policy.toml")
        done = self.toolcage(
            "exec", "--policy", policy, "--tool", "t", "--json", "/bin/sh", "-c", script, before=before
        )
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {"status": "none", "raw": done.stdout + done.stderr}

    def commit(self, nth, kill):
        with tempfile.NamedTemporaryFile("r", prefix="toolcage-torture-log-") as log:
            inject = [self.options.inject, log.name, "collector", "call", str(nth), str(kill), "--"]
            answer = self.call(f"cd {self.root}\n{TOOL}", inject)
            return answer, [line.split() for line in log.read().splitlines()]

    def picture(self):
        """Names, types, modes and contents."""
        found = {}
        for tree in self.trees:
            for at, _, names in os.walk(tree):
                for path in [at, *(os.path.join(at, name) for name in names)]:
                    found[os.path.relpath(path, self.root)] = self.one(path)
        return found

    @staticmethod
    def one(path):
        st = os.lstat(path)
        if stat.S_ISLNK(st.st_mode):
            return os.readlink(path)
        if not stat.S_ISREG(st.st_mode):
            return oct(st.st_mode)
        with open(path, "rb") as file:
            return oct(st.st_mode), file.read()

    def left(self):
        places = [os.path.join(self.root, ".local/state/toolcage", name) for name in ("layers", "commits")]
        found = [
            name
            for place in places
            if os.path.isdir(place)
            for name in os.listdir(place)
            if not name.endswith((".cut", ".told"))
        ]
        return found + [path for path in self.picture() if "/.toolcage-" in path]


def settle(stage, wanted):
    """The next start completes a commit beside its call. What is left of toolcage's."""
    until = time.monotonic() + PATIENCE
    while True:
        stage.toolcage("exec", "--policy", stage.plain, "--tool", "t", "/bin/sleep", "0.1")
        if (not stage.left() and stage.picture() in wanted) or time.monotonic() > until:
            return stage.left()


def difference(found, old, new):
    return {
        path: (old.get(path), new.get(path), found.get(path))
        for path in sorted({*found, *old, *new})
        if found.get(path) not in (old.get(path), new.get(path)) or old.get(path) != new.get(path)
    }


def sweep(options, mode):
    with Stage(options, mode) as stage:
        stage.reset()
        old = stage.picture()
        answer, log = stage.commit(0, 0)
        new = stage.picture()
        seen = max((int(line[1]) for line in log if line[0] == "seen"), default=0)
        check(answer["status"] == "ok" and seen > 100, f"{mode}: a commit succeeds and is counted", answer)
        check(
            old != new and old["ws/policy.toml"] == new["ws/policy.toml"] and "ws/.envrc" not in new,
            f"{mode}: the policy and what steers the host stay",
            new,
        )
        jobs = [(nth + 1, kill) for nth in range(seen) for kill in KILLS]
        bad, between, done = [], 0, 0
        for nth, kill in scene.mostly(jobs, options.count, options.seed):
            stage.reset()
            answer, log = stage.commit(nth, KILLS[kill])
            between += stage.picture() not in (old, new)
            left = settle(stage, (old, new))
            found = stage.picture()
            done += found == new
            if left or found not in (old, new):
                what = [line for line in log if line[0] == "fail"]
                bad.append((nth, kill, what, left, difference(found, old, new), answer))
                if len(bad) > 3:
                    break
        check(not bad, f"{mode}: whatever is killed, the trees are the old or the new ones", bad)
        print(f"# {mode}: {between} kills left a half of it, and {done} commits were completed", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inject", required=True, type=os.path.abspath)
    parser.add_argument("--cli", required=True, type=os.path.abspath)
    parser.add_argument("--user", default="self")
    parser.add_argument("--count", type=int, help="so many, chosen by the seed; without it each one")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    options.seed = scene.seed(1) if options.seed is None else options.seed
    scene.become(options.user)
    for mode in MODES if scene.overlays_work() else ["copy"]:
        sweep(options, mode)
    scene.finish()


main()
