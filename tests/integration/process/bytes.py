#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Bytes in and out: whole, unchanged, and as base64 where they are no text."""

import hashlib
import os

from scene import PYTHON, check, run


def large(s):
    block = os.urandom(10 << 20)
    answer = s.call("/bin/cat", stdin=block, more='output = { limit = "12MiB" }')
    check(
        answer.status == "ok" and answer.stdout["bytes"] == len(block) and answer.bytes == block,
        "10 MiB through cat",
        (answer.status, answer.stdout and answer.stdout["bytes"]),
    )
    answer = s.call("/usr/bin/sha256sum", stdin=block)
    check(answer.out.split()[:1] == [hashlib.sha256(block).hexdigest()], "10 MiB in", answer)
    answer = s.call("/bin/true", stdin=block)
    check(answer.status == "ok", "10 MiB that nobody reads", answer)
    answer = s.call("/usr/bin/head", "-c", "5", stdin=b"12345" + block)
    check(answer.status == "ok" and answer.out == "12345", "a reader that stops early", answer)


def kinds(s):
    rows = [
        ("text", b"plain\n", True),
        ("UTF-8", "gr\u00fc\u00df \u2603\n".encode(), True),
        ("NUL", b"a\0b", False),
        ("invalid UTF-8", b"\xff\xfe", False),
        ("a cut sequence", b"ok \xc3", False),
        ("an overlong one", b"\xc0\xaf", False),
        ("a surrogate", b"\xed\xa0\x80", False),
        ("controls", b"\x1b[31m\x07\r\n", True),
        ("nothing", b"", True),
    ]
    for name, block, text in rows:
        answer = s.call("/bin/cat", stdin=block)
        check(
            answer.status == "ok" and answer.bytes == block and ("text" in answer.stdout) == text,
            f"{name} as it is",
            answer,
        )


def streams(s):
    answer = s.shell("echo out; echo err >&2; exit 4")
    check(
        answer.stdout["text"] == "out\n"
        and answer.stderr["text"] == "err\n"
        and answer.exit_code == 4
        and answer.code == 4
        and answer.status == "failed",
        "streams and the tool's own code",
        answer,
    )
    answer = s.shell("kill -9 $$")
    check(
        answer.status == "failed" and answer.signal == 9 and answer.code == 137 and answer.limit is None,
        "a signal",
        answer,
    )
    answer = s.shell("cat")
    check(answer.status == "ok" and answer.out == "", "no input is the end of file", answer)
    kinds_of = "import os\nfor f in range(3): print(os.readlink(f'/proc/self/fd/{f}').split(':')[0])"
    answer = s.python(kinds_of)
    check(answer.out == "/dev/null\npipe\npipe\n", "no input is the null device", answer)
    for given in (b"x", b""):
        answer = s.call(PYTHON, "-c", kinds_of, stdin=given)
        check(answer.out == "pipe\n" * 3, f"with input {given} all three are pipes", answer)
    answer = s.python(
        "import os\nos.write(1, b'x' * 300000)\nos.close(1)\nos.close(2)\nimport time\ntime.sleep(.3)\nos._exit(6)"
    )
    check(answer.exit_code == 6 and answer.stdout["bytes"] == 300000, "streams closed before the end", answer)


run(large, kinds, streams)
