#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A call that asks for the very same as one before it is not resolved again, and nothing that decides what it is granted goes unseen.

usage: plan_cache.py TOOLCAGE [self | ordinary] GUEST.wasm WHEELS"""

import ctypes
import os
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process")]

import scene  # first: it says where the next one is
import host
from scene import check, end, run, until
from waiting import HOME, Call, Engine, ask, first, last, lib, rows, text

REUSE = '[backend.wasm]\nreuse = "same-grant"\n'
NONE = '[tool.c]\nmodule = "MODULE"\nfilesystem = "none"\n'


def open_engine(s, more="", reuse=REUSE):
    """Calls of the tool "c" see nothing of the host."""
    return Engine(s, before=reuse + NONE.replace("MODULE", f"{HOME[0]}/guest.wasm") + more)


def was_again(answer):
    """What the last one of its kind was granted holds."""
    steps = {row["step"] for row in rows(answer["timings"])}
    return "again" in steps and "resolve" not in steps


def known(engine, *words, tool="c"):
    """The answer to a call that is made often enough to be known."""
    answers = []
    until(lambda: answers.append(engine.call(tool, *words)) or was_again(answers[-1]), 10)
    return answers[-1]


def same(answer):
    """All but times and sizes."""
    differs = ("wall_ms", "cpu_ms", "memory_peak_bytes")
    return {
        **{key: value for key, value in answer.items() if key not in ("call", "timings")},
        "usage": {key: value for key, value in answer["usage"].items() if key not in differs},
    }


def by_worker(answer):
    """Did a worker serve the call that was started before it? Its enforcement has words of its own."""
    return "ready" in [row["step"] for row in answer["timings"]]


def new(engine, tool, *words):
    """One that is still to be started."""
    call = Call.__new__(Call)
    call.handle = host.make(lib.toolcage_call_new, engine.handle, engine.policy, tool.encode())
    if words:
        host.set_command(call.handle, "guest", *words)
    return call


def decides(s):
    os.environ["WORD"] = "one"
    engine = open_engine(s, 'env.pass = ["WORD"]\n')

    def anew(answer, first, what, alike=True):
        check(answer["status"] == "ok" and not was_again(answer), f"{what}: it is resolved", answer)
        check(
            (answer["grant"] == first["grant"]) == alike,
            f"{what}: to what is granted then",
            (answer["grant"], first["grant"]),
        )

    first = next(answer for answer in (known(engine, "env") for _ in range(50)) if by_worker(answer))
    check(was_again(first) and "WORD=one" in text(first), "the same call reuses its plan", first)
    again = next(answer for answer in (known(engine, "env") for _ in range(50)) if by_worker(answer))
    check(same(again) == same(first), "every reuse gives the same answer", (again, first))
    anew(engine.call("c", "echo", "x"), first, "other words", False)
    os.environ["WORD"] = "two"
    answer = engine.call("c", "env")
    anew(answer, first, "another environment", False)
    check("WORD=two" in text(answer), "with that", answer)
    check("WORD=two" in text(known(engine, "env")), "also later", answer)
    os.environ["WORD"] = "one"
    first = known(engine, "env")
    check("WORD=one" in text(first), "and the one before is not forgotten", first)
    here = os.getcwd()
    os.chdir("/tmp")
    answer = engine.call("c", "env")
    check(
        answer["status"] == "ok" and not was_again(answer),
        "another working directory: it is resolved",
        answer,
    )
    os.chdir(here)
    known(engine, "env")
    call = new(engine, "c", "env")
    ask(lib.toolcage_call_set, call.handle, b"timeout", b"3s")
    ask(lib.toolcage_call_start, call.handle)
    anew(call.wait(), first, "a narrower call", False)
    other = host.policy_of(
        REUSE
        + NONE.replace("MODULE", f"{HOME[0]}/guest.wasm")
        + 'network = "none"\ntimeout = "4s"\nenv.pass = ["WORD"]\n'
    )
    mine, engine.policy = engine.policy, other
    anew(engine.call("c", "env"), first, "another policy", False)
    engine.policy = mine
    lib.toolcage_policy_unref(other)
    known(engine, "env")
    known(engine, "env")
    answers = [call.wait() for call in [Call(engine, "c", "env") for _ in range(2)]]
    check(
        [text(answer) for answer in answers] == [text(first)] * 2
        and answers[0]["call"] != answers[1]["call"],
        "two at once are two",
        answers,
    )
    check(not was_again(answers[1]), "of which one is resolved", answers)
    known(engine, "env")
    os.utime(f"{HOME[0]}/guest.wasm")
    anew(engine.call("c", "env"), first, "another module, perhaps")
    check(engine.close(), "the helper ends with its engine")


def input_is_its_own(s):
    """What a call reads is no part of what it asks for."""
    engine = open_engine(
        s,
        NONE.replace("[tool.c]", "[tool.d]").replace("MODULE", f"{HOME[0]}/guest.wasm")
        + 'command = ["guest", "drink", "9"]\narguments.word = { type = "string" }\nstdin = "{word}"\n',
    )
    answers = []
    known(engine, "drink", "99999")
    for given, wanted in ((b"one", "3 one\n"), (b"", "0 \n"), (b"x" * 65537, "65537 xxxxxxxx\n")):
        call = new(engine, "c", "drink", "99999")
        ask(lib.toolcage_call_set_stdin, call.handle, given, ctypes.c_size_t(len(given)))
        ask(lib.toolcage_call_start, call.handle)
        answers.append(call.wait())
        check(
            text(answers[-1]) == wanted, f"{len(given)} bytes of input are read, and no others", answers[-1]
        )
    check(any(map(was_again, answers)), "by calls that ask for the same", answers)
    for word in ("one", "two", "two", "two", "one"):
        call = new(engine, "d")
        ask(lib.toolcage_call_set_arguments_json, call.handle, b'{"word": "%s"}' % word.encode())
        ask(lib.toolcage_call_start, call.handle)
        answer = call.wait()
        check(text(answer) == f"3 {word}\n", "input of the policy's making comes from the words", answer)
    for _ in range(2):
        call = new(engine, "d")
        ask(lib.toolcage_call_set_arguments_json, call.handle, b'{"word": "one"}')
        ask(lib.toolcage_call_set_stdin, call.handle, b"x", ctypes.c_size_t(1))
        rc = lib.toolcage_call_start(call.handle, None)
        check(rc < 0, "two inputs are a mistake still", rc)
        lib.toolcage_call_unref(call.handle)
    check(engine.close(), "the helper ends with its engine")


def needs_no_worker(s):
    engine = open_engine(s)
    kept, answers = known(engine, "echo", "x"), []

    def bereft():
        known(engine, "echo", "x")
        for worker in engine.workers():
            end(worker)
        until(lambda: not engine.workers(), 1)
        answers.append(engine.call("c", "echo", "x"))
        return was_again(answers[-1])

    check(
        until(bereft, 20), "a call is known where no worker waits for it", answers
    )  # other users' tools may write meanwhile
    alike = [(answer["status"], text(answer), answer["grant"]) for answer in (kept, *answers)]
    check(len(set(alike)) == 1, "and comes to the same", alike)
    check(engine.close(), "the helper ends with its engine")


def only_there(s):
    """A tool that sees files of the host's is resolved each time, and so is one whose workers serve one call."""
    engine = open_engine(s)
    answers = [engine.call("a", "echo", "x") for _ in range(6)]
    check(not any(map(was_again, answers)), "plans that show files of the host are made anew", answers)
    check(engine.close(), "the helper ends with its engine")
    engine = open_engine(s, reuse="")
    answers = [engine.call("c", "echo", "x") for _ in range(6)]
    check(not any(map(was_again, answers)), "workers for one call have no kept plans", answers)
    check(engine.close(), "the helper ends with its engine")


# the last but one touches the module, whose state tells nothing for a while then
run(first, input_is_its_own, needs_no_worker, only_there, decides, last)
