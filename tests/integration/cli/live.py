# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A live session is one cage in which many commands run. Each command has its own streams, time and result; none can fake
another's end or output, or reach PID 1 and the owner's socket; and nothing survives the session, however it ends."""

import json
import contextlib
import os
import select
import signal
import socket
import subprocess
import time

from cli import Place, check, expect, finish, require_user, running_as
from live_scene import Session, alive, gone, new_mark, runs

LIVE = ".local/state/toolcage/live"


def commands_share_one_cage():
    with Session() as s:
        check(s.started.code == 0 and "session work runs" in s.started.err, "a session starts", s.started)
        answer = s.sh("echo out; echo err >&2; exit 7")
        check(
            (answer.code, answer.out, answer.err) == (7, "out\n", "err\n"),
            "a command has its exit code and streams",
            answer,
        )
        check(s.sh("cat", stdin=b"typed").out == "typed", "a command reads standard input")
        check(
            s.sh("pwd; echo x > made; echo y > /tmp/kept").out.strip() == s.place.project,
            "a command starts in the project",
        )
        check(
            os.path.exists(os.path.join(s.place.project, "made")), "a command writes to the project at once"
        )
        check(s.sh("cat /tmp/kept").out == "y\n", "a later command finds the private /tmp")
        check(s.sh("cat ~/x /etc/shadow").code != 0, "a command reads no more than the grant")
        check(s.exec("no-such-program").code == 127, "a missing program is 127")
        check("127.0.0.1" in s.sh("env", "--env", "AT=127.0.0.1").out, "a command gets its variables")
        expect(
            s.place,
            "a command may not widen",
            ["session", "exec", "--network", "*", "work", "true"],
            125,
            "unknown option",
        )
        r = s.result("true")
        check(
            r["live_session"] == s.info()["call"] and r["status"] == "ok", "the result names the session", r
        )
        check(
            "shared by the session's commands" in r["enforcement"]["proc.own"],
            "the result says what is shared",
        )
        ended = json.loads(s.place.run("session", "end", "work", "--json").out)
        check(
            ended["status"] == "ok"
            and [c["path"] for c in ended["changes"]] == [os.path.join(s.place.project, "made")],
            "the end lists the changes of all commands",
            ended,
        )
        expect(
            s.place,
            "an ended session runs nothing",
            ["session", "exec", "work", "true"],
            125,
            "no live session work",
        )


def background_processes_live_until_the_end():
    with Session() as s:
        mark = new_mark()
        s.sh(f"sleep {mark} >/dev/null 2>&1 &")
        check(runs(mark), "a background process outlives its command")
        check(s.sh("sleep 0.2").code == 0 and len(alive(mark)) == 1, "it also outlives the next command")
        check(s.place.run("session", "end", "work").code == 0 and gone(mark), "it ends with the session")


def open_output_does_not_hold_the_command():
    with Session() as s:
        begun = time.monotonic()
        answer = s.sh("(while :; do echo flood; done) & sleep 0.1; echo done", "--output", "1KiB")
        check(
            answer.code == 0 and time.monotonic() - begun < 10,
            "a child that floods the output does not delay the result",
            answer.err[-300:],
        )
        check(s.sh("echo next").out == "next\n", "the next command has only its own output")


def time_ends_a_command_with_its_descendants():
    with Session() as s:
        mark = new_mark()
        r = s.result(f"setsid sleep {mark} & sleep {mark}; wait", "--timeout", "500ms")
        check(r["status"] == "timeout", "a command ends at its timeout", r)
        check(gone(mark, 2), "its descendants end, too, in other terminal sessions", alive(mark))
        r = s.result(f"trap '' TERM; sleep {mark} & wait; wait", "--timeout", "300ms")
        check(r["status"] == "timeout" and r["signal"] == 9, "a command that ignores SIGTERM is killed", r)
        check(s.sh("echo on").out == "on\n", "the session goes on")


def denials_belong_to_the_commands_time():
    with Session() as s:
        many = (
            "import socket\n"
            "for i in range(1500):\n"
            "    try: socket.socket(socket.AF_UNIX)\n"
            "    except OSError: pass\n"
        )
        count = [
            sum(
                d["count"]
                for d in json.loads(s.exec("python3", "-c", many, options=["--json"]).out)["denials"]
            )
            for _ in range(2)
        ]
        check(count == [1500, 1500], "a command lists the calls that were refused while it ran", count)
        r = s.result("exec true")
        check(
            (r["status"], r["denials"]) == ("ok", []),
            "many refused calls do not disturb later commands",
            r["denials"],
        )
    with Session("--network", "example.com:443", grant=()) as s:
        ask = "http_proxy= curl -sS -m 5 http://10.0.0.1/"
        targets = [
            [d["target"] for d in s.result(line)["denials"] if d["operation"] == "connect"]
            for line in (ask, "true", ask)
        ]
        check(
            targets == [["10.0.0.1:80"], [], ["10.0.0.1:80"]],
            "a command lists the connections that were refused",
            targets,
        )


def many_commands_run_at_once():
    with Session() as s:
        running = [
            s.place.popen(
                "session", "exec", "work", "sh", "-c", f"sleep 0.5; echo {i}", stdout=subprocess.PIPE
            )
            for i in range(12)
        ]
        outs = [p.communicate(timeout=60)[0].decode().strip() for p in running]
        check(outs == [str(i) for i in range(12)], "commands that run at once have their own outputs", outs)
        check([p.returncode for p in running] == [0] * 12, "commands that run at once have their own ends")


def interrupt_reaches_the_command():
    with Session() as s:
        mark = new_mark()
        p = s.place.popen("session", "exec", "work", "sleep", mark, stderr=subprocess.PIPE)
        check(len(runs(mark)) > 0, "a command runs")
        time.sleep(0.5)
        for pid in alive("exec"):
            with contextlib.suppress(OSError):  # it has ended
                if pid == p.pid or mark.encode() in open(f"/proc/{pid}/cmdline", "rb").read():
                    os.kill(pid, signal.SIGINT)
        p.communicate(timeout=20)
        check(p.returncode == 130 and gone(mark), "Ctrl-C ends the command", (p.returncode, alive(mark)))
        p = s.place.popen("session", "exec", "work", "sleep", mark)
        time.sleep(0.7)
        p.kill()
        p.communicate(timeout=20)
        check(gone(mark), "a killed client ends its command", alive(mark))
        check(s.sh("echo on").out == "on\n", "the session goes on after both")


def commands_cannot_fake_each_other():
    with Session() as s:
        # waits for a process of another command, and tries to write to its output and to end it with a code
        s.sh(
            "cat > /tmp/spy <<'X'\n"
            "while :; do for p in /proc/[0-9]*; do\n"
            '  read -r name < $p/comm; [ "$name" = victim ] || continue\n'
            "  for fd in 0 1 2; do echo forged > $p/fd/$fd && echo wrote >> /tmp/log; done\n"
            "  cat $p/environ > /dev/null 2>&1 && echo environ >> /tmp/log\n"
            "done; sleep 0.02; done\n"
            "X\n"
            "setsid sh /tmp/spy >/dev/null 2>&1 &"
        )
        s.sh("cp /bin/sleep /tmp/victim; chmod +x /tmp/victim")
        answer = s.sh("exec /tmp/victim 1", "--env", "SECRET=1")
        check(
            (answer.code, answer.out, answer.err) == (0, "", ""),
            "another command cannot write to a command's output",
            answer,
        )
        check(s.sh("cat /tmp/log 2>/dev/null").out == "", "nor open its streams, nor read its environment")
        check(s.sh("kill -9 $$").code == 137, "a command that kills itself is reported so")


def first_process_is_out_of_reach():
    with Session() as s:
        answer = s.sh(
            "for sig in TERM INT HUP USR1 USR2 CHLD STOP KILL; do kill -$sig 1; done; sleep 0.2;"
            "ls /proc/1/fd; cat /proc/1/mem; cat /proc/1/environ; ls -l /proc/1/cwd; echo alive"
        )
        check(
            "alive" in answer.out and "socket:" not in answer.out,
            "signals do not end PID 1, nor are its fds shown",
            answer,
        )
        check(s.sh("echo on").out == "on\n", "the session goes on after signals to PID 1")
        answer = s.exec(
            "python3",
            "-c",
            "import os\n"
            "print(sorted(os.listdir('/proc/self/fd')))\n"
            "for fd in (3, 4, 5, 6):\n"
            "    try: os.write(fd, b'k' * 64); print('wrote', fd)\n"
            "    except OSError: pass\n",
        )
        check("wrote" not in answer.out, "a command has no fd but its streams", answer)


def limits_of_the_first_process_are_out_of_reach():
    with Session() as s:
        answer = s.exec(
            "python3",
            "-c",
            "import resource\n"
            "for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_AS):\n"
            "    try: resource.prlimit(1, limit, (0, 0)); print('set', limit)\n"
            "    except OSError: pass\n",
        )
        check((answer.code, answer.out) == (0, ""), "a command cannot set the limits of PID 1", answer)
        r = s.result("sleep 20", "--timeout", "300ms")
        check(r["status"] == "timeout", "a command ends at its timeout after the attempt", r)


def unanswered_kill_ends_the_session():
    with Session() as s:
        mark = new_mark()
        s.sh(f"sleep {mark} >/dev/null 2>&1 &")
        first = first_of(runs(mark)[0])
        p = s.place.popen(
            "session", "exec", "--json", "--timeout", "1s", "work", "sleep", mark, stdout=subprocess.PIPE
        )
        time.sleep(0.6)
        os.kill(first, signal.SIGSTOP)
        r = json.loads(p.communicate(timeout=30)[0])
        check(
            r["status"] == "timeout" and gone(mark, 2),
            "a session whose PID 1 ends no command is killed",
            (r, alive(mark)),
        )


def few_open_files_do_not_bind_the_first_process():
    with Session("--open-files", "12") as s:
        check(s.sh("ulimit -Hn").out == "12\n", "a command has the granted number of open files")
        r = s.result("sleep 20", "--timeout", "300ms")
        check(r["status"] == "timeout", "a session with few open files keeps deadlines", r)


def failed_start_leaves_the_session_alone():
    with Session() as s:
        for _ in range(3):
            s.place.run("session", "start", "work", "--write", "/no/such/directory")
        check(s.sh("echo on").out == "on\n", "a start of the same name does not remove a session")
    with Place() as place:
        # starts that fail after the name's lock, beside starts that succeed
        failing = [
            place.popen(
                "session", "start", "work", "--write", "/no/such/directory", stderr=subprocess.DEVNULL
            )
            for _ in range(6)
        ]
        lost = 0
        for _ in range(6):
            if place.run("session", "start", "work").code == 0:
                lost += place.run("session", "exec", "work", "true").code != 0
                place.run("session", "end", "work")
        for p in failing:
            p.wait(timeout=30)
        check(lost == 0, "a failed start does not remove another start's session", lost)


def unwritable_output_is_reported():
    with Session() as s, open("/dev/full", "wb") as full:
        p = s.place.popen("session", "exec", "work", "seq", "3000000", stdout=full, stderr=subprocess.PIPE)
        err = p.communicate(timeout=30)[1].decode()
        check(
            p.returncode == 125 and "cannot write the command's output" in err,
            "output that cannot be written is an error",
            (p.returncode, err),
        )
        check(s.sh("echo on").out == "on\n", "the session goes on after it")


def client_of(s):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.connect(f"/proc/self/fd/{os.open(os.path.join(s.place.home, LIVE), os.O_PATH)}/{s.name}")
    sock.settimeout(10)
    return sock


def silent_clients_do_not_hold_the_session():
    if running_as() != "self":
        return  # the owner speaks only with its user
    with Session() as s:
        clients = [client_of(s) for _ in range(72)]
        check(s.sh("echo on", timeout=30).out == "on\n", "clients without a request keep no place")
        for sock in clients:
            sock.close()
        clients = [client_of(s) for _ in range(64)]
        for sock in clients:
            for packet in (b"asleep", b"a1000", b"r"):
                sock.send(packet)
        until = time.monotonic() + 20
        while (s.info() or {}).get("commands") != 64 and time.monotonic() < until:
            time.sleep(0.1)
        check((s.info() or {}).get("commands") == 64, "a session with all its commands is listed", s.info())
        expect(s.place, "one more is refused", ["session", "exec", "work", "true"], 125, "its maximum")
        check(s.place.run("session", "end", "work").code == 0, "a session with all its commands can be ended")


def owner_keeps_no_descriptor():
    with Place() as place:
        read, write = os.pipe()
        p = place.popen("session", "start", "work", pass_fds=[write])
        os.close(write)
        check(p.wait(timeout=30) == 0, "a session starts with an inherited descriptor")
        poll = select.poll()
        poll.register(read, select.POLLHUP)
        check(poll.poll(5000) != [], "the background process keeps no inherited descriptor")
        place.run("session", "end", "work")
        os.close(read)


def owner_is_out_of_reach():
    with Session("--unix-sockets", "own", grant=()) as s:
        path = os.path.join(s.place.home, LIVE, "work")
        check(os.path.exists(path), "the owner listens below the state directory")
        answer = s.exec(
            "python3",
            "-c",
            "import os, socket, sys\n"
            f"path = {path!r}\n"
            "print(os.path.exists(path))\n"
            "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "try: s.connect(path); print('connected')\n"
            "except OSError as e: print('refused', e.errno)\n",
        )
        check(
            "connected" not in answer.out and "False" in answer.out,
            "a command cannot reach the owner's socket",
            answer,
        )
        mode = os.stat(os.path.dirname(path)).st_mode & 0o777
        check(mode == 0o700, "only the user may enter the directory of the sockets", oct(mode))
        os.chmod(os.path.dirname(path), 0o777)
        expect(
            s.place,
            "a directory that others may write is refused",
            ["session", "exec", "work", "true"],
            125,
            "cannot connect",
        )
        os.chmod(os.path.dirname(path), 0o700)


def fork_bomb_is_bounded():
    with Session("--pids", "24") as s:
        r = s.result("bomb() { bomb | bomb & }; bomb; sleep 0.5; exit 1", "--timeout", "3s")
        check(r["status"] in ("limit", "failed", "timeout"), "a fork bomb ends as a failure", r["status"])
        check(s.info() is not None, "the owner answers while the bomb is left")
        begun = time.monotonic()
        code = s.place.run("session", "end", "work").code
        check(code == 0 and time.monotonic() - begun < 15, "the session ends with what the bomb left")


def nothing_survives_the_owner():
    for what in ("owner", "helper", "PID 1"):
        with Session() as s:
            mark = new_mark()
            s.sh(f"setsid sleep {mark} >/dev/null 2>&1 &")
            owner = s.info()["pid"]
            with open(f"/proc/{owner}/task/{owner}/children", encoding="ascii") as file:
                children = [int(pid) for pid in file.read().split()]
            helpers = children or [
                int(pid)
                for pid in filter(str.isdigit, os.listdir("/proc"))
                if is_helper_of(int(pid), s.place)
            ]
            sleeper = runs(mark)
            if what == "owner":
                os.kill(owner, signal.SIGKILL)
            elif what == "helper":
                for pid in helpers:
                    os.kill(pid, signal.SIGKILL)
            else:
                os.kill(first_of(sleeper[0]), signal.SIGKILL)
            check(gone(mark), f"nothing survives the {what}", alive(mark))
            until = time.monotonic() + 10
            while s.info() and time.monotonic() < until:
                time.sleep(0.1)
            check(s.info() is None, f"the session is not listed after the end of the {what}")
            again = s.place.run("session", "start", "work")
            check(again.code == 0, f"the name is free after the end of the {what}", again)


def first_of(pid):
    """PID 1 of the cage: the parent, until its parent is in another PID namespace."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


def is_helper_of(pid, place):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            parent = int(file.read().rsplit(")", 1)[1].split()[1])
        with open(f"/proc/{parent}/cmdline", "rb") as file:
            of_helper = b"toolcage-helper" in file.read()
    except (OSError, ValueError):
        return False
    return words[0] == b"toolcage-helper" and place.home.encode() in b" ".join(words) and not of_helper


def killed_session_fails_its_commands():
    with Session() as s:
        mark = new_mark()
        p = s.place.popen("session", "exec", "--json", "work", "sleep", mark, stdout=subprocess.PIPE)
        time.sleep(0.5 if runs(mark) else 0)
        s.place.run("session", "end", "work")
        r = json.loads(p.communicate(timeout=20)[0])
        check(
            r["status"] == "failed" and r["signal"] in (9, 15), "a command ends with its session", r["status"]
        )


def time_ends_a_session():
    for option, word in (("--idle", "idle time"), ("--lifetime", "lifetime")):
        with Session(option, "2s") as s:
            mark = new_mark()
            s.sh(f"sleep {mark} >/dev/null 2>&1 &")
            check(s.info() is not None, f"a session runs before the end of its {word}")
            check(gone(mark, 6), f"a session ends after its {word}", alive(mark))
    with Session("--idle", "1s") as s:
        check(s.sh("sleep 2; echo on").out == "on\n", "a session is not idle while a command runs")


def terminated_owner_ends_the_session():
    with Session() as s:
        mark = new_mark()
        s.sh(f"sleep {mark} >/dev/null 2>&1 &")
        os.kill(s.info()["pid"] if runs(mark) else 0, signal.SIGTERM)
        check(gone(mark), "a terminated owner ends the session", alive(mark))


OVERLAY = """
[tool.shell]
filesystem.writable = ["/workspace"]
workspace = {{ mode = "overlay", commit = "{}" }}
session_lifetime = "1h"
"""


def overlay_is_committed_at_the_end():
    for commit, seen in (("on_success", True), ("ask", False)):
        with Place() as place:
            policy = place.write("home/policy.toml", OVERLAY.format(commit))
            made = os.path.join(place.project, "made")
            place.run("session", "start", "--policy", policy, "--tool", "shell", "w")
            place.run("session", "exec", "w", "--", "sh", "-c", "echo x > made; exit 1")
            answer = place.run("session", "exec", "w", "cat", "made")
            check(
                answer.out == "x\n" and not os.path.exists(made),
                f"commit {commit} keeps changes in the session",
                answer,
            )
            ended = place.run("session", "end", "w")
            check(
                os.path.exists(made) == seen and ended.code == 0,
                f"commit {commit} decides at the session's end",
                ended,
            )
            if not seen:
                check(
                    "not applied: added made" in ended.err,
                    "staged changes are listed at the session's end",
                    ended,
                )


def two_owners_do_not_share_a_name():
    with Session() as s:
        expect(s.place, "a name is used once", ["session", "start", "work"], 125, "runs already")
        second = s.place.run("session", "start", "other")
        check(
            second.code == 0 and len(json.loads(s.place.run("session", "list", "--json").out)["live"]) == 2,
            "two names live",
        )
        s.sh("echo > /tmp/of-work")
        check(
            "of-work" not in s.place.run("session", "exec", "other", "ls", "/tmp").out,
            "a session has its own /tmp",
        )
        s.place.run("session", "end", "other")
        for name in ("..", "-x", "a/b", "x" * 65, "a.lock"):
            expect(
                s.place,
                f"{name[:5]} is not a name",
                ["session", "start", "--", name],
                125,
                "cannot be the name",
            )


POLICY = """
[tool.none]
filesystem.writable = ["/workspace"]
[tool.shell]
filesystem.writable = ["/workspace"]
session_lifetime = "1h"
[tool.fixed]
command = ["true"]
session_lifetime = "1h"
[tool.asks]
tier = "HumanApprove"
backend = "process"
session_lifetime = "1h"
[audit]
"""


def policy_bounds_a_session():
    with Place() as place:
        policy = place.write("home/policy.toml", POLICY)
        start = ["session", "start", "--policy", policy, "--tool"]
        expect(
            place,
            "a tool without session_lifetime has no sessions",
            [*start, "none", "w"],
            126,
            "grants no live session",
        )
        expect(
            place,
            "a longer lifetime is refused",
            [*start, "shell", "--lifetime", "2h", "w"],
            126,
            "longer than",
        )
        expect(
            place,
            "a tool with a command has no sessions",
            [*start, "fixed", "w"],
            126,
            "already has a command",
        )
        expect(place, "a tool that asks has no sessions", [*start, "asks", "w"], 126, "approval")
        expect(
            place,
            "a session may not widen",
            [*start, "shell", "--network", "example.com", "w"],
            126,
            "more than",
        )
        expect(place, "a granted session starts", [*start, "shell", "w"], 0)
        check(place.run("session", "exec", "w", "sh", "-c", "exit 3").code == 3, "its command runs")
        place.run("session", "end", "w")
        lines = [json.loads(line) for line in place.run("audit", "list", "--json").out.splitlines()]
        text = json.dumps(lines)
        check(
            "live_session" in text and "lifetime_ms" in text,
            "the audit log has the session and its command",
            text[:600],
        )
        check(place.run("audit", "verify").code == 0, "the audit log verifies")


require_user()
for part in (
    commands_share_one_cage,
    background_processes_live_until_the_end,
    open_output_does_not_hold_the_command,
    time_ends_a_command_with_its_descendants,
    denials_belong_to_the_commands_time,
    many_commands_run_at_once,
    interrupt_reaches_the_command,
    commands_cannot_fake_each_other,
    first_process_is_out_of_reach,
    limits_of_the_first_process_are_out_of_reach,
    unanswered_kill_ends_the_session,
    few_open_files_do_not_bind_the_first_process,
    failed_start_leaves_the_session_alone,
    unwritable_output_is_reported,
    silent_clients_do_not_hold_the_session,
    owner_keeps_no_descriptor,
    owner_is_out_of_reach,
    fork_bomb_is_bounded,
    nothing_survives_the_owner,
    killed_session_fails_its_commands,
    time_ends_a_session,
    terminated_owner_ends_the_session,
    overlay_is_committed_at_the_end,
    two_owners_do_not_share_a_name,
    policy_bounds_a_session,
):
    part()
finish()
