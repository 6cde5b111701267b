# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks from inside of `toolcage shell` on the terminal of the person that looks around there."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

from scene import DIRECT, MINUTE, Missing

PYTHON = "/usr/bin/python3"


class Terminal:
    """A terminal as people have one: it keeps a title and a clipboard, and answers."""

    def __init__(self):
        self.master, self.slave = pty.openpty()
        self.seen = self.title = self.clipboard = b""

    def close(self):
        os.close(self.master)
        os.close(self.slave)

    def take(self):
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

    def read(self):
        if not select.select([self.master], [], [], 0.1)[0]:
            return
        piece = os.read(self.master, 65536)
        self.seen += piece
        if b"\x1b]0;" in piece:
            self.title = piece.split(b"\x1b]0;")[1].split(b"\x07")[0]
        if b"\x1b]52;c;" in piece:
            self.clipboard = piece.split(b"\x1b]52;c;")[1].split(b"\x07")[0]
        for question, answer in (
            (b"\x1b[21t", b"\x1b]l" + self.title + b"\x1b\\"),
            (b"\x1b[c", b"\x1b[?62;c"),
            (b"\x1b[5n", b"\x1b[0n"),
        ):
            if question in piece:
                time.sleep(0.1)  # it is far away
                os.write(self.master, answer)

    def run(self, s, *command):
        """The command at this terminal, until its end and what comes after it."""
        argv = list(command)
        if s.how != DIRECT:
            argv = [s.options.toolcage, "shell", "--policy", s.policy(), "--tool", s.how, "--", *command]
        process = subprocess.Popen(
            argv,
            env={**s.environ, "TERM": "xterm"},
            cwd=s.path("ws"),
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            preexec_fn=self.take,
        )
        end = time.monotonic() + MINUTE
        while process.poll() is None and time.monotonic() < end:
            self.read()
        process.kill()
        code = process.wait()
        for _ in range(5):
            self.read()
        if code == 126 and b"tty.none" in self.seen:
            raise Missing("no terminal of a cage's own here")
        assert code == 0, self.seen

    def typed(self):
        """What the person's own shell would read now."""
        attributes = termios.tcgetattr(self.slave)
        attributes[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(self.slave, termios.TCSANOW, attributes)
        count = struct.unpack("i", fcntl.ioctl(self.slave, termios.FIONREAD, b"\0\0\0\0"))[0]
        return os.read(self.slave, count) if count else b""


def attempt(s, *command):
    terminal = Terminal()
    try:
        terminal.run(s, *command)
        return terminal, terminal.typed()
    finally:
        terminal.close()


def a_shell_pushes_input(s):
    terminal, typed = attempt(s, s.program("processes"), "push-input")
    return b"#" in typed or terminal.seen.count(b"missed") < 3


def a_shell_has_its_terminal_type(s):
    """The title is a command, and is asked for when the person's shell is about to read."""
    _, typed = attempt(s, PYTHON, "-c", "print('\\x1b]0;id\\r\\x07\\x1b[21t\\x1b[c', end='', flush=True)")
    return b"id" in typed or b"\x1b[?62;c" in typed


def a_shell_sets_the_clipboard(s):
    terminal, _ = attempt(s, PYTHON, "-c", "print('\\x1b]52;c;aWQK\\x07', flush=True)")
    return terminal.clipboard == b"aWQK"


def a_shell_leaves_its_modes(s):
    """The person's next words are not shown, and mean something else."""
    terminal = Terminal()
    try:
        modes = termios.tcgetattr(terminal.slave)
        terminal.run(
            s,
            PYTHON,
            "-c",
            "import tty; tty.setraw(0); print('\\x1b[?1000h\\x1b[?1049h\\x1b[?2l\\x1b[2h\\x1b[12l', end='', flush=True)",
        )
        kept = any(
            mode in terminal.seen for mode in (b"\x1b[?2l", b"\x1b[2h", b"\x1b[12l")
        )  # VT52, keyboard locked, what is typed twice
        return (
            kept
            or termios.tcgetattr(terminal.slave) != modes
            or not terminal.seen.rpartition(b"\x1b[?1049h")[2].count(b"\x1b[?1049l")
        )
    finally:
        terminal.close()


ALONE = {"free": DIRECT, "apart": "the process cage alone has terminals"}
CASES = [
    ("a shell's terminal passes input on", a_shell_pushes_input, ALONE),
    ("a shell makes the user's terminal type", a_shell_has_its_terminal_type, ALONE),
    ("a shell sets the user's clipboard", a_shell_sets_the_clipboard, ALONE),
    ("a shell leaves the user's terminal changed", a_shell_leaves_its_modes, ALONE),
]
