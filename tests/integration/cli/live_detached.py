# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Detached commands of a live session: their owner keeps output and exit code, and signals reach their processes."""

import json
import re
import signal
import subprocess
import time

from cli import check, expect, finish, require_user
from live_scene import Session, gone, new_mark, runs


class Detaching(Session):
    def detach(self, line, *options):
        answer = self.place.run("session", "exec", "--detach", *options, self.name, "--", "sh", "-c", line)
        return answer.out.strip()

    def do(self, action, *args, **more):
        return self.place.run("session", action, *args[:-1], self.name, args[-1], **more)

    def until(self, text, ident, seconds=10):
        end = time.monotonic() + seconds
        while text not in self.do("logs", ident).out and time.monotonic() < end:
            time.sleep(0.05)
        return self.do("logs", ident).out


def output_and_exit_code_are_kept():
    with Detaching() as s:
        begun = time.monotonic()
        ident = s.detach("echo out; echo err >&2; sleep 1; echo late; exit 7")
        check(ident == "1" and time.monotonic() - begun < 5, "a detached command has an id at once", ident)
        check(s.until("out", ident) == "out\n", "its output is there while it runs")
        follow = s.do("logs", "--follow", ident)
        check(
            (follow.out, follow.err, follow.code) == ("out\nlate\n", "err\n", 0),
            "follow shows all until the end",
            follow,
        )
        check(s.do("wait", ident).code == 7, "wait has the exit code")
        attached = s.do("attach", ident)
        check(
            (attached.out, attached.err, attached.code) == ("out\nlate\n", "err\n", 7),
            "attach has both",
            attached,
        )
        r = json.loads(s.do("wait", "--json", ident).out)
        check(r["exit_code"] == 7 and r["live_session"] == s.info()["call"], "wait has the result", r)
        listed = s.info()["detached"]
        check(
            listed[0]["id"] == 1
            and listed[0]["exit_code"] == 7
            and not listed[0]["running"]
            and s.info()["commands"] == 0,
            "the list has it after its end",
            listed,
        )
        answer = s.place.run("session", "exec", "--detach", "--json", "work", "--", "true")
        check(json.loads(answer.out) == {"id": 2}, "JSON has the id", answer)
        all_of_them = s.place.run("session", "wait", "work")
        check(
            (all_of_them.out, all_of_them.code) == ("1 7\n2 0\n", 7),
            "wait without an id waits for all",
            all_of_them,
        )
        table = s.place.run("session", "logs", "work").out
        check(
            re.search(r"1 +exit 7 +sh -c echo out", table) is not None, "logs without an id lists them", table
        )


def signals_reach_the_processes():
    with Detaching() as s:
        mark = new_mark()
        line = "trap 'echo got USR1' USR1; trap 'echo got INT; exit 9' INT; echo set; while :; do sleep 0.1; done"
        ident = s.detach(line)
        s.until("set", ident)
        check(s.place.run("session", "signal", "work", ident, "USR1").code == 0, "a signal is sent")
        check("got USR1" in s.until("USR1", ident), "the command receives it")
        s.place.run("session", "signal", "work", ident, "SIGINT")
        check(s.do("wait", ident).code == 9, "the command may end by it")
        ident = s.detach(f"(setsid sleep {mark}) & wait")
        runs(mark)
        s.place.run("session", "signal", "work", ident, "15")
        check(s.do("wait", ident).code == 143 and gone(mark), "TERM ends the command and its descendants")
        for name, args in (
            ("an unknown signal", [ident, "NOPE"]),
            ("signal 0", [ident, "0"]),
            ("signal 65", [ident, "65"]),
            ("a signal to an ended command", [ident, "TERM"]),
            ("a signal to an unknown command", ["99", "TERM"]),
            ("a signal to no id", ["x", "TERM"]),
        ):
            answer = s.place.run("session", "signal", "work", *args)
            check(answer.code == 125 and "toolcage: " in answer.err, f"{name} is refused", answer)
        check(s.sh("echo on").out == "on\n", "the session goes on after them")
        ident = s.detach("trap : USR1; trap 'exit 8' TERM; echo set; while :; do sleep 0.05; done")
        s.until("set", ident)
        for _ in range(60):
            s.place.run("session", "signal", "work", ident, "USR1")
        s.place.run("session", "signal", "work", ident, "TERM")
        check(s.do("wait", ident).code == 8, "many signals do not hinder the next")
        first = s.detach(f"sleep {new_mark()}")
        second = s.detach(f"sleep {new_mark()}")
        s.place.run("session", "signal", "work", first, "KILL")
        check(s.do("wait", first).code == 137, "KILL ends the command")
        running = [d["id"] for d in s.info()["detached"] if d["running"]]
        check(running == [int(second)], "other commands do not receive it", running)


def clients_come_and_leave():
    with Detaching() as s:
        mark = new_mark()
        ident = s.detach(f"echo begun; sleep {mark}")
        s.until("begun", ident)
        for action in (["logs", "--follow", "work", ident], ["wait", "work", ident], ["wait", "work"]):
            p = s.place.popen("session", *action, stdout=subprocess.PIPE)
            time.sleep(0.3)
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=10)
            check(p.returncode == 130 and runs(mark), f"{action[0]} may be interrupted", p.returncode)
        p = s.place.popen("session", "logs", "--follow", "work", ident, stdout=subprocess.PIPE)
        time.sleep(0.3)
        p.kill()
        p.wait()
        check(bool(runs(mark)) and s.info()["commands"] == 1, "a killed client leaves the command alone")
        p = s.place.popen("session", "attach", "work", ident, stdout=subprocess.PIPE)
        time.sleep(0.3)
        p.send_signal(signal.SIGINT)
        out = p.communicate(timeout=20)[0]
        check(
            p.returncode == 130 and out == b"begun\n" and gone(mark),
            "Ctrl-C of attach ends the command",
            p.returncode,
        )


def kept_output_is_bounded():
    with Detaching("--output", "16MiB") as s:
        ident = s.detach("seq 1 1000000; echo last")
        s.do("wait", ident)
        logs = s.do("logs", ident)
        check(
            len(logs.out) <= 2 << 20
            and logs.out.endswith("1000000\nlast\n")
            and "no longer kept" in logs.err,
            "the newest output is kept",
            (len(logs.out), logs.out[-40:], logs.err),
        )
        ident = s.detach("seq 1 1000000", "--output", "100KiB")
        s.do("wait", ident)
        check(0 < len(s.do("logs", ident).out) <= 101 << 10, "the output limit bounds it")
        for _ in range(20):
            s.detach("exit 3")
        s.place.run("session", "wait", "work")
        kept = s.info()["detached"]
        check(len(kept) == 16 and kept[-1]["id"] == 22, "the oldest ended commands are forgotten", kept)
        s.detach("exit 5")
        for _ in range(17):
            s.detach("true")
        answer = s.place.run("session", "wait", "work")
        check(answer.out.startswith("7 3\n") and answer.code == 3, "wait knows a forgotten failure", answer)
        check(s.place.run("session", "wait", "work").code == 0, "and tells it once")
        expect(
            s.place,
            "a forgotten command is unknown",
            ["session", "logs", "work", "1"],
            125,
            "no detached command",
        )
        s.detach("printf '\\033]0;x\\007'; sleep 100")
        text = s.place.run("session", "logs", "work").out
        check(
            "\x1b" not in text and len(json.dumps(s.info()["detached"])) < 30000,
            "the list is escaped and short",
            text,
        )


def many_results_take_little_memory():
    with Detaching("--output", "4MiB") as s:
        for _ in range(48):
            s.detach("head -c 4000000 /dev/zero; exec sleep 1000")
        time.sleep(1)
        s.sh("kill -9 -1")
        s.place.run("session", "wait", "work")
        with open(f"/proc/{s.info()['pid']}/status", encoding="ascii") as file:
            most = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
        check(most < 370 << 10, "commands that end at once do not all keep their results", most)


def commands_last_and_end():
    with Detaching("--idle", "2s") as s:
        mark = new_mark()
        ident = s.detach(f"sleep {mark}", "--timeout", "4s")
        check(
            s.do("wait", ident).code == 124,
            "a detached command has its timeout, and no session is idle with it",
        )
    with Detaching() as s:
        mark = new_mark()
        ident = s.detach(f"sleep {mark}")
        runs(mark)
        p = s.place.popen("session", "wait", "--json", "work", ident, stdout=subprocess.PIPE)
        time.sleep(0.3)
        check(
            s.place.run("session", "end", "work").code == 0 and gone(mark), "the end of the session ends it"
        )
        r = json.loads(p.communicate(timeout=20)[0])
        check(r["status"] == "failed" and r["signal"] in (9, 15), "its waiting client is told", r["status"])
    with Detaching() as s:
        for _ in range(64):
            s.place.run("session", "exec", "--detach", "work", "sleep", "1000")
        expect(
            s.place,
            "one more is refused",
            ["session", "exec", "--detach", "work", "true"],
            125,
            "its maximum",
        )
        expect(
            s.place,
            "a command in the foreground counts, too",
            ["session", "exec", "work", "true"],
            125,
            "its maximum",
        )
        s.place.run("session", "signal", "work", "1", "TERM")
        s.do("wait", "1")
        check(s.sh("echo on").out == "on\n", "an ended command makes room")


def waiting_clients_leave_places():
    with Detaching() as s:
        ident = s.detach("exec sleep 1000")
        waiting = [
            s.place.popen(
                "session", "wait", "work", ident, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            for _ in range(72)
        ]
        until = time.monotonic() + 30
        while sum(p.poll() is not None for p in waiting) < 8 and time.monotonic() < until:
            time.sleep(0.1)
        refused = [p.returncode for p in waiting if p.poll() is not None]
        check(refused == [125] * 8, "64 clients may wait at once", refused)
        check(s.sh("true").code == 125, "commands in the foreground wait, too")
        check(s.info() is not None, "the session can be described meanwhile")
        p = s.place.popen("session", "end", "work", stdout=subprocess.DEVNULL)
        check(p.wait(timeout=20) == 0, "the session can be ended meanwhile", p.returncode)
        for p in waiting:
            p.wait(timeout=20)


def options_are_checked():
    with Detaching() as s:
        for name, args, text in (
            (
                "standard input is refused",
                ["exec", "--detach", "--stdin", "pass", "work", "cat"],
                "no standard input",
            ),
            ("an unknown id is refused", ["attach", "work", "7"], "no detached command"),
            ("an id is a number", ["logs", "work", "1x"], "no detached command"),
        ):
            expect(s.place, name, ["session", *args], 125, text)
        expect(
            s.place,
            "an unknown session is refused",
            ["session", "logs", "other", "1"],
            125,
            "no live session other",
        )
        expect(
            s.place,
            "an unknown session has no list",
            ["session", "logs", "other"],
            125,
            "no live session other",
        )
        ident = s.place.run("session", "exec", "--detach", "work", "cat", stdin=b"ignored").out.strip()
        check(s.do("attach", ident).out == "", "a detached command reads no input")
        both = s.place.run("session", "exec", "--detach", "--shell", "work", "cd /usr; pwd").out.strip()
        check(s.do("attach", both).out == "/usr\n", "a shell's command may be detached")
        check(
            s.place.run("session", "exec", "--shell", "work", "pwd").out == "/usr\n",
            "the shell continues after it",
        )


require_user()
for part in (
    output_and_exit_code_are_kept,
    signals_reach_the_processes,
    clients_come_and_leave,
    kept_output_is_bounded,
    many_results_take_little_memory,
    commands_last_and_end,
    waiting_clients_leave_places,
    options_are_checked,
):
    part()
finish()
