#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Fails one system call of an install, in whoever runs it, brings it back or keeps it: the tool then sees all of it or is
refused, never half, and the next install works and clears away what is left.

usage: setups.py --inject I --cli C [--user ordinary] [--count N] [--seed N]
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
FILES, IOCTL = 12, 16  # the latter is x86_64's number


class Stage:
    def __init__(self, options):
        self.options, self.round = options, 0
        self.root = tempfile.mkdtemp(prefix="toolcage-torture-", dir="/var/tmp")
        self.policy = os.path.join(self.root, "policy.toml")
        self.environ = {"HOME": self.root, "PATH": "/usr/bin:/bin", "LC_ALL": "C"}
        self.store = (
            os.path.join(self.root, ".local/state/toolcage/setup")
            if os.geteuid()
            else "/var/lib/toolcage/setup"
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.setup("--remove")
        shutil.rmtree(self.root, ignore_errors=True)

    def begin(self):
        """Another install phase; what was kept of the last one goes."""
        if self.round:
            self.setup("--remove")
        self.round += 1
        # it asks nobody how its parts ended: what fails in them by our fault has to be told by us
        script = f"mkdir -p /opt/deps/d; for i in $(seq {FILES}); do echo {self.round} | cat > /opt/deps/d/$i; done; : {os.getpid()}"
        memory = 'memory = { max = "256MiB", by = "any" }'
        with open(self.policy, "w", encoding="utf-8") as file:
            file.write(
                f'[tool.t]\n{memory}\n[tool.t.setup]\ncommand = ["/bin/sh", "-c", "{script}"]\ninto = "/opt/deps"\n{memory}\n'
            )

    def run(self, *words, before=()):
        return subprocess.run(
            [*before, self.options.cli, *words],
            env=self.environ,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    def setup(self, *flags, before=()):
        return self.run("setup", "--policy", self.policy, *flags, before=before)

    def seen(self):
        """The files that a call of the tool sees; None: it is refused because nothing is installed."""
        done = self.run(
            "exec", "--policy", self.policy, "--tool", "t", "--json", "/bin/sh", "-c", "cat /opt/deps/d/*"
        )
        answer = json.loads(done.stdout)
        if answer["status"] == "denied" and answer["error"]["stage"] == "setup":
            return None
        return answer["stdout"]["text"].split() if answer["status"] == "ok" else answer

    def inject(self, role, nth, number):
        with tempfile.NamedTemporaryFile("r", prefix="toolcage-torture-log-") as log:
            done = self.setup(
                before=[self.options.inject, log.name, role, "call", str(nth), str(number), "--"]
            )
            return done.returncode, [line.split() for line in log.read().splitlines()]


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
        jobs, asked = [], []
        for role in ("host", "collector", "helper"):
            stage.begin()
            _, log = stage.inject(role, 0, 0)
            seen = max((int(line[1]) for line in log if line[0] == "seen"), default=0)
            check(
                seen > 20 and stage.seen() == [str(stage.round)] * FILES,
                f"the calls of the {role} are counted",
                log[-3:],
            )
            jobs += [(role, n + 1, word) for n in range(seen) for word in WORDS]
            # by which the helper takes and answers the notified calls of a tool, among others
            asked += [
                (role, n, "ENOMEM")
                for n, line in enumerate((line for line in log if line[0] == "call"), 1)
                if role == "helper" and int(line[1]) == IOCTL
            ]
        bad, tried, failed = [], 0, 0
        for role, nth, word in scene.sample(asked, options.count, options.seed) + scene.mostly(
            jobs, options.count, options.seed
        ):
            stage.begin()
            code, _ = stage.inject(role, nth, getattr(errno, word))
            found = stage.seen()
            tried += 1
            failed += found is None
            if found not in (None, [str(stage.round)] * FILES) or (code == 0 and found is None):
                bad.append((role, nth, word, code, found))
                break
        check(not bad, "after any failure all of the install is there or nothing", bad)
        check(tried > 5 and failed > 0, f"{tried} installs, {failed} of which kept nothing", (tried, failed))
        stage.begin()
        check(
            stage.setup().returncode == 0 and stage.seen() == [str(stage.round)] * FILES,
            "the next install works",
            stage.seen(),
        )
        if os.geteuid():  # root's store is that of other tests, too
            left = [name for name in os.listdir(stage.store) if name.startswith("new-")]
            check(not left, "and nothing half is left", left)
    scene.finish()


main()
