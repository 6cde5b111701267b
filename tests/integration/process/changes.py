#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The list of changed files of a writable directory."""
import base64
import hashlib
import time

from scene import check, run


def entry(answer, path):
    found = [change for change in answer.changes or [] if change.get("path") == path]
    return found[0] if len(found) == 1 else {}


def kinds(s):
    s.write("ws/old", "old\n")
    s.write("ws/kept", "kept\n")
    time.sleep(0.05)  # times are compared in ticks of the kernel's clock
    answer = s.shell(f"cd {s.ws}; echo more >> old; mkdir -p a/b; echo new > a/b/new; cat kept")
    new, old = entry(answer, f"{s.ws}/a/b/new"), entry(answer, f"{s.ws}/old")
    check(new.get("kind") == "added" and new.get("bytes") == 4 and new.get("sha256") == hashlib.sha256(b"new\n").hexdigest(),
          "an added file and its hash", answer)
    check(old.get("kind") == "modified" and old.get("sha256") == hashlib.sha256(b"old\nmore\n").hexdigest()
          and old.get("attribution") == "time", "a modified one", answer)
    check(not entry(answer, f"{s.ws}/kept") and s.read("ws/kept") == b"kept\n", "what was only read is not listed", answer)
    check(entry(answer, f"{s.ws}/a/b").get("kind") == "added", "new directories", answer)
    answer = s.shell(f"cd {s.ws}; chmod 600 kept")
    check(entry(answer, f"{s.ws}/kept").get("kind") == "modified", "a changed mode", answer)
    answer = s.shell(f"echo x > {s.ws}/failed; exit 2")
    check(entry(answer, f"{s.ws}/failed").get("kind") == "added", "also of a call that failed", answer)
    answer = s.shell(f"echo x > {s.ws}/late; sleep 60", more='timeout = "500ms"\ngrace = "100ms"')
    check(answer.status == "timeout" and entry(answer, f"{s.ws}/late").get("kind") == "added", "and of one that was ended", answer)


def odd_objects(s):
    s.write("secret/canary", "secret\n")
    answer = s.shell(f"cd {s.ws}; mkfifo pipe; ln -s {s.path('secret/canary')} link; ln -s {s.path('secret')} dir; echo 1 > one; ln one two")
    check(answer.status == "ok" and answer.usage["wall_ms"] < 10000, "a pipe without a writer delays nobody", answer)
    check(entry(answer, f"{s.ws}/pipe").get("kind") == "added" and not entry(answer, f"{s.ws}/pipe").get("sha256"), "a pipe", answer)
    check(not entry(answer, f"{s.ws}/link").get("sha256") and not any("canary" in change["path"] for change in answer.changes),
          "links are listed, not followed", answer)
    check(entry(answer, f"{s.ws}/one").get("links") == 2 and entry(answer, f"{s.ws}/two").get("links") == 2, "hard links are told", answer)


def hostile_names(s):
    names = [b"new\nline", b"\xff\xfe", b"n" * 255, b"tab\there", b"-rf", b"\x1b[31m", b'quote"\\', "\u202etxt.exe".encode()]
    code = f"import os\nos.chdir({s.ws!r})\nfor n in {names!r}: open(n, 'w').close()"
    answer = s.python(code)
    got = {base64.b64decode(change["path_base64"]) if "path_base64" in change else change["path"].encode()
           for change in answer.changes or []}
    want = {s.ws.encode() + b"/" + name for name in names}
    check(answer.status == "ok" and got == want, "hostile names come through", f"{want - got}\n{got - want}\n{answer}")
    check(answer.raw.count(b"\n") == 1 and answer.raw.isascii() or answer.raw.decode(), "the result is one line of valid text")
    deep = "import os\nos.chdir(%r)\nfor _ in range(300): os.mkdir('d'); os.chdir('d')\nopen('bottom','w').close()" % s.ws
    answer = s.python(deep)
    check(answer.status == "ok" and answer.omitted["changes"] >= 1 and len(answer.changes) >= 100, "a tree too deep is cut and counted",
          (answer.status, answer.omitted))


def many(s):
    code = f"import os\nos.chdir({s.ws!r})\nfor i in range(10000): open(str(i), 'w').close()"
    answer = s.python(code, more='timeout = "40s"')
    count = len(answer.changes or [])
    check(answer.status == "ok" and count + answer.omitted["changes"] == 10000 and count > 100, "10,000 files", (count, answer.omitted))


def collected(s):
    answer = s.shell(f"cd {s.ws}; mkdir d; echo a > a.csv; echo b > d/b.csv; echo c > c.txt", more='collect = ["*.csv"]')
    got = {file["path"]: file.get("sha256") or file for file in answer.files or []}
    check(set(got) == {f"{s.ws}/a.csv", f"{s.ws}/d/b.csv"}, "files that match `collect`", answer)


def places(s):
    """Changes are told as the tool sees the paths, and a single granted file is a change, too."""
    single = s.write("single", "old\n")
    time.sleep(0.05)
    answer = s.shell("echo x > /out/new; echo more >> /in/file", writable=['{ path = "/out", from = "%s" }' % s.ws,
                                                                      '{ path = "/in/file", from = "%s" }' % single])
    check(answer.kinds == {"/out/new": "added", "/in/file": "modified"} and s.read("single") == b"old\nmore\n", "other paths inside", answer)
    answer = s.shell("true", writable=[s.ws])
    check(answer.changes == [], "no change, no entry", answer)


run(kinds, odd_objects, hostile_names, many, collected, places)
