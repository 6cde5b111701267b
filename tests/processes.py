# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The machine's processes, for every script of the tests that looks at them."""

import contextlib
import os
import subprocess


def stat(pid):
    """What stands behind its name in /proc/PID/stat, from the state on; empty: gone."""
    with (
        contextlib.suppress(OSError, IndexError),
        open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file,
    ):
        return file.read().rsplit(")", 1)[1].split()
    return []


def read(path):
    """A file of a process; empty where that has gone."""
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
    return ""


def stop(process, seconds):
    """A server of ours: asked first, killed where it does not end in time."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def everybody():
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def runs(*command):
    """The process with exactly this command line, in a cage or not."""
    wanted = b"".join(word.encode() + b"\0" for word in command)
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{entry}/cmdline", "rb") as file:
            if file.read() == wanted:
                return int(entry)
    return None


def parent(pid):
    fields = stat(pid)
    return int(fields[1]) if fields else None


def below(pid):
    """Pids of a process's descendants, as seen now; its own children come first."""
    children = {}
    for other in everybody():
        children.setdefault(parent(other), []).append(other)
    found = list(children.get(pid, []))
    for child in found:  # which grows meanwhile
        found += children.get(child, [])
    return found


def start_time(pid):
    """What tells a process from a later one of the same pid; None: gone, or dead and not yet reaped."""
    fields = stat(pid)
    return None if not fields or fields[0] in "ZX" else fields[19]


def name_of(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
        return file.read().strip()
    return ""


def watches(pid, host):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/fdinfo/4", encoding="utf-8") as file:
        return f"\nPid:\t{host}\n" in file.read()
    return False


def helpers_of(host):
    """A helper is nobody's child and has a session of its own, but it holds a pidfd of its host. So may, for a moment, what
    it has forked."""
    found = {pid for pid in everybody() if name_of(pid) == "toolcage-helper" and watches(pid, host)}
    return [pid for pid in found if parent(pid) not in found]


def helper_of(host):
    return next(iter(helpers_of(host)), None)
