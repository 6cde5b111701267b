# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the scripts share that look at workers which wait for calls: a host with an engine, and who waits in it."""
import contextlib
import ctypes
import glob
import json
import os
import shutil
import subprocess
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process")]

import scene  # first: it says where the next one is
import host
from host import ask, make
from scene import TOOLCAGE, below, check, helpers_of, skip_all, until

GUEST, WHEELS = map(os.path.abspath, sys.argv[3:5])
HOME = []  # with the engine and the compiled module, made once

lib = host.load(os.path.join(os.path.dirname(os.path.realpath(TOOLCAGE)), "libtoolcage.so.0"))
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


class Call:
    def __init__(self, engine, tool, *command):
        self.handle = make(lib.toolcage_call_new, engine.handle, engine.policy, tool.encode())
        host.set_command(self.handle, "guest", *command)
        ask(lib.toolcage_call_start, self.handle)

    def wait(self):
        ask(lib.toolcage_call_wait, self.handle, 60000 * scene.PATIENCE)
        answer = host.result(self.handle)
        answer["timings"] = json.loads(lib.toolcage_result_timings_json(lib.toolcage_call_result(self.handle)) or b"[]")
        lib.toolcage_call_unref(self.handle)
        return answer


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


class Engine:
    """Tools "a" and "b" run the same module: "a" is granted directories, "b" has another limit and is granted none."""

    def __init__(self, s, more="", files=None, before=""):
        self.policy = policy(s, more, files, before)
        others = helpers_of(os.getpid())
        self.handle = make(lib.toolcage_engine_new)
        self.helper = None
        until(lambda: self.find(others), 10)

    def find(self, others):
        self.helper = next((pid for pid in helpers_of(os.getpid()) if pid not in others), None)
        return self.helper

    def call(self, tool, *command):
        return Call(self, tool, *command).wait()

    def workers(self):
        """Those that wait, by what they were started as."""
        return [pid for pid in below(self.helper) if read(f"/proc/{pid}/cmdline").endswith("--ahead\0") and "toolcage-wasm" in read(f"/proc/{pid}/cmdline")]

    def one_worker(self, tool="a", again=False):
        """The one that a call leaves; it has loaded what it waits with. The one that served the call may be there for a moment; `again`: it
        is that one."""
        before = [] if again else self.workers()
        self.call(tool, "echo")

        found = []  # by one look: at the next it may not sleep for a moment
        until(lambda: found.extend(pid for pid in self.workers() if pid not in before and waits(pid)) or found, 20)
        return found[0] if found else None

    def close(self):
        lib.toolcage_engine_unref(self.handle)
        lib.toolcage_policy_unref(self.policy)
        return until(lambda: not os.path.exists(f"/proc/{self.helper}"))


def read(path):
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
    return ""


def waits(pid):
    """In the kernel, for a message."""
    return "State:\tS" in read(f"/proc/{pid}/status")


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
