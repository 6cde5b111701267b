#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Changes to the system call profile: what is denied is refused and listed, what is allowed works, and the cage itself
lives with every set of denied calls that a policy may have."""

import os
import pathlib
import re
import shutil
import sys

from scene import check, is_root, run, skip

ROOT = pathlib.Path(__file__).resolve().parents[3]
BARE = sys.argv[3]
NAMES = re.findall(
    r'"(\w+)"', (ROOT / "src/policy/names/syscall_names.c").read_text().split("names[] = {")[1].split("};")[0]
)
NEEDED = re.findall(
    r'"(\w+)"',
    (ROOT / "src/policy/parse/parse_syscalls.c").read_text().split("needed[] = {")[1].split("};")[0],
)
CALLS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
memory = ctypes.create_string_buffer(4096)
for name, args in (("mlock", (memory, 100)), ("getpgid", (0,)), ("kill", (os.getpid(), 0)), ("ptrace", (0, 0, 0, 0))):
    ctypes.set_errno(0)
    print(name, getattr(libc, name)(*args) >= 0, ctypes.get_errno())
"""
PEEK = """
import ctypes, os
libc = ctypes.CDLL(None)
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
text, into = ctypes.create_string_buffer(b"here"), ctypes.create_string_buffer(5)
def read(pid):
    return libc.process_vm_readv(pid, ctypes.byref(Piece(ctypes.addressof(into), 5)), 1, ctypes.byref(Piece(ctypes.addressof(text), 5)), 1, 0)
print(read(os.getpid()) == 5 and into.value == b"here")
print([libc.ptrace(16, 1, 0, 0), libc.ptrace(0x4206, 1, 0, 0), read(1)])
"""

# As a container's profile does: no namespaces for whoever runs under it.
CONFINED = """
import ctypes, os, sys
lib = ctypes.CDLL("libseccomp.so.2")
lib.seccomp_init.restype = ctypes.c_void_p
rules = ctypes.c_void_p(lib.seccomp_init(0x7fff0000))
class Compare(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("mask", ctypes.c_uint64), ("value", ctypes.c_uint64)]
number = lib.seccomp_syscall_resolve_name
lib.seccomp_rule_add_array(rules, 0x50001, number(b"unshare"), 0, None)
lib.seccomp_rule_add_array(rules, 0x50026, number(b"clone3"), 0, None)
lib.seccomp_rule_add_array(rules, 0x50001, number(b"clone"), 1, ctypes.byref(Compare(0, 7, 0x10000000, 0x10000000)))
assert ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0 and lib.seccomp_load(rules) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


def denied(s):
    before = s.python(CALLS)
    check(
        before.out == "mlock True 0\ngetpgid True 0\nkill True 0\nptrace False 1\n",
        "the profile alone",
        before,
    )
    for more, listed in (("", True), ('denials = "off"\n', False), ('denials = "paths"\n', True)):
        answer = s.python(CALLS, more=more + 'syscalls.deny = ["mlock", "getpgid"]')
        check(
            answer.out == "mlock False 1\ngetpgid False 1\nkill True 0\nptrace False 1\n",
            f"denied calls are refused ({more.strip()})",
            answer,
        )
        got = answer.denied("syscall")
        check({"mlock", "getpgid", "ptrace"} <= set(got) if listed else not answer.denials, "and listed", got)
    check(
        "syscalls.deny" in (got["mlock"]["hint"] or "") and got["mlock"]["count"] == 1,
        "with a hint and a count",
        got,
    )
    check(
        answer.enforcement["syscalls"] == "seccomp allowlist; denied: getpgid, mlock",
        "the result names them",
        answer.enforcement,
    )
    answer = s.python(
        "import socket\ntry: socket.socket().connect(('127.0.0.1', 1))\nexcept PermissionError: print('refused')",
        more='syscalls.deny = ["connect"]',
    )
    check(
        answer.out == "refused\n" and "connect" in answer.denied("syscall"),
        "a call that the helper is asked about",
        answer,
    )
    answer = s.python(
        "import socket\ntry: socket.socket(socket.AF_UNIX).connect('/tmp/x')\nexcept PermissionError: print('refused')",
        more='unix_sockets = "own"\nsyscalls.deny = ["connect"]',
    )
    check(
        answer.out == "refused\n" and "connect" in answer.denied("syscall"),
        "one that it would do in the tool's place",
        answer,
    )
    flood = (
        "import os\nfor i in range(3000):\n  try: os.getppid()\n  except OSError: pass\nlibc=__import__('ctypes').CDLL(None)\n"
        "print(any(libc.getppid() > 0 for i in range(3000)))"
    )
    answer = s.python(flood, more='timeout = "20s"\nsyscalls.deny = ["getppid"]')
    check(
        answer.status == "ok" and answer.out == "False\n",
        "it stays refused when nobody lists any more",
        answer,
    )


def allowed(s):
    answer = s.python(CALLS, more='syscalls.allow = ["ptrace"]')
    check(
        answer.out.endswith("ptrace True 0\n") and not answer.denied("syscall"), "ptrace of its own", answer
    )
    check(
        answer.enforcement["syscalls"] == "seccomp allowlist; allowed: ptrace",
        "the result names it",
        answer.enforcement,
    )
    answer = s.python(PEEK, more='syscalls.allow = ["ptrace", "process_vm_readv"]')
    check(answer.out == "True\n[-1, -1, -1]\n", "memory of its own is read, and PID 1 is not traced", answer)


def denied_calls_spare_the_cage(s):
    """All that may be denied is, in two halves: what is left is the cage's own, and it does all that it ever does."""
    bare = s.path("bare")
    shutil.copy(BARE, bare)
    os.chmod(bare, 0o755)
    check(len(NAMES) > 300 and set(NEEDED) <= set(NAMES), "the lists are read", (len(NAMES), NEEDED))
    others = [name for name in NAMES if name not in NEEDED]
    for half in (others[::2], others[1::2]):
        listed = ", ".join(f'"{name}"' for name in half)
        grant = {"readable": [bare], "more": f"syscalls.deny = [{listed}]\n"}
        answer = s.call(bare, **grant)
        check(
            answer.status == "ok" and answer.out == "bare\n" and not answer.denials,
            "a bare tool runs to its end",
            answer,
        )
        answer = s.call(
            bare,
            "stay",
            **{**grant, "more": grant["more"] + 'timeout = "500ms"\ngrace = "100ms"\ndenials = "off"\n'},
        )
        check(answer.status == "timeout" and answer.out == "bare\n", "and is ended in time", answer)


def without_namespaces(s):
    """There who ends the tool sees the machine's processes: the profile stays as it is."""
    if is_root():
        return  # root has no such form
    wrap = ["/usr/bin/python3", s.write("confined.py", CONFINED)]
    given_up = 'without = ["proc.own", "proc.survivors", "tmp.private", "fs.stat", "fs.denied", "fs.steering", "limit.pids"]\n'
    plain = s.call("/bin/true", wrap=wrap, more=given_up)
    if plain.error and plain.error["subject"] == "landlock":
        return skip("without namespaces", plain.error["message"])  # a kernel before 6.12
    check(plain.status == "ok", "without namespaces the plain profile runs", plain)
    for change in ('deny = ["mlock"]', 'allow = ["ptrace"]'):
        answer = s.call("/bin/true", wrap=wrap, more=given_up + f"syscalls.{change}\n")
        check(
            answer.code == 126 and answer.error["subject"] == "syscalls", f"but {change} is refused", answer
        )


def wrong_names(s):
    for name in NEEDED + ["mlcok", "uselib"]:
        if name in ("execve", "poll", "mlcok", "uselib"):
            answer = s.call("/bin/true", more=f'syscalls.deny = ["{name}"]')
            check(
                answer.code == 125 and name in answer.err + str(answer.error),
                f"{name} cannot be denied",
                answer,
            )


run(denied, allowed, denied_calls_spare_the_cage, without_namespaces, wrong_names)
