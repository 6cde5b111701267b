# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""One life of a host under inject.c, and what its log says."""

import contextlib
import functools
import json
import re
import subprocess
import tempfile

import scene

HEADER = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"


def call_names():
    with contextlib.suppress(OSError), open(HEADER, encoding="utf-8") as header:
        return {int(n): name for name, n in re.findall(r"#define __NR_(\w+) (\d+)", header.read())}
    return {}


NAMES = call_names()
NUMBERS = {name: number for number, name in NAMES.items()}


class Run:
    """One life of the host, with at most one failure in it."""

    def __init__(self, options, stage, role, kind, nth, number):
        with tempfile.NamedTemporaryFile("r", prefix="toolcage-torture-log-") as log:
            stage.reset()
            self.options, self.role = options, role
            watched, program = self.program(options, stage, role)
            try:
                self.code, self.stdout, self.stderr = self.follow(
                    [options.inject, log.name, watched, kind, str(nth), str(number), "--", *program],
                    stage,
                    role,
                )
            except subprocess.TimeoutExpired as problem:
                raise ValueError(f"the injector hung: {log.read()[-1000:]}") from problem
            self.log = [line.split(" ") for line in log.read().splitlines()]

    @staticmethod
    def program(options, stage, role):
        """Who of inject.c's roles it is, and the host."""
        return role, [options.host, stage.policy, *scene.TOOLS]

    def follow(self, command, stage, role):
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
            env=stage.environ,
            cwd=stage.root,
        )
        return done.returncode, done.stdout, done.stderr

    @functools.cached_property
    def lines(self):
        return [json.loads(line) for line in self.stdout.splitlines()]

    def good(self):
        """What is wrong with a life in which nothing failed."""
        return [
            f"{line['step']} was not run: {line}"
            for line in self.lines[: len(scene.TOOLS)]
            if not line["result"] or line["result"]["status"] != "ok"
        ]

    def enforcement(self):
        return {line["step"]: line["result"]["enforcement"] for line in self.lines[: len(scene.TOOLS)]}

    def ending(self):
        return " ".join(
            line["result"]["status"] if line["result"] else "error"
            for line in self.lines[:2]
            if "result" in line
        )

    def noted(self, word):
        return [line[1:] for line in self.log if line[0] == word]

    def number(self, word):
        return max((int(rest[0]) for rest in self.noted(word)), default=0)

    def groups(self):
        """tool: the hierarchies in which it ran in a group of its own."""
        found = {}
        for rest in self.noted("exec"):
            text = " ".join(rest)
            found[rest[1]] = {
                entry.split(":")[1] for entry in text.split("groups ")[1].split() if "toolcage-" in entry
            }
        return found

    def cannot(self):
        """Did something fail that cannot? A descriptor is taken out of an epoll set without any allocation."""
        return any(rest[0] == str(NUMBERS.get("epoll_ctl")) and rest[2] != "1" for rest in self.noted("fail"))

    def what(self):
        failed = self.noted("fail")
        return (
            "nothing"
            if not failed
            else NAMES.get(int(failed[0][0]), failed[0][0])
            if failed[0][0].isdigit()
            else failed[0][0]
        )

    @staticmethod
    def gone(line):
        """The helper ended for itself, in the middle of things."""
        error = line.get("error") or (line.get("result") or {}).get("error") or {}
        return error.get("code") in ("helper", -12)

    def judge(self, stage, base, enforcement):
        wrong = [f"the host ended with {self.code}: {self.stderr[:300]}"] if self.code else []
        calls = [line for line in self.lines if line["step"] in scene.TOOLS]
        engines = [line for line in self.lines if line["step"] == "engine"]
        wrong += [
            f"an engine without an error: {line}" for line in engines if not scene.proper(line["error"])
        ]
        # the last call is the one after the fault
        for line in calls:
            wrong += scene.judge_call(stage, line, enforcement)
        if not calls or calls[-1]["result"] is None or calls[-1]["result"]["status"] != "ok":
            wrong.append(f"the call after the fault: {calls[-1] if calls else self.lines}")
        for line in self.lines:
            if line["step"] == "left" and (line["descriptors"] or line["allocations"] > 0):
                wrong.append(
                    f"the host keeps {line['descriptors']} descriptors, {line['allocations']} allocations"
                )
        return wrong + self.judge_helper(base)

    def judge_helper(self, base):
        """Who ends in the middle of things, with its host or for itself, closes nothing by hand. A helper that was not
        seen to its end says nothing."""
        wrong = []
        whole = (
            self.role != "host"
            and len(self.lines) > 1
            and self.lines[1].get("result")
            and self.lines[1]["result"]["status"] == "ok"
        )
        if whole and base.noted("open") and self.number("open") > base.number("open"):
            wrong.append(f"the helper ends with {self.number('open')} descriptors, not {base.number('open')}")
        orderly = (
            self.noted("heap") and base.noted("heap") and not any(self.gone(line) for line in self.lines)
        )
        if orderly and self.number("heap") > base.number("heap"):
            wrong.append(f"the helper ends with {self.number('heap')} allocations, not {base.number('heap')}")
        return wrong
