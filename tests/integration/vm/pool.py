#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Machines that have gone on from their file before a call comes: one serves the next call of its tool, like no other machine and with what is
granted by then; and where it cannot, or is not there any more, the call has a machine of its own.

usage: pool.py TOOLCAGE brief | all"""

import ctypes
import json
import os
import signal
import sys
import time

import scene
import host
import mounts
from processes import helpers_of
from scene import check, finish

LOOK = "cat /proc/sys/kernel/random/boot_id /proc/sys/kernel/random/uuid; date +%s; uname -n; cat /etc/machine-id; echo $SAID; cat /shown/file; ls /tmp; touch /tmp/left"
# What a tool could see of a call before it.
TRACES = "echo $$ /proc/[0-9]*; env; dmesg 2>&1; ls -a / /tmp /dev /dev/shm /run 2>&1; cat /proc/mounts; ls -l /proc/self/fd | wc -l"
KEPT = "snapshot = true\n"
PATIENCE_S = 60


def policy(more="", backend="", tool=""):
    shown = f'filesystem = {{ readable = [{{ path = "/shown", from = "{os.path.abspath("shown")}" }}] }}'
    text = (
        scene.QEMU.format(emulation="true", backend=KEPT + backend)
        + scene.TOOL.format(kind="qemu", timeout="240s", more=more)
        + tool
    )
    return host.policy_of(text.replace('filesystem = "none"', shown))


def until(what):
    end = time.monotonic() + PATIENCE_S
    while not what() and time.monotonic() < end:
        time.sleep(0.05)
    return what()


class Engine:
    def __init__(self):
        before = helpers_of(os.getpid())
        self.handle = host.make(lib.toolcage_engine_new)
        until(lambda: set(helpers_of(os.getpid())) - set(before))
        self.helper = next(iter(set(helpers_of(os.getpid())) - set(before)))

    def start(self, rules, script=LOOK, tool="t"):
        handle = host.make(lib.toolcage_call_new, self.handle, rules, tool.encode())
        host.set_command(handle, "/bin/sh", "-c", script)
        host.ask(lib.toolcage_call_start, handle)
        return handle

    def call(self, rules, script=LOOK, tool="t"):
        return end(self.start(rules, script, tool))


class Answer:
    def __init__(self, handle):
        self.json = host.result(handle)
        steps = json.loads(lib.toolcage_result_timings_json(lib.toolcage_call_result(handle)) or b"[]")
        self.waited = "ready" in [step["step"] for step in steps]
        self.fine = self.json["status"] == "ok"
        lines = self.json["stdout"]["text"].split("\n") + [""] * 6
        self.boot, self.uuid, self.time, self.name, self.said, self.shown = lines[:6]
        self.left = [line for line in lines[6:] if line]

    def __repr__(self):
        return f"waited: {self.waited}, {json.dumps(self.json)[:1500]}"


def end(handle):
    host.ask(lib.toolcage_call_wait, handle, -1)
    answer = Answer(handle)
    lib.toolcage_call_unref(handle)
    return answer


def show(text):
    os.makedirs("shown", exist_ok=True)
    with open("shown/file", "w", encoding="utf-8") as out:
        out.write(text + "\n")


def one_waits():
    """And nobody runs: no call is under way here."""
    return until(lambda: len(scene.monitors()) == 1)


mounts.own_state()  # others run machines, too
scene.begin("self")
lib = host.load(os.path.join(os.path.dirname(os.path.realpath(scene.TOOLCAGE)), "libtoolcage.so.0"))
lib.toolcage_result_timings_json.restype = ctypes.c_char_p
lib.toolcage_result_timings_json.argtypes = [ctypes.c_void_p]
show("first")
engine, plain = Engine(), policy()
first, second = engine.call(plain), engine.call(plain)
check(
    first.fine and second.fine and second.boot == first.boot and not second.waited,
    "the first call keeps its machine, and the second one goes on from that",
    (first, second),
)
check(one_waits(), "then one waits for the next call", scene.monitors())
show("second")
began = time.time()
third = engine.call(policy('env = { set = { SAID = "said" } }'))
check(
    third.fine and third.waited and third.boot == first.boot,
    "the waiting machine serves the next call",
    third,
)
check(
    (third.shown, third.said) == ("second", "said"), "with what is granted by then, and its own words", third
)
check(
    len({one.uuid for one in (first, second, third)}) == 3
    and began - 2 <= int(third.time) <= time.time() + 2,
    "with random numbers and a time of its own",
    (first.uuid, second.uuid, third.uuid, began, third.time),
)
check(third.name == "cage" and not third.left, "and no name or trace of another", third)
check(one_waits(), "another one takes its place", scene.monitors())
time.sleep(2)  # by emulation it has rehearsed a call then, with a shell
quiet, alone = engine.call(plain, TRACES), engine.call(policy(backend="ready = 0\n"), TRACES)
check(
    quiet.fine
    and alone.fine
    and quiet.waited
    and not alone.waited
    and quiet.json["stdout"] == alone.json["stdout"],
    "of what it has run before nothing is to be seen: a call that waited for its machine finds the same",
    (quiet, alone),
)
check(one_waits(), "another one takes its place", scene.monitors())
pair = [end(handle) for handle in [engine.start(plain), engine.start(plain)]]
check(
    all(one.fine for one in pair)
    and [one.waited for one in pair] == [True, False]
    and len({first.uuid, third.uuid, pair[0].uuid, pair[1].uuid}) == 4,
    "of two at once it serves one",
    pair,
)

check(one_waits(), "one waits", scene.monitors())
os.kill(scene.monitors()[0], signal.SIGKILL)
until(lambda: not scene.monitors())
time.sleep(0.2)  # its memory goes before its pipes
killed = engine.call(plain)
check(
    killed.fine and not killed.waited and killed.boot == first.boot,
    "a monitor that has ended meanwhile is nobody's: the call has a machine of its own",
    killed,
)
check(one_waits(), "one waits", scene.monitors())
other = engine.call(policy("open_files = 77"), "ulimit -n")
check(other.fine and other.json["stdout"]["text"] == "77\n", "a limit that is changed by then holds", other)
check(one_waits(), "one waits", scene.monitors())
waiting = scene.monitors()[0]
hidden = engine.call(policy('network = ["example.com:80"]'))
check(hidden.fine and not hidden.waited, "a call with a network has a machine of its own", hidden)
check(until(lambda: waiting in scene.monitors()), "the other machine waits on", scene.monitors())
off = Engine()
never = policy(backend="ready = 0\n")
for _ in range(2):
    off.call(never)
time.sleep(1)
check(
    scene.monitors() == [waiting] or not until(lambda: len(scene.monitors()) > 1),
    "with ready = 0 none waits",
    scene.monitors(),
)
lib.toolcage_engine_unref(off.handle)
os.kill(engine.helper, signal.SIGKILL)
check(until(lambda: not scene.monitors()), "where the helper is killed none is left", scene.monitors())

LARGE = '[tool.large]\nbackend = "qemu"\nimage = "small"\nfilesystem = "none"\nmemory = { max = "1400MiB", by = "any" }\ndisk = "16MiB"\ntimeout = "240s"\n'
engine, bounded = Engine(), policy('disk = "16MiB"', backend='at_once = "3500MiB"\n', tool=LARGE)
for _ in range(2):
    engine.call(bounded)
check(one_waits(), "one waits, of which half of at_once is room for", scene.monitors())
if sys.argv[2] == "all":
    large = engine.call(bounded, "echo yes", tool="large")
    check(large.fine, "and makes room for a call that needs that", large)
    for _ in range(2):
        engine.call(plain)
    check(one_waits(), "one waits", scene.monitors())
    time.sleep(65)
    check(not scene.monitors(), "a minute, and goes", scene.monitors())
    engine.call(plain)
    check(one_waits(), "one waits", scene.monitors())
lib.toolcage_engine_unref(engine.handle)
check(until(lambda: not scene.monitors()), "with the engine it goes, too", scene.monitors())
finish()
