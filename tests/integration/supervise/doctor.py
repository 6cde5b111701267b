#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Programs and sockets that never answer do not hold toolcage doctor up: each probe has a limit, and its row names it.

usage: doctor.py TOOLCAGE brief | all. "all" also waits for what takes minutes: the engines, another process that tests KVM, and a helper
that is stopped."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

from fuse import Held

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import mounts
from processes import helper_of
from tap import check, finish, skip, skip_all

TOOLCAGE, EXTENT = os.path.abspath(sys.argv[1]), sys.argv[2]
RUNTIMES = ("crun", "runc", "runsc", "qemu-system-x86_64", "firecracker")
ENGINES = {"docker": "/run/docker.sock", "podman": "/run/podman/podman.sock"}
KVM = "/dev/kvm is there, but another toolcage process tests it, and did not finish within 60 s"
HELPER = "the helper's probes of this host did not answer within 180 s"

if os.geteuid():
    skip_all("needs root to put other programs in the places of the runtimes")
installed = [path for path in map(shutil.which, RUNTIMES) if path]
if not {"crun", "runsc"} <= {os.path.basename(path) for path in installed}:
    skip_all("crun or runsc is not installed here: tools/deps test installs them")


def begin():
    """What is mounted is seen by this script and its children only."""
    place = tempfile.mkdtemp()
    mounts.apart()
    for directory in ("/run", place, "/mnt", "/var/lib"):
        subprocess.run(["mount", "-t", "tmpfs", "none", directory], check=True)
    os.chmod(place, 0o755)
    os.environ["XDG_STATE_HOME"] = f"{place}/state"
    return place


def replace(script):
    """Every runtime is this program now."""
    program = f"{home}/{len(os.listdir(home))}"
    with open(os.open(program, os.O_WRONLY | os.O_CREAT, 0o755), "w", encoding="utf-8") as out:
        out.write(script)
    for path in installed:
        subprocess.run(["mount", "--bind", program, path], check=True)


def start():
    return subprocess.Popen(
        [TOOLCAGE, "doctor", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def end(doctor):
    """The report with its rows by backend, what it says of them, and how long it took."""
    began = time.monotonic()
    try:
        out, err = doctor.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        doctor.kill()
        return {}, "", time.monotonic() - began
    report = json.loads(out) if out.startswith("{") else {}
    report["rows"] = {row["backend"]: row for row in report.get("backends", [])}
    said = f"{report['rows']}\n{report['kvm']}\n{err}" if "kvm" in report else out + err
    return report, said, time.monotonic() - began


def reason(report, backend):
    return report["rows"].get(backend, {}).get("reason", "")


def sleeping_runtimes():
    replace("#!/bin/sh\nexec sleep 1000\n")
    report, said, took = end(start())
    check(
        reason(report, "oci") == "the trial container did not start within 5 s"
        and reason(report, "gvisor") == "the trial container did not start within 10 s",
        "a runtime that sleeps is ended, and its row names the limit",
        said,
    )
    check(report["default_grant"]["works"], "the process cage is tested all the same", said)
    check(took < 40, "such a doctor ends within both limits, and a little", took)


def stuck_runtime():
    """Its process waits in the kernel, where no signal reaches it."""
    held = Held("/mnt", 0)
    with open("/mnt/slow/d/f", encoding="utf-8") as file:
        file.read()
    replace("#!/bin/sh\nread x </mnt/slow/d/f\n")
    held.hold()
    report, said, took = end(start())
    held.end()
    check(
        reason(report, "oci") == "the trial container did not start within 5 s"
        and reason(report, "gvisor") == "not tested: the trial cage of oci was killed, but has not ended",
        "behind a runtime that cannot be killed, the rest is reported as not tested",
        said,
    )
    check(took < 30, "such a doctor ends all the same", took)


def silent_engines():
    """Sockets that are connected to, and never answer."""
    listeners = []
    for path in ENGINES.values():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        listeners.append(socket.socket(socket.AF_UNIX))
        listeners[-1].bind(path)
        listeners[-1].listen(8)
    report, said, took = end(start())
    for backend in ENGINES:
        check(
            reason(report, backend).endswith("it did not respond within 20000 ms"),
            f"{backend} that does not answer is given up, and its row names the limit",
            said,
        )
    check(took < 40 + 25 * len(ENGINES), "silent engines take no longer than their limits", took)
    for listener, path in zip(listeners, ENGINES.values()):
        listener.close()
        os.unlink(path)


def has_open(process, name):
    with contextlib.suppress(OSError):
        for fd in os.scandir(f"/proc/{process.pid}/fd"):
            if os.path.basename(os.readlink(fd.path)) == name:
                return True
    return False


def other_test_of_kvm():
    if not os.path.exists("/dev/kvm") or not shutil.which("qemu-system-x86_64"):
        return skip("another process that tests KVM", "no /dev/kvm or no QEMU here")
    # not /dev/null itself: others change its times, which the record depends on
    os.mknod(f"{home}/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.chmod(f"{home}/null", 0o666)
    subprocess.run(["mount", "--bind", f"{home}/null", "/dev/kvm"], check=True)
    os.makedirs("/var/lib/toolcage/images/guest", 0o700)
    for name in ("kernel", "initrd"):
        with open(f"/var/lib/toolcage/images/guest/{name}", "wb") as out:
            out.write(b"no kernel" * 1000)
    first, said, _ = end(start())
    check("does not boot by it" in first["kvm"]["reason"], "the record has a result of KVM", said)
    with open(f"{home}/state/toolcage/kvm-qemu", "r+", encoding="utf-8") as record:
        fcntl.flock(record, fcntl.LOCK_EX)
        late, said, took = end(start())
        check(
            late["kvm"]["reason"] == KVM and took < 100,
            "a test of KVM that hangs is waited for no longer than 60 s",
            said,
        )
        doctor = start()
        while not has_open(doctor, "kvm-qemu") and doctor.poll() is None:  # its other probes come first
            time.sleep(0.1)
        time.sleep(0.5)  # it tries to lock the record many times a second
        text = record.read()
        record.seek(0)
        record.write(text.split(" ")[0] + " not found by the other\n")
        record.truncate()
        record.flush()
        fcntl.flock(record, fcntl.LOCK_UN)
    shared, said, _ = end(doctor)
    check(shared["kvm"]["reason"] == "found by the other", "the result of the other process is used", said)
    return None


def stopped_helper():
    doctor = start()
    time.sleep(1)  # in the probe of a runtime that sleeps
    helper = helper_of(doctor.pid)
    os.kill(helper, signal.SIGSTOP)
    _, said, took = end(doctor)
    with contextlib.suppress(ProcessLookupError):
        os.kill(helper, signal.SIGKILL)
    check(HELPER in said and doctor.returncode == 125, "a helper that is stopped is given up", said)
    check(took < 200, "a doctor with a stopped helper ends after the limit", took)


home = begin()
try:
    sleeping_runtimes()
    if EXTENT == "all":
        silent_engines()
        stopped_helper()
        other_test_of_kvm()
    stuck_runtime()
finally:
    subprocess.run(["umount", "--lazy", home], check=False)
    os.rmdir(home)
finish()
