#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The tools of the catalog, each from one line of a policy and called as a model calls it.

usage: catalog.py TOOLCAGE [self | ordinary] CATALOG WHEELS"""

import glob
import hashlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process"))

from installed import put_engine, verb  # noqa: E402
from scene import TOOLCAGE, Answer, check, run, skip_all  # noqa: E402

CATALOG, WHEELS = map(os.path.abspath, sys.argv[3:5])
NAMES = ["csv_summary", "file_edit", "grep", "hash", "json_query", "markdown_text", "text_diff"]
SCRIPTS = ["js", "python"]  # which are not built: see scripts.py


def install(s):
    if not glob.glob(os.path.join(WHEELS, "wasmtime-*.whl")):
        skip_all("the engine is not here: tools/clients fetches it")
    if not os.path.isdir(CATALOG) or not glob.glob(f"{CATALOG}/*.wasm"):
        skip_all("no modules can be made here: tools/deps test installs what compiles them")
    s.environ["XDG_STATE_HOME"] = s.path("state")
    put_engine(s)
    s.lines = s.write(
        "catalog.toml", "".join(f'[tool.{name}]\nmodule = "catalog:{name}"\n' for name in NAMES)
    )


def records(s):
    return set(glob.glob(s.path("state/toolcage/wasm/*.record")))


def record_of(s, name):
    with open(f"{CATALOG}/{name}.wasm", "rb") as module:
        return s.path(f"state/toolcage/wasm/{hashlib.sha256(module.read()).hexdigest()}.record")


def call(s, name, policy=None, **arguments):
    done = subprocess.run(
        [TOOLCAGE, "call", "--policy", policy or s.lines, "--json", name, json.dumps(arguments)],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        timeout=60,
        check=False,
    )
    answer = Answer(done.returncode, done.stdout, done.stderr)
    check(answer.backend in ("wasm", None), f"{name} is a module's call", answer)
    return answer


def said(answer):
    return answer.stderr["text"]


def edits(s):
    install(s)
    s.write("ws/f", "a\nb\nc\n")
    answer = call(s, "file_edit", path="/workspace/f", action="replace", old="b", new="B\nb")
    check(answer.status == "ok" and s.read("ws/f") == b"a\nB\nb\nc\n", "file_edit replaces", answer)
    answer = call(s, "file_edit", path="/workspace/f", action="replace", old="x", new="y")
    check(answer.code == 1 and "does not occur" in said(answer), "an absent text is an error", answer)
    s.write("ws/g", "x x\n")
    answer = call(s, "file_edit", path="/workspace/g", action="replace", old="x", new="y")
    check(
        answer.code == 1 and "more than once" in said(answer) and s.read("ws/g") == b"x x\n",
        "an ambiguous text is not replaced",
        answer,
    )
    answer = call(s, "file_edit", path="/workspace/g", action="replace", old="x", new="y", all=True)
    check(answer.status == "ok" and s.read("ws/g") == b"y y\n", "unless it is wanted", answer)
    answer = call(s, "file_edit", path="/workspace/f", action="insert", line=1, text="new")
    check(answer.status == "ok" and s.read("ws/f") == b"a\nnew\nB\nb\nc\n", "file_edit inserts", answer)
    answer = call(s, "file_edit", path="/workspace/f", action="insert", line=9, text="new")
    check(answer.code == 1 and "5 lines" in said(answer), "behind a line that is there", answer)
    diff = "--- a/f\n+++ b/f\n@@ -7,3 +7,3 @@\n new\n-B\n+C\n b\n"
    answer = call(s, "file_edit", path="/workspace/f", action="patch", diff=diff)
    check(
        answer.status == "ok" and s.read("ws/f") == b"a\nnew\nC\nb\nc\n",
        "file_edit applies a diff whose numbers are off",
        answer,
    )
    answer = call(s, "file_edit", path="/workspace/f", action="patch", diff=diff)
    check(answer.code == 1 and "hunk 1 fits nowhere" in said(answer), "once", answer)
    two = diff.replace("-B\n+C", "-C\n+D") + "@@ -9 +9 @@\n-absent\n+x\n"
    answer = call(s, "file_edit", path="/workspace/f", action="patch", diff=two)
    check(answer.code == 1 and s.read("ws/f") == b"a\nnew\nC\nb\nc\n", "and all of it or nothing", answer)


def bounds(s):
    """The grant of a call is the path that it names, and only within the bound."""
    install(s)
    s.write("ws/f", "a\n")
    s.write("secret/key", "secret\n")
    os.symlink("../secret/key", s.path("ws/link"))
    for path in (s.path("secret/key"), "/workspace/../secret/key", "/etc/passwd"):
        answer = call(s, "grep", paths=[path], pattern=".")
        check(
            answer.status == "denied" and answer.error["subject"] == "arguments.paths",
            f"{path.replace(s.root, '')} is refused",
            answer,
        )
    answer = call(s, "grep", paths=["/workspace/link"], pattern=".")
    check(answer.out.find("secret") < 0 and answer.status != "ok", "a link leads nowhere", answer)
    answer = call(s, "file_edit", path="/workspace/f", action="write")
    check(
        answer.status == "denied" and answer.error["subject"] == "arguments.action",
        "an action that there is not is refused",
        answer,
    )
    answer = call(s, "hash", paths=["/workspace/f"], more=1)
    check(answer.status == "denied", "and an argument that there is not", answer)
    own = s.write(
        "own.toml",
        '[tool.edit]\nmodule = "catalog:file_edit"\narguments.path = { type = "string", read = ["/workspace"] }\n'
        'arguments.action = { const = "replace" }\narguments.old = { type = "string" }\narguments.new = { type = "string" }\n'
        'command = ["edit"]\nstdin = "{*}"\n',
    )
    answer = call(s, "edit", own, path="/workspace/f", action="replace", old="a", new="b")
    check(
        answer.code == 1 and s.read("ws/f") == b"a\n",
        "arguments of the policy's own go before: here nothing is written",
        answer,
    )


def reads(s):
    install(s)
    s.write("ws/src/a.c", "int main(void)\n{\n    return 0;\n}\n")
    s.write("ws/src/.hidden", "return\n")
    s.write("ws/src/b.bin", b"return\0\n")
    answer = call(s, "grep", paths=["/workspace/src"], pattern="^ +return [0-9];$")
    check(answer.out == "/workspace/src/a.c:3:    return 0;\n", "grep finds", answer)
    answer = call(s, "grep", paths=["/workspace/src"], pattern="MAIN(", fixed=True, ignore_case=True)
    check(answer.out == "/workspace/src/a.c:1:int main(void)\n", "a text in any case", answer)
    answer = call(s, "grep", paths=["/workspace/src"], pattern="(")
    check(answer.code == 1 and "regular expression" in said(answer), "a pattern that is none is told", answer)
    s.write("ws/d.json", '{"items": [{"name": "x", "n": 1e3}, {"name": "\\u00e4/b"}], "a/b": null}')
    answer = call(s, "json_query", path="/workspace/d.json", query="/items/*/name")
    check(answer.out == '"x"\n"\u00e4/b"\n', "json_query finds", answer)
    answer = call(s, "json_query", path="/workspace/d.json", query="/a~1b")
    check(answer.out == "null\n", "by a pointer with a slash in a name", answer)
    answer = call(s, "json_query", path="/workspace/d.json", action="format")
    check(
        json.loads(answer.out) == json.loads(s.read("ws/d.json"))
        and '\n  "items": [\n' in answer.out
        and "1e3" in answer.out,
        "and formats",
        answer,
    )
    s.write("ws/bad.json", '{"a": 1,\n}')
    answer = call(s, "json_query", path="/workspace/bad.json")
    check(answer.code == 1 and "line 2" in said(answer), "invalid JSON is an error with its line", answer)
    s.write("ws/deep.json", "[" * 100000)
    answer = call(s, "json_query", path="/workspace/deep.json")
    check(answer.code == 1 and "too deep" in said(answer), "and one without a bottom", answer)
    s.write("ws/t.csv", 'name,age,"a ""b"""\nbob,3,\nal,4.5,"x,\ny"\n')
    answer = call(s, "csv_summary", path="/workspace/t.csv")
    found = json.loads(answer.out)
    check(
        found["rows"] == 2
        and [c["name"] for c in found["columns"]] == ["name", "age", 'a "b"']
        and found["columns"][1]["mean"] == 3.75
        and found["columns"][2]["first"] == "x,\ny",
        "csv_summary counts",
        answer,
    )
    s.write("ws/h", b"\0" * 1000)
    answer = call(s, "hash", paths=["/workspace/h"])
    check(answer.out == f"{hashlib.sha256(bytes(1000)).hexdigest()}  1000  /workspace/h\n", "hash", answer)
    s.write(
        "ws/m.md",
        "# Title\n\nSome *bold* [link](http://example.com) `a*b` snake_case\n\n```c\nint *x;\n```\n",
    )
    answer = call(s, "markdown_text", path="/workspace/m.md")
    check(
        answer.out == "Title\n\nSome bold link (http://example.com) a*b snake_case\n\nint *x;\n",
        "markdown_text",
        answer,
    )


def differs(s):
    """What text_diff says is what file_edit makes of it."""
    install(s)
    old = "".join(f"line {i}\n" for i in range(60))
    new = old.replace("line 7\n", "seven\n").replace("line 30\n", "").replace("line 50\n", "line 50\nmore\n")
    s.write("ws/old", old)
    s.write("ws/new", new)
    answer = call(s, "text_diff", **{"from": "/workspace/old", "to": "/workspace/new"})
    check(
        answer.status == "ok" and answer.out.count("\n@@ ") == 3 and "\n-line 7\n+seven\n" in answer.out,
        "text_diff",
        answer,
    )
    done = call(s, "file_edit", path="/workspace/old", action="patch", diff=answer.out)
    check(done.status == "ok" and s.read("ws/old") == new.encode(), "its diff applies", done)
    answer = call(s, "text_diff", **{"from": "/workspace/old", "to": "/workspace/new"})
    check(answer.out == "the files are the same\n", "then nothing differs", answer)


def listed(s):
    install(s)
    done = verb(s, "wasm", "list")
    check(
        done.returncode == 0
        and [line.split()[0] for line in done.stdout.decode().splitlines()]
        == [f"catalog:{name}" for name in NAMES + SCRIPTS],
        "toolcage wasm list names them",
        done,
    )
    shown = verb(s, "wasm", "list", "hash")
    check(b"arguments.paths" in shown.stdout, "and shows what one line stands for", shown)
    absent = verb(s, "wasm", "list", "nothing")
    check(
        absent.returncode == 125 and b"no nothing in the catalog" in absent.stderr,
        "one that there is not is told",
        absent,
    )
    wrong = verb(s, "policy", "check", s.write("wrong.toml", '[tool.x]\nmodule = "catalog:../../tmp/x"\n'))
    check(
        wrong.returncode and b"not in the catalog" in wrong.stdout + wrong.stderr,
        "nothing else is in the catalog",
        wrong,
    )
    kept = records(s)
    check(kept == {record_of(s, name) for name in NAMES}, "the install has compiled all of it", sorted(kept))
    os.unlink(record_of(s, "hash"))
    done = verb(s, "wasm", "compile", "catalog:hash")
    s.write("ws/h", "x")
    check(
        done.returncode == 0
        and records(s) == kept
        and call(s, "hash", paths=["/workspace/h"]).status == "ok",
        "one is compiled ahead by its name",
        done,
    )


def uncompiled(s):
    """Where nothing can be kept of it the engine is there all the same, and each call compiles."""
    install(s)
    for path in records(s):
        os.unlink(path)
        os.mkdir(path)
    done = verb(s, "wasm", "install", *glob.glob(os.path.join(WHEELS, "wasmtime-*.whl"))[:1])
    check(
        done.returncode == 0
        and done.stderr.count(b"not precompiled") == 1
        and b"is installed" in done.stderr,
        "a module that was not precompiled is reported once",
        done,
    )
    s.write("ws/h", "x")
    answer = call(s, "hash", paths=["/workspace/h"])
    check(answer.status == "ok", "and runs", answer)


run(edits, bounds, reads, differs, listed, uncompiled)
