#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A host whose engine has made a call before: stands in for `toolcage exec --json`, so that what suites ask of the command
line meets what waits for a call. All else it leaves to the program itself.

usage: ready_host.py TOOLCAGE LOG WORDS…       LOG gets a line for each call: "taken", or "made" where none waited for it."""

import ctypes
import json
import os
import stat
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import host
from host import ask, make
from processes import below, helpers_of

SETTINGS = {"--read": "read", "--write": "write", "--timeout": "timeout", "--cwd": "cwd"}
INIT = b"/.toolcage/init\0"


def stand_in(directory, toolcage, name="toolcage"):
    """A program of this name for a suite; where it writes what it did."""
    path, log = os.path.join(directory, name), os.path.join(directory, name + ".log")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec /usr/bin/python3 {os.path.abspath(__file__)} {toolcage} {log} "$@"\n')
    os.chmod(path, 0o755)
    with open(log, "w", encoding="utf-8"):
        pass
    os.chmod(log, 0o666)
    return path, log


def read(words):
    """The words of exec that a host has functions for; None: others are among them."""
    said, at = {"settings": []}, 1
    while at < len(words) and words[at] != "--":
        word, value = words[at], words[at + 1] if at + 1 < len(words) else ""
        if word in SETTINGS:
            said["settings"].append((SETTINGS[word], value))
        elif word in ("--policy", "--tool", "--session"):
            said[word] = value
        elif word != "--json":
            return None
        at += 1 if word == "--json" else 2
    said["command"] = words[at + 1 :]
    return said if words[:1] == ["exec"] and "--json" in words[:at] and said["command"] else None


class Host:
    def __init__(self, lib, said):
        self.lib, self.said = lib, said
        lib.toolcage_result_timings_json.restype = ctypes.c_char_p
        lib.toolcage_result_timings_json.argtypes = [ctypes.c_void_p]
        self.policy = make(lib.toolcage_policy_load_file, said["--policy"].encode())
        self.engine = make(lib.toolcage_engine_new)

    def call(self, command, stdin=b"", session=None):
        handle = make(self.lib.toolcage_call_new, self.engine, self.policy, self.said["--tool"].encode())
        host.set_command(handle, *command)
        for key, value in self.said["settings"]:
            ask(self.lib.toolcage_call_set, handle, key.encode(), value.encode())
        if stdin:
            ask(self.lib.toolcage_call_set_stdin, handle, stdin, len(stdin))
        if session:
            ask(self.lib.toolcage_call_set_session, handle, session.encode())
        ask(self.lib.toolcage_call_start, handle)
        ask(self.lib.toolcage_call_wait, handle, -1)
        result = self.lib.toolcage_call_result(handle)
        steps = json.loads(self.lib.toolcage_result_timings_json(result))
        return self.lib.toolcage_result_json(result).decode(), "ready" in [step["step"] for step in steps]

    @staticmethod
    def waits():
        """Is there a PID 1 below our helper that sleeps and has no tool?"""
        for helper in helpers_of(os.getpid()):
            for pid in below(helper):
                try:
                    with (
                        open(f"/proc/{pid}/cmdline", "rb") as file,
                        open(f"/proc/{pid}/stat", encoding="utf-8") as state,
                    ):
                        if (
                            file.read() == INIT
                            and state.read().rsplit(")", 1)[1].split()[0] == "S"
                            and not below(pid)
                        ):
                            return True
                except OSError:
                    continue
        return False


def main():
    toolcage, log, *words = sys.argv[1:]
    said = read(words)
    if not said:
        os.execv(toolcage, [toolcage, *words])
    lib = host.load(os.path.join(os.path.dirname(os.path.realpath(toolcage)), "libtoolcage.so.0"))
    piped = stat.S_ISFIFO(os.fstat(0).st_mode) or stat.S_ISREG(os.fstat(0).st_mode)
    given = sys.stdin.buffer.read() if piped else b""
    try:
        ours = Host(lib, said)
        ours.call(["/bin/true"])
        patience = time.monotonic() + 3
        while not ours.waits() and time.monotonic() < patience:
            time.sleep(0.01)
        text, taken = ours.call(said["command"], given, said.get("--session"))
    except host.Failed as why:
        sys.exit(str(why))
    print(text, flush=True)
    with open(log, "a", encoding="utf-8") as file:
        file.write("taken\n" if taken else "made\n")


if __name__ == "__main__":
    main()
