#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""gVisor's platforms, its ways to intercept system calls. toolcage uses a platform that works. If the policy names one that
fails or hangs, the call is refused in time. Nothing of a failed attempt is left.

usage: platforms.py TOOLCAGE self | ordinary [PATH of a runsc | brief]

With `brief`, each of the two users (root or the current user: self; an ordinary user: ordinary) runs half of the cases: the
user changes only where toolcage stores its notes on platforms."""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "process"))

from scene import (
    PATIENCE,
    TOOLCAGE,
    Skip,
    below,
    check,
    end,
    finish,
    helper_of,
    in_namespaces,
    run,
    skip_all,
    start_time,
    until,
)
import runsc

SETTLED = 2.1  # seconds; toolcage stores no notes on a file that was written more recently
LIMIT = 5  # seconds that toolcage gives a platform to respond
BRIEF = sys.argv[3:] == ["brief"]
if len(sys.argv) > 3 and not BRIEF:
    runsc.put_in_place(sys.argv[3])
RUNSC = runsc.installed()


def more(platform=None, tool='timeout="60s"'):
    """The end of a policy. Its timeout is not multiplied by PATIENCE, because LIMIT is not, either."""
    return f'backend = "gvisor"\n{tool}\n' + (
        f'[backend.gvisor]\nplatform = "{platform}"\n' if platform else ""
    )


def leftovers():
    return {
        name
        for place in ("/tmp", "/run", "/var/run", "/var/tmp")
        for name in glob.glob(f"{place}/*runsc*") + glob.glob(f"{place}/*gvisor*")
    }


def watched(process):
    """Waits for the end of a call, and returns all processes of its helper that were seen until then."""
    seen, helper = set(), None
    while process.poll() is None:
        helper = helper or helper_of(process.pid)
        seen.update(below(helper))
        time.sleep(0.02)
    return seen


def nothing_is_left(seen, before, name):
    gone = until(lambda: not any(start_time(pid) for pid in seen), 10)
    check(
        gone and leftovers() <= before,
        f"{name}: nothing is left",
        ([pid for pid in seen if start_time(pid)], leftovers() - before),
    )


def words_of(pids):
    """The values of --platform in the command lines of these processes."""
    found = set()
    for pid in pids:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                found |= {
                    word[len(b"--platform=") :].decode()
                    for word in file.read().split(b"\0")
                    if word.startswith(b"--platform=")
                }
        except OSError:
            pass
    return found


def runs_on(s, platform):
    """Runs a call. Returns the platforms in the command lines of its runtime, and the result."""
    s.mode = "bind"  # its mark is seen while it runs
    mark = s.path("ws", f"up-{platform}")
    process = s.popen(
        "/bin/sh", "-c", f"echo up > {mark}; while [ -e {mark} ]; do sleep 0.05; done", more=more(platform)
    )
    up = until(lambda: os.path.exists(mark) or process.poll() is not None, 30) and process.poll() is None
    found = words_of(below(helper_of(process.pid))) if up else None
    if up:
        os.unlink(mark)
    return found, finish(process)


def doctor(s):
    """The row of gVisor in the output of `toolcage doctor`."""
    done = subprocess.run(
        [TOOLCAGE, "doctor", "--json"],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        timeout=60 * PATIENCE,
        check=False,
    )
    return next(row for row in json.loads(done.stdout)["backends"] if row["backend"] == "gvisor")


def named_platform_is_used(s):
    found, answer = runs_on(s, "ptrace")
    check(answer.status == "ok" and found == {"ptrace"}, "a named platform runs the tool", (found, answer))
    for _ in range(3):  # on a busy host a platform may be too slow for the call, but not for the doctor
        found, answer = runs_on(s, None)
        row = doctor(s)
        if f"--platform={'|'.join(found or ())}" in row["mechanism"]:
            break
    check(
        answer.status == "ok" and found in ({"ptrace"}, {"systrap"}),
        "without a name one is chosen that works",
        (found, answer),
    )
    check(row["works"] and f", --platform={found.pop()}" in row["mechanism"], "and the doctor names it", row)


def its_version_is_told(s):
    words = subprocess.run([RUNSC, "--version"], capture_output=True, text=True, check=True).stdout.split()
    told = f", runsc {words[2]}, " if words[2][0].isdigit() else ", of an unknown version, "
    check(
        until(lambda: told in doctor(s)["mechanism"], 60),
        "the doctor says what runsc says of its version",
        (doctor(s), words),
    )


def refused(answer, platform, why=""):
    error = answer.error or {}
    return (
        answer.status == "denied"
        and not (answer.stderr or {}).get("text")
        and answer.code == 126
        and error["code"] == "unenforceable"
        and error["stage"] == "platform"
        and error["subject"] == platform
        and f"platform {platform} does not work" in error["message"]
        and why in error["message"]
        and '"msg"' not in error["message"]
    )


def platforms_work_or_are_refused(s):
    for platform in ("systrap", "kvm"):
        before, begun = leftovers(), time.monotonic()
        process = s.popen("/bin/echo", "ran", more=more(platform))
        seen = watched(process)
        answer, took = finish(process), time.monotonic() - begun
        works = answer.status == "ok" and answer.out == "ran\n"
        check(works or refused(answer, platform), f"{platform} works or is refused", answer)
        check(took < (LIMIT + 20) * PATIENCE, f"{platform}: within its time", took)
        nothing_is_left(seen, before, platform)
        if not works:
            other = s.call("/bin/echo", "ran", more=more())
            check(
                "remove [backend.gvisor] platform" in answer.error["hint"] and other.out == "ran\n",
                f"{platform}: what the refusal advises works",
                (answer, other),
            )


# Keeps the first CPU busy, for this number of seconds.
SPIN = """import os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    pass
"""


class StandIn:
    """A script in place of runsc. It logs the platforms that toolcage tries. On the platform `hangs` it hangs, on `plays` it uses
    ptrace instead, on `fails` it prints much and fails, on `works` it uses the CPU for longer than LIMIT before it starts ptrace.
    On all others it runs the real runsc. `knows`: the number of options, of those that only newer versions have, that it
    accepts."""

    def __init__(self, s, hangs="", plays="", fails="", knows=None, works=""):
        self.log = s.write(f"asked-{hangs}-{plays}-{fails}-{knows}-{works}", "", 0o666)
        options = ("--directfs=false", "--character-device-policy=passthrough") if knows is not None else ()
        known = "".join(
            f"{option}) {f'echo {option} >> {self.log}; continue' if number < knows else 'exit 2'} ;;\n"
            for number, option in enumerate(options)
        )
        if not os.path.exists(s.path("real")):
            shutil.copy(RUNSC, s.path("real"))
        spin = s.write("spin.py", SPIN)
        self.script = s.write(
            f"stand-in-{hangs}-{plays}-{fails}-{knows}-{works}",
            f"""#!/bin/sh
for word; do
	shift
	case $word in --platform=*) echo ${{word#*=}} >> {self.log} ;; esac
	case $word in
	{known}
	--platform={hangs}) sleep 300 & wait ;;
	--platform={plays}) word=--platform=ptrace ;;
	--platform={works}) python3 {spin} {LIMIT + 2}; word=--platform=ptrace ;;
	--platform={fails})
		python3 -c 'import os; [os.set_blocking(n, False) for n in (0, 1, 2)]' # as runsc's kernel does
		head -c 50000 /dev/zero | tr '\\0' w >&2; exit 1 ;;
	esac
	set -- "$@" "$word"
done
exec {s.path("real")} "$@"
""",
            0o755,
        )
        self.program = s.own_copy()
        self.wrap = in_namespaces(f"mount --bind {self.script} {RUNSC}")
        self.settled = time.monotonic() + SETTLED

    def asked(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read().split()

    def popen(self, s, *command, wrap=(), **grant):
        known = len(self.asked())
        time.sleep(max(0.0, self.settled - time.monotonic()))
        process = s.popen(*command, wrap=(*self.wrap, *wrap), program=self.program, **grant)
        until(lambda: len(self.asked()) > known or process.poll() is not None, 30)
        if not self.asked():
            process.kill()
            _, err = process.communicate()
            raise Skip(
                f"this machine cannot be given another runtime: {err.decode(errors='replace').strip()[-200:]}"
            )
        return process


def one_that_hangs_is_ended(s):
    runtime, before, begun = StandIn(s, "kvm"), leftovers(), time.monotonic()
    process = runtime.popen(s, "/bin/true", more=more("kvm"))
    seen = watched(process)
    answer, took = finish(process), time.monotonic() - begun
    check(
        refused(answer, "kvm", f"did not answer within {LIMIT} s"), "a platform that hangs is refused", answer
    )
    check(LIMIT <= took < (LIMIT + 20) * PATIENCE and len(seen) > 2, "when its time is over", (took, seen))
    nothing_is_left(seen, before, "a trial that was ended")
    process = runtime.popen(s, "/bin/true", more=more("kvm", 'timeout="1s"'))
    seen = watched(process)
    answer = finish(process)
    check(answer.status == "timeout", "a call does not wait longer than it may", answer)
    nothing_is_left(seen, before, "a trial for a call that is over")
    process = runtime.popen(s, "/bin/true", more=more("kvm"))
    seen = set(below(helper_of(process.pid)))
    end(process)
    process.communicate()
    check(len(seen) > 2, "a program is killed while a platform is tried", seen)
    nothing_is_left(seen, before, "and its trial")


def tried_platform_is_used(s):
    for runtime, platform, asked, name in (
        (StandIn(s, plays="kvm"), "kvm", ["kvm"], "a named platform that works runs the tool"),
        (StandIn(s, plays="systrap"), None, ["systrap"], "without a name systrap does, where it works"),
        (StandIn(s, hangs="systrap"), None, ["systrap", "ptrace"], "where it hangs, ptrace"),
    ):
        answer = finish(runtime.popen(s, "/bin/echo", "ran", more=more(platform)))
        check(
            answer.status == "ok"
            and answer.out == "ran\n"
            and answer.stderr["text"] == ""
            and runtime.asked() == asked,
            name,
            (runtime.asked(), answer),
        )


def failed_platform_is_remembered(s):
    """The next helper with the same runsc does not try it, for an hour. The doctor tries it again."""
    runtime = StandIn(s, fails="systrap")

    def ask(platform=None):
        answer = finish(runtime.popen(s, "/bin/echo", "ran", more=more(platform)))
        return answer.out == "ran\n" and answer.enforcement["syscalls"].split(",")[0]

    said = [ask(), ask()]
    check(
        said == ["gVisor's own kernel on ptrace"] * 2 and runtime.asked() == ["systrap", "ptrace", "ptrace"],
        "a platform that failed is not tried by each call",
        (said, runtime.asked()),
    )
    done = subprocess.run(
        [*runtime.wrap, runtime.program, "doctor", "--json"],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        timeout=60 * PATIENCE,
        check=False,
    )
    row = next(row for row in json.loads(done.stdout)["backends"] if row["backend"] == "gvisor")
    check(
        runtime.asked()[3:] == ["systrap", "ptrace"] and "ptrace; systrap: " in row["mechanism"],
        "the doctor tries it again, and says why it failed",
        (row, runtime.asked()),
    )
    other = StandIn(s, plays="systrap")
    answer = finish(other.popen(s, "/bin/echo", "ran", more=more()))
    asked = other.asked()  # on a busy host it may have been too slow, and toolcage took the next one
    check(
        asked[0] == "systrap" and f"kernel on {asked[-1]}," in answer.enforcement["syscalls"],
        "another runsc is another matter",
        (asked, answer),
    )


def notes(s, word):
    """toolcage's notes that end with this word, as (symlink, target), for the user who runs the calls. A later note may replace
    an earlier one at the same path."""
    places = (f"{s.path('home')}/.local/state/toolcage/gvisor", "/run/toolcage/gvisor")
    links = [
        f"{place}/{name}"
        for place in places
        if os.path.isdir(place) and os.access(place, os.R_OK)
        for name in os.listdir(place)
    ]
    links = [
        (link, os.readlink(link))
        for link in links
        if os.path.islink(link) and os.lstat(link).st_uid == os.geteuid()
    ]
    return [(link, what) for link, what in links if what.endswith(f" {word}")]


def silent_platform_is_tried_again_soon(s):
    """toolcage tries it again after five minutes, because the disk may have been slow. A platform that failed with a message is not
    tried again so soon."""
    for word, runtime, asked in (
        ("silent", StandIn(s, hangs="systrap"), ["systrap", "ptrace"]),
        ("fails", StandIn(s, fails="systrap"), ["ptrace"]),
    ):

        def ask():
            known, before = len(runtime.asked()), set(notes(s, word))
            answer = finish(runtime.popen(s, "/bin/echo", "ran", more=more()))
            return answer.out == "ran\n" and runtime.asked()[known:], set(notes(s, word)) - before

        first, new = ask()
        again, _ = ask()
        for link, _ in new:
            os.utime(link, (time.time() - 301, time.time() - 301), follow_symlinks=False)
        later, _ = ask()
        check(
            first == ["systrap", "ptrace"] and again == ["ptrace"] and new and later == asked,
            f"a note that it {word} holds for its time",
            (word, first, again, later, new),
        )


def waits_for_a_processor_do_not_count(s):
    """While other processes use the runtime's CPU, its time to respond does not run. A runtime that hangs does not wait for a CPU, so
    it gets no more time."""

    def ask(runtime):
        others = [subprocess.Popen(["/usr/bin/python3", "-c", SPIN, "60"]) for _ in range(6)]
        answer = finish(runtime.popen(s, "/bin/echo", "ran", more=more()))
        for other in others:
            other.kill()
            other.wait()
        return runtime.asked(), answer

    asked, answer = ask(StandIn(s, works="systrap"))
    check(
        asked == ["systrap"]
        and answer.out == "ran\n"
        and "kernel on systrap," in answer.enforcement["syscalls"],
        "a platform that is late because others run is waited for",
        (asked, answer),
    )
    asked, answer = ask(StandIn(s, hangs="systrap"))
    check(
        asked == ["systrap", "ptrace"] and answer.out == "ran\n", "and one that hangs is not", (asked, answer)
    )


def its_kernel_does_nothing_by_itself(s):
    """Two options turn off what newer versions of runsc do: since 2023 direct access to the host's files, which would allow a
    tool to rename directories with mounts of toolcage in them; since 2026 its own devices for any device node. toolcage finds out
    whether runsc knows each option, and then passes it."""

    def asks(runtime):
        known = len(runtime.asked())
        answer = finish(runtime.popen(s, "/bin/echo", "ran", more=more("ptrace")))
        return runtime.asked()[known:] if answer.out == "ran\n" else answer

    direct, devices = "--directfs=false", "--character-device-policy=passthrough"
    older, newer, runtime = (StandIn(s, knows=number) for number in range(3))
    said = [asks(older), asks(older), asks(newer), asks(runtime)]
    check(
        said == [["ptrace"], ["ptrace"], [direct] * 3 + ["ptrace"], [direct, devices] * 2 + ["ptrace"]],
        "a runsc that knows directfs and devices is told to do without, whatever was there before",
        said,
    )
    said = asks(runtime)
    check(said == [direct, devices, "ptrace"], "and is not asked again", said)
    os.utime(runtime.script)
    said = [asks(runtime)]
    time.sleep(SETTLED)
    said += [asks(runtime), asks(runtime)]
    check(
        said == [[direct, devices] * 2 + ["ptrace"]] * 2 + [[direct, devices, "ptrace"]],
        "before somebody has written to the file",
        said,
    )


def its_words_are_whole(s):
    """The tool's output is complete, although toolcage discards the output of a runtime on a platform that failed."""
    runtime = StandIn(s, plays="systrap")
    answer = finish(
        runtime.popen(
            s,
            "/bin/sh",
            "-c",
            "for n in 1 2 3 4; do head -c 100000 /dev/zero | tr '\\0' $n >&2; done; echo out; echo end >&2; exit 7",
            more=more(tool='timeout="60s"\noutput="1MiB"'),
        )
    )
    said = answer.stderr["text"]
    check(
        said == "".join(n * 100000 for n in "1234") + "end\n"
        and answer.out == "out\n"
        and answer.code == 7
        and runtime.asked() == ["systrap"],
        "the tool's output comes whole, with its code",
        (len(said), said[-100:], answer.out, answer.code),
    )
    answer = finish(
        runtime.popen(
            s,
            "/bin/sh",
            "-c",
            "yes >&2",
            more=more(tool='timeout="60s"\noutput={ limit = "64KiB", over = "kill" }'),
        )
    )
    check(answer.status == "limit", "and a limit of it ends the call", answer)
    answer, stopped = one_without_its_keeper(s, runtime)
    check(
        stopped and answer.stderr["text"] == "last\n" and answer.code == 7,
        "nobody who may be late stands between it and its reader",
        (stopped, answer),
    )


def one_without_its_keeper(s, runtime):
    """The result of a call whose shim (toolcage's process around the runtime) was stopped, and whether it was found."""
    s.mode = "bind"  # its mark is seen while it runs
    mark = s.path("ws", "up")
    process = runtime.popen(
        s,
        "/bin/sh",
        "-c",
        f"echo up > {mark}; while [ -e {mark} ]; do sleep 0.05; done; echo last >&2; exit 7",
        more=more(),
    )
    until(lambda: os.path.exists(mark) or process.poll() is not None, 30)
    keepers = [pid for pid in below(helper_of(process.pid)) if keeps(pid)]
    for pid in keepers:
        os.kill(pid, signal.SIGSTOP)
    os.unlink(mark)
    return finish(process), len(keepers) == 1


def keeps(pid):
    """Is this process the shim? Its arguments are the platforms to try."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read().split(b"\0")
    return words[1:4] == [b"systrap", b"ptrace", b"--"]


def other_words_are_not_its_own(s):
    runtime = StandIn(s, fails="systrap")
    answer = finish(runtime.popen(s, "/bin/sh", "-c", "echo mine >&2", more=more()))
    check(
        answer.status == "ok"
        and answer.stderr["text"] == "mine\n"
        and runtime.asked() == ["systrap", "ptrace"],
        "output of the runtime on a failed platform is left out",
        (runtime.asked(), answer),
    )
    s.mode = "bind"  # its mark is seen while it runs
    runtime, mark = StandIn(s, fails="systrap", works="none"), s.path("ws", "reads")
    process = runtime.popen(
        s, "/bin/sh", "-c", f"echo up > {mark}; read word; echo $word", stdin=subprocess.PIPE, more=more()
    )
    until(lambda: os.path.exists(mark) or process.poll() is not None, 60)
    time.sleep(0.5)
    process.stdin.write(b"late\n")
    answer = finish(process)
    check(
        answer.out == "late\n" and runtime.asked() == ["systrap", "ptrace"],
        "nor do its streams stop to block",
        (runtime.asked(), answer),
    )


def exchange(process, count):
    """Sends `count` calls of the tool to an MCP server at once, and returns the results."""

    def send(**message):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    send(
        id="first",
        method="initialize",
        params={
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    )
    send(method="notifications/initialized")
    for number in range(count):
        send(id=number, method="tools/call", params={"name": "t", "arguments": {}})
    process.stdin.flush()
    answers = {}
    while len(answers) < count + 1:
        line = process.stdout.readline()
        if not line:
            break
        message = json.loads(line)
        answers[message.get("id")] = message
    return [answers.get(number, {}).get("result", {}) for number in range(count)]


def serve(s, runtime, platform, rounds):
    """Starts an MCP server and sends it a round of simultaneous calls for each number in `rounds`. Returns the results, and the
    runtime's processes that are left while the server runs."""
    policy = s.policy(more=more(platform, 'timeout="60s"\ncommand = ["/bin/true"]\ndescription = "Nothing."'))
    process = subprocess.Popen(
        [*runtime.wrap, runtime.program, "mcp", "--policy", policy],
        env=s.environ,
        cwd=s.ws,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    patience = threading.Timer(60 * PATIENCE, process.kill)
    patience.start()
    answers = [answer for count in rounds for answer in exchange(process, count)]
    left = [pid for pid in below(helper_of(process.pid)) if words_of([pid])]
    patience.cancel()
    process.communicate(timeout=30 * PATIENCE)
    return answers, left


def a_server_learns(s):
    runtime, before = StandIn(s, "kvm"), leftovers()
    answers, left = serve(s, runtime, "kvm", (3,))
    check(
        all(answer.get("isError") and "did not answer" in json.dumps(answer) for answer in answers),
        "every call on a platform that hangs is refused",
        answers,
    )
    check(not left and leftovers() <= before, "and nothing of it is left while the helper lives", left)
    runtime = StandIn(s, "systrap")
    answers, left = serve(s, runtime, None, (1, 2))
    check(
        answers
        and not any(answer.get("isError") for answer in answers)
        and runtime.asked() == ["systrap", "ptrace", "ptrace", "ptrace"],
        "without a name what has failed is not tried again",
        (runtime.asked(), answers),
    )


def main():
    if not RUNSC:
        skip_all("skipped: runsc is not installed")
    parts = {
        "self": (
            named_platform_is_used,
            platforms_work_or_are_refused,
            failed_platform_is_remembered,
            its_words_are_whole,
        ),
        "ordinary": (
            one_that_hangs_is_ended,
            tried_platform_is_used,
            its_kernel_does_nothing_by_itself,
            other_words_are_not_its_own,
        ),
    }
    long = (
        its_version_is_told,
        silent_platform_is_tried_again_soon,
        waits_for_a_processor_do_not_count,
        a_server_learns,
    )
    run(*(parts[sys.argv[2]] if BRIEF else (*parts["self"], *parts["ordinary"], *long)))


main()
