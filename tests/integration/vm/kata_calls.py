#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Calls by Kata Containers, with a stand-in for it (scene_kata.py): what the engine is asked for, what comes of it, and every way in which it fails.

usage: kata_calls.py TOOLCAGE docker|containerd"""

import contextlib
import os
import signal
import time

import scene_kata as scene
import engines
from scene_kata import check, finish, standin

RIGHTS = {
    "CAP_SYS_ADMIN",
    "CAP_SYS_CHROOT",
    "CAP_SETUID",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETFCAP",
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
}
BREAKS = {
    "docker": ("engine", "docker at", "standin/runtime did not terminate"),
    "containerd": ("boot", "does not start", "ctr: "),
}[scene.ENGINE]
WRITES = """filesystem = {{ readable = ["{0}/r"], writable = ["{0}/w"], denied = ["{0}/r/denied"] }}
workspace = {{ mode = "copy", commit = "always" }}
disk = "8MiB"
[tool.t.env.set]
A = "b"
"""


def fails(name, answer, stage, *words, code="backend"):
    error = answer.error
    said = error.get("message", "") + " " + error.get("hint", "")
    check(
        answer.code == 125
        and error.get("code") == code
        and error.get("stage") == stage
        and all(word in said for word in words),
        name,
        answer,
    )


def until(what, patience=60):
    end = time.monotonic() + patience
    while not what() and time.monotonic() < end:
        time.sleep(0.1)
    return what()


def running():
    return [one["Id"] for one in engines.containers(scene.socket()) if one["State"] == "running"]


def lives():
    answer = scene.call("id -u; cat; echo wrong >&2; cat /proc/sys/kernel/hostname; exit 3", stdin="given\n")
    check(
        answer.code == 3
        and answer.json["status"] == "failed"
        and answer.json["stdout"]["text"].split() == ["1000", "given", "cage"]
        and answer.json["stderr"]["text"] == "wrong\n"
        and answer.json["backend"] == "kata",
        "a tool runs, with its streams and its exit code",
        answer,
    )
    answer = scene.call(
        "true", more='[tool.n]\nlayers = ["kata", "process"]\nimage = "system"\nfilesystem = "none"', tool="n"
    )
    held = answer.json.get("enforcement", {})
    check(
        answer.code == 0 and answer.json.get("layers") == ["kata", "process"],
        "layers are named, and the host's system directories can be its root",
        answer,
    )
    check(
        "as reported by the runtime" in held["priv.none"] and "process cage inside" in held["priv.none"],
        "every mechanism names its source",
        held,
    )
    answer = scene.call("head -c 3000000 /dev/zero; head -c 1000000 /dev/zero >&2")
    check(
        answer.json["stdout"]["bytes"] == 3000000 and answer.json["stderr"]["bytes"] == 1000000,
        "much output comes whole",
        answer,
    )
    config = standin().config()
    process = config["process"]
    check(
        set(process["capabilities"]["bounding"]) == RIGHTS and process["noNewPrivileges"],
        "the container has the rights of who makes process cages, and no other",
        process["capabilities"],
    )
    binds = [m for m in config["mounts"] if m["destination"].startswith("/image") and m["type"] == "bind"]
    check(
        len(binds) == 1
        and binds[0]["source"].startswith(scene.store.store())
        and "ro" in binds[0]["options"],
        "of the host it is shown the image, read-only",
        binds,
    )
    check(
        {"type": "network"} in [{"type": n["type"]} for n in config["linux"]["namespaces"]],
        "and no network",
        config["linux"]["namespaces"],
    )
    check(
        config["linux"]["resources"]["memory"]["limit"] == (64 + 64 + 128) << 20,
        "its memory is bounded by the engine",
        config["linux"]["resources"],
    )
    check(not scene.monitors(), "and it is gone", scene.monitors())


def first(container):
    """The number of its first process."""
    if scene.ENGINE == "docker":
        return engines.ask(scene.socket(), "GET", f"/v1.40/containers/{container}/json")[1]["State"]["Pid"]
    return next(
        line.split()[1]
        for line in engines.ctr(scene.socket(), "tasks", "list").splitlines()
        if line.startswith(container)
    )


def streams(parent):
    """What the children of a process have open where the guest's engine has its stream."""
    found = []
    for one in os.listdir("/proc"):
        with contextlib.suppress(OSError, IndexError):
            with open(f"/proc/{one}/stat", encoding="utf-8") as file:
                if file.read().rsplit(")", 1)[1].split()[1] == str(parent):
                    found += [os.readlink(f"/proc/{one}/fd/{number}") for number in (10, 11)]
    return found


def reaches():
    """By the stream to the guest's engine a tool could say how its own call has ended."""
    look = "for p in /proc/[0-9]*; do echo process $p; ls $p/fd 2>/dev/null | sed s,^,$p/fd/,; done"
    answer = scene.call("exec sleep 600 & " + look)
    said = answer.json.get("stdout", {}).get("text", "").split()
    found = [one for one in said if "/fd/" in one and one.split("/")[2] == "1"]
    check(
        answer.code == 0 and not found and said.count("process") <= 5,
        "a tool sees the processes of its cage alone, and no descriptor of the first",
        answer,
    )
    answer = scene.call(
        "for i in 1 2 3 4; do for n in 0 1 2 10 11 12 13; do echo forged > /proc/$i/fd/$n; done; done 2>/dev/null; kill -9 -1; kill -9 1; echo lives"
    )
    check(
        answer.code in (0, 137) and answer.json["status"] in ("ok", "failed"),
        "and nothing that it writes or kills is heard of as the engine's word",
        answer,
    )
    scene.monitors()
    process = scene.start("exec sleep 600")
    check(until(running), "a container runs")
    pid = first(running()[0])
    check(
        until(lambda: any("pipe" in there for there in streams(pid))),
        "outside of the cage, the engine's stream is there",
        pid,
    )
    process.send_signal(signal.SIGTERM)
    scene.end(process)


def files():
    for name, text in (("r/file", "read\n"), ("r/denied", "secret\n"), ("w/old", "old\n")):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w", encoding="utf-8") as out:
            out.write(text)
    here = os.getcwd()
    more = WRITES.format(here)
    answer = scene.call(
        f"cat {here}/r/file; cat {here}/r/denied; echo x > {here}/r/new; rm {here}/w/old; echo new > {here}/w/new; echo $A",
        tool="f",
        more='[tool.f]\nbackend = "kata"\nimage = "small"\ntimeout = "60s"\n'
        + more.replace("tool.t", "tool.f"),
    )
    said = answer.json.get("stdout", {}).get("text", "")
    check(answer.code == 0 and said == "read\nb\n", "granted files are there, denied ones are not", answer)
    check(
        not os.path.exists("w/old")
        and open("w/new", encoding="utf-8").read() == "new\n"
        and not os.path.exists("r/new"),  # pylint: disable=consider-using-with
        "the tool's changes come back",
        answer,
    )
    answer = scene.call(
        "true",
        tool="f",
        more=f'[tool.f]\nbackend = "kata"\nimage = "small"\nfilesystem.writable = ["{here}/w"]\nworkspace.mode = "bind"',
    )
    check(
        answer.code == 126 and answer.error.get("subject") == "workspace" and "copy" in answer.error["hint"],
        "a bound workspace is refused by name",
        answer,
    )
    answer = scene.call(
        "true", tool="f", more=f'[tool.f]\nbackend = "kata"\nimage = "{here}/root"\nfilesystem = "none"'
    )
    check(
        answer.code == 126
        and answer.error.get("subject") == "image"
        and "image import" in answer.error["hint"],
        "the root of a directory that is not the store's is refused: the engine would come to it by its path",
        answer,
    )
    answer = scene.call(
        "true",
        tool="f",
        more='[tool.f]\nbackend = "kata"\nimage = "small"\nfilesystem = "none"\nnetwork = ["example.com:443"]',
    )
    check(answer.code == 126 and "net.allow" in str(answer.error), "a network is refused by name", answer)


def limits():
    answer = scene.call("x=x; while true; do x=$x$x; done")
    check(
        answer.json.get("status") == "limit" and answer.json.get("limit") == "memory",
        "memory is bounded",
        answer,
    )
    answer = scene.call(
        "i=0; while [ $i -lt 300 ]; do sleep 60 & i=$((i+1)); done", more="pids = 16", timeout="20s"
    )
    check(
        answer.json.get("limit") == "pids" or "fork" in answer.json.get("stderr", {}).get("text", ""),
        "processes are bounded",
        answer,
    )
    answer = scene.call("trap '' TERM; sleep 600", more='grace = "1s"', timeout="4s")
    check(answer.json.get("status") == "timeout", "a deadline is held from outside", answer)
    answer = scene.call("yes 1234567", more='output = { limit = "64KiB", over = "kill" }')
    check(
        answer.json.get("status") == "limit" and answer.json.get("limit") == "output",
        "a flood ends at the limit of output",
        answer,
    )
    check(not scene.monitors(), "and nothing is left of them", scene.monitors())


def faults():
    standin().turn("honest")
    answer = scene.call("echo ran")
    fails(
        "a runtime that puts no kernel around its containers is refused before the tool runs",
        answer,
        "boot",
        "host's kernel",
        "not Kata",
    )
    check(answer.json["stdout"]["bytes"] == 0, "and the tool has not run", answer)
    standin().turn("honest", False)
    standin().turn("breaks")
    fails("a runtime that fails says so in the engine's words", scene.call("true"), *BREAKS)
    standin().turn("breaks", False)
    fails(
        "a runtime that the engine does not know, too",
        scene.call("true", backend='runtime = "kata-fc"'),
        BREAKS[0],
        "kata-fc",
    )
    answer = scene.call("true", backend='runtime = "runc"')
    check(
        answer.code in (2, 125, 126) and "kata-qemu" in answer.out + answer.err,
        "a runtime without a kernel of its own is no name for it",
        answer,
    )
    standin().turn("hangs")
    begun = time.monotonic()
    fails(
        "a guest that never speaks ends at the limit of the boot",
        scene.call("true"),
        "boot",
        "did not start in time",
    )
    check(25 < time.monotonic() - begun < 100, "and not long after it", time.monotonic() - begun)
    answer = scene.call("true", timeout="3s")
    check(answer.json.get("status") == "timeout", "and a call's own time counts before", answer)
    standin().turn("hangs", False)
    check(not scene.monitors(), "nothing is left of them", scene.monitors())


def kills():
    process = scene.start("echo begun; exec sleep 600")
    check(until(running), "a container runs")
    time.sleep(2)
    for one in running():
        engines.kill(scene.socket(), one)
    fails(
        "a container that is killed half-way is an error that says so",
        scene.end(process),
        "machine",
        "switched off",
    )
    process = scene.start("exec sleep 600")
    check(until(running), "a container runs")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    check(not scene.monitors(), "no container outlives its host", scene.monitors())


scene.begin("self")
for part in (lives, reaches, files, limits, faults, kills):
    part()
finish()
