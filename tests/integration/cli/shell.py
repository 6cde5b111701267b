# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""`toolcage shell` runs a shell at a separate terminal in the cage. The shell works as at any terminal, and afterwards the
user's own terminal has its old settings, however the shell ended."""

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from at_terminal import PROMPT, User
from cli import Place, check, finish, require_user, skip_all

POLICY = """
[tool.fixed]
command = ["echo", "the tool's own"]
filesystem = { writable = ["/workspace"] }
memory = { max = "512MiB", by = "any" }
timeout = "60s"

[tool.short]
memory = { max = "512MiB", by = "any" }
timeout = "2s"

[tool.elsewhere]
backend = "not-a-security-boundary"
"""


class Person(User):
    """A user at a terminal in which `toolcage shell` runs."""

    def __init__(self, place, *args, **more):
        super().__init__(place, "shell", *args, **more)


def running(command):
    """The pids of the processes of this host with this command line."""
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError), open(f"/proc/{entry}/cmdline", "rb") as file:
            if (
                entry.isdigit()
                and file.read().rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace") == command
            ):
                found.append(int(entry))
    return found


def sh(place, *args, **more):
    """Runs `sh` with the prompt PROMPT."""
    return Person(place, "-e", f"PS1={PROMPT}", *args, "--", "sh", **more)


def works(place):
    with sh(place) as person:
        first = person.until(PROMPT)
        check(
            first
            and first.count(b"\r\n") == 1
            and b"cage of a bare command, backend process, ends after 1h; network: none; "
            b"writable: nothing but /tmp"
            in first,
            "one line says what holds",
            first,
        )
        person.type("tty; stty size; echo $TERM $((6 * 7))\n")
        check(
            person.until("/dev/pts/0\r\n30 100\r\nxterm 42\r\n"),
            "a terminal with a name, a size and a kind",
            person.seen,
        )
        person.until(PROMPT)
        person.type(
            "python3 -c 'import os; print(sorted(set(map(os.ttyname, (0, 1, 2)))), os.listdir(\"/proc/self/fd\"))'\n"
        )
        check(
            person.until("['/dev/pts/0'] ['0', '1', '2', '3']"), "and no descriptor but its own", person.seen
        )
        person.until(PROMPT)
        person.type("trap 'stty size' WINCH; echo set\n")
        person.until("set\r\n" + PROMPT)
        person.resize(41, 132)
        person.process.send_signal(signal.SIGWINCH)
        time.sleep(0.5)
        person.type("\n")
        check(person.until("41 132\r\n"), "a new size is told", person.seen)
        person.until(PROMPT)
        person.type("seq 1 30000; exit 7\n")
        code = person.end(40)
        check(code == 7, "the exit code is the shell's", code)
        lines = person.seen.replace(b"\r", b"").split(b"\n")
        missing = {str(n).encode() for n in range(1, 30001)} - set(lines)
        check(not missing, "and nothing of its last words is lost", (len(missing), lines[:3], lines[-3:]))
        check(person.restored(), "the person's terminal is as before", termios.tcgetattr(person.theirs))


def jobs(place):
    with Person(place, "-e", f"PS1={PROMPT}", "--", "bash", "--norc", "--noediting") as person:
        check(person.until(PROMPT), "bash comes up", person.seen)
        person.type("sleep 50\n")
        time.sleep(1)
        person.type("\x1a")
        check(person.until("Stopped"), "Ctrl-Z stops a job", person.seen)
        person.until(PROMPT)
        person.type("fg\n")
        person.until("sleep 50")
        time.sleep(0.5)
        person.type("\x03")
        check(person.until(PROMPT), "Ctrl-C ends it", person.seen)
        person.type("echo $?; script -qc 'tty' /tmp/log\n")
        check(
            person.until("130\r\n") and person.until("/dev/pts/1"),
            "programs make terminals of their own",
            person.seen,
        )
        person.until(PROMPT)
        person.type("yes\n")
        person.until("y\r\ny\r\n")
        start = time.monotonic()
        person.type("\x03")
        person.type('echo en""ded\n')
        check(person.until("ended\r\n"), "a flood is stopped by a key", time.monotonic() - start)
        person.type("\x04")
        check(person.end() == 0, "Ctrl-D ends the shell", person.seen[-500:])


def parents(pid):
    while pid > 1:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            name, _, rest = file.read().partition("(")[2].rpartition(")")
        yield pid, name
        pid = int(rest.split()[1])


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def floods(place):
    """If the command line is stopped and reads no output, the helper does not store the tool's output."""
    word = f"flood{os.getpid()}"
    with Person(place, "--output", "64KiB", "--", "yes", word) as person:
        person.until(word + "\r\n" + word)
        helper = next(
            (pid for pid, name in parents(running("yes " + word)[0]) if name.startswith("toolcage-help")),
            None,
        )
        person.process.send_signal(signal.SIGSTOP)
        before = memory(helper)
        time.sleep(3)
        after = memory(helper)
        person.process.send_signal(signal.SIGCONT)
        check(after - before < 1024, "the helper keeps little of a flood that nobody reads", (before, after))
        start = time.monotonic()
        person.type(200000 * "x")
        person.type("\x1d\x1d\x1d")
        code = person.end()
        check(code == 143, "a program that reads no keys can be ended", (code, person.seen[-300:]))


def grants(place):
    policy = place.write("home/tools.toml", POLICY)
    with Person(place, "--policy", policy, "--tool", "fixed") as person:
        check(
            person.until("cage of the tool fixed")
            and person.until("ends after 1m")
            and person.until("writable: /workspace"),
            "the line names the tool",
            person.seen,
        )
        person.type("PS1=; echo here > made; pwd; exit\n")
        check(
            person.end() == 0 and b"/workspace" in person.seen and b"own\r\n" not in person.seen,
            "a shell in place of the tool's own command, in its directory",
            person.seen,
        )
        check(
            os.path.exists(os.path.join(place.project, "made")),
            "and with its grant",
            os.listdir(place.project),
        )
    for name, more, code, words in (
        ("a grant cannot be widened", ["--tool", "fixed", "-t", "2h", "true"], 126, b"timeout"),
        (
            "without a terminal of the backend's it is refused",
            ["--tool", "elsewhere", "true"],
            126,
            b"(tty.none)",
        ),
        ("a tool that is not there", ["--tool", "nobody", "true"], 125, b"nobody"),
        ("a command that is not there", ["--", "no-such-command"], 127, b"no-such-command"),
    ):
        with Person(place, "--policy", policy, *more) as person:
            got = person.end()
            check(got == code and words in person.seen and person.restored(), name, (got, person.seen))
    answer = place.run("shell", "true")
    check(
        answer.code == 125 and "not a terminal" in answer.err and "toolcage exec" in answer.err,
        "it needs a terminal",
        answer,
    )


def ends(place):
    policy = place.write("home/tools.toml", POLICY)
    with Person(
        place,
        "--policy",
        policy,
        "--tool",
        "short",
        "--",
        "sh",
        "-c",
        "trap '' HUP TERM; stty raw -echo; sleep 30 & wait; sleep 30",
    ) as person:
        code = person.end()
        check(
            code == 124 and b"timeout" in person.seen and person.restored(),
            "the deadline ends it and restores the terminal",
            (code, person.seen),
        )
    for name, number in (("SIGTERM", signal.SIGTERM), ("SIGHUP", signal.SIGHUP)):
        with sh(place) as person:
            person.until(PROMPT)
            person.process.send_signal(number)
            code = person.end()
            check(
                code == 128 + number and person.restored(),
                f"{name} ends it and restores the terminal",
                (code, person.seen),
            )
    with sh(
        place, "--", "sh", "-c", "trap '' HUP TERM INT; stty raw; printf 'ready> '; while :; do sleep 1; done"
    ) as person:
        person.until(PROMPT)
        person.type("\x1d\x1d\x1d")
        code = person.end()
        check(
            code == 137 and person.restored(),
            "Ctrl-] three times ends what ignores all else",
            (code, person.seen),
        )
    with sh(place) as person:
        person.until(PROMPT)
        sleeps = [f"sleep {os.getpid()}{n}" for n in (1, 2)]
        person.type(f"setsid {sleeps[0]} & {sleeps[1]}\n")
        end = time.monotonic() + 15
        while not all(map(running, sleeps)) and time.monotonic() < end:
            person.read(0.1)
        there = list(map(running, sleeps))
        person.process.kill()
        person.process.wait()
        end = time.monotonic() + 15
        while any(map(running, sleeps)) and time.monotonic() < end:
            time.sleep(0.1)
        check(all(there) and not any(map(running, sleeps)), "nothing outlives the killed program", there)


HOSTILE = {
    "the clipboard is set": r"\033]52;c;cm0gLXJm\007",
    "a title is set": r"\033]0;rm -rf\033\\",
    "the title is typed": r"\033[21t",
    "a string is asked back": r"\033P$q\"p\033\\",
    "an answerback is asked for": r"\005",
    "a file is shown": r"\033_Gt=f;L2V0Yw==\033\\",
    "the screen is printed": r"\033[5i",
    "the screen is summed up": r"\033[1;1;1;1;1;1*y",
    "a control of eight bits": r"\302\233",
    "a bare control of eight bits": r"\233",
    "a sequence hides in another": r"\033[1\033]52;c;eA==\007",
    "a sequence without end": r"\033[" + 200 * "1;" + "m",
}


def hostile(place):
    for name, sequence in HOSTILE.items():
        command = ["sh", "-c", "printf 'A%bB' \"$1\"; sleep 0.1", "sh", sequence]
        raw = place.run("exec", *command).bytes
        with Person(place, "--", *command) as person:
            person.end()
            shown = person.seen.partition(b"ends it\r\n")[2]
            check(shown.startswith(b"AB\x1b[!p") and len(raw) > 2, f"filtered: {name}", (person.seen, raw))
    with Person(
        place, "--", "sh", "-c", "printf '\\033[?1049h\\033[31mred\\033[?1000h\\033[?2004h'; sleep 0.2"
    ) as person:
        person.end()
        after = person.seen.partition(b"red")[2]
        check(
            b"\x1b[?1049h\x1b[31mred" in person.seen
            and b"\x1b[?1049l" in after
            and b"2004l" in after
            and b"1000;" in after,
            "drawing sequences pass, and terminal modes are reset",
            person.seen,
        )
    with Person(place, "--", "sh", "-c", "printf '\\033[c'", answers=True) as person:
        person.until("\x1b[c")
        time.sleep(0.1)
        person.type(b"\x1b[?62;c")
        code = person.end()
        check(
            code == 0 and not person.left_to_read() and person.restored(),
            "late answers of the terminal go unread",
            person.seen,
        )


PUSH = """
import fcntl, os, termios
for fd in (0, os.open("/dev/tty", os.O_RDWR)):
    for name, number in (("TIOCSTI", 0x5412), ("TIOCLINUX", 0x541c), ("TIOCCONS", 0x541d), ("TIOCSETD", 0x5423)):
        try:
            fcntl.ioctl(fd, number, b"x\\0\\0\\0")
            print("GOT", name)
        except OSError as error:
            print("missed", name, error.errno)
print(os.fstat(0).st_rdev, [name for name in os.listdir("/dev/pts")])
made = []
try:
    while True:
        made.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
except OSError as error:
    print("made", len(made), error.errno)
"""


def pushes(place):
    with Person(place, "--", "python3", "-c", PUSH) as person:
        outer = os.ttyname(person.theirs)
        person.end()
        check(
            b"GOT" not in person.seen and person.seen.count(b"missed") == 8,
            "nothing is pushed into a terminal",
            person.seen,
        )
        check(not person.left_to_read(), "least of all into the person's", outer)
        check(
            b"made 1" in person.seen and b"['ptmx', '0']" in person.seen or b"['0', 'ptmx']" in person.seen,
            "the cage sees its own terminals alone, and can make few",
            person.seen,
        )


require_user()
with Place() as probe:
    found = probe.run("doctor")
    if found.code != 0:
        skip_all("no cage on this machine: " + " / ".join((found.out + found.err).strip().splitlines()[-2:]))
for part in (works, jobs, floods, grants, ends, hostile, pushes):
    with Place() as own:
        part(own)
finish()
