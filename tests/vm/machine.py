#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Speaks with a running QEMU over its QMP socket, for run.

usage: machine.py save QMP SERIALLOG FILE   wait until the guest is ready, write its memory to FILE, end it
       machine.py wake QMP GO               start a guest that was read back, send "go" to its second port
"""

import json
import os
import secrets
import socket
import sys
import time

PATIENCE = 1500  # seconds for anything that a loaded machine may delay


def until(what, seen, pause=0.05):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        result = seen()
        if result:
            return result
        time.sleep(pause)
    sys.exit(f"vm: waited {PATIENCE} s in vain for {what}")


def reach(path):
    def attempt():
        channel = socket.socket(socket.AF_UNIX)
        try:
            channel.connect(path)
            return channel
        except OSError:
            channel.close()
            return None

    return until(path, attempt)


class Machine:
    """One QMP session; events are passed over."""

    def __init__(self, path):
        self.stream = reach(path).makefile("rw")
        self.stream.readline()
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.stream.flush()
        for line in self.stream:
            answer = json.loads(line)
            if "error" in answer:
                sys.exit(f"vm: {command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
        sys.exit(f"vm: {command}: the emulator is gone")

    def status(self):
        return self.ask("query-status")["status"]


def contains(path, text):
    with open(path, "rb") as log:
        return text in log.read()


def save(qmp, serial, into):
    machine = Machine(qmp)
    # Asking for the status ends us when the emulator has ended.
    until("the guest", lambda: machine.status() and contains(serial, b"vm: ready"), 0.2)
    time.sleep(2)  # what starts up behind the last line comes to rest
    machine.ask("stop")
    machine.ask("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
    machine.ask("migrate", uri=f"exec:cat > '{into}'")

    def migrated():
        status = machine.ask("query-migrate").get("status")
        if status in ("failed", "cancelled"):
            sys.exit(f"vm: the memory was not written: {status}")
        return status == "completed"

    until("the memory", migrated)
    machine.ask("quit")


def wake(qmp, go):
    machine = Machine(qmp)
    until("the memory", lambda: machine.status() != "inmigrate")
    machine.ask("cont")
    port = reach(go)
    port.sendall(b"go %d %s\n" % (time.time() + 1, secrets.token_hex(32).encode()))
    # Closing would hang up the guest's line.
    while port.recv(4096):
        pass


def main():
    os.umask(0o077)
    verbs = {"save": (save, 3), "wake": (wake, 2)}
    if len(sys.argv) < 2 or sys.argv[1] not in verbs or len(sys.argv) - 2 != verbs[sys.argv[1]][1]:
        sys.exit(__doc__)
    try:
        verbs[sys.argv[1]][0](*sys.argv[2:])
    except (OSError, ValueError) as error:
        sys.exit(f"vm: {sys.argv[1]}: {error}")


main()
