#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Times calls in virtual machines: with a boot, from a snapshot, from a snapshot in a running engine, and in a prestarted VM. For comparison, a plain
QEMU boots the same kernel and PID 1, or restores the same snapshot, until its first message. The samples are interleaved; then fifty calls in a row, and
four at once.

usage: bench/machines.py BUILDDIR [--image NAME] [--rounds N] [--write] [--json]

Without --image it makes a guest and an image of busybox in a store of its own. --write puts the table into docs/machines.md. Some five minutes."""

import argparse
import concurrent.futures
import contextlib
import glob
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bindings/python")]
SECONDS, MEMORY, SERVED, ROW, PAUSE = 300, 64, 4, 50, 2.5
NOTHING = ["/bin/sh", "-c", ":"]
COVERED = "TOOLCAGE_BENCH_COVERED"
HELLO, RENEW, SAID, SECRET = 0, 16, 48, 64  # of src/plan/protocol.h
POLICY = """[backend.qemu]
emulation = true
snapshot = {snapshot}
ready = {ready}
[tool.t]
backend = "qemu"
image = "{image}"
filesystem = "none"
memory = {{ max = "{memory}MiB", by = "any" }}
timeout = "{seconds}s"
"""
COLD, RESTORED, SERVING = (
    "call with a boot",
    "call from a snapshot",
    "call from a snapshot, in a running engine",
)
WAITING = "call in a prestarted VM, in a running engine"
BOOT, FLOOR = (
    "plain QEMU, boot to the guest's first message",
    "plain QEMU, snapshot to the guest's first message",
)


def timed(work):
    begun = time.monotonic()
    work()
    return (time.monotonic() - begun) * 1000


def process(words):
    def work():
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=SECONDS
        )
        if done.returncode:
            sys.exit(f"bench: {words[0]}: {done.stderr.decode(errors='replace').strip()[-300:]}")
        return done

    return work


# ---- a store of our own ----


def cover():
    """Root's store has one place: another one is mounted there, for us alone."""
    if os.geteuid() or COVERED in os.environ:
        return
    os.environ[COVERED] = "1"
    there = "/var/lib/toolcage"
    mounts = f'mkdir -p {there} && mount -t tmpfs none {there} && exec "$@"'
    os.execvp(
        "unshare",
        [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            mounts,
            "sh",
            sys.executable,
            *sys.argv,
        ],
    )


def make_image(toolcage, place):
    """One program, busybox, and the guest of this build."""
    busybox = shutil.which("busybox")
    if not busybox:
        sys.exit("bench: no busybox here: apt-get install busybox-static, or name an image with --image")
    os.environ["XDG_DATA_HOME"] = f"{place}/data"
    (place / "root/bin").mkdir(parents=True)
    shutil.copy(busybox, place / "root/bin/busybox")
    for name in ("sh", "echo", "sleep"):
        (place / "root/bin" / name).symlink_to("busybox")
    process([toolcage, "image", "import", str(place / "root"), "small"])()
    process([toolcage, "image", "build", "guest", "small"])()
    return "small"


def store():
    if os.geteuid() == 0:
        return "/var/lib/toolcage/images"
    return os.path.join(
        os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"), "toolcage/images"
    )


# ---- plain QEMU ----


def clock_khz():
    """A guest that measures its counter on a busy host may never end to."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        return next((int(float(line.split(":")[1]) * 1000) for line in file if line.startswith("cpu MHz")), 0)


def plain():
    """The machine of src/vm/qemu.c, without a disk, a port and a cage; it ends with its first word."""
    words = [
        "qemu-system-x86_64",
        "-M",
        "microvm,acpi=on,rtc=on,pcie=off,usb=off,x-option-roms=off",
        "-cpu",
        "max",
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        "-display",
        "none",
        "-serial",
        "stdio",
        "-accel",
        "tcg,tb-size=64",
        "-m",
        str(MEMORY + 192),
        "-kernel",
        f"{store()}/guest/kernel",
        "-initrd",
        f"{store()}/guest/initrd",
        "-append",
        "console=ttyS0 quiet panic=-1 reboot=t tsc=reliable nokaslr mitigations=off "
        f"random.trust_cpu=on tsc_early_khz={clock_khz()} -- try",
    ]

    def work():
        done = process(words)()
        if b"it runs" not in done.stdout:
            sys.exit(f"bench: the guest does not boot: {done.stdout[-300:]}")

    return work


def monitors():
    for path in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError):
            if "qemu" in pathlib.Path(path, "comm").read_text(encoding="ascii"):
                yield path


@contextlib.contextmanager
def lives(start, count=1):
    """Monitors of calls whose tools sleep."""
    before = set(monitors())
    running = [
        subprocess.Popen(start, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) for _ in range(count)
    ]
    for one in running:
        one.stdout.read(1)
    yield sorted(set(monitors()) - before)
    for one in running:
        one.communicate()


def bare(start, kept):
    """What a call starts its monitor with, without its cage: that machine, at the sockets of ours; up to what the guest says when it is made another one.
    None: another user's processes cannot be looked at."""
    with lives(start) as found:
        if not found:
            return None
        words = pathlib.Path(found[0], "cmdline").read_bytes().decode().split("\0")[:-1]
        files = {
            path: os.open(f"{found[0]}/root{path}", os.O_RDONLY)
            for path in re.findall(r"/etc/toolcage/\w+", " ".join(words))
        }
    renewal = struct.pack("<IIq", RENEW, 8 + SECRET, time.time_ns() // 1000) + os.urandom(SECRET)
    port = next(re.search(r"id=port,fd=(\d+)", word)[1] for word in words if "id=port,fd=" in word)

    def work():
        ours, theirs = socket.socketpair()
        machine = os.open(kept, os.O_RDONLY)
        given = [word.replace(f"id=port,fd={port}", f"id=port,fd={theirs.fileno()}") for word in words]
        for path, fd in files.items():
            given = [word.replace(path, f"/proc/self/fd/{fd}") for word in given]
        given = [re.sub(r"^fd:\d+$", f"fd:{machine}", word) for word in given]
        with (
            ours,
            theirs,
            subprocess.Popen(
                given,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                pass_fds=(theirs.fileno(), machine, *files.values()),
            ) as qemu,
        ):
            ours.settimeout(SECONDS)
            ours.sendall(renewal)
            said = ours.recv(SAID, socket.MSG_WAITALL)
            qemu.kill()
        os.close(machine)
        if said[:8] != struct.pack("<II", HELLO, SAID - 8):
            sys.exit(f"bench: a plain QEMU does not go on from the file: {said[:16]}")

    return work


def private_of(start):
    """MiB of a copy's monitor that it shares with nobody: of each of those that run at once, the most."""
    with lives(start, SERVED) as found:
        rows = [
            dict(
                line.split(":", 1)
                for line in pathlib.Path(path, "smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
            )
            for path in found
        ]
    return max(
        (
            sum(int(row[name].split()[0]) for name in ("Private_Clean", "Private_Dirty")) // 1024
            for row in rows
        ),
        default=None,
    )


# ---- figures ----


def quantile(values, part):
    row = sorted(values)
    return row[min(len(row) - 1, int(len(row) * part))]


def measure(toolcage, image, place, rounds, ends):
    import toolcage as package

    for name, snapshot, ready in (("boots", "false", 0), ("goes on", "true", 0), ("waits", "true", 1)):
        pathlib.Path(place, name).write_text(
            POLICY.format(snapshot=snapshot, ready=ready, image=image, memory=MEMORY, seconds=SECONDS),
            encoding="utf-8",
        )

    def ours(name, *command):
        return [toolcage, "exec", "--policy", f"{place}/{name}", "--tool", "t", "--", *command]

    slow = ours("goes on", "/bin/sh", "-c", "echo x; sleep 4")
    engine = ends.enter_context(package.Engine())

    def serving(name):
        policy = package.Policy.from_file(f"{place}/{name}")
        return lambda: engine.run(package.Call(policy, "t", command=NOTHING)).check()

    restored = process(ours("goes on", *NOTHING))
    first = timed(restored)
    kept = glob.glob(f"{place}/state/toolcage/machines/*.record")[0].removesuffix(".record")
    contenders = {
        BOOT: plain(),
        FLOOR: bare(slow, kept),
        COLD: process(ours("boots", *NOTHING)),
        RESTORED: restored,
        SERVING: serving("goes on"),
        WAITING: serving("waits"),
    }
    contenders = {name: work for name, work in contenders.items() if work}
    times = {name: [] for name in contenders}
    for _ in range(2):  # the first of an engine leaves none behind
        contenders[WAITING]()
    for _ in range(rounds):
        for name, work in contenders.items():
            if name == WAITING:
                time.sleep(PAUSE)
            times[name].append(timed(work))
    row = [timed(contenders[SERVING]) for _ in range(ROW)]
    with concurrent.futures.ThreadPoolExecutor(SERVED) as pool:
        together = timed(lambda: [one.result() for one in [pool.submit(restored) for _ in range(SERVED)]])
    figures = {
        name: {"p50": statistics.median(values), "p99": quantile(values, 0.99), "least": min(values)}
        for name, values in times.items()
    }
    return {
        "calls": figures,
        "first": first,
        "row": {"all": sum(row), "p50": statistics.median(row), "p99": quantile(row, 0.99)},
        "together": together,
        "file": os.stat(kept).st_blocks * 512,
        "private": private_of(slow),
        "ratio": {name: figures[name]["p50"] / figures[COLD]["p50"] for name in (RESTORED, WAITING)},
    }


def table(found, rounds):
    yield f"| {rounds} samples each, ms | median | p99 | minimum |"
    yield "| --- | --- | --- | --- |"
    for name, row in found["calls"].items():
        yield f"| {name} | {row['p50']:.0f} | {row['p99']:.0f} | {row['least']:.0f} |"
    yield f"| {ROW} calls from a snapshot in a row, in a running engine: {found['row']['all'] / 1000:.1f} s | {found['row']['p50']:.0f} | {found['row']['p99']:.0f} | |"
    yield ""
    share = {name: f"{found['ratio'][name] * 100:.0f} %" for name in (RESTORED, WAITING)}
    yield (
        f"- A call from a snapshot takes {share[RESTORED]} of the time of a call with a boot, a call in a prestarted VM {share[WAITING]}. The first call, which writes "
        f"the snapshot, takes {found['first']:.0f} ms."
    )
    yield f"- {SERVED} calls at once, each from a separate process: {found['together']:.0f} ms until the last one has ended."
    yield f"- The snapshot has {found['file'] / 1048576:.0f} MiB; {found['private'] or 0} MiB of a restored VMM's memory are private."
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next(
            (line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine()
        )
    yield f"- Under emulation, on {os.cpu_count()} CPUs ({model}), Linux {platform.release()}."


def write(lines):
    """Replaces the table of the page."""
    page, heading = ROOT / "docs/machines.md", "## What it costs\n"
    before, after = page.read_text(encoding="utf-8").split("## Not supported\n")
    before = before.split(heading)[0].rstrip("\n")
    text = (
        f"{heading}\nGenerated by `bench/machines.py build --write`: a VM of {MEMORY + 192} MiB and a shell that does nothing.\n\n"
        + "\n".join(lines)
    )
    page.write_text(f"{before}\n\n{text}\n\n## Not supported\n{after}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--image")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if not asked.image:
        cover()
    toolcage = str(next(asked.build.glob("**/src/toolcage")).resolve())
    os.environ["TOOLCAGE_LIBRARY"] = str(next(asked.build.glob("**/libtoolcage.so")).resolve())
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as ends:
        os.environ.update(HOME=place, XDG_STATE_HOME=f"{place}/state")
        image = asked.image or make_image(toolcage, pathlib.Path(place))
        found = measure(toolcage, image, place, asked.rounds, ends)
    if asked.json:
        print(json.dumps(found))
        return
    lines = list(table(found, asked.rounds))
    print("\n".join(lines))
    if asked.write:
        write(lines)


if __name__ == "__main__":
    main()
