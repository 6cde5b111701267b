# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The mount table, for every script of the tests that looks for mounts left behind."""

import ctypes
import os
import subprocess
import sys

CLONE_NEWNS, MS_REC, MS_PRIVATE, MS_SHARED = 0x20000, 0x4000, 1 << 18, 1 << 20


def apart():
    """From here on, nobody else's mounts come and go: other tests run beside this one.

    Shared among this script's own namespaces as on most machines, so that a mount which a call lets out is still seen.
    Before privileges are given away: an ordinary user cannot."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    for propagation in (MS_PRIVATE, MS_SHARED):
        if libc.mount(None, b"/", None, MS_REC | propagation, None):
            raise OSError(ctypes.get_errno(), "mount")


def own_state():
    """apart(), and what root's calls have in common on a machine (the room for virtual machines, records) is this script's alone."""
    apart()
    if os.geteuid() == 0:
        os.makedirs("/run/toolcage", mode=0o755, exist_ok=True)
        if ctypes.CDLL(None, use_errno=True).mount(b"none", b"/run/toolcage", b"tmpfs", 0, b"mode=0755"):
            raise OSError(ctypes.get_errno(), "mount")


def cover(directory):
    """Runs this script anew where an empty file system covers the directory. False: the kernel refuses it. For root."""
    if os.environ.get("TOOLCAGE_TEST_COVERED"):
        return True
    alone = ["unshare", "--mount", "--propagation", "private"]
    if subprocess.run([*alone, "true"], check=False, capture_output=True).returncode:
        return False
    os.environ["TOOLCAGE_TEST_COVERED"] = "1"
    script = f'mkdir -p {directory} && mount -t tmpfs none {directory} && exec "$@"'
    os.execvp("unshare", [*alone, "sh", "-c", script, "sh", sys.executable, *sys.argv])


def table():
    """Its lines, without the numbers that are given anew."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        return [line.split(" ", 2)[2] for line in file]
