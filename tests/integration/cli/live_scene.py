# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the tests of live sessions share: a session, and the processes that run in it."""

import json
import os
import time

from cli import Place


class Session:
    """A live session with a writable project."""

    def __init__(self, *args, grant=("--write", "."), name="work"):
        self.place = Place()
        self.name = name
        self.started = self.place.run("session", "start", name, *grant, *args)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.place.run("session", "end", self.name)
        self.place.__exit__()

    def exec(self, *command, options=(), **more):
        return self.place.run("session", "exec", *options, self.name, "--", *command, **more)

    def sh(self, line, *options, **more):
        return self.exec("sh", "-c", line, options=options, **more)

    def result(self, line, *options):
        return json.loads(self.sh(line, "--json", *options).out)

    def info(self):
        live = json.loads(self.place.run("session", "list", "--json").out)["live"]
        return live[0] if live else None


def alive(mark):
    """The processes of this host with the mark in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words:
            found.append(int(pid))
    return found


def runs(mark, seconds=10):
    until = time.monotonic() + seconds
    while not alive(mark) and time.monotonic() < until:
        time.sleep(0.02)
    return alive(mark)


def gone(mark, seconds=10):
    until = time.monotonic() + seconds
    while alive(mark) and time.monotonic() < until:
        time.sleep(0.05)
    return not alive(mark)


marks = iter(range(100000, 200000))


def new_mark():
    """A duration of sleep that no other process has."""
    return f"{next(marks)}.{os.getpid()}"
