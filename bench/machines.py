#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What virtual machines cost: a call whose machine boots, one whose machine goes on from a file, the same from an engine that runs, and
a plain QEMU that boots the same kernel and first program to its first word. All take turns; then four calls at once.

usage: bench/machines.py BUILDDIR [--image NAME] [--rounds N] [--json]      an image with a disk: toolcage image build guest NAME"""
import argparse
import concurrent.futures
import contextlib
import glob
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bindings/python")]
SECONDS, MEMORY, SERVED = 300, 64, 4
NOTHING = ["/bin/sh", "-c", ":"]
POLICY = """[backend.qemu]
emulation = true
snapshot = {snapshot}
[tool.t]
backend = "qemu"
image = "{image}"
filesystem = "none"
memory = {{ max = "{memory}MiB", by = "any" }}
timeout = "{seconds}s"
"""


def timed(work):
    begun = time.monotonic()
    work()
    return (time.monotonic() - begun) * 1000


def process(words):
    def work():
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=SECONDS)
        if done.returncode:
            sys.exit(f"bench: {words[0]}: {done.stderr.decode(errors='replace').strip()[-300:]}")
        return done
    return work


def store():
    if os.geteuid() == 0:
        return "/var/lib/toolcage/images"
    return os.path.join(os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"), "toolcage/images")


def clock_khz():
    """A guest that measures its counter on a busy host may never end to."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        return next((int(float(line.split(":")[1]) * 1000) for line in file if line.startswith("cpu MHz")), 0)


def plain():
    """The machine of src/vm/start.c, without a disk, a port and a cage; it ends with its first word."""
    words = ["qemu-system-x86_64", "-M", "microvm,acpi=on,rtc=on,pcie=off,usb=off,x-option-roms=off", "-cpu", "max", "-nodefaults", "-no-user-config",
             "-no-reboot", "-display", "none", "-serial", "stdio", "-accel", "tcg,tb-size=64", "-m", str(MEMORY + 192), "-kernel", f"{store()}/guest/kernel",
             "-initrd", f"{store()}/guest/initrd", "-append", "console=ttyS0 quiet panic=-1 reboot=t tsc=reliable nokaslr mitigations=off "
             f"random.trust_cpu=on tsc_early_khz={clock_khz()} -- try"]

    def work():
        done = process(words)()
        if b"it runs" not in done.stdout:
            sys.exit(f"bench: the guest does not boot: {done.stdout[-300:]}")
    return work


def memory_of(start):
    """Private and shared parts of a monitor's memory in MiB, while a tool of its sleeps."""
    before = set(glob.glob("/proc/[0-9]*"))
    running = subprocess.Popen(start, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    running.stdout.read(1)
    shares = []
    for path in set(glob.glob("/proc/[0-9]*")) - before:
        with contextlib.suppress(OSError, ValueError):
            if "qemu" in pathlib.Path(path, "comm").read_text(encoding="ascii"):
                rows = dict(line.split(":", 1) for line in pathlib.Path(path, "smaps_rollup").read_text(encoding="ascii").splitlines()[1:])
                shares.append(int(rows["Pss"].split()[0]) // 1024)
    running.communicate()
    return max(shares, default=None)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--image", default="default")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    toolcage = str(next(asked.build.glob("**/src/toolcage")).resolve())
    os.environ["TOOLCAGE_LIBRARY"] = str(next(asked.build.glob("**/libtoolcage.so")).resolve())
    import toolcage as package
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as ends:
        os.environ.update(HOME=place, XDG_STATE_HOME=f"{place}/state")
        for name, snapshot in (("boots", "false"), ("goes on", "true")):
            pathlib.Path(place, name).write_text(POLICY.format(snapshot=snapshot, image=asked.image, memory=MEMORY, seconds=SECONDS), encoding="utf-8")

        def ours(name, *command):
            return [toolcage, "exec", "--policy", f"{place}/{name}", "--tool", "t", "--", *command]
        engine, policy = ends.enter_context(package.Engine()), package.Policy.from_file(f"{place}/goes on")
        contenders = {"plain QEMU, to its guest's first word": plain(), "toolcage, a machine that boots": process(ours("boots", *NOTHING)),
                      "toolcage, a machine that goes on": process(ours("goes on", *NOTHING)),
                      "the same, of a running engine": lambda: engine.run(package.Call(policy, "t", command=NOTHING)).check()}
        first = timed(contenders["toolcage, a machine that goes on"])
        kept = max(os.path.getsize(path) for path in glob.glob(f"{place}/state/toolcage/machines/*"))
        times = {name: [] for name in contenders}
        for _ in range(asked.rounds):
            for name, work in contenders.items():
                times[name].append(timed(work))
        with concurrent.futures.ThreadPoolExecutor(SERVED) as pool:
            together = timed(lambda: [one.result() for one in [pool.submit(contenders["toolcage, a machine that goes on"]) for _ in range(SERVED)]])
        figures = {name: {"median": statistics.median(row), "p99": max(row)} for name, row in times.items()}
        rest = {"the call that keeps it": first, "four at once": together, "file": kept, "memory": memory_of(ours("goes on", "/bin/sh", "-c", "echo x; sleep 2"))}
    if asked.json:
        print(json.dumps({"calls": figures, **rest}))
        return
    for name, row in figures.items():
        print(f"{name:40} {row['median']:8.0f} ms median  {row['p99']:8.0f} ms at most")
    print(f"{'the call that keeps its machine':40} {first:8.0f} ms\n{'four at once':40} {together:8.0f} ms")
    print(f"{'the file':40} {kept / 1048576:8.0f} MiB\n{'a monitor, its share of memory':40} {rest['memory'] or 0:8.0f} MiB")


if __name__ == "__main__":
    main()
