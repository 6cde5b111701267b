# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A user at a terminal in which the program runs."""

import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
import time

PROMPT = "ready> "
# Starts a new session with standard input as its controlling terminal, then runs the program.
LEAD = "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"


class User:
    """A user at a terminal (a pty) in which the program runs with these arguments. `answers`: the terminal answers status requests."""

    def __init__(self, place, *args, rows=30, columns=100, answers=False):
        self.ours, self.theirs = os.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.theirs)
        self.seen, self.answers = b"", answers
        env = {**place.environ, "TERM": "xterm", "PS1": PROMPT}
        self.process = subprocess.Popen(
            [sys.executable, "-c", LEAD, *place.argv(*args)],
            cwd=place.project,
            env=env,
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=self.theirs,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)

    def resize(self, rows, columns):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.ours, text.encode() if isinstance(text, str) else text)

    def read(self, seconds):
        if not select.select([self.ours], [], [], seconds)[0]:
            return False
        piece = os.read(self.ours, 65536)
        if self.answers and b"\x1b[5n" in piece:  # terminals answer with a delay
            time.sleep(0.1)
            self.type(b"\x1b[0n")
        self.seen += piece
        return True

    def until(self, text, seconds=20):
        """Waits until the text is shown, and returns the output up to its end; None: it is not shown in time. The next call looks
        behind it."""
        text, end = text.encode(), time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < end:
            self.read(0.1)
        found, sure, rest = self.seen.partition(text)
        if not sure:
            return None
        self.seen = rest
        return found + text

    def end(self, seconds=20):
        """Waits for the end and returns the exit code. `seen` then has the rest of the output."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.1)
        while self.read(0):
            pass
        return self.process.poll()

    def restored(self):
        return termios.tcgetattr(self.theirs) == self.before

    def left_to_read(self):
        """Is there input in the user's terminal that the next shell would take for typed commands?"""
        return bool(select.select([self.theirs], [], [], 0.3)[0])
