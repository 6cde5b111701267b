# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A command of a live session with a terminal of its cage, connected to the user's: keys, sizes and signals reach it, no
harmful output passes, and the user's terminal is restored."""

import os
import signal
import socket
import time

from at_terminal import PROMPT, User
from cli import check, expect, finish, require_user, running_as
from live_scene import Session, gone, new_mark, runs

HINT = "cannot be combined with --tty"


class Tty(Session):
    def user(self, *command, options=(), **more):
        return User(self.place, "session", "exec", "--tty", *options, self.name, "--", *command, **more)

    def shell(self, **more):
        return self.user("sh", "-c", f"PS1='{PROMPT}'; export PS1; exec sh -i", **more)


def shell_works_as_at_a_terminal():
    with Tty() as s, s.shell(rows=30, columns=100) as u:
        u.until(PROMPT)
        u.type("tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo all'' three\n")
        seen = u.until("all three\r\n") or b""
        check(b"/dev/pts/" in seen and b"30 100" in seen, "a command has a terminal of the user's size", seen)
        u.until(PROMPT)
        u.type("sleep 100; echo on:$?\n")
        time.sleep(0.5)
        u.type(b"\x03")
        check(u.until(PROMPT) is not None, "Ctrl-C ends the command of the shell, not the shell")
        u.type("echo $?\n")
        check(b"130" in (u.until(PROMPT) or b""), "the command received SIGINT")
        u.type("cat\n")
        u.type("echoed ü\n\x04")
        check((u.until(PROMPT) or b"").count("echoed ü".encode()) == 2, "input is echoed, and Ctrl-D ends it")
        u.resize(40, 120)
        time.sleep(0.5)
        u.type("stty size\n")
        check(b"40 120" in (u.until(PROMPT) or b""), "a new size reaches the command")
        u.type("echo kind:$TERM\n")
        check(u.until("kind:xterm") is not None, "the kind of terminal is the user's")
        u.type("exit 5\n")
        check(u.end() == 5 and u.restored(), "the exit code is the command's, and the terminal is restored")


def size_change_is_signalled():
    with Tty() as s, s.user("sh", "-c", "trap 'stty size' WINCH; echo set; while :; do sleep 0.1; done") as u:
        u.until("set")
        u.resize(11, 77)
        check(u.until("11 77") is not None, "a new size is signalled")
        u.type(b"\x1d\x1d\x1d")
        check(u.end() is not None and u.restored(), "Ctrl-] three times ends the command", u.end())


def terminal_is_restored_whatever_happens():
    with Tty() as s:
        mark = new_mark()
        for number in (signal.SIGTERM, signal.SIGHUP):
            with s.user("sh", "-c", f"echo begun; sleep {mark}") as u:
                u.until("begun")
                u.process.send_signal(number)
                check(
                    u.end() == 128 + number and u.restored() and gone(mark),
                    f"signal {number} ends the command",
                )
        with s.user("sh", "-c", f"echo begun; sleep {mark}") as u:
            u.until("begun")
            u.process.kill()
            u.process.wait()
            check(gone(mark), "a killed client ends the command")
        with s.user("sh", "-c", "echo begun; sleep 1000", options=("--timeout", "1s")) as u:
            check(u.end() == 124 and u.restored(), "time ends the command")
        with s.user("no-such-program") as u:
            check(
                u.end() == 127 and u.restored() and b"not found" in u.seen,
                "a missing program is reported after it",
                u.seen,
            )
        with s.user("sh", "-c", "echo begun; sleep 1000") as u:
            u.until("begun")
            s.place.run("session", "end", "work")
            code = u.end()
            check(code in (129, 137, 143) and u.restored(), "the end of the session ends the command", code)
    with Tty() as s, s.user("sh", "-c", "echo begun; sleep 1000") as u:
        u.until("begun")
        os.kill(s.info()["pid"], signal.SIGKILL)
        check(
            u.end() == 125 and u.restored() and b"owner ended" in u.seen, "a killed owner is reported", u.seen
        )


def memory_of(pid):
    """KiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def output_is_filtered_and_held():
    with Tty() as s:
        line = "printf 'a\\033]52;c;eHg=\\007b\\033]0;title\\007c\\033[6nd\\n'; seq 1 200000; echo last"
        with s.user("sh", "-c", line) as u:
            code = u.end(60)
            check(
                b"]52" not in u.seen and b"title" not in u.seen,
                "clipboard and title are not set",
                u.seen[:100],
            )
            check(
                code == 0 and b"\nlast\r\n" in u.seen and u.seen.count(b"\n") > 200000,
                "all output is shown",
                (code, len(u.seen), u.seen[-200:]),
            )
        before = memory_of(s.info()["pid"])
        with s.user("yes") as u:
            u.read(5)
            time.sleep(3)  # nobody reads the terminal
            grown = memory_of(s.info()["pid"]) - before
            check(grown < 32 << 10, "a command waits for a terminal that is not read", grown)
            u.type(b"\x03")
            check(u.end() == 130 and u.restored(), "Ctrl-C reaches it", u.process.returncode)


def no_terminal_is_reached_from_inside():
    with Tty() as s:
        outside = os.readlink("/proc/self/ns/mnt")
        line = (
            "import fcntl, os, termios\n"
            "for fd in (0, 1, 2):\n"
            "    try: fcntl.ioctl(fd, termios.TIOCSTI, b'x'); print('injected')\n"
            "    except OSError as e: print('refused', e.errno)\n"
            "print(os.readlink('/proc/self/ns/mnt'), sorted(os.listdir('/dev/pts')))\n"
            "print([os.readlink('/proc/self/fd/%s' % n) for n in os.listdir('/proc/self/fd') if int(n) < 3])\n"
        )
        with s.user("python3", "-c", line) as u:
            u.end()
            check(b"injected" not in u.seen and u.seen.count(b"refused") == 3, "TIOCSTI is refused", u.seen)
            check(
                outside.encode() not in u.seen and u.seen.count(b"/dev/pts/0") == 3,
                "the terminal is the cage's",
                u.seen,
            )
            check(not u.left_to_read(), "nothing is typed for the user")
        mark = new_mark()
        with s.user("sh", "-c", f"(trap '' HUP; exec sleep {mark}) & sleep 0.3; echo bye") as u:
            check(u.end() == 0 and bool(runs(mark)), "a process in the background does not hold the terminal")
        check(s.sh("echo on").out == "on\n", "the session goes on after it")


def many_terminals_are_bounded():
    with Tty() as s:
        users = [s.user("sh", "-c", "echo begun; sleep 1000") for _ in range(18)]
        begun = sum(u.until("begun", 5) is not None for u in users)
        check(14 <= begun <= 17, "a session has up to 16 terminals", begun)
        refused = [u for u in users if u.process.poll() is not None]
        check(refused and all(u.restored() for u in refused), "one more is refused", len(refused))
        for u in users:
            u.__exit__()
        check(s.sh("echo on").out == "on\n", "commands without a terminal run meanwhile")


def file_action_has_no_terminal():
    """As the owner tells another client than this program's."""
    with Tty() as s, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as owner:
        owner.settimeout(20)
        owner.connect(os.path.join(s.place.home, ".local/state/toolcage/live/work"))
        for packet in (b"z24 80 xterm", b"astat", b"a/tmp", b"a", b"a", b"b"):
            owner.send(packet)
        answer = owner.recv(4096)
        check(
            answer[:1] == b"m" and b"a terminal" in answer, "a file action with a terminal is refused", answer
        )


def options_are_checked():
    with Tty() as s:
        for option in ("--detach", "--json", "--stdin=pass"):
            expect(
                s.place,
                f"{option} needs no terminal",
                ["session", "exec", "--tty", option, "work", "cat"],
                125,
                HINT,
            )
        expect(
            s.place,
            "a terminal is needed",
            ["session", "exec", "--tty", "work", "cat"],
            125,
            "needs a terminal",
        )
        with s.user("cd /usr; pwd", options=("--shell",)) as u:
            check(u.end() == 0 and b"/usr" in u.seen, "a shell's command may have a terminal", u.seen)
        check(
            s.place.run("session", "exec", "--shell", "work", "pwd").out == "/usr\n",
            "the shell continues after it",
        )


require_user()
for part in (
    shell_works_as_at_a_terminal,
    size_change_is_signalled,
    terminal_is_restored_whatever_happens,
    output_is_filtered_and_held,
    no_terminal_is_reached_from_inside,
    many_terminals_are_bounded,
    *([file_action_has_no_terminal] if running_as() == "self" else []),
    options_are_checked,
):
    part()
finish()
