#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The list of changed files of a bind, by the times of files; overlay.py has that of an overlay."""

import base64
import hashlib
import itertools
import os
import shutil
import subprocess
import threading
import time

from scene import PATIENCE, PAUSE, Scene, check, finish, run, skip

Scene.mode = "bind"


def entry(answer, path):
    found = [change for change in answer.changes or [] if change.get("path") == path]
    return found[0] if len(found) == 1 else {}


def kinds(s):
    s.write("ws/old", "old\n")
    s.write("ws/kept", "kept\n")
    time.sleep(0.05)  # times are compared in ticks of the kernel's clock
    answer = s.shell(f"cd {s.ws}; echo more >> old; mkdir -p a/b; echo new > a/b/new; cat kept")
    new, old = entry(answer, f"{s.ws}/a/b/new"), entry(answer, f"{s.ws}/old")
    check(
        new.get("kind") == "added"
        and new.get("bytes") == 4
        and new.get("sha256") == hashlib.sha256(b"new\n").hexdigest(),
        "an added file and its hash",
        answer,
    )
    check(
        old.get("kind") == "modified"
        and old.get("sha256") == hashlib.sha256(b"old\nmore\n").hexdigest()
        and old.get("attribution") == "time",
        "a modified one",
        answer,
    )
    check(
        not entry(answer, f"{s.ws}/kept") and s.read("ws/kept") == b"kept\n",
        "a file that was only read is not listed",
        answer,
    )
    check(entry(answer, f"{s.ws}/a/b").get("kind") == "added", "new directories", answer)
    answer = s.shell(f"cd {s.ws}; chmod 600 kept")
    check(entry(answer, f"{s.ws}/kept").get("kind") == "modified", "a changed mode", answer)
    answer = s.shell(f"echo x > {s.ws}/failed; exit 2")
    check(entry(answer, f"{s.ws}/failed").get("kind") == "added", "also of a call that failed", answer)
    answer = s.shell(f"echo x > {s.ws}/late; sleep 60", more='timeout = "500ms"\ngrace = "100ms"')
    check(
        answer.status == "timeout" and entry(answer, f"{s.ws}/late").get("kind") == "added",
        "and of one that was ended",
        answer,
    )


def odd_objects(s):
    s.write("secret/canary", "secret\n")
    answer = s.shell(
        f"cd {s.ws}; mkfifo pipe; ln -s {s.path('secret/canary')} link; ln -s {s.path('secret')} dir; echo 1 > one; ln one two"
    )
    check(
        answer.status == "ok" and answer.usage["wall_ms"] < 10000,
        "a pipe without a writer delays nobody",
        answer,
    )
    check(
        entry(answer, f"{s.ws}/pipe").get("kind") == "added"
        and not entry(answer, f"{s.ws}/pipe").get("sha256"),
        "a pipe",
        answer,
    )
    check(
        not entry(answer, f"{s.ws}/link").get("sha256")
        and not any("canary" in change["path"] for change in answer.changes),
        "links are listed, not followed",
        answer,
    )
    check(
        entry(answer, f"{s.ws}/one").get("links") == 2 and entry(answer, f"{s.ws}/two").get("links") == 2,
        "hard links are told",
        answer,
    )


def hostile_names(s):
    names = [
        b"new\nline",
        b"\xff\xfe",
        b"n" * 255,
        b"tab\there",
        b"-rf",
        b"\x1b[31m",
        b'quote"\\',
        "\u202etxt.exe".encode(),
    ]
    code = f"import os\nos.chdir({s.ws!r})\nfor n in {names!r}: open(n, 'w').close()"
    answer = s.python(code)
    got = {
        base64.b64decode(change["path_base64"]) if "path_base64" in change else change["path"].encode()
        for change in answer.changes or []
    }
    want = {s.ws.encode() + b"/" + name for name in names}
    check(
        answer.status == "ok" and got == want,
        "hostile names come through",
        f"{want - got}\n{got - want}\n{answer}",
    )
    check(
        answer.raw.count(b"\n") == 1 and answer.raw.isascii() or answer.raw.decode(),
        "the result is one line of valid text",
    )
    deep = (
        "import os\nos.chdir(%r)\nfor _ in range(600): os.mkdir('d'); os.chdir('d')\nopen('bottom','w').close()"
        % s.ws
    )
    answer = s.python(deep)
    check(
        answer.status == "ok" and answer.omitted["changes"] >= 1 and len(answer.changes) >= 100,
        "a tree too deep is cut and counted",
        (answer.status, answer.omitted),
    )


def many(s):
    code = f"import os\nos.chdir({s.ws!r})\nfor i in range(10000): open(str(i), 'w').close()"
    answer = s.python(code, more='timeout = "40s"')
    count = len(answer.changes or [])
    check(
        answer.status == "ok" and count + answer.omitted["changes"] == 10000 and count > 100,
        "10,000 files",
        (count, answer.omitted),
    )


KIB = 1024
CSV = 'collect = ["*.csv"]\n'


def files_of(answer):
    """The content of each collected file by its name; None: it was left out. What is there agrees with digest and size."""
    found = {}
    for file in answer.files or []:
        path = base64.b64decode(file["path_base64"]) if "path_base64" in file else file["path"].encode()
        content = base64.b64decode(file["base64"]) if "base64" in file else file["text"]
        content = content.encode() if isinstance(content, str) else content
        good = content is None or (
            hashlib.sha256(content).hexdigest() == file["sha256"] and len(content) == file["bytes"]
        )
        found[os.path.basename(path)] = content if good else "wrong"
    return found


def collected(s):
    answer = s.shell(f"cd {s.ws}; mkdir d; echo a > a.csv; echo b > d/b.csv; echo c > c.txt", more=CSV)
    got = {file["path"]: file.get("text") for file in answer.files or []}
    check(got == {f"{s.ws}/a.csv": "a\n", f"{s.ws}/d/b.csv": "b\n"}, "files that match `collect`", answer)
    answer = s.shell(f"echo x > {s.ws}/a.csv; exit 3", more=CSV)
    check(
        answer.status == "failed" and files_of(answer) == {b"a.csv": b"x\n"},
        "also of a call that failed",
        answer,
    )
    answer = s.shell(f"echo x > {s.ws}/a.csv")
    check(answer.files == [], "and none where nothing is collected", answer)


def contents(s):
    want = {
        b"text.csv": '\u00e4\n\0"\\'.encode(),
        b"bytes.csv": b"a\xff\0",
        b"empty.csv": b"",
        b"\xff\n.csv": b"name\n",
        b"most.csv": b"m" * 256 * KIB,
        b"more.csv": b"m" * (256 * KIB + 1),
    }
    code = f"import os\nos.chdir({s.ws!r})\n"
    code += (
        "for name, content, count in %r:\n    with open(name, 'wb') as out: out.write(content * count)\n"
        % [
            (name, content[:1], len(content)) if len(content) > KIB else (name, content, 1)
            for name, content in want.items()
        ]
    )
    answer = s.python(code, more=CSV)
    check(
        files_of(answer) == {**want, b"more.csv": None},
        "text, bytes, nothing, and up to 256 KiB",
        {name: content and content[:20] for name, content in files_of(answer).items()},
    )
    rows = {os.path.basename(file.get("path", "?")): file for file in answer.files}
    check(
        "text" in rows["empty.csv"] and "base64" in rows["bytes.csv"] and "text" not in rows["bytes.csv"],
        "contents are given as text or base64",
        rows.keys(),
    )
    check(
        rows["more.csv"]["bytes"] == 256 * KIB + 1
        and rows["more.csv"]["sha256"] == hashlib.sha256(want[b"more.csv"]).hexdigest()
        and rows["more.csv"]["text"] is None,
        "an omitted file has its size and digest",
        rows["more.csv"],
    )


def total(s):
    code = f"import os\nos.chdir({s.ws!r})\nfor i in range(7): open(f'{{i}}.csv', 'w').write(str(i) * {200 * KIB})"
    got = files_of(s.python(code, more=CSV))
    check(
        len(got) == 7
        and sum(content is not None for content in got.values()) == 5
        and "wrong" not in got.values(),
        "1 MiB in all, in whole files",
        {name: content and len(content) for name, content in got.items()},
    )
    code = f"import os\nos.chdir({s.ws!r})\nfor i in range(4): open(f'{{i}}.csv', 'wb').write(b'x' * {256 * KIB})\nfor i in range(3): open(f'e{{i}}.csv', 'w')"
    s.shell(f"rm {s.ws}/*")
    got = files_of(s.python(code, more=CSV))
    check(
        len(got) == 7 and None not in got.values() and "wrong" not in got.values(),
        "exactly 1 MiB, and empty ones beside it",
        {name: content and len(content) for name, content in got.items()},
    )


def no_files(s):
    """What is called as a file to collect, and is none; and what takes no room on the disk and an hour to read."""
    s.write("secret/canary", "secret\n")
    answer = s.shell(
        f"cd {s.ws}; mkfifo pipe.csv; ln -s {s.path('secret/canary')} link.csv; ln -s one.csv near.csv; mkdir dir.csv; echo 1 > one.csv",
        more=CSV,
    )
    check(
        answer.status == "ok" and files_of(answer) == {b"one.csv": b"1\n"},
        "pipes, links and directories are not collected",
        answer,
    )
    answer = s.shell(
        f"cd {s.ws}; rm -r *; truncate -s 1T giant.csv; truncate -s 64M large.csv; echo 1 > one.csv", more=CSV
    )
    rows = {os.path.basename(file["path"]): file for file in answer.files or []}
    check(
        answer.status == "ok"
        and answer.usage["wall_ms"] < 20000 * PATIENCE
        and files_of(answer) == {b"giant.csv": None, b"large.csv": None, b"one.csv": b"1\n"}
        and rows["giant.csv"]["bytes"] == 1 << 40
        and rows["giant.csv"]["sha256"] is None
        and rows["large.csv"]["sha256"],
        "nor are giants read",
        answer,
    )
    s.shell(f"rm {s.ws}/*")


def apart(s):
    """In a private workspace the content is that of the private file, whether it comes back or not."""
    for mode in ("copy", "overlay"):
        for commit, comes in (("always", True), ("never", False)):
            s.write("ws/a.csv", "old\n")
            more = CSV + f'workspace = {{ mode = "{mode}", commit = "{commit}" }}\n'
            answer = s.shell(
                f"cd {s.ws}; echo new >> a.csv; mkdir -p d; echo x > d/b.csv; mkfifo c.csv; ln -s a.csv e.csv",
                more=more,
            )
            if (answer.error or {}).get("stage") == "overlay":
                skip(mode, answer.error["message"])
                continue
            check(
                files_of(answer) == {b"a.csv": b"old\nnew\n", b"b.csv": b"x\n"},
                f"{mode}, commit = {commit}",
                answer,
            )
            check(
                (s.read("ws/a.csv") == b"old\nnew\n") == comes,
                f"{mode}, commit = {commit}: the host",
                s.read("ws/a.csv"),
            )
            subprocess.run(["/bin/rm", "-rf", s.path("ws/d"), s.path("ws/e.csv")], check=True)


def not_the_tools(s):
    """A bind is compared by time. What others change meanwhile in places that the tool does not see is not shown to it."""
    s.write("ws/denied.csv", "secret\n")
    s.write("ws/under/hidden.csv", "secret\n")
    s.write("over/seen.csv", "seen\n")
    s.write("ws/one.csv", "old\n")
    call = s.begin(
        f"cd {s.ws}; echo 1 > a.csv; echo new > one.csv; {PAUSE}",
        more=CSV,
        denied=[f"{s.ws}/denied.csv"],
        writable=[s.ws, f"{s.ws}/one.csv"],
        readable=['{ path = "%s/under", from = "%s" }' % (s.ws, s.path("over"))],
    )
    for name in ("ws/denied.csv", "ws/under/hidden.csv"):
        with open(s.path(name), "a", encoding="utf-8") as out:
            out.write("more\n")
    answer = finish(call)
    check(
        files_of(answer) == {b"a.csv": b"1\n", b"one.csv": b"new\n"} and b"secret" not in answer.raw,
        "denied and covered files are not collected",
        answer,
    )
    s.write("ws/d/secret/host.csv", "secret\n")
    s.write("ws/d/single.csv", "secret\n")
    call = s.begin(
        f"cd {s.ws}; mv d e; {PAUSE}", more=CSV, denied=[f"{s.ws}/d/secret", f"{s.ws}/d/single.csv"]
    )
    for name in ("ws/d/secret/host.csv", "ws/d/single.csv"):
        with open(s.path(name), "a", encoding="utf-8") as out:
            out.write("more\n")
    answer = finish(call)
    check(
        answer.files == [] and b"secret\\n" not in answer.raw,
        "nor what the tool would have moved to another name",
        answer,
    )


def changed_meanwhile(s):
    """The host writes to a file while it is read: digest and content are of the same bytes all the same."""
    s.write("ws/busy.csv", "0" * 200 * KIB)
    stop = threading.Event()

    def write():
        for count in itertools.count():
            if stop.is_set():
                return
            with open(s.path("ws/busy.csv"), "r+b") as out:
                out.write(b"%d" % (count % 10) * 200 * KIB)
                out.truncate((100 + count % 200) * KIB)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        got = [files_of(s.shell(f"touch {s.ws}/busy.csv", more=CSV)) for _ in range(8)]
    finally:
        stop.set()
        thread.join()
    check(
        all(list(one) == [b"busy.csv"] and one[b"busy.csv"] != "wrong" for one in got),
        "a file that is written to meanwhile",
        [{name: content and content[:20] for name, content in one.items()} for one in got],
    )


def directories(s):
    """What happens to a directory and not to what it holds."""
    for name in ("ws/one/a", "ws/two/b", "ws/deep/er/c", "ws/deep/d", "ws/kept/e"):
        s.write(name, "x\n")
    cases = [
        ("two that are swapped", "mv one x; mv two one; mv x two", {"one", "two"}),
        ("one that is renamed", "mv one uno; mv uno one", {"one"}),
        ("a mode", "chmod 700 deep/er", {"deep/er"}),
        ("the mode of the workspace", "chmod 777 .", {""}),
        ("a file that goes", "rm deep/er/c", {"deep/er"}),
        ("one that comes", "echo > deep/er/new", {"deep/er/new"}),
        ("a directory that goes", "rm -r deep/er", {"deep"}),
        ("one that comes there", "mkdir deep/new", {"deep/new"}),
        ("nothing but reading", "cat */*; ls -lR", set()),
    ]
    if shutil.which("setfacl"):
        cases.append(("a default list of rights", "setfacl -d -m u:65533:rwx deep", {"deep"}))
    time.sleep(0.05)
    for name, script, want in cases:
        answer = s.shell(f"cd {s.ws}; {script}")
        time.sleep(0.02)
        got = {os.path.relpath(change["path"], s.ws).removeprefix(".") for change in answer.changes}
        check(
            got == want and answer.omitted["changes"] == 0,
            f"directories: {name}",
            f"{got} is not {want}: {answer}",
        )


def steering(s):
    """What steers the host is listed by its name where it did not stand before, and where it did nothing is."""
    for name in ("ws/.vscode/settings.json", "ws/sub/.envrc", "ws/plain/x"):
        s.write(name, "x\n")
    subprocess.run(["git", "init", "-q", s.ws], check=True, env=s.environ)
    time.sleep(0.05)
    answer = s.shell(f"cd {s.ws}; cat .vscode/*; ls -la . sub; true")
    check(answer.changes == [], "files that were there are not listed", answer)
    answer = s.shell(f"cd {s.ws}; git add plain; git -c user.name=a -c user.email=b commit -qm one; true")
    check(
        answer.changes
        and not [
            change
            for change in answer.changes
            if change.get("steers_host") and not change["path"].endswith(("/HEAD", "/.git/index"))
        ],
        "nor does a commit steer",
        answer,
    )
    answer = s.shell(f"cd {s.ws}; mv plain .idea; true")
    told = {
        os.path.relpath(change["path"], s.ws): (change["kind"], change.get("steers_host"))
        for change in answer.changes
    }
    check(
        told == {".idea": ("added", True), ".idea/x": ("added", True)},
        "a directory moved there is listed, with all below",
        answer,
    )
    answer = s.shell(
        f"cd {s.ws}; mkdir many; cd many; for i in $(seq 10020); do : > $i; done; echo > ../sub/.bashrc"
    )
    steers = [change["path"] for change in answer.changes if change.get("steers_host")]
    check(
        steers == [f"{s.ws}/sub/.bashrc"]
        and len(answer.changes) == 10001
        and answer.omitted["changes"] == 21,
        "however much else there is",
        answer.omitted,
    )


def places(s):
    """Changes are told as the tool sees the paths, and a single granted file is a change, too."""
    single = s.write("single", "old\n")
    time.sleep(0.05)
    answer = s.shell(
        "echo x > /out/new; echo more >> /in/file",
        writable=['{ path = "/out", from = "%s" }' % s.ws, '{ path = "/in/file", from = "%s" }' % single],
    )
    check(
        answer.kinds == {"/out/new": "added", "/in/file": "modified"} and s.read("single") == b"old\nmore\n",
        "other paths inside",
        answer,
    )
    answer = s.shell("true", writable=[s.ws])
    check(answer.changes == [], "no change, no entry", answer)


def little_and_more(s):
    """A worker of the helper looks where there is little, and a process of its own where that was not all: the result is the same."""
    time.sleep(0.05)
    for count in (255, 256, 257, 300):
        answer = s.shell(f"cd {s.ws}; mkdir -p d; for i in $(seq {count - 1}); do echo {count} > d/$i; done")
        got = {name for name in answer.kinds if os.path.dirname(name) == f"{s.ws}/d"}
        digests = {change.get("sha256") for change in answer.changes if change["path"] in got}
        check(
            answer.status == "ok"
            and len(got) == count - 1
            and digests == {hashlib.sha256(b"%d\n" % count).hexdigest()}
            and answer.omitted["changes"] == 0,
            f"{count} entries",
            answer,
        )
    shutil.rmtree(s.path("ws/d"))
    half, whole = b"x" * (1 << 19), b"x" * (3 << 20)
    answer = s.shell(
        f"cd {s.ws}; for i in 1 2 3; do head -c {len(half)} /dev/zero | tr '\\0' x > $i; done; head -c {len(whole)} /dev/zero | tr '\\0' x > 4"
    )
    check(
        [entry(answer, f"{s.ws}/{i}").get("sha256") for i in (1, 2, 3, 4)]
        == [hashlib.sha256(text).hexdigest() for text in (half, half, half, whole)],
        "many bytes",
        answer,
    )
    deep = "/".join("d" * 60)
    answer = s.shell(f"cd {s.ws}; mkdir -p {deep}; echo > {deep}/f")
    check(
        entry(answer, f"{s.ws}/{deep}/f").get("kind") == "added" and len(answer.changes) == 61,
        "a deep tree",
        answer,
    )
    for size in (1 << 20, (1 << 20) + 1):
        single = s.write("single", "old\n")
        answer = s.shell(
            f"head -c {size} /dev/zero | tr '\\0' x > /in/file",
            writable=['{ path = "/in/file", from = "%s" }' % single],
        )
        check(
            s.read("single") == b"x" * size
            and entry(answer, "/in/file").get("sha256") == hashlib.sha256(b"x" * size).hexdigest(),
            f"a file of {size} bytes comes back",
            answer,
        )


run(
    kinds,
    odd_objects,
    hostile_names,
    many,
    collected,
    contents,
    total,
    no_files,
    apart,
    not_the_tools,
    changed_meanwhile,
    directories,
    steering,
    places,
    little_and_more,
)
