#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""VMs with a broken or hostile guest: a kernel that loops at its first instruction, a file that is not a kernel, and init programs
that flood, send invalid data, hang, panic or power off. Each is booted. Each call ends in bounded time with an error of the right
code and stage, and leaves nothing behind.

usage: faults.py TOOLCAGE [self | ordinary]"""

import os
import re
import signal
import struct
import sys
import time

import scene
from scene import check, finish

BOUND = 110  # seconds for a call; toolcage gives a boot up after 30 s, without the time in which the VMM waited for a CPU
BUSY = max(1, os.getloadavg()[0] / os.cpu_count())
GUEST = "{}/guest/{}"
EVIL = """#!/bin/busybox sh
/bin/busybox mkdir -p /dev
/bin/busybox mount -t devtmpfs none /dev
exec 0<>/dev/console 1>&0 2>&0
for m in /modules/*; do /bin/busybox insmod $m; done
i=0
while [ ! -c /dev/vport0p1 ] && [ $i -lt 100 ]; do /bin/busybox sleep 0.1; i=$((i+1)); done
{}
/bin/busybox sleep 1000
"""


def cpio(entries):
    """A cpio archive for the initramfs. The kernel unpacks concatenated archives in order, so a file in a later one replaces the
    file of the same name in an earlier one."""
    out = b""
    for number, (name, mode, data) in enumerate([*entries, ("TRAILER!!!", 0, b"")]):
        head = [number + 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
        part = b"070701" + b"".join(b"%08X" % n for n in head) + name.encode() + b"\0"
        out += part + b"\0" * (-len(part) % 4) + data + b"\0" * (-len(data) % 4)
    return out + b"\0" * (-len(out) % 512)


def endless():
    """An ELF file in the form of a kernel, whose first instruction is a jump to itself."""
    code, at = b"\xeb\xfe", 0x1000000
    note = struct.pack("<III", 4, 4, 18) + b"Xen\0" + struct.pack("<I", at)
    rows = [
        (1, 7, 0x1000, at, at, len(code), len(code), 0x1000),
        (4, 4, 0x800, 0x800, 0x800, len(note), len(note), 4),
    ]
    head = (
        b"\x7fELF\2\1\1"
        + b"\0" * 9
        + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, at, 64, 0, 0, 64, 56, len(rows), 64, 0, 0)
    )
    table = b"".join(struct.pack("<IIQQQQQQ", *row) for row in rows)
    return ((head + table).ljust(0x800, b"\0") + note).ljust(0x1000, b"\0") + code


def put(name, data):
    path = GUEST.format(scene.store.store(), name)
    os.chmod(path, 0o644)
    with open(path, "wb") as out:
        out.write(data)


def first_program(script):
    with open(scene.BUSYBOX, "rb") as file:
        busybox = file.read()
    put(
        "initrd",
        good["initrd"]
        + cpio(
            [
                ("bin", 0o40755, b""),
                ("bin/busybox", 0o100755, busybox),
                ("init", 0o100755, EVIL.format(script).encode()),
            ]
        ),
    )


def greeting():
    """The first message of toolcage-guest: its build id. The host takes it as the end of the boot."""
    programs = []
    for program in ("toolcage-vm", "toolcage-guest"):
        with open(os.path.join(os.path.dirname(os.path.realpath(scene.TOOLCAGE)), program), "rb") as file:
            programs.append(set(re.findall(rb"(?<=\0)[0-9a-f]{32}(?=\0)", file.read())))
    builds = programs[0] & programs[1]
    check(len(builds) == 1, "both programs say of which build they are", builds)
    return struct.pack("<II40s", 0, 40, builds.pop())


def fails(name, stage, words, timeout="900s"):
    began = time.monotonic()
    answer = scene.call("true", timeout=timeout)
    took = time.monotonic() - began
    error = answer.error
    check(
        answer.code == 125
        and error.get("code") == "backend"
        and re.fullmatch(stage, error.get("stage", ""))
        and error.get("subject") == "guest"
        and re.search(words, error.get("message", ""))
        and error.get("hint"),
        f"{name}: an error of the stage {stage} says so",
        answer,
    )
    check(took < BOUND * max(BUSY, os.getloadavg()[0] / os.cpu_count()), f"{name}: in bounded time", took)
    check(
        len(answer.out) < 1 << 20 and answer.json.get("stdout", {}).get("text") == "",
        f"{name}: and shows nothing of it as a tool's output",
        len(answer.out),
    )
    gone(name)


def gone(name):
    end = time.monotonic() + 30
    while scene.monitors() and time.monotonic() < end:
        time.sleep(0.1)
    check(not scene.monitors(), f"{name}: nothing is left", scene.monitors())


scene.begin(sys.argv[2])
good = {}
for file_name in ("kernel", "initrd"):
    with open(GUEST.format(scene.store.store(), file_name), "rb") as content:
        good[file_name] = content.read()
fine = scene.call("echo yes")
check(
    fine.code == 0 and fine.json["stdout"]["text"] == "yes\n", "the guest is fine before it is spoilt", fine
)

put("kernel", os.urandom(1 << 20))
fails("a kernel that is none", "boot", "does not start")
put("kernel", endless())
late = scene.call("true", timeout="10s")
check(late.json.get("status") == "timeout", "a kernel that never boots: the call's own time ends it", late)
gone("a kernel that never boots")
fails("a kernel that never boots", "boot", "did not start in time")
put("kernel", good["kernel"])
put("initrd", cpio([("nothing", 0o100644, b"")]))
fails("no first program", "boot", "panicked")

for name_of, lines, its_stage, said in (
    ("a first program that switches off", "/bin/busybox reboot -f", "boot", "does not start|cannot serve"),
    (
        "one that crashes the kernel",
        "/bin/busybox mkdir /proc; /bin/busybox mount -t proc none /proc; echo c > /proc/sysrq-trigger",
        "boot",
        "panicked",
    ),
    (
        "one that lies about lengths",
        "/bin/busybox tr '\\0' '\\377' < /dev/zero > /dev/vport0p1",
        "machine",
        "with an invalid length",
    ),
    ("one that speaks in zeros", "/bin/busybox cat /dev/zero > /dev/vport0p1", "boot|machine", "guest"),
    (
        "one that says half of it",
        "echo -ne '\\001' > /dev/vport0p1",
        "boot|machine",
        "did not start in time|middle of a frame",
    ),
    (
        "one that floods the console",
        "while true; do echo 0123456789012345678901234567890123456789; done",
        "boot",
        "did not start in time",
    ),
    (
        "one that eats its memory",
        "/bin/busybox mount -t tmpfs -o size=100% none /dev; /bin/busybox cat /dev/zero > /dev/big; x=x; while true; do x=$x$x; done",
        "boot",
        "panicked|did not start in time|does not start",
    ),
):
    first_program(lines)
    fails(name_of, its_stage, said)
# This guest sends the greeting, so it has booted: only the call's timeout ends the call.
first_program("/bin/busybox printf '" + "".join(f"\\{byte:03o}" for byte in greeting()) + "' > /dev/vport0p1")
silent = scene.call("echo never", timeout="60s")
check(
    silent.json.get("status") == "timeout"
    and silent.json.get("stdout", {}).get("text") == ""
    and not silent.error,
    "one that greets and is silent then: the call's own time ends it",
    silent,
)
gone("one that greets and is silent then")
put("initrd", good["initrd"])
fine = scene.call("echo yes")
check(fine.code == 0 and fine.json["stdout"]["text"] == "yes\n", "the guest is fine again", fine)

for whom, code, subject in (("toolcage-vm", "backend", "toolcage-vm"), ("toolcage", "helper", None)):
    process = scene.start("exec sleep 600")
    until = time.monotonic() + 120
    while not scene.monitors() and time.monotonic() < until:
        time.sleep(0.2)
    parent = scene.monitors()[0]
    chain = []
    while parent > 1 and parent != process.pid:
        with open(f"/proc/{parent}/stat", encoding="utf-8", errors="replace") as status:
            text = status.read()
        chain.append((text[text.index("(") + 1 : text.rindex(")")], parent))
        parent = int(text[text.rindex(")") + 2 :].split()[1])
    victim = next(
        (
            pid
            for comm, pid in (chain if whom == "toolcage-vm" else chain[::-1])
            if comm.startswith(whom[:15])
        ),
        None,
    )
    check(victim, f"{whom}: found beside the monitor", chain)
    if victim:
        os.kill(victim, signal.SIGKILL)
    answer = scene.end(process)
    check(
        answer.code == 125
        and (answer.error.get("code") == code or code in answer.err)
        and (not subject or answer.error.get("subject") == subject),
        f"{whom} is killed: an error that says so",
        answer,
    )
    gone(f"{whom} is killed")
finish()
