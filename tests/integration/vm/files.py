#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Files of the host in a machine: carried in, and what was changed of them carried out.

usage: files.py TOOLCAGE self|ordinary brief|all"""

import os
import shutil
import sys

import scene
from scene import check, finish

TOOL = """[tool.f]
backend = "qemu"
image = "small"
memory = {{ max = "64MiB", by = "any" }}
disk = "8MiB"
timeout = "240s"
workspace = {{ mode = "{mode}", commit = "{commit}" }}
filesystem.readable = [{{ path = "/data", from = "given" }}, {{ path = "/single", from = "single" }},
                       {{ path = "/absent", from = "absent", optional = true }}]
filesystem.writable = [{{ path = "/ws", from = "ws" }}, {{ path = "/alone/notes", from = "notes" }}]
filesystem.denied = ["/data/denied", "/ws/secret"]
"""
READS = """
cat /data/text /data/dir/deep /single /ws/kept; cat /data/closed; readlink /data/link; stat -c '%a %s %Y' /data/text
/data/program; ls /absent /data/denied /ws/secret 2>&1; ls /data
echo x >/data/text; echo x >/data/new; echo x >/single
"""
WRITES = """
cd /ws && echo changed >changed && rm gone && mv moved/inner moved/other && mkdir -p new/dir && echo new >new/dir/file
ln -s ../../etc/passwd link; chmod 755 mode; rm -r tree; echo file >tree; mkdir .git; echo hook >.git/config; mkfifo pipe
echo second >>/alone/notes; echo beside >/alone/other
"""


def put(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path, mode)


def text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as why:
        return why.strerror


def make_places():
    for name in ("given", "ws"):
        shutil.rmtree(name, ignore_errors=True)
    for path, words, mode in (
        ("given/text", "text\n", 0o640),
        ("given/dir/deep", "deep\n", 0o644),
        ("given/closed", "closed\n", 0o600),
        ("given/program", "#!/bin/sh\necho it runs\n", 0o755),
        ("given/denied", "denied\n", 0o644),
        ("single", "single\n", 0o644),
        ("ws/kept", "kept\n", 0o644),
        ("ws/changed", "old\n", 0o644),
        ("ws/gone", "old\n", 0o644),
        ("ws/mode", "mode\n", 0o644),
        ("ws/moved/inner", "inner\n", 0o644),
        ("ws/tree/in", "in\n", 0o644),
        ("ws/secret", "secret\n", 0o644),
        ("notes", "first\n", 0o644),
    ):
        put(path, words, mode)
    os.symlink("/etc/passwd", "given/link")
    os.utime("given/text", (1000000000, 1000000000))


def call(script, mode="copy", commit="always", **how):
    return scene.call(script, more=TOOL.format(mode=mode, commit=commit), tool="f", **how)


def rows(answer):
    return {row["path"]: row["kind"] for row in answer.json["changes"]}


def carries():
    """One boot for all that a copy is and does."""
    make_places()
    answer = call(READS + WRITES)
    said = answer.json.get("stdout", {}).get("text", "").split("\n")
    check(answer.code == 0 and answer.json["status"] == "ok", "a call with files of the host runs", answer)
    check(
        said[:5] == ["text", "deep", "single", "kept", "closed"],
        "they can be read, also what only their owner may read",
        said,
    )
    check(
        said[5:8] == ["/etc/passwd", "640 5 1000000000", "it runs"],
        "links, modes, times and programs are as they were",
        said,
    )
    check(
        [line.endswith("No such file or directory") for line in said[8:11]] == [True] * 3
        and "denied" not in said[11:],
        "denied and absent files are not there",
        said,
    )
    check(
        answer.json["stderr"]["text"].count("Read-only file system") == 3,
        "read-only files cannot be written",
        answer.json["stderr"],
    )
    check(
        [text(path) for path in ("given/text", "single", "given/new")]
        == ["text\n", "single\n", "No such file or directory"],
        "nor is it",
        os.listdir("given"),
    )
    check(
        [text(f"ws/{path}") for path in ("changed", "new/dir/file", "tree", "moved/other", "kept")]
        == ["changed\n", "new\n", "file\n", "inner\n", "kept\n"],
        "changed files come back",
        os.listdir("ws"),
    )
    check(
        os.readlink("ws/link") == "../../etc/passwd" and os.stat("ws/mode").st_mode & 0o777 == 0o755,
        "links and modes, too",
        os.listdir("ws"),
    )
    check(
        [os.path.lexists(f"ws/{path}") for path in ("gone", "moved/inner", "pipe", ".git/config", "secret")]
        == [False] * 4 + [True],
        "removed files go; no pipe, and nothing that steers the host, comes",
        os.listdir("ws"),
    )
    check(
        text("notes") == "first\nsecond\n" and not os.path.exists("other"),
        "a file alone comes back, and nothing from beside it",
        text("notes"),
    )
    kinds = rows(answer)
    check(
        kinds.get("/ws/changed") == "modified"
        and kinds.get("/ws/new/dir/file") == "added"
        and kinds.get("/ws/gone") == "deleted"
        and kinds.get("/alone/notes") == "modified"
        and "/ws/kept" not in kinds,
        "the result lists them by the tool's names",
        kinds,
    )
    held = answer.json["enforcement"]
    check(
        "copied into" in held["fs.read"] and "copied out" in held["fs.write"],
        "and says what held them",
        held,
    )


def refuses():
    bound = call("true", mode="bind", commit="on_success")
    check(
        bound.code == 126
        and bound.error.get("subject") == "workspace"
        and "--in-place" in bound.error.get("hint", ""),
        "a path of the host is never written directly, and the hint says what to do",
        bound,
    )
    for path in ("/etc/toolcage", "/etc/qemu/x"):
        more = f'[tool.g]\nbackend = "qemu"\nimage = "small"\nfilesystem = {{ readable = [{{ path = "{path}", from = "given" }}] }}'
        answer = scene.call("true", more=more, tool="g")
        check(
            answer.code == 126 and answer.error.get("subject") == "filesystem",
            f"nothing is shown where the monitor's own files are: {path}",
            answer,
        )
    os.makedirs("many", exist_ok=True)
    with open("many/hole", "wb") as out:
        out.truncate(1 << 40)
    with open("many/full", "wb") as out:
        for _ in range(513):
            out.write(b"x" * (1 << 20))
    answer = scene.call(
        "true",
        more='[tool.g]\nbackend = "qemu"\nimage = "small"\nfilesystem = { readable = [{ path = "/many", from = "many" }] }',
        tool="g",
    )
    os.unlink("many/full")
    check(
        answer.code == 125
        and answer.error.get("stage") == "files"
        and answer.error.get("subject") == "/many"
        and "512 MiB" in answer.error.get("message", ""),
        "more than a machine takes is an error that says so",
        answer,
    )


def ends():
    """What becomes of changes otherwise."""
    make_places()
    failed = call("echo new >/ws/changed; exit 3", mode="overlay", commit="on_success")
    check(
        failed.code == 3 and text("ws/changed") == "old\n" and rows(failed).get("/ws/changed") == "modified",
        "of a call that fails nothing comes back",
        failed,
    )
    good = call("echo new >/ws/changed; rm /ws/gone; ls /ws", mode="overlay", commit="on_success")
    check(
        good.code == 0 and text("ws/changed") == "new\n" and not os.path.exists("ws/gone"),
        "an overlay is as good as a copy",
        good,
    )
    staged = call("echo newer >/ws/changed", commit="ask")
    check(staged.code == 0 and text("ws/changed") == "new\n", "changes that need approval are staged", staged)
    approved = scene.changes(staged.json["call"], "commit")
    check(approved.returncode == 0 and text("ws/changed") == "newer\n", "and comes back when it is", approved)
    full = call(
        "dd if=/dev/zero of=/ws/big bs=1M count=9; rm /ws/big; truncate -s 50331648 /ws/hole; truncate -s 1099511627776 /ws/kept"
    )
    hole = os.stat("ws/hole") if os.path.exists("ws/hole") else None
    check(
        "No space left" in full.json["stderr"]["text"]
        and hole
        and hole.st_size == 48 << 20
        and hole.st_blocks < 100
        and text("ws/kept") == "kept\n",
        "the disk bounds written bytes and file sizes; holes stay holes",
        full,
    )
    late = call("echo late >/ws/changed; sleep 600", timeout="60s")
    check(
        late.json.get("status") == "timeout" and text("ws/changed") in ("newer\n", "late\n"),
        "a deadline is kept: all comes back, or nothing",
        late,
    )


scene.begin(sys.argv[2])
carries()
refuses()
if sys.argv[3] == "all":
    ends()
check(not scene.monitors(), "nothing is left", scene.monitors())
finish()
