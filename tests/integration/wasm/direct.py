#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Calls that the library hands to a worker itself: their results, and what bounds them, are those of any other call.

usage: direct.py TOOLCAGE [self | ordinary] GUEST.wasm WHEELS"""
import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process")]

import scene  # first: it says where the next one is
import host
from processes import read
from scene import check, end, run, until
from waiting import GUEST, HOME, Call, Engine, ask, first, last, lib, rows, text, waits

REUSE = '[backend.wasm]\nreuse = "same-grant"\n'
PIDFD_OPEN, PIDFD_GETFD = 434, 438
NONE = '[tool.c]\nmodule = "MODULE"\nfilesystem = "none"\n'


def open_engine(s, more=""):
    """Of the tools "b" and "c" no call sees anything of the host; the second has bounds of its own."""
    return Engine(s, before=REUSE + NONE.replace("MODULE", f"{HOME[0]}/guest.wasm") + more)


def was_direct(answer):
    """The helper, had it begun the call, would say so."""
    return steps(answer) == {"resolve", "lower", "ready", "total"} or was_again(answer)


def was_again(answer):
    """Not even resolved: what the last one of its kind was granted holds."""
    return steps(answer) == {"again", "ready", "total"}


def steps(answer):
    return {row["step"] for row in rows(answer["timings"])}


def lent(engine, tool="b"):
    """The worker that is on loan; there are others that wait."""
    for _ in range(30):
        before = {pid: slept(pid) for pid in engine.workers()}
        answer = engine.call(tool, "echo", "x")
        if was_direct(answer):
            woken = [pid for pid in engine.workers() if slept(pid) != before.get(pid)]
            if len(woken) == 1:
                return woken[0]
        time.sleep(0.1)
    check(False, f"calls of {tool} come to be handed over directly", (answer, engine.workers()))
    return None


def slept(pid):
    return [line for line in read(f"/proc/{pid}/status").splitlines() if line.startswith("voluntary_ctxt")]


def results(s):
    engine = open_engine(s)
    for words in (("echo", "one", "two"), ("exit", "7"), ("exit", "0"), ("trap",), ("dig",), ("env",), ("no verb",), ("fds",), ("shout",), ("show", "/etc/passwd"),
                  ("list", "/data"), ("remember", "A"), ("remember", "B")):
        lent(engine)
        direct = engine.call("b", *words)
        by_helper = call_by_helper(engine, *words)
        check(was_direct(direct) and not was_direct(by_helper), f"{words[0]}: one way and the other", (direct["timings"], by_helper["timings"]))
        check(same(direct) == same(by_helper), f"{words[0]}: with the same result", (same(direct), same(by_helper)))
        check(direct["usage"]["memory_peak_bytes"] > 1 << 20 and direct["usage"]["cpu_ms"] >= 0, f"{words[0]}: and what it used", direct["usage"])
    check(engine.close(), "the helper ends with its engine")


def same(answer):
    """All but times and sizes."""
    differs = ("wall_ms", "cpu_ms", "memory_peak_bytes")
    return {**{key: value for key, value in answer.items() if key not in ("call", "timings")},
            "usage": {key: value for key, value in answer["usage"].items() if key not in differs}}


def new(engine, tool, *words):
    """One that is still to be started."""
    call = Call.__new__(Call)
    call.handle = host.make(lib.toolcage_call_new, engine.handle, engine.policy, tool.encode())
    if words:
        host.set_command(call.handle, "guest", *words)
    return call


def call_by_helper(engine, *words):
    """Who reads from its host as long as that writes is not handed over directly."""
    call, to = new(engine, "b", *words), ctypes.c_int(-1)
    ask(lib.toolcage_call_open_stdin, call.handle, ctypes.byref(to))
    os.close(to.value)
    ask(lib.toolcage_call_start, call.handle)
    return call.wait()


def call_with(engine, given, *words):
    call = new(engine, "b", *words)
    ask(lib.toolcage_call_set_stdin, call.handle, given, ctypes.c_size_t(len(given)))
    ask(lib.toolcage_call_start, call.handle)
    return call.wait()


def reads(s):
    engine = open_engine(s, NONE.replace("[tool.c]", "[tool.d]").replace("MODULE", f"{HOME[0]}/guest.wasm") +
                         'command = ["guest", "drink", "9"]\narguments.word = { type = "string" }\nstdin = "{word}"\n')
    lent(engine)
    for given, most, wanted, direct in ((b"one", "99999", "3 one\n", True), (b"another", "3", "3 ano\n", True), (b"", "99999", "0 \n", True),
                                        (b"x" * 65536, "99999", "65536 xxxxxxxx\n", True), (b"y" * 65537, "99999", "65537 yyyyyyyy\n", False)):
        answer = call_with(engine, given, "drink", most)
        check(text(answer) == wanted, f"{len(given)} bytes of input are read, and no others", answer)
        check(was_direct(answer) == direct, "one way or the other", answer["timings"])
        lent(engine)
    answer = engine.call("b", "drink", "9")
    check(text(answer) == "0 \n" and was_direct(answer), "the next call has nothing to read", answer)
    answers = []
    while len(answers) < 30 and not (answers and was_direct(answers[-1])):
        call = new(engine, "d")
        ask(lib.toolcage_call_set_arguments_json, call.handle, b'{"word": "turn%02d"}' % len(answers))
        ask(lib.toolcage_call_start, call.handle)
        answers.append(call.wait())
        time.sleep(0.1)
    check([text(answer) for answer in answers] == [f"6 turn{turn:02}\n" for turn in range(len(answers))], "input of the policy's making is read", answers)
    check(was_direct(answers[-1]), "and comes to be handed over directly", answers[-1])
    call = new(engine, "d")
    ask(lib.toolcage_call_set_arguments_json, call.handle, b'{"word": "w"}')
    ask(lib.toolcage_call_set_stdin, call.handle, b"x", ctypes.c_size_t(1))
    rc = lib.toolcage_call_start(call.handle, None)
    check(rc < 0, "two inputs are a mistake still", rc)
    lib.toolcage_call_unref(call.handle)
    check(engine.close(), "the helper ends with its engine")


def again(s):
    os.environ["WORD"] = "one"
    engine = open_engine(s, 'env.pass = ["WORD"]\n')

    def known(*words):
        """A call that is made often enough to be known."""
        answers = []
        until(lambda: answers.append(engine.call("c", *words)) or was_again(answers[-1]), 10)
        return answers[-1]

    def anew(answer, first, what, alike=True):
        check(answer["status"] == "ok" and not was_again(answer), f"{what}: it is resolved", answer)
        check((answer["grant"] == first["grant"]) == alike, f"{what}: to what is granted then", (answer["grant"], first["grant"]))

    first = known("env")
    check(was_again(first) and "WORD=one" in text(first), "who asks for the same gets the same", first)
    check(same(known("env")) == same(first), "each time", first)
    anew(engine.call("c", "echo", "x"), first, "other words", False)
    os.environ["WORD"] = "two"
    answer = engine.call("c", "env")
    anew(answer, first, "another environment", False)
    check("WORD=two" in text(answer), "with that", answer)
    check("WORD=two" in text(known("env")), "also later", answer)
    os.environ["WORD"] = "one"
    first = known("env")
    check("WORD=one" in text(first), "and the one before is not forgotten", first)
    here = os.getcwd()
    os.chdir("/tmp")
    answer = engine.call("c", "env")
    check(answer["status"] == "ok" and not was_again(answer), "another working directory: it is resolved", answer)
    os.chdir(here)
    known("env")
    call = new(engine, "c", "env")
    ask(lib.toolcage_call_set, call.handle, b"timeout", b"3s")
    ask(lib.toolcage_call_start, call.handle)
    anew(call.wait(), first, "a narrower call", False)
    other = host.policy_of(REUSE + NONE.replace("MODULE", f"{HOME[0]}/guest.wasm") + 'network = "none"\ntimeout = "4s"\nenv.pass = ["WORD"]\n')
    mine, engine.policy = engine.policy, other
    anew(engine.call("c", "env"), first, "another policy", False)
    engine.policy = mine
    lib.toolcage_policy_unref(other)
    known("env")
    with open(os.path.join(HOME[0], "state", "toolcage", "written"), "ab") as record:
        record.write(b"/nowhere/at/all\0")
    anew(engine.call("c", "env"), first, "another tool may have written elsewhere")
    known("env")
    answers = [call.wait() for call in [Call(engine, "c", "env") for _ in range(2)]]
    check([text(answer) for answer in answers] == [text(first)] * 2 and answers[0]["call"] != answers[1]["call"], "two at once are two", answers)
    check(not was_again(answers[1]), "of which one is resolved", answers)
    known("env")
    os.utime(f"{HOME[0]}/guest.wasm")
    anew(engine.call("c", "env"), first, "another module, perhaps")
    check(engine.close(), "the helper ends with its engine")


def nothing_stays(s):
    engine = open_engine(s)
    worker = lent(engine)
    answers = [engine.call("b", "remember", word) for word in "ABC"]
    check([text(answer) for answer in answers] == ["[]\n"] * 3 and all(map(was_direct, answers)), "memory is new each time", answers)
    check(worker in engine.workers(), "in the same worker", (worker, engine.workers()))
    time.sleep(0.1)
    answer = engine.call("b", "put", "/tmp/x", "A")
    check(answer["status"] == "ok" and was_direct(answer), "a call can write to its /tmp", answer)
    answers = [engine.call("b", "list", "/tmp") for _ in range(3)]
    check([text(answer) for answer in answers] == [""] * 3, "which the next does not see", answers)
    check(not any(map(was_direct, answers)), "and such a tool is left to the helper", answers)
    check(engine.close(), "the helper ends with its engine")


def bounds(s):
    engine = open_engine(s, 'timeout = "1s"\n')
    worker = lent(engine, "c")
    call = Call(engine, "c", "nap", "40")
    check(until(lambda: worker not in engine.workers(), 6), "a call ends at its deadline, whatever its host does", engine.workers())
    answer = call.wait()
    check(answer["status"] == "timeout" and 900 <= answer["usage"]["wall_ms"] < 8000, "as a timeout", answer)
    lent(engine)
    call = Call(engine, "b", "spin")  # its deadline is far
    time.sleep(0.3)
    ask(lib.toolcage_call_cancel, call.handle)
    answer = call.wait()
    check(answer["status"] == "cancelled", "or when it is cancelled", answer)
    lent(engine, "c")
    call = Call(engine, "c", "echo", "x")
    time.sleep(0.2)
    ask(lib.toolcage_call_cancel, call.handle)
    answer = call.wait()
    check(answer["status"] in ("ok", "cancelled") and text(engine.call("c", "echo", "y")) == "y\n", "too late for one call is not in time for the next", answer)
    lent(engine, "c")
    began = time.monotonic()
    answers = []
    while time.monotonic() < began + 1.3:  # longer than a call may take
        time.sleep(0.12)
        answers.append(engine.call("c", "echo", "x"))
    check(all(answer["status"] == "ok" and was_direct(answer) for answer in answers), "each call has a time of its own", answers)
    check(engine.close(), "the helper ends with its engine")
    host_is_slow = [os.path.join(os.path.dirname(GUEST), "wasm-held-up"), REUSE + NONE.replace("MODULE", f"{HOME[0]}/guest.wasm") + 'timeout = "1s"\n']
    for _ in range(3):
        done = subprocess.run(host_is_slow, capture_output=True, timeout=60, check=False)
        check(done.returncode == 0, "and keeps it where its host is held up while the helper looks in vain", done)


def counts(s):
    """Processor time is each call's own, by the worker's clock and by the helper's, which looks at none of them when it begins."""
    bounded = 'cpu_time = "400ms"\n'
    engine = open_engine(s, bounded + NONE.replace("[tool.c]", "[tool.d]").replace("MODULE", f"{HOME[0]}/guest.wasm") + bounded + "pids = 1\n")
    lent(engine, "c")
    answers = [engine.call("c", "burn", "150") for _ in range(6)]
    check(all(answer["status"] == "ok" and was_direct(answer) and 150 <= answer["usage"]["cpu_ms"] < 400 for answer in answers),
          "what calls before it used is not a call's", answers)
    answer = engine.call("c", "machine", "/")
    process, thread = map(int, text(answer).split()[2:4])
    check(was_direct(answer) and max(process, thread) < 100e6, "nor can it be read there", answer)
    answer = engine.call("c", "spin")
    check(answer["status"] == "limit" and answer["limit"] == "cpu_time" and 390 <= answer["usage"]["cpu_ms"] < 900, "one that uses more is ended", answer)
    worker = lent(engine, "c")
    for _ in range(3):
        engine.call("c", "burn", "150")
    call = Call(engine, "c", "nap", "50")
    time.sleep(1.5)
    check(worker in engine.workers(), "one that waits is not, whatever was used before", worker)
    ask(lib.toolcage_call_cancel, call.handle)
    check(call.wait()["status"] == "cancelled", "and can be cancelled", worker)
    lent(engine, "d")  # has no thread for a clock
    engine.call("d", "burn", "150")
    answer = engine.call("d", "spin")
    check(answer["status"] == "limit" and answer["limit"] == "cpu_time" and 390 <= answer["usage"]["cpu_ms"] < 1500, "nor is a worker needed that watches itself", answer)
    check(engine.close(), "the helper ends with its engine")


def end_between(engine):
    """The worker that is on loan ends while it serves nobody, and both who know of it have heard."""
    worker = lent(engine)
    end(worker)
    until(lambda: worker not in engine.workers())
    time.sleep(0.2)


def cancels_no_other(engine):
    """A call that found its worker gone has a socket of its own by then, over which the next one may be lent."""
    end_between(engine)
    ended = Call(engine, "b", "echo", "x")
    until(lambda: ask(lib.toolcage_call_dispatch, ended.handle) == 1)
    until(lambda: was_direct(engine.call("b", "echo", "x")))
    call = Call(engine, "b", "nap", "1")
    time.sleep(0.3)
    ask(lib.toolcage_call_cancel, ended.handle)
    answer = call.wait()
    check(was_direct(answer) and answer["status"] == "ok", "once it has ended it cancels no other", answer)
    lib.toolcage_call_unref(ended.handle)


def dies(s):
    engine = open_engine(s)
    worker = lent(engine)
    call = Call(engine, "b", "nap", "20")
    other = Call(engine, "b", "nap", "1")
    time.sleep(0.3)
    end(worker)
    answer = call.wait()
    check(answer["status"] == "failed" and answer["signal"] == signal.SIGKILL, "a worker that dies fails its call", answer)
    check(other.wait()["status"] == "ok" and text(engine.call("b", "echo", "x")) == "x\n", "and no other")
    end_between(engine)
    answer = engine.call("b", "echo", "x")
    check(answer["status"] == "ok" and text(answer) == "x\n", "between calls it fails none", answer)
    end_between(engine)
    call = Call(engine, "b", "nap", "30")
    time.sleep(0.3)
    ask(lib.toolcage_call_cancel, call.handle)
    answer = call.wait()
    check(answer["status"] == "cancelled", "and the one that found it gone can be cancelled", answer)
    cancels_no_other(engine)
    lent(engine)
    call = Call(engine, "b", "nap", "30")
    lib.toolcage_call_unref(call.handle)
    check(until(lambda: all(map(waits, engine.workers())), 10), "who lets go of a call ends it", engine.workers())
    lent(engine)
    check(engine.close(), "the helper ends with its engine, and the workers that were lent with it")


def lies(s):
    """As a worker whose module has broken out of the engine could: another packet than the one that ends a call."""
    engine = open_engine(s)
    for packet in (b"x", b"y" * 24 + b"z" * 40, b"\xff" * 24):
        worker = lent(engine)
        talk = steal(worker)
        if talk is None:
            print("# not tried: this user may not take a descriptor of another process")
            break
        call = Call(engine, "b", "nap", "5")
        time.sleep(0.2)
        talk.send(packet)
        answer = call.wait()
        talk.close()
        check(answer["status"] in ("error", "failed"), f"a lie of {len(packet)} bytes is an error of its call", answer)
        check(answer["exit_code"] is None or 0 <= answer["exit_code"] <= 255, "with an exit code that there is", answer)
        check(all(n >= 0 for n in answer["usage"].values() if isinstance(n, (int, float))), "and a usage that there can be", answer["usage"])
        answer = engine.call("b", "echo", "x")
        check(answer["status"] == "ok" and text(answer) == "x\n", "and of no other", answer)
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


def says_so_for_ever(s):
    """The worker goes on, with all by which a call was heard of: the call's descriptor is ready all the same."""
    engine = open_engine(s)
    calls, direct = [], []
    while not any(direct) and len(calls) < 40:  # the one before the first of them came with the loan
        call = Call(engine, "b", "echo", "x")
        calls.append((call, lib.toolcage_call_fd(call.handle)))
        ask(lib.toolcage_call_wait, call.handle, 60000)
        direct.append(was_direct(call.result()))
    lent(engine)
    ready = [bool(select.select([fd], [], [], 0)[0]) for _, fd in calls]
    check(any(direct) and all(ready), "the end of a call is told for ever, whichever way it went", (direct, ready))
    for call, _ in calls:
        lib.toolcage_call_unref(call.handle)
    check(engine.close(), "the helper ends with its engine")


def polled(s):
    engine = open_engine(s)
    lent(engine)
    for words in (("echo", "x"), ("shout",), ("nap", "1")):
        call = Call(engine, "b", *words)
        fd = lib.toolcage_call_fd(call.handle)
        ready, dispatched = True, 0
        while ready and dispatched == 0:
            ready = bool(select.select([fd], [], [], 20)[0])
            dispatched = ask(lib.toolcage_call_dispatch, call.handle)
        check(ready, f"{words[0]}: its descriptor becomes ready")
        answer = call.wait()
        check(answer["status"] == "ok" and was_direct(answer), f"{words[0]}: and the call ends", answer)
    call = Call(engine, "b", "echo", "x")
    first = Call(engine, "b", "nap", "1")
    check(not select.select([lib.toolcage_call_fd(first.handle)], [], [], 0)[0], "one that runs has nothing to say")
    while ask(lib.toolcage_call_dispatch, call.handle) == 0:
        time.sleep(0.01)
    check(bool(select.select([lib.toolcage_call_fd(call.handle)], [], [], 0)[0]), "whose end came before anybody asked is ready for ever")
    check(was_direct(call.wait()) and first.wait()["status"] == "ok", "so it ends")
    check(engine.close(), "the helper ends with its engine")


def host_dies(s):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        engine = open_engine(s)
        lent(engine)
        Call(engine, "b", "nap", "50")
        os.write(writer, " ".join(map(str, [engine.helper, *engine.workers()])).encode())
        time.sleep(60)
        os._exit(0)
    os.close(writer)
    pids = os.read(reader, 4096).decode().split()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    check(len(pids) > 1 and until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), 10), "with its host a worker on loan goes", pids)


# the one before the last touches the module, whose state tells nothing for a while then
run(first, results, reads, nothing_stays, bounds, counts, dies, lies, polled, says_so_for_ever, host_dies, again, last)
