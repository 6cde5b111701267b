# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the scripts share whose cases use an engine that is installed once, by the verb that people use."""

import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process"))

from scene import PATIENCE, TOOLCAGE, check  # noqa: E402

WHEELS = os.path.abspath(sys.argv[4])
HOME = []  # of the install, with what else a script makes once


def verb(s, *words):
    return subprocess.run(
        [TOOLCAGE, *words], env=s.environ, cwd=s.ws, capture_output=True, timeout=300 * PATIENCE, check=False
    )


def settle(s):
    """The state of this case is that of the install. Is it still to be made?"""
    if not HOME:
        HOME.append("/var/tmp/toolcage-wasm-%d" % os.getpid())
        os.makedirs(HOME[0], 0o755)
    s.environ["XDG_STATE_HOME"] = os.path.join(HOME[0], "state")
    return not os.path.exists(s.environ["XDG_STATE_HOME"])


def put_engine(s):
    """From the file that was fetched beforehand; the interpreter that unpacks it is found by PATH."""
    done = verb(s, "wasm", "install", glob.glob(os.path.join(WHEELS, "wasmtime-*.whl"))[0])
    check(done.returncode == 0, "toolcage wasm install takes the wheel", done)


def last(_):
    if HOME:
        shutil.rmtree(HOME[0], ignore_errors=True)


# What a module runs into, whatever it is made of: its words, what the policy says, and how the call ends.
STOPS = (("trap", "unreachable"), ("dig", "call stack exhausted"))
BOUNDS = (
    (
        ("nap", "60"),
        'timeout = "1s"',
        {},
        lambda a: a.status == "timeout" and a.usage["wall_ms"] < 10000,
        "ends at the deadline",
    ),
    (
        ("spin",),
        'timeout = "1s"',
        {},
        lambda a: a.status == "timeout" and a.usage["wall_ms"] < 10000,
        "ends at the deadline",
    ),
    (
        ("flood",),
        'timeout = "1s"',
        {},
        lambda a: a.status == "timeout" and a.usage["wall_ms"] < 10000,
        "ends at the deadline",
    ),
    (
        ("spin",),
        'cpu_time = "500ms"\ntimeout = "30s"',
        {},
        lambda a: (a.status, a.limit) == ("limit", "cpu_time"),
        "processor time is bounded",
    ),
    (
        ("grow",),
        "",
        {"memory": '{ max = "128MiB", by = "any" }'},
        lambda a: a.status == "ok" and 0 < int(a.out) <= 128,
        "memory ends at its limit",
    ),
    (
        ("shout",),
        'output = { limit = "1MiB", over = "truncate" }',
        {},
        lambda a: a.stdout["truncated"] and len(a.out) < 2 << 20,
        "output is bounded",
    ),
)


def keeps_its_bounds(s, call):
    for word, said in STOPS:
        answer = call(s, word)
        check(
            answer.exit_code == 134 and said in answer.stderr["text"],
            f"{word}: it is stopped, and it says why",
            answer,
        )
    for words, more, grant, fine, what in BOUNDS:
        answer = call(s, *words, more=more, **grant)
        check(fine(answer), f"{words[0]}: {what}", answer)
