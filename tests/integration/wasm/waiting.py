# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Shared by the tests of prestarted WebAssembly workers: an installed engine with a compiled module, and functions that find the
workers that wait for a call."""

import ctypes
import glob
import json
import os
import shutil
import subprocess
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process")]

import scene  # first: adds the directory of the next imports to sys.path
import ahead
import host
from ahead import lib
from host import ask  # noqa: F401
from processes import read
from scene import TOOLCAGE, below, check, skip_all, until

GUEST, WHEELS = map(os.path.abspath, sys.argv[3:5])
HOME = []  # [the directory with the engine and the compiled module], created once

lib.toolcage_result_timings_json.restype = ctypes.c_char_p
lib.toolcage_result_timings_json.argtypes = [ctypes.c_void_p]


def prepare():
    wheel = glob.glob(os.path.join(WHEELS, "wasmtime-*.whl"))
    if not wheel:
        skip_all("the engine is not here: tools/clients fetches it")
    if not os.path.exists(GUEST):
        skip_all("no modules can be made here: tools/deps test installs what compiles them")
    HOME.append("/var/tmp/toolcage-ready-%d" % os.getpid())
    os.makedirs(HOME[0], 0o755)
    os.environ["XDG_STATE_HOME"] = os.path.join(HOME[0], "state")
    shutil.copy(GUEST, os.path.join(HOME[0], "guest.wasm"))
    for words in (("install", wheel[0]), ("compile", os.path.join(HOME[0], "guest.wasm"))):
        done = subprocess.run([TOOLCAGE, "wasm", *words], capture_output=True, timeout=120, check=False)
        check(done.returncode == 0, f"toolcage wasm {words[0]}", done)
    # toolcage reads a compiled module that was written just now, and identifies an older one by its metadata. A worker is
    # prestarted for one of the two, so wait until it is the second.
    time.sleep(2)


class Call(ahead.Call):
    def __init__(self, engine, tool, *command):
        super().__init__(engine, tool, "guest", *command)

    def result(self):
        timings = lib.toolcage_result_timings_json(lib.toolcage_call_result(self.handle))
        return {**super().result(), "timings": json.loads(timings or b"[]")}


def policy(s, more="", files=None, before=""):
    files = files or f'{{ readable = ["{s.data}"], writable = ["{s.ws}"] }}'
    return host.policy_of(f"""
{before}
[defaults]
network = "none"
memory = {scene.ANY}
timeout = "50s"
[tool.a]
module = "{HOME[0]}/guest.wasm"
filesystem = {files}
env = {{ set = {{ ONLY_A = "yes" }} }}
{more}
[tool.b]
module = "{HOME[0]}/guest.wasm"
open_files = 100
filesystem = "none"
""")


class Engine(ahead.Engine):
    """Tools "a" and "b" run the same module. "a" is granted directories; "b" is not, and has another limit."""

    def __init__(self, s, more="", files=None, before=""):
        super().__init__(policy(s, more, files, before))

    def call(self, tool, *command):
        return Call(self, tool, *command).wait()

    def workers(self):
        """The pids of the workers that were prestarted: they have the socket over which their call arrives (fd 4)."""
        return [
            pid
            for pid in below(self.helper)
            if "toolcage-wasm" in read(f"/proc/{pid}/cmdline") and os.path.lexists(f"/proc/{pid}/fd/4")
        ]

    def one_worker(self, tool="a", again=False):
        """Makes a call, and returns the pid of the worker that then waits for the next call, with its module loaded. This is a new
        worker; the one that served the call may exist a moment longer. With `again` (reuse) it is the same worker."""
        before = [] if again else self.workers()
        self.call(tool, "echo")

        found = []  # kept from the look that found it: a second look may find the worker running for a moment
        until(
            lambda: found.extend(pid for pid in self.workers() if pid not in before and waits(pid)) or found,
            20,
        )
        return found[0] if found else None


def waits(pid):
    """Does the worker wait for a message? It sleeps, and has not run for 50 ms. A worker that is loading its module sleeps only for
    moments."""
    before = read(f"/proc/{pid}/status")
    time.sleep(0.05)
    return "State:\tS" in before and slept(before) == slept(read(f"/proc/{pid}/status"))


def slept(status):
    return [line for line in status.splitlines() if "ctxt_switches" in line]


def was_ready(answer):
    return "ready" in [row.get("step") for row in rows(answer["timings"])]


def rows(timings):
    return timings if isinstance(timings, list) else [{"step": step} for step in timings]


def text(answer):
    return answer["stdout"]["text"]


def last(_):
    shutil.rmtree(HOME[0], ignore_errors=True)


def first(_):
    prepare()


def granted(s):
    """Creates files. Returns a grant of some of them, and a list of (arguments, expected exit code, expected output)."""
    s.write("data/x", "read")
    s.write("secret", "secret")
    s.write("ws/.git/config", "[core]\n")
    s.write("ws/.git/hooks/none", "")
    s.write("ws/hidden/key", "hidden")
    os.symlink("../secret", s.path("ws/out"))
    os.symlink("/etc/passwd", s.path("ws/absolute"))
    refused = [
        ("put", f"{s.data}/x", "no"),
        ("remove", f"{s.data}/x"),
        ("show", s.path("secret")),
        ("show", f"{s.ws}/out"),
        ("show", f"{s.ws}/absolute"),
        ("show", f"{s.ws}/../secret"),
        ("show", f"{s.ws}/hidden/key"),
        ("put", f"{s.ws}/.git/config", "[x]"),
        ("put", f"{s.ws}/.git/hooks/post", "x"),
        ("show", "/etc/toolcage/module.wasm"),
        ("show", "/proc/self/environ"),
    ]
    fine = [
        (("show", f"{s.data}/x"), 0, "read"),
        (("put", f"{s.ws}/new", "written"), 0, ""),
        (("show", f"{s.ws}/new"), 0, "written"),
    ]
    own = [(("put", "/tmp/x", "x"), 0, ""), (("show", "/tmp/x"), 1, "")]
    grant = f'{{ readable = ["{s.data}"], writable = ["{s.ws}"], denied = ["{s.ws}/hidden"] }}'
    return grant, fine + [(words, 1, "") for words in refused] + own


def worker_ends_as_elsewhere(engine, *more):
    """A prestarted worker ends a call like a worker that was started for it. The engine's tool "a" has limits of 0.5 s and 64 KiB of
    output. `more`: further cases as (arguments, status, exit code)."""
    for words, status, code in (*more, (("trap",), "failed", 134), (("spin",), "limit", None)):
        engine.one_worker()
        answer = engine.call("a", *words)
        check(
            was_ready(answer) and answer["status"] == status and answer.get("exit_code") in (code, -1),
            f"{words[0]} ends as it does elsewhere",
            answer,
        )
    engine.one_worker()
    answer = engine.call("a", "shout")
    check(was_ready(answer) and answer["stdout"]["truncated"], "output is bounded", answer["status"])
    engine.one_worker()
    call = Call(engine, "a", "nap", "40")
    ask(lib.toolcage_call_cancel, call.handle)
    check(call.wait()["status"] == "cancelled", "a call that is cancelled ends")
