#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Deterministic calls: the same bytes and the same fuel each time, and limits that are no matter of time.

usage: deterministic.py TOOLCAGE [self | ordinary] GUEST.wasm WHEELS"""

import glob
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process"))

from installed import last, put_engine, settle, verb  # noqa: E402
from scene import TOOLCAGE, Answer, check, run, skip_all  # noqa: E402

GUEST, WHEELS = map(os.path.abspath, sys.argv[3:5])
SAME = "deterministic = true\n"


def install(s):
    if settle(s):
        put_engine(s)
    shutil.copy(GUEST, s.path("guest.wasm"))
    os.chmod(s.path("guest.wasm"), 0o644)


def call(s, *words, more=SAME, module=None, **grant):
    return s.call(
        "guest",
        *words,
        more=f'backend = "wasm"\nmodule = "{module or s.path("guest.wasm")}"\n' + more,
        **grant,
    )


def in_pieces(s, *words, more=SAME):
    """The same input, which arrives in two pieces."""
    policy = s.write(
        "pieces.toml",
        f'[tool.t]\nmodule = "{s.path("guest.wasm")}"\nfilesystem = {{ writable = ["{s.ws}"] }}\n'
        f'memory = {{ max = "256MiB", by = "any" }}\n{more}',
    )
    with subprocess.Popen(
        [TOOLCAGE, "exec", "--json", "--policy", policy, "--tool", "t", "--", "guest", *words],
        env=s.environ,
        cwd=s.ws,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        child.stdin.write(b"a" * 1000)
        child.stdin.flush()
        time.sleep(0.3)
        out, err = child.communicate(b"b" * 1000)
    return Answer(child.returncode, out, err)


def same(s):
    """What a machine decides, asked for one after another; between two calls all of it changes."""
    install(s)
    answers, others = [], []
    for names in ("b", "a", "c"), ("c", "a", "b"):
        shutil.rmtree(s.path("ws/d"), ignore_errors=True)
        for name in names:
            s.write(f"ws/d/{name}", name)
            os.utime(s.path(f"ws/d/{name}"), (len(answers), len(answers)))
        for more, to in ((SAME, answers), ("", others)):
            to.append(call(s, "machine", "d", stdin=b"a" * 1000 + b"b" * 1000, more=more))
            to.append(in_pieces(s, "machine", "d", more=more))
    first = answers[0]
    check(
        first.status == "ok" and first.deterministic is True and first.usage["fuel"] > 1000,
        "a deterministic call says so, and what it used",
        first,
    )
    check(
        first.enforcement["fs.read"] and first.enforcement["limit.timeout"],
        "it has the walls of any other",
        first,
    )
    check(
        all((a.out, a.usage["fuel"]) == (first.out, first.usage["fuel"]) for a in answers),
        "bytes and fuel are the same",
        [a.raw for a in answers],
    )
    check(
        "2000 bytes" in first.out and "a b c" in first.out and "nan 7fc00000" in first.out,
        "input is whole, names are in order, a NaN is canonical",
        first,
    )
    check(
        len({a.out for a in others}) == len(others) and all(a.deterministic is None for a in others),
        "without it they are not",
        [a.raw for a in others],
    )
    before = time.monotonic()
    answer = call(s, "nap", "3000", more=SAME + 'timeout = "60s"\ncpu_time = "1s"')
    check(
        answer.status == "ok" and time.monotonic() - before < 60,
        "a sleep takes its own time, and nobody's",
        answer,
    )


def fuel(s):
    install(s)
    for word in "spin", "flood":
        answers = [call(s, word, more=SAME + 'cpu_time = "20ms"\ntimeout = "60s"') for _ in range(2)]
        for answer in answers:
            check(
                answer.status == "limit" and answer.limit == "cpu_time" and answer.code == 134,
                f"{word} ends when its fuel is used up",
                answer,
            )
            check(
                answer.deterministic is True and answer.usage["fuel"] == 20 * 10**6,
                "the budget is counted in units of fuel",
                answer,
            )
            check(
                "fuel" in answer.enforcement["limit.cpu_time"],
                "and that is what the result calls its limit",
                answer,
            )
        check(answers[0].stderr == answers[1].stderr, "in the same words", answers)
    start = bytes.fromhex("0061736d01000000010401600000030201000801000a0901070003400c000b0b")
    answer = call(
        s, "x", module=s.write("start.wasm", start), more=SAME + 'cpu_time = "5ms"\ntimeout = "60s"'
    )
    check(
        answer.status == "limit" and answer.limit == "cpu_time", "so does a loop in a start function", answer
    )
    answer = call(s, "spin", more=SAME + 'timeout = "2s"')
    check(
        answer.status == "timeout" and answer.deterministic is False and answer.usage["fuel"] is None,
        "the deadline is kept from outside",
        answer,
    )
    answer = call(s, "grow", more=SAME, memory='{ max = "128MiB", by = "any" }')
    check(
        answer.status == "ok" and 0 < int(answer.out) <= 128 and answer.deterministic is True,
        "memory ends at its limit",
        answer,
    )


def features(s):
    """(module (func (export "_start") two vectors, i8x16.relaxed_swizzle, drop))"""
    install(s)
    vector = "fd0c" + "00" * 16
    body = bytes.fromhex("00" + 2 * vector + "fd8002" + "1a0b")
    relaxed = (
        bytes.fromhex("0061736d0100000001040160000003020100070a01065f737461727400000a")
        + bytes([len(body) + 2, 1, len(body)])
        + body
    )
    module = s.write("relaxed.wasm", relaxed)
    check(call(s, "x", module=module, more="").status == "ok", "relaxed SIMD runs in other calls")
    answer = call(s, "x", module=module)
    check(
        answer.exit_code == 126 and "relaxed" in answer.stderr["text"].lower(),
        "and not where the processor would decide",
        answer,
    )


def compiled(s):
    install(s)
    state = os.path.join(s.environ["XDG_STATE_HOME"], "toolcage/wasm")
    slow = call(s, "machine", ".")
    done = verb(s, "wasm", "compile", "--deterministic", s.path("guest.wasm"))
    record = max(glob.glob(os.path.join(state, "*.deterministic.record")), key=os.path.getmtime)
    check(
        done.returncode == 0 and verb(s, "wasm", "compile", s.path("guest.wasm")).returncode == 0,
        "toolcage wasm compile --deterministic",
        done,
    )
    fast = call(s, "machine", ".")
    check(
        (fast.out, fast.usage["fuel"]) == (slow.out, slow.usage["fuel"]),
        "a module compiled ahead gives the same result and fuel",
        (slow.raw, fast.raw),
    )
    # the other code's record is as genuine, and says what it is of
    shutil.copy(record.replace(".deterministic", ""), record)
    wrong = call(s, "machine", ".")
    check(
        (wrong.out, wrong.usage.get("fuel")) == (slow.out, slow.usage["fuel"]),
        "code for other calls is not loaded",
        wrong,
    )


def refused(s):
    install(s)
    for more in ('backend = "wasmedge"\n', 'backend = "process"\n'):
        answer = s.call("/bin/true", more=more + SAME)
        check(
            answer.status == "denied"
            and answer.error["code"] == "unenforceable"
            and answer.error["subject"] == "deterministic"
            and 'backend = "wasm"' in answer.error["hint"],
            f"{more.strip()} refuses it",
            answer,
        )
    answer = call(s, "x", more='deterministic = "yes"\n')
    check(answer.code == 125 and answer.error["code"] == "policy", "it is true or false", answer)


if not glob.glob(os.path.join(WHEELS, "wasmtime-*.whl")):
    skip_all("the engine is not here: tools/clients fetches it")
if not os.path.exists(GUEST):
    skip_all("no modules can be made here: tools/deps test installs what compiles them")
run(same, fuel, features, compiled, refused, last)
