# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the scripts beside this one share: running the program in a home of its own, and TAP."""

import fcntl
import json
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from tap import ORDINARY, check, finish, seed, skip, skip_all  # for the scripts beside this one

TOOLCAGE = os.path.abspath(sys.argv[1])
FIELDS = [
    "version",
    "call",
    "tool",
    "status",
    "exit_code",
    "signal",
    "limit",
    "error",
    "backend",
    "layers",
    "tier",
    "policy",
    "grant",
    "stdout",
    "stderr",
    "message",
    "changes",
    "files",
    "session",
    "usage",
    "denials",
    "omitted",
    "enforcement",
]


class Place:
    """A home and a project in it, gone afterwards; owned by whom the program runs as."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="toolcage-cli-")
        self.home = os.path.join(self.root, "home")
        self.project = os.path.join(self.home, "project")
        os.makedirs(self.project)
        self.environ = {"HOME": self.home, "PATH": os.environ["PATH"], "LC_ALL": "C"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"):
            if name in os.environ:
                self.environ[name] = os.environ[name]
        for path in (self.root, self.home, self.project):
            self.own(path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    @staticmethod
    def own(path):
        if running_as() == "ordinary":
            os.chown(path, ORDINARY, ORDINARY)

    def write(self, path, text, mode=0o644):
        """A file below the root, with the directories it needs."""
        full = os.path.join(self.root, path)
        missing, directory = [], os.path.dirname(full)
        while not os.path.exists(directory):
            missing.append(directory)
            directory = os.path.dirname(directory)
        for directory in reversed(missing):
            os.mkdir(directory)
            self.own(directory)
        with open(full, "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(full, mode)
        self.own(full)
        return full

    def argv(self, *args):
        drop = ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups"]
        return (drop if running_as() == "ordinary" else []) + [TOOLCAGE, *args]

    def popen(self, *args, cwd=None, env=None, **more):
        return subprocess.Popen(
            self.argv(*args), cwd=cwd or self.project, env={**self.environ, **(env or {})}, **more
        )

    def shown(self, *args, columns=None, **more):
        """What a terminal, of so many columns, gets of it."""
        ours, theirs = os.openpty()
        if columns:
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        process = self.popen(*args, stdin=subprocess.DEVNULL, stdout=theirs, **{"stderr": theirs, **more})
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            seen += piece
        process.communicate(timeout=20)
        os.close(ours)
        return seen.replace(b"\r\n", b"\n")

    def shell(self, line, *args):
        """The process of a shell's line, in which "$@" is the command."""
        return subprocess.run(
            ["sh", "-c", line, "sh", *self.argv(*args)],
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def run(self, *args, cwd=None, env=None, stdin=b"", timeout=60):
        process = self.popen(
            *args, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            out, err = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += b"\n(killed by the test: no end)"
        return Answer(process.returncode, out, err)


class Person:
    """Whoever sits at the terminal of a call."""

    def __init__(self, place, *args):
        self.seen = ""
        argv = place.argv(*args)
        self.pid, self.fd = pty.fork()
        if not self.pid:
            try:
                os.chdir(place.project)
                os.execvpe(argv[0], argv, {**place.environ, "TERM": "dumb"})
            finally:
                os._exit(127)

    def wait_for(self, text, seconds=20):
        until = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < until:
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    break
        return text in self.seen

    def answer(self, question, line):
        """Waits for the question that came after all earlier answers."""
        found = self.wait_for(question)
        self.past = self.seen
        self.seen = ""
        os.write(self.fd, line.encode() + b"\n")
        return found

    def end(self):
        """The exit code; `seen` is what came since the last answer."""
        self.wait_for("\0 never", 20)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


class Answer:
    def __init__(self, code, out, err):
        self.code, self.bytes = code, out
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")

    def __str__(self):
        return f"exit code {self.code}\nstdout: {self.out[:2000]}\nstderr: {self.err[:2000]}"


def running_as():
    return sys.argv[2] if len(sys.argv) > 2 else "self"


def require_user():
    """Ends the script where it cannot run as the user it was asked for."""
    if running_as() != "ordinary":
        return
    if os.geteuid():
        skip_all("running as an ordinary user already: cli-…-self is that test")
    if subprocess.run(
        ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups", "test", "-x", TOOLCAGE],
        check=False,
    ).returncode:
        skip_all("an ordinary user cannot reach the build directory")


def denied(place):
    """The id of the call that was denied something last."""
    with open(os.path.join(place.home, ".local/state/toolcage/last-denials"), encoding="utf-8") as file:
        return json.load(file)["call"]


def expect(place, name, args, code, *texts, stream="err", **more):
    """One call: its exit code, and texts that must stand in the stream."""
    answer = place.run(*args, **more)
    text = answer.err if stream == "err" else answer.out
    missing = [part for part in texts if part not in text]
    check(answer.code == code and not missing, name, f"expected {code}; missing: {missing}\n{answer}")
    return answer
