#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Modules in their cages: what they are handed, what they are refused, how they end.

usage: runs.py TOOLCAGE [self | ordinary] GUEST.wasm WHEELS"""

import glob
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process"))

from installed import keeps_its_bounds, last, put_engine, settle, verb  # noqa: E402
from scene import TOOLCAGE, Answer, check, run, skip_all  # noqa: E402

GUEST, WHEELS = map(os.path.abspath, sys.argv[3:5])
# (module (import "env" "system" (func)) (func (export "_start")))
IMPORT = bytes.fromhex(
    "0061736d01000000010401600000020e0103656e760673797374656d000003020100070a01065f737461727400010a040102000b"
)


def install(s):
    """The engine by the verb that people use, from the file that was fetched beforehand."""
    if not settle(s):
        return
    absent = call(s, "echo", "x")
    check(
        absent.code == 125
        and absent.error["code"] == "backend"
        and "toolcage wasm install" in absent.error["hint"],
        "without an engine a call says how to get it",
        absent,
    )
    other = verb(s, "wasm", "install", s.write("other.so", "no engine"))
    check(
        other.returncode and b"not the shared library" in other.stderr,
        "another file is not taken for it",
        other,
    )
    image = verb(s, "wasm", "install", "wasmedge")
    check(
        image.returncode and b"hint: toolcage image build wasmedge " in image.stderr,
        "doctor names the image of the other engine",
        image,
    )
    put_engine(s)


def call(s, *words, module=None, stdin=None, **grant):
    """One call of the guest; the first word of the command is its own name."""
    module = module or place(s)
    grant["more"] = f'backend = "wasm"\nmodule = "{module}"\n' + grant.get("more", "")
    return s.call("guest", *words, stdin=stdin, **grant)


def place(s):
    if not os.path.exists(s.path("guest.wasm")):
        shutil.copy(GUEST, s.path("guest.wasm"))
        os.chmod(s.path("guest.wasm"), 0o644)
    return s.path("guest.wasm")


def seen(s, backend="wasm"):
    """What the doctor says of the engine."""
    rows = json.loads(verb(s, "doctor", "--json").stdout)["backends"]
    return [row for row in rows if row["backend"] == backend]


def first_example(s):
    """The policy of the introduction, as it stands there: the command names the module."""
    before = seen(s)
    check(
        len(before) == 1 and not before[0]["works"] and "toolcage wasm install" in before[0]["fix"],
        "the doctor says how to get an engine",
        before,
    )
    other = seen(s, "wasmedge")
    check(
        len(other) == 1 and other[0]["works"] or "toolcage image build wasmedge" in other[0]["fix"],
        "the other engine is listed",
        other,
    )
    install(s)
    check([row["works"] for row in seen(s)] == [True], "and that it is there", seen(s))
    os.makedirs(f"{s.ws}/project")
    shutil.copy(place(s), f"{s.ws}/file_edit.wasm")
    policy = s.write(
        "first.toml",
        '[tool.file_edit]\nbackend = "wasm"\nfilesystem = { writable = ["/workspace/project"] }\n'
        'network = "none"\ntimeout = "10s"\n',
    )
    done = subprocess.run(
        [
            TOOLCAGE,
            "exec",
            "--policy",
            policy,
            "--tool",
            "file_edit",
            "--json",
            "--",
            "file_edit.wasm",
            "put",
            "/workspace/project/new",
            "text",
        ],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        timeout=60,
        check=False,
    )
    answer = Answer(done.returncode, done.stdout, done.stderr)
    check(answer.status == "ok" and answer.backend == "wasm", "the first example runs", answer)
    check(s.read("ws/project/new") == b"text", "and the file is there", answer)
    gone = subprocess.run(
        [TOOLCAGE, "exec", "--policy", policy, "--tool", "file_edit", "--json", "--", "absent.wasm"],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        timeout=60,
        check=False,
    )
    answer = Answer(gone.returncode, gone.stdout, gone.stderr)
    check(
        answer.status == "denied" and "absent.wasm" in answer.error["message"],
        "a module that is not there is named",
        answer,
    )


def files(s):
    install(s)
    s.write("data/in", "data")
    s.write("ws/a", "alpha")
    s.write("secret", "secret")
    s.write("data/deep/key", "key")
    grant = {"readable": [s.data], "denied": [f"{s.data}/deep"]}
    check(call(s, "show", f"{s.data}/in", **grant).out == "data", "a granted file is read")
    check(call(s, "show", "a", **grant).out == "alpha", "a relative path begins where the tool starts")
    check(
        call(s, "put", f"{s.ws}/b", "beta", **grant).status == "ok" and s.read("ws/b") == b"beta",
        "a file is written",
    )
    for path in (
        s.path("secret"),
        "/etc/passwd",
        "../secret",
        f"{s.ws}/../secret",
        "/proc/self/mem",
        "/dev/null",
        f"{s.data}/deep/key",
    ):
        answer = call(s, "show", path, **grant)
        check(
            answer.status == "failed" and answer.out == "",
            f"{path.replace(s.root, '')} is out of reach",
            answer,
        )
    for words in (
        ("put", f"{s.data}/x", "x"),
        ("remove", f"{s.data}/in"),
        ("move", f"{s.data}/in", f"{s.ws}/in"),
        ("link", "/etc/passwd", f"{s.ws}/l"),
        ("link", "../secret", f"{s.ws}/l"),
        ("put", "/etc/toolcage/x", "x"),
    ):
        answer = call(s, *words, **grant)
        check(answer.status == "failed", f"{' '.join(words).replace(s.root, '')} is refused", answer)
    check(s.read("data/in") == b"data" and not os.path.lexists(s.path("ws/l")), "and nothing has changed")
    listed = call(s, "list", s.data, **grant)
    check(listed.out == "in\n", "a denied name does not show", listed)


def named(s):
    """A file that an argument names, there or not, below a directory that is only read or not at all: it is written, and none beside it."""
    install(s)
    s.write("ws/old", "old")
    s.write("ws/other", "other")
    for bound in ("", f'filesystem = {{ readable = ["{s.ws}"] }}\n'):
        policy = s.write(
            "named.toml",
            f'[tool.put]\nmodule = "{place(s)}"\ncommand = ["guest", "put", "{{file}}", "text"]\nnetwork = "none"\n{bound}'
            f'arguments.file = {{ type = "string", write = ["{s.ws}"] }}\n[tool.beside]\nmodule = "{place(s)}"\n'
            f'command = ["guest", "put", "{s.ws}/other", "text"]\nstdin = "{{file}}"\nnetwork = "none"\n{bound}'
            f'arguments.file = {{ type = "string", write = ["{s.ws}"] }}\n',
        )
        for name in ("old", "new"):
            done = verb(
                s, "call", "--policy", policy, "--json", "put", json.dumps({"file": f"{s.ws}/{name}"})
            )
            answer = Answer(done.returncode, done.stdout, done.stderr)
            check(
                answer.status == "ok"
                and s.read(f"ws/{name}") == b"text"
                and f"{s.ws}/{name}" in answer.kinds,
                f"{name} is written",
                answer,
            )
            done = verb(
                s, "call", "--policy", policy, "--json", "beside", json.dumps({"file": f"{s.ws}/{name}"})
            )
            answer = Answer(done.returncode, done.stdout, done.stderr)
            held = answer.kinds.get(
                f"{s.ws}/other"
            )  # below what is read it changes for the module alone, as for a program
            check(
                s.read("ws/other") == b"other"
                and (held == "not committed" if bound else answer.status == "failed"),
                "and none beside it",
                answer,
            )
        os.unlink(s.path("ws/new"))


def denials(s):
    """What a module asks for and does not get is listed as it is for a process, by whichever wall refused it."""
    install(s)
    s.write("ws/a", "alpha")
    s.write("secret/key", "secret")
    s.write("data/deep/key", "key")
    s.write("data/in", "data")
    os.symlink("../secret/key", s.path("ws/out"))
    grant = {"readable": [s.data], "denied": [f"{s.data}/deep"], "more": 'denials = "paths"'}
    programs = {"show": "/bin/cat", "put": "/usr/bin/tee", "remove": "/bin/rm"}
    for words, operation, target in (
        (("show", s.path("secret/key")), "read", "secret/key"),
        (("show", "../secret/key"), "read", "secret/key"),
        (("show", f"{s.data}/deep/key"), "read", "data/deep/key"),
        (("show", "out"), "read", "secret/key"),
        (("put", s.path("secret/new"), "x"), "write", "secret/new"),
        (("put", f"{s.data}/in", "x"), "write", "data/in"),
        (("remove", f"{s.data}/in"), "write", "data/in"),
    ):
        answer, listed = call(s, *words, **grant), {}
        for side, each in (
            ("module", answer),
            ("process", s.call(programs[words[0]], words[1], stdin=b"x", **grant)),
        ):
            found = each.denied(operation).get(s.path(target)) or {}
            listed[side] = {
                name: found.get(name) for name in ("operation", "target", "key", "line", "hint", "allow")
            }
        check(
            answer.status == "failed"
            and listed["module"]["target"]
            and listed["module"] == listed["process"],
            f"{' '.join(words).replace(s.root, '')} is listed as for a process",
            f"{listed}\n{answer}",
        )
    elsewhere = call(s, "show", s.path("secret/key"), writable=[], **grant)
    check(s.path("secret/key") in elsewhere.denied("read"), "and where the module starts nowhere", elsewhere)
    directory = call(s, "list", s.path("secret"), **grant)
    check(s.path("secret") in directory.denied("read"), "a directory, too", directory)
    quiet = call(s, "show", "etc/absent", **grant)
    check(
        quiet.status == "failed"
        and not call(s, "show", "absent", **grant).denials
        and not call(s, "show", "src/absent", **grant).denials,
        "an absent file is not a denial",
        quiet,
    )
    check(
        call(s, "show", s.path("secret/key")).denials == [],
        "paths are listed where the policy asks for it",
        answer,
    )


def hostile(s):
    """What waits in a granted directory for who opens it."""
    install(s)
    s.write("secret", "secret")
    os.mkfifo(s.path("ws/fifo"))
    os.symlink("../secret", s.path("ws/out"))
    os.symlink("/etc/passwd", s.path("ws/absolute"))
    os.symlink("..", s.path("ws/up"))
    for name in ("fifo", "out", "absolute", "up/secret"):
        answer = call(s, "show", name, more='timeout = "10s"')
        check(
            answer.status == "failed" and answer.code == 1 and answer.out == "",
            f"{name} is not opened",
            answer,
        )
    answer = call(s, "put", "out", "changed")
    check(
        answer.status == "failed" and s.read("secret") == b"secret",
        "nothing is written through a link",
        answer,
    )


def ends(s):
    install(s)
    check(call(s, "exit", "7").code == 7, "an exit code arrives")
    check(call(s, "exit", "256").code == 255, "one that no process can have is not success")
    keeps_its_bounds(s, call)
    answer = call(s, "spin", more='cpu_time = "500ms"\ntimeout = "20s"')
    check(
        500 <= answer.usage["cpu_ms"] < 560,
        "and the guest ends when it is spent, not when somebody looks",
        answer,
    )
    answer = call(s, "spin", more='cpu_time = "500ms"\ntimeout = "20s"\npids = 1')
    check(
        answer.status == "limit" and answer.limit == "cpu_time",
        "a worker that may have no thread is watched from outside",
        answer,
    )


def words(s):
    install(s)
    answer = call(s, "echo", "--engine", "/x", "--", "a b", "")
    check(answer.out == "--engine\n/x\n--\na b\n\n", "the module's words are its own", answer)
    answer = call(s, "env", more='env = { set = { A = "b", LD_PRELOAD = "/x.so" } }')
    check(
        "A=b\n" in answer.out and "LD_PRELOAD=/x.so\n" in answer.out and answer.stderr["text"] == "",
        "its environment is what the policy says, and not the engine's",
        answer,
    )
    check(call(s, "show", "-", stdin=b"input").out == "input", "standard input arrives")


def pins(s):
    install(s)
    digest = hashlib.sha256(open(place(s), "rb").read()).hexdigest()
    answer = call(s, "echo", "x", module=f"{place(s)}@sha256:{digest}")
    check(answer.out == "x\n", "a module with its digest runs", answer)
    answer = call(s, "echo", "x", module=f"{place(s)}@sha256:{'0' * 64}")
    check(
        answer.code == 126 and answer.out == "" and digest in answer.stderr["text"],
        "another one does not, and its digest is told",
        answer,
    )
    answer = call(s, "echo", "x", module=f"{place(s)}@sha256:12")
    check(
        answer.code == 125 and answer.error["code"] == "policy",
        "half a digest is an error of the policy",
        answer,
    )


def malformed(s):
    install(s)
    good = open(place(s), "rb").read()
    cases = {
        "empty": b"",
        "text": b"#!/bin/sh\n",
        "head": good[:8],
        "cut": good[:-100],
        "flipped": good[:200] + bytes([good[200] ^ 255]) + good[201:],
        "elf": open("/bin/true", "rb").read(),
    }
    # (module (memory 65536) (func (export "_start"))), and one whose start function never ends
    cases["huge"] = bytes.fromhex(
        "0061736d010000000104016000000302010005050100808004070a01065f737461727400000a040102000b"
    )
    cases["start"] = bytes.fromhex("0061736d01000000010401600000030201000801000a0901070003400c000b0b")
    cases["import"] = IMPORT
    for name, data in cases.items():
        answer = call(s, "echo", "x", module=s.write(f"{name}.wasm", data), more='timeout = "3s"')
        wanted = "timeout" if name == "start" else "failed"
        check(answer.status == wanted and answer.out == "", f"a module that is {name} does not run", answer)
    answer = call(s, "echo", "x", module=s.path("huge.wasm"))
    check(
        "exceeds memory limits" in answer.stderr["text"],
        "four gigabytes of memory are refused for their size",
        answer,
    )
    answer = call(s, "echo", "x", module=s.path("import.wasm"))
    check("env::system" in answer.stderr["text"], "the import that is missing is named", answer)


def compiled(s):
    """What was compiled ahead is loaded; what was changed since is not, and the call goes on without."""
    install(s)
    module = place(s)
    done = verb(s, "wasm", "compile", module)
    check(done.returncode == 0, "toolcage wasm compile", done)
    code = max(
        glob.glob(os.path.join(s.environ["XDG_STATE_HOME"], "toolcage/wasm/*.cwasm")), key=os.path.getmtime
    )
    record = max(
        glob.glob(os.path.join(s.environ["XDG_STATE_HOME"], "toolcage/wasm/*.record")), key=os.path.getmtime
    )
    check(call(s, "echo", "x").out == "x\n", "it runs from what was compiled")
    good, words = open(code, "rb").read(), open(record, "rb").read()
    middle = good.index(b"\x55", len(good) // 2)
    cases = {
        "code": (code, good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :], good),
        "cut code": (code, good[:-1], good),
        "record": (record, words[:80] + bytes([words[80] ^ 1]) + words[81:], words),
        "no record": (record, b"", words),
    }
    for name, (path, changed, before) in cases.items():
        write_over(path, changed)
        answer = call(s, "echo", "x")
        check(
            answer.out == "x\n" and answer.status == "ok",
            f"changed {name} is not loaded, and the module runs",
            answer,
        )
        write_over(path, before)
    # the proof that a fitting record is believed: with the user's own key one is made for something else
    key = open(os.path.join(os.path.dirname(code), "key"), "rb").read()
    module_digest, other = (
        "sha256:" + hashlib.sha256(open(module, "rb").read()).hexdigest(),
        hashlib.sha256(b"other").hexdigest(),
    )
    text = f"toolcage-wasm 1\nwasmtime 50.0.1 settings 2\n{module_digest}\nsha256:{other}\n".encode()
    write_over(record, f"sha256:{other}\nsha256:{hmac.new(key, text, 'sha256').hexdigest()}\n".encode())
    with open(os.path.join(os.path.dirname(code), f"{other}.cwasm"), "wb") as file:
        file.write(b"other")
    answer = call(s, "echo", "x")
    check(answer.code == 126 and answer.out == "", "code under a record that fits is what runs", answer)
    write_over(record, words)
    os.chmod(code, 0o666)
    check(call(s, "echo", "x").out == "x\n", "an engine that others could write is not loaded")
    shown = verb(s, "wasm", "inspect", module)
    check(
        shown.returncode == 0 and b"yes  wasi_snapshot_preview1 fd_write" in shown.stdout,
        "toolcage wasm inspect lists imports",
        shown,
    )
    bad = verb(s, "wasm", "inspect", s.write("import.wasm", IMPORT))
    check(
        bad.returncode == 1 and b"no   env system" in bad.stdout,
        "imports that are not provided are named",
        bad,
    )
    none = verb(s, "wasm", "compile", s.write("none.wasm", "none"))
    check(
        none.returncode == 125
        and b"not a module that can be run: it does not start as WebAssembly" in none.stderr,
        "a file that is not a module is not compiled",
        none,
    )


def reactor(start, init=bytes.fromhex("4100"), argument="7f"):
    """What QuickJS's reactor exports: malloc answers with what this code says, and so does what takes the words."""

    def section(number, body):
        return bytes([number, len(body)]) + body

    def body(code):
        return bytes([len(code) + 2, 0]) + code + b"\x0b"

    def export(name, kind, index):
        return bytes([len(name)]) + name.encode() + bytes([kind, index])

    types = bytes.fromhex(f"036000006001{argument}01{argument}60027f7f017f")
    exports = (
        b"\4"
        + export("_initialize", 0, 0)
        + export("malloc", 0, 1)
        + export("qjs_init_argv", 0, 2)
        + export("memory", 2, 0)
    )
    return (
        b"\0asm\1\0\0\0"
        + section(1, types)
        + section(3, b"\3\0\1\2")
        + section(5, b"\1\0\1")
        + section(7, exports)
        + section(10, b"\3" + body(b"") + body(start) + body(init))
    )


def reactors(s):
    """A library for one script is handed its words where it says, as long as that is in its own memory."""
    install(s)
    for name, data, code, words in (
        ("fine.wasm", reactor(bytes.fromhex("418008")), 0, ""),
        ("failing.wasm", reactor(bytes.fromhex("418008"), bytes.fromhex("4101")), 1, ""),
        ("none.wasm", reactor(bytes.fromhex("4100")), 126, "no memory for its arguments"),
        ("end.wasm", reactor(bytes.fromhex("41ffff03")), 126, "no memory for its arguments"),
        ("far.wasm", reactor(bytes.fromhex("417f")), 126, "no memory for its arguments"),
        ("wide.wasm", reactor(bytes.fromhex("428008"), argument="7e"), 134, "type mismatch"),
        ("trap.wasm", reactor(bytes.fromhex("00")), 134, "unreachable"),
    ):
        answer = call(s, "word", module=s.write(name, data))
        check(
            answer.exit_code == code and words in answer.stderr["text"], f"{name}: exit code {code}", answer
        )


def write_over(path, data):
    with open(path, "wb") as file:
        file.write(data)


def refused(s):
    """What a module can make nothing of is refused by name, before anything runs."""
    install(s)
    for more, network, subject in (
        ("", '["api.example.com:443"]', "net.allow"),
        ('unix_sockets = "own"', '"none"', "unix_sockets"),
        ('syscalls = { allow = ["ptrace"] }', '"none"', "syscalls"),
    ):
        answer = call(s, "echo", "x", network=network, more=more)
        check(
            answer.status == "denied"
            and answer.error["code"] == "unenforceable"
            and answer.error["subject"] == subject,
            f"{subject} is refused",
            answer,
        )
    answer = call(s, "echo", "x", readable=['{ path = "/etc/toolcage", from = "/usr" }'])
    check(answer.status == "denied", "no grant lies over what runs the module", answer)


if not glob.glob(os.path.join(WHEELS, "wasmtime-*.whl")):
    skip_all("the engine is not here: tools/clients fetches it")
if not os.path.exists(GUEST):
    skip_all("no modules can be made here: tools/deps test installs what compiles them")
run(
    first_example,
    files,
    named,
    denials,
    hostile,
    ends,
    words,
    pins,
    malformed,
    reactors,
    compiled,
    refused,
    last,
)
