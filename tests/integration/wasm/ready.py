#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Workers that stand ready before their call: each serves one, holds nothing of any other, and is no loss when it dies.

usage: ready.py TOOLCAGE [self | ordinary] GUEST.wasm WHEELS"""

import os
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process")]

import scene  # first: it says where the next one is
from processes import parent
from scene import below, check, end, run, start_time, until
from waiting import Call, Engine, worker_ends_as_elsewhere, first, granted, last, read, text, was_ready

WORDS = 65536  # bytes that a call can hand over


def served_once(s):
    engine = Engine(s)
    used = []
    for _ in range(2):
        worker = engine.one_worker()
        began = start_time(worker)
        answer = engine.call("a", "echo", "x", "")
        used.append((text(answer) == "x\n\n" and was_ready(answer), worker, began))
    check(all(fine for fine, *_ in used), "a call is served by the worker that waits for it", used)
    check(
        until(lambda: not any(start_time(pid) == began for _, pid, began in used)),
        "and the worker serves no other",
        used,
    )
    engine.one_worker("b")
    answer = engine.call("b", "echo", *[""] * 40000)
    check(
        was_ready(answer) and text(answer) == "\n" * 40000,
        "words that are empty are words",
        (answer["timings"], len(text(answer))),
    )
    check(engine.close(), "the helper ends with its engine")


def holds_nothing(s):
    s.write("data/x", "x")
    engine = Engine(s)
    worker = engine.one_worker()
    mounts, environment = read(f"/proc/{worker}/mountinfo"), read(f"/proc/{worker}/environ")
    if scene.is_root():
        check(
            mounts and os.path.basename(s.root) not in mounts,
            "a worker that waits has no granted path",
            mounts,
        )
        check("ONLY_A" not in environment, "nor a variable of a call's", environment)
    answer = engine.call("a", "env")
    check(was_ready(answer) and "ONLY_A=yes\n" in text(answer), "the call brings its environment", answer)
    engine.one_worker()
    for tool, words in (("b", ("env",)), ("b", ("show", s.path("data/x")))):
        answer = engine.call(tool, *words)
        check(
            not was_ready(answer) or "ONLY_A" not in text(answer),
            "a worker of one tool gives another nothing",
            answer,
        )
    check(answer["status"] == "failed" and text(answer) == "", "no file either", answer)
    check(engine.close(), "the helper ends with its engine")


def files(s):
    """As in a cage of the call's own: what is granted, in its place, and nothing beside it."""
    grant, cases = granted(s)
    os.mkfifo(s.path("ws/fifo"))
    cases.append((("show", f"{s.ws}/fifo"), 1, ""))
    engine, cold = Engine(s, files=grant), Engine(s, files=grant, more='denials = "paths"')
    for words, code, said in cases:
        worker = engine.one_worker()
        there = engine.workers()
        answer = engine.call("a", *words)
        same = cold.call("a", *words)
        check(
            was_ready(answer) and not was_ready(same),
            f"{' '.join(words)}: by a worker, and without",
            (worker, there, start_time(worker), engine.workers(), answer["timings"], same["timings"]),
        )
        check(
            (answer["exit_code"], text(answer)) == (code, said) == (same["exit_code"], text(same)),
            "the answer is the same",
            (answer, same),
        )
    check(
        s.read("ws/new") == b"written"
        and s.read("data/x") == b"read"
        and s.read("ws/.git/config") == b"[core]\n",
        "and so are the files",
    )
    answer = engine.call("a", "put", f"{s.ws}/changed", "x")
    check(
        [row["path"] for row in answer["changes"]] == [f"{s.ws}/changed"],
        "the call's changes are listed",
        answer["changes"],
    )
    check(engine.close() and cold.close(), "the helpers end")


def cannot_wait(s):
    """Names that are hidden below what is only read take an overlay, which a call of its own has."""
    s.write("data/x", "read")
    s.write("data/key", "hidden")
    engine = Engine(s, files=f'{{ readable = ["{s.data}"], denied = ["{s.data}/key"] }}')
    for _ in range(3):
        answers = [engine.call("a", "show", f"{s.data}/{name}") for name in ("x", "key")]
        check(
            [text(answer) for answer in answers] == ["read", ""] and not any(map(was_ready, answers)),
            "it is started for its call",
            answers,
        )
    check(
        until(lambda: not engine.workers(), 5), "and none is made in vain", engine.workers()
    )  # one that waited would stay longer
    many = ["y" * 1000] * (WORDS // 1000 + 1)
    engine.one_worker("b")
    answer = engine.call("b", "exit", "7", *many)
    check(
        answer["exit_code"] == 7 and was_ready(answer),
        "a call with more words than a packet has room for is handed over all the same",
        answer,
    )
    check(engine.close(), "the helper ends with its engine")
    lost = Engine(s, more=f'cwd = "{s.ws}/absent"')
    answers = [lost.call("a", "echo") for _ in range(3)]
    check(
        [answer["error"]["stage"] for answer in answers] == ["cwd"] * 3,
        "a directory that is not there is the same error",
        answers,
    )
    check(lost.close(), "the helper ends with its engine")


def ends(s):
    engine = Engine(s, more='cpu_time = "500ms"\noutput = { limit = "64KiB", over = "truncate" }')
    worker_ends_as_elsewhere(engine, (("exit", "7"), "failed", 7), (("dig",), "failed", 134))
    check(engine.close(), "the helper ends with its engine")


def has_the_last_word(s):
    """Where nothing of the host can be written its word ends the call; all that it wrote is there, and it is gone."""
    s.write("data/x", "read")
    engine = Engine(
        s, files=f'{{ readable = ["{s.data}"] }}', more='output = { limit = "64KiB", over = "truncate" }'
    )
    for words, status, code, out in (
        (("exit", "7"), "failed", 7, ""),
        (("trap",), "failed", 134, ""),
        (("show", f"{s.data}/x"), "ok", 0, "read"),
        (("echo", *["y" * 1000] * 40), "ok", 0, ("y" * 1000 + "\n") * 40),
    ):
        worker = engine.one_worker()
        began = start_time(worker)
        answer = engine.call("a", *words)
        check(
            was_ready(answer)
            and (answer["status"], answer["exit_code"], text(answer)) == (status, code, out),
            f"{words[0]} ends as it does elsewhere",
            {**answer, "stdout": text(answer)[:100]},
        )
        check(until(lambda: start_time(worker) != began), f"{words[0]}: its process is no more", worker)
    check(
        "stopped" not in answer["stderr"]["text"],
        "standard error has the last call's messages alone",
        answer["stderr"],
    )
    engine.one_worker()
    answer = engine.call("a", "shout")
    check(
        was_ready(answer) and answer["stdout"]["truncated"] and answer["stdout"]["bytes"] == 4 << 20,
        "all that was written was read",
        answer["status"],
    )
    check(engine.close(), "the helper ends with its engine")


def never_started(s):
    """A call that fails while its cage is prepared has claimed a worker by then."""
    os.mkdir(s.path("data/sub"))
    engine = Engine(
        s,
        files=f'{{ readable = [{{ path = "/data", from = "{s.data}" }}, {{ path = "/data/sub", from = "{s.ws}" }}] }}',
    )
    first_process = parent(engine.one_worker())
    os.rmdir(s.path("data/sub"))
    answer = engine.call("a", "echo")
    error = answer["error"] or {}
    check(
        (error.get("stage"), error.get("subject")) == ("trees", "/data/sub"),
        "a mount point that is gone fails the call",
        answer,
    )
    check(
        until(lambda: first_process not in below(engine.helper)),
        "its worker has ended, and is reaped",
        read(f"/proc/{first_process}/stat"),
    )
    os.mkdir(s.path("data/sub"))
    answer = engine.call("a", "echo", "x")
    check(text(answer) == "x\n", "the next call is served", answer)
    check(engine.close(), "the helper ends with its engine")


def late(s):
    engine = Engine(s, more='timeout = "1s"')
    engine.one_worker()
    answer = engine.call("a", "nap", "40")
    check(
        was_ready(answer) and answer["status"] == "timeout" and answer["usage"]["wall_ms"] < 8000,
        "a call ends at its deadline",
        answer,
    )
    check(engine.close(), "the helper ends with its engine")


def killed(s):
    """A worker's death is an error of the call that it serves, and of no other."""
    engine = Engine(s)
    for _ in range(3):
        victim = engine.one_worker()
        began = start_time(victim)
        end(victim)
        until(lambda: start_time(victim) != began and victim not in engine.workers())
        time.sleep(0.2)  # the helper has heard of it, too
        answer = engine.call("a", "echo", "x")
        check(answer["status"] == "ok" and text(answer) == "x\n", "the next call is only slower", answer)
    worker = engine.one_worker()
    call, other = Call(engine, "a", "nap", "20"), Call(engine, "b", "nap", "1")
    until(lambda: engine.workers() != [worker], 10)
    end(worker)
    answer = call.wait()
    check(
        answer["status"] == "failed" and answer["signal"] == 9 and was_ready(answer),
        "one that dies in its call fails that",
        answer,
    )
    check(
        other.wait()["status"] == "ok" and engine.call("a", "echo", "x")["status"] == "ok",
        "and no other, at the same time or later",
    )
    worker = engine.one_worker()
    left = [(pid, start_time(pid)) for pid in below(engine.helper)]
    end(engine.helper)
    check(
        until(lambda: not any(started == start_time(pid) for pid, started in left)),
        "it dies with its helper",
        left,
    )
    engine.close()


def raced(s):
    engine = Engine(s)
    engine.one_worker()
    calls = [Call(engine, "a", "echo", str(number)) for number in range(4)]
    answers = [call.wait() for call in calls]
    check(
        [text(answer) for answer in answers] == [f"{number}\n" for number in range(4)],
        "calls at once have their own answers",
        answers,
    )
    check(1 <= sum(map(was_ready, answers)) <= 4, "one of them at least by the worker", answers)
    for _ in range(8):
        engine.call("a", "echo")
    check(len(engine.workers()) <= 4, "no more stand ready than there may", engine.workers())
    check(engine.close(), "the helper ends with its engine")


run(
    first,
    served_once,
    holds_nothing,
    files,
    cannot_wait,
    ends,
    has_the_last_word,
    never_started,
    late,
    killed,
    raced,
    last,
)
