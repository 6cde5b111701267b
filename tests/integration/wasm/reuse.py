#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Workers that serve one call after another where the policy says so: those of the same grant, and nothing of one is in the next.

usage: reuse.py TOOLCAGE [self | ordinary] GUEST.wasm WHEELS"""

import ctypes
import os
import select
import signal
import socket
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process")]

import scene  # first: it says where the next one is
from scene import check, end, run, start_time, until
from waiting import Call, Engine, ask, first, last, lib, policy, text, waits, was_ready

REUSE = '[backend.wasm]\nreuse = "same-grant"\n'
PIDFD_OPEN, PIDFD_GETFD = 434, 438


def settled(engine, tool="a"):
    """Two stand ready: one that has served a call, and one that was made meanwhile."""
    for count in (1, 2):
        engine.call(tool, "echo")
        until(lambda: len(engine.workers()) >= count and all(map(waits, engine.workers())), 5)
        time.sleep(0.3)  # one that loads sleeps at times, too
    return set(engine.workers())


def serves_again(s):
    engine = Engine(s, before=REUSE)
    workers = settled(engine)
    answers = [engine.call("a", "echo", str(number)) for number in range(6)]
    check(
        [text(answer) for answer in answers] == [f"{number}\n" for number in range(6)]
        and all(map(was_ready, answers)),
        "calls are served",
        answers,
    )
    check(
        workers <= set(engine.workers()) and len(workers) == 2,
        "by the same workers",
        (workers, engine.workers()),
    )
    ages = [next(row["us"] for row in answer["timings"] if row["step"] == "ready") for answer in answers]
    check(ages == sorted(ages), "results carry the age of their worker", ages)
    check(
        "passed as an fd" in answers[0]["enforcement"]["fs.read"]
        and "Landlock" not in answers[0]["enforcement"]["fs.read"],
        "results name the mechanism that bounds files",
        answers[0],
    )
    check(engine.close(), "the helper ends with its engine")
    engine = Engine(s)
    seen = set()
    for _ in range(3):
        seen.add(engine.one_worker(again=True))
    check(len(seen) == 3, "without the policy's word none serves twice", seen)
    check(engine.close(), "the helper ends with its engine")


def nothing_stays(s):
    """The first call of each pair leaves all that it can; the second looks for it, in the same worker."""
    s.write("data/x", "read")
    engine = Engine(s, before=REUSE)
    settled(engine)
    pairs = [
        (("remember", "A"), ("remember", "B"), "[]\n"),
        (("stain",), ("sniff",), "0\n"),
        (("hold", f"{s.data}/x"), ("fds",), None),
        (("put", "/tmp/x", "A"), ("show", "/tmp/x"), ""),
        (("dig",), ("echo", "whole"), "whole\n"),
        (("trap",), ("remember", "B"), "[]\n"),
        (("exit", "7"), ("echo", "x"), "x\n"),
    ]
    for left, looks, wanted in pairs:
        before = set(engine.workers())
        engine.call("a", *left)
        answer = engine.call("a", *looks)
        check(
            was_ready(answer) and before <= set(engine.workers()),
            f"{left[0]}, {looks[0]}: in one worker",
            (answer, before, engine.workers()),
        )
        if wanted is not None:
            check(text(answer) == wanted, f"nothing of {left[0]} is seen", answer)
    again = [text(engine.call("a", "fds")) for _ in range(3)]
    check(again[0] and len(set(again)) == 1, "every call has its descriptors and no more", again)
    answer = engine.call("a", "show", "-")
    check(text(answer) == "" and answer["status"] == "ok", "nor is there any input but its own", answer)
    check(engine.close(), "the helper ends with its engine")


def own_tmp(s):
    """A call that sees nothing of the host has an empty /tmp that stood ready, and leaves it to the next if it left nothing in it."""
    engine = Engine(s, before=REUSE)
    for tool in "ab":
        before = settled(engine, tool) if tool == "a" else set()
        for _ in range(4):
            engine.call(tool, "echo")
            time.sleep(0.1)  # longer than the clock's step: now its times tell
        passed = [text(engine.call(tool, "pass", "/tmp/x")) for _ in range(4)]
        check(
            passed[0].strip().isdigit() and len(set(passed)) == 1, f"{tool}: in each no file ever was", passed
        )
        time.sleep(0.1)
        answer = engine.call(tool, "put", "/tmp/x", "A")
        check(answer["status"] == "ok" and was_ready(answer), f"{tool}: it can be written", answer)
        seen = [text(engine.call(tool, *words)) for words in (("show", "/tmp/x"), ("list", "/tmp"))]
        check(seen == ["", ""], f"{tool}: which the next does not see", seen)
        time.sleep(0.1)
        answers = [engine.call(tool, *words) for words in (("bulk", "/tmp/x", "20"), ("list", "/tmp"))]
        check(
            [(answer["status"], text(answer)) for answer in answers] == [("ok", "")] * 2,
            f"{tool}: nor what takes a while to be freed",
            answers,
        )
        time.sleep(0.1)
        check(
            [text(engine.call(tool, "list", "/tmp")) for _ in range(3)] == [""] * 3,
            f"{tool}: nor the one after that",
        )
        check(before <= set(engine.workers()), f"{tool}: in one worker", (before, engine.workers()))
    check(engine.close(), "the helper ends with its engine")


def other_grants(s):
    engine = Engine(s, before=REUSE)
    workers = settled(engine)
    s.write("data/x", "read")
    changed = policy(s, files=f'{{ readable = ["{s.data}"] }}', before=REUSE)
    kept, engine.policy = engine.policy, changed
    answer = engine.call("a", "put", f"{s.ws}/x", "no")
    check(
        answer["status"] == "failed" and not os.path.exists(s.path("ws/x")) and not was_ready(answer),
        "a policy that has changed finds none of before",
        answer,
    )
    check(text(engine.call("a", "show", f"{s.data}/x")) == "read", "the new grant is effective")
    engine.policy = kept
    check(
        engine.call("a", "put", f"{s.ws}/x", "yes")["status"] == "ok" and workers & set(engine.workers()),
        "workers of the old grant serve it",
        engine.workers(),
    )
    answer = engine.call("b", "show", f"{s.data}/x")
    check(answer["status"] == "failed" and text(answer) == "", "another tool has its own", answer)
    lib.toolcage_policy_unref(changed)
    check(engine.close(), "the helper ends with its engine")
    engine = Engine(s, before=REUSE, more='backend = "wasm"\nrisk = "untrusted"')
    seen = {engine.one_worker(again=True) for _ in range(3)}
    check(len(seen) == 3, "none of a tool that nobody trusts serves twice", seen)
    check(engine.close(), "the helper ends with its engine")


def dies(s):
    """An error of the call that it serves, and of no other."""
    engine = Engine(s, before=REUSE)
    before = settled(engine)
    call = Call(engine, "a", "nap", "20")
    until(lambda: len(before - set(engine.workers())) == 0 and busy(before), 3)
    time.sleep(1)  # a call whose worker dies before the module runs is started another way
    victim = busy(before) or sorted(before)[0]
    began = start_time(victim)
    other = Call(engine, "a", "nap", "1")
    end(victim)
    answer = call.wait()
    check(
        answer["status"] == "failed" and answer["signal"] == 9,
        "one that dies in its call fails that",
        (answer["status"], answer["timings"], victim, before, engine.workers()),
    )
    check(
        other.wait()["status"] == "ok" and until(lambda: start_time(victim) != began),
        "and not the one beside it",
    )
    answers = [engine.call("a", "echo", "x") for _ in range(3)]
    check([text(answer) for answer in answers] == ["x\n"] * 3, "nor those after it", answers)
    gone = settled(engine)
    for worker in gone:
        end(worker)
    until(lambda: not gone & set(engine.workers()))
    time.sleep(0.2)  # the helper has heard of it, too
    answer = engine.call("a", "echo", "x")
    check(answer["status"] == "ok" and text(answer) == "x\n", "between calls it fails none", answer)
    settled(engine)
    call = Call(engine, "a", "nap", "30")
    lib.toolcage_call_unref(call.handle)
    check(
        until(lambda: all(map(waits, engine.workers())), 10),
        "releasing a call ends it",
        engine.workers(),
    )
    check(engine.close(), "the helper ends with its engine, and its workers with it")


def lies(s):
    """As a worker whose module has broken out of the engine could: another packet than the one that ends a call."""
    engine = Engine(s, before=REUSE)
    for packet in (b"x", b"y" * 24 + b"z" * 40, b"\xff" * 24):
        before = settled(engine)
        call = Call(engine, "a", "nap", "3")
        until(lambda: busy(before), 3)
        talk = steal(busy(before))
        if talk is None:
            print("# not tried: this user may not take a descriptor of another process")
            call.wait()
            break
        talk.send(packet)
        talk.close()
        answer = call.wait()
        check(
            answer["status"] in ("ok", "error", "failed"),
            f"a lie of {len(packet)} bytes ends its call at most",
            answer,
        )
        check(
            answer["exit_code"] is None or 0 <= answer["exit_code"] <= 255,
            "with an exit code that there is",
            answer,
        )
        check(
            all(n >= 0 for n in answer["usage"].values() if isinstance(n, (int, float))),
            "and a usage that there can be",
            answer["usage"],
        )
        answer = engine.call("a", "echo", "x")
        check(answer["status"] == "ok" and text(answer) == "x\n", "and no other", answer)
    check(engine.close(), "the helper ends with its engine")


def steal(pid):
    """The descriptor over which it is told its calls."""
    libc = ctypes.CDLL(None, use_errno=True)
    of = libc.syscall(PIDFD_OPEN, int(pid), 0)
    for number in range(3, 9):
        fd = libc.syscall(PIDFD_GETFD, of, number, 0)
        if fd < 0 and ctypes.get_errno() in (1, 13):
            break
        if fd >= 0:
            try:
                return socket.socket(fileno=fd)
            except OSError:
                os.close(fd)
    return None


def polled(s):
    engine = Engine(s, before=REUSE)
    settled(engine)
    for words in (("echo", "x"), ("shout",), ("nap", "1")):
        call = Call(engine, "a", *words)
        fd = lib.toolcage_call_fd(call.handle)
        ready, dispatched = True, 0
        while ready and dispatched == 0:
            ready = bool(select.select([fd], [], [], 20)[0])
            dispatched = ask(lib.toolcage_call_dispatch, call.handle)
        check(ready, f"{words[0]}: its descriptor becomes ready")
        check(bool(select.select([fd], [], [], 20)[0]), f"{words[0]}: and stays so after its end")
        answer = call.wait()
        check(answer["status"] == "ok", f"{words[0]}: the call ends", answer)
    check(engine.close(), "the helper ends with its engine")


def host_dies(s):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        engine = Engine(s, before=REUSE)
        settled(engine)
        Call(engine, "a", "nap", "50")
        os.write(writer, " ".join(map(str, [engine.helper, *engine.workers()])).encode())
        time.sleep(60)
        os._exit(0)
    os.close(writer)
    pids = os.read(reader, 4096).decode().split()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    check(
        len(pids) > 1 and until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), 10),
        "with its host a worker goes",
        pids,
    )


def busy(pids):
    """The one whose call sleeps: it has more descriptors than one that waits."""
    held = {}
    for pid in pids:
        try:
            held[pid] = len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            held[pid] = 0
    most = max(held, key=held.get)
    return most if held[most] > min(held.values()) else None


def bounds(s):
    engine = Engine(s, before=REUSE, more='cpu_time = "400ms"')
    settled(engine)
    answers = [engine.call("a", "burn", "150") for _ in range(5)]
    check(
        [answer["status"] for answer in answers] == ["ok"] * 5,
        "every call has its own processor time",
        answers,
    )
    check(
        all(140 <= answer["usage"]["cpu_ms"] < 350 for answer in answers),
        "and is told it",
        [answer["usage"] for answer in answers],
    )
    answer = engine.call("a", "machine", "/")
    process, thread = map(int, text(answer).split()[2:4])
    check(was_ready(answer) and max(process, thread) < 100e6, "nor can it read another's", answer)
    call = Call(engine, "a", "nap", "50")
    time.sleep(1.5)
    ask(lib.toolcage_call_cancel, call.handle)
    check(call.wait()["status"] == "cancelled", "one that waits is not ended for what was used before", call)
    settled(engine)
    answer = engine.call("a", "spin")
    check(
        answer["status"] == "limit" and answer["limit"] == "cpu_time",
        "the endless call ends at its limit",
        answer,
    )
    check(text(engine.call("a", "echo", "x")) == "x\n", "the next call goes on")
    check(engine.close(), "the helper ends with its engine")
    engine = Engine(
        s, before=REUSE, more='cpu_time = "400ms"\npids = 1'
    )  # a worker that has no thread for a clock
    settled(engine)
    answers = [engine.call("a", *words) for words in (("burn", "150"), ("burn", "150"), ("spin",))]
    check(
        [(answer["status"], answer["limit"]) for answer in answers]
        == [("ok", None)] * 2 + [("limit", "cpu_time")],
        "nor is a worker needed that watches itself",
        answers,
    )
    check(engine.close(), "the helper ends with its engine")


def ends_in_time(s):
    engine = Engine(s, before=REUSE, more='timeout = "1s"')
    before = settled(engine)
    call = Call(engine, "a", "nap", "40")
    until(lambda: busy(before), 3)
    worker = busy(before)
    check(
        worker and until(lambda: worker not in engine.workers(), 6),
        "a call ends at its deadline, whatever its host does",
        engine.workers(),
    )
    answer = call.wait()
    check(answer["status"] == "timeout" and 900 <= answer["usage"]["wall_ms"] < 8000, "as a timeout", answer)
    call = Call(engine, "a", "nap", "40")
    ask(lib.toolcage_call_cancel, call.handle)
    check(
        call.wait()["status"] == "cancelled" and text(engine.call("a", "echo", "x")) == "x\n",
        "or when it is cancelled",
        call,
    )
    call = Call(engine, "a", "echo", "x")
    time.sleep(0.2)
    ask(lib.toolcage_call_cancel, call.handle)
    answer = call.wait()
    check(
        answer["status"] in ("ok", "cancelled") and text(engine.call("a", "echo", "y")) == "y\n",
        "too late for one call is not in time for the next",
        answer,
    )
    settled(engine)
    began = time.monotonic()
    answers = []
    while time.monotonic() < began + 1.3:  # longer than a call may take
        time.sleep(0.12)
        answers.append(engine.call("a", "echo", "x"))
    check(all(answer["status"] == "ok" for answer in answers), "every call has its own deadline", answers)
    check(engine.close(), "the helper ends with its engine")


def grows(s):
    """One that has become large serves no other call."""
    engine = Engine(s, before=REUSE)
    before = settled(engine)
    answers = [engine.call("a", "fill", "120") for _ in range(3)]
    check(
        [answer["status"] for answer in answers] == ["ok"] * 3,
        "calls take what memory they are granted",
        answers,
    )
    check(
        until(lambda: not before & set(engine.workers()) or len(before & set(engine.workers())) < 2),
        "and the workers that had it go",
        (before, engine.workers()),
    )
    check(text(engine.call("a", "echo", "x")) == "x\n", "the next call goes on")
    check(engine.close(), "the helper ends with its engine")


def raced(s):
    engine = Engine(s, before=REUSE)
    settled(engine)
    for _ in range(3):
        calls = [Call(engine, "a", "echo", str(number)) for number in range(6)]
        answers = [call.wait() for call in calls]
        check(
            [text(answer) for answer in answers] == [f"{number}\n" for number in range(6)],
            "calls at once have their own answers",
            answers,
        )
    check(until(lambda: len(engine.workers()) <= 4), "no more stand ready than there may", engine.workers())
    check(engine.close(), "the helper ends with its engine")


run(
    first,
    serves_again,
    nothing_stays,
    own_tmp,
    other_grants,
    dies,
    lies,
    polled,
    host_dies,
    bounds,
    ends_in_time,
    grows,
    raced,
    last,
)
