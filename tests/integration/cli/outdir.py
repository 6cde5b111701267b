#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""--output-dir: what comes below the directory, and what never goes anywhere else."""

import json
import os
import stat
import subprocess

from cli import TOOLCAGE, Place, check, expect, finish, require_user, running_as, skip, skip_all

POLICY = """
[tool.shell]
filesystem = { writable = ["/workspace"] }
collect = ["*.csv", ".*"]

[tool.dots]
filesystem = { writable = ["/workspace"], steering.remove = [".*"] }
collect = ["*.csv", ".*"]

[tool.make]
command = ["sh", "-c", "echo made > /workspace/made.csv"]
filesystem = { writable = ["/workspace"] }
collect = ["*.csv"]

[tool.none]
filesystem = { writable = ["/workspace"] }
"""


def made(directory):
    """Every file below the directory, and what it holds."""
    found = {}
    for path, _, names in os.walk(os.fsencode(directory)):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                found[os.path.relpath(os.path.join(path, name), os.fsencode(directory))] = file.read()
    return found


class Desk(Place):
    """A place with a policy, a workspace, and a directory for files outside it."""

    def __enter__(self):
        self.policy = self.write("tools.toml", POLICY)
        self.out = os.path.join(self.root, "out")
        os.chmod(self.root, 0o755)
        return self

    def shell(self, script, *more, tool="shell", out=None):
        return self.run(
            "exec",
            "--policy",
            self.policy,
            "--tool",
            tool,
            "--output-dir",
            out or self.out,
            *more,
            "sh",
            "-c",
            "cd /workspace; " + script,
        )


def plain(place):
    answer = place.shell(
        "mkdir -p d/e; echo a > a.csv; echo b > d/e/b.csv; printf '\\377' > c.csv; : > e.csv; echo no > f.txt; echo said; exit 3"
    )
    check(
        answer.code == 3 and answer.out == "said\n" and not answer.err,
        "the exit code and the output are the tool's",
        answer,
    )
    check(
        made(place.out)
        == {
            b"workspace/a.csv": b"a\n",
            b"workspace/d/e/b.csv": b"b\n",
            b"workspace/c.csv": b"\xff",
            b"workspace/e.csv": b"",
        },
        "files are written at the paths that the tool saw",
        made(place.out),
    )
    mode = stat.S_IMODE(os.stat(os.path.join(place.out, "workspace/a.csv")).st_mode)
    check(
        mode & 0o133 == 0 and stat.S_IMODE(os.stat(place.out).st_mode) & 0o022 == 0,
        "with the modes of a new file",
        oct(mode),
    )
    before = os.stat(os.path.join(place.out, "workspace/a.csv")).st_ino
    answer = place.shell("echo again > a.csv; chmod 777 a.csv", "--json")
    check(
        answer.code == 0 and not answer.err and json.loads(answer.out)["files"][0]["text"] == "again\n",
        "with --json, too",
        answer,
    )
    now = os.stat(os.path.join(place.out, "workspace/a.csv"))
    check(
        made(place.out)[b"workspace/a.csv"] == b"again\n"
        and now.st_ino != before
        and not now.st_mode & 0o111,
        "an older file is replaced",
        now,
    )
    answer = place.run("call", "--policy", place.policy, "make", "--output-dir", "here")
    check(
        answer.code == 0 and made(os.path.join(place.project, "here")) == {b"workspace/made.csv": b"made\n"},
        "a relative directory is the caller's",
        answer,
    )
    answer = place.run(
        "exec", "--write", ".", "--collect", "*.csv", "--output-dir", place.out, "sh", "-c", "echo x > x.csv"
    )
    check(made(place.out)[os.fsencode(place.project[1:] + "/x.csv")] == b"x\n", "without a policy", answer)


def not_written(place):
    answer = place.shell("head -c 262144 /dev/zero > most.csv; head -c 262145 /dev/zero > more.csv; exit 3")
    check(
        answer.code == 3
        and answer.err == "toolcage: not written: /workspace/more.csv (larger than 256 KiB)\n"
        and list(made(place.out)) == [b"workspace/most.csv"],
        "an omitted file is reported",
        answer,
    )
    answer = place.shell("for i in 1 2 3 4 5; do head -c 230000 /dev/zero > $i.csv; done")
    check(
        answer.code == 0 and answer.err.count("\n") == 1 and "have at most 1 MiB together" in answer.err,
        "and when it is too much in all",
        answer,
    )
    answer = place.shell("true")
    check(answer.code == 0 and answer.err == "toolcage: no changed file matches collect\n", "no file", answer)
    answer = place.shell("touch /workspace/ran", tool="none", out=os.path.join(place.root, "none"))
    check(
        answer.code == 125
        and "--output-dir needs collect" in answer.err
        and "hint: name files with --collect" in answer.err
        and not os.path.exists(os.path.join(place.project, "ran"))
        and not os.path.exists(os.path.join(place.root, "none")),
        "without collect nothing runs",
        answer,
    )
    answer = place.run("exec", "--write", ".", "--json", "--output-dir", place.out, "true")
    check(
        answer.code == 125 and json.loads(answer.out)["error"]["code"] == "usage" and not answer.err,
        "also as JSON",
        answer,
    )
    expect(place, "--output-dir without a value", ["exec", "--output-dir"], 125, "output-dir")
    expect(place, "only verbs that run a call have it", ["tools", "--output-dir", "x"], 125, "unknown option")


def hostile_names(place):
    names = [
        b"new\nline.csv",
        b"\xff\xfe.csv",
        b"-rf.csv",
        b"\x1b[31m.csv",
        b"...csv",
        b"n" * 251 + b".csv",
        b".toolcage-0000000000000000",
        b"..\\..csv",
        b". ",
        b" .csv",
    ]
    code = f"import os\nos.chdir('/workspace')\nfor n in {names!r}: open(n, 'wb').write(n)"
    want = {b"workspace/" + name: name for name in names}
    answer = place.run(
        "exec", "--policy", place.policy, "--tool", "dots", "--output-dir", place.out, "python3", "-c", code
    )
    check(
        answer.code == 0 and not answer.err and made(place.out) == want,
        "hostile names are names",
        f"{made(place.out)}\n{answer}",
    )
    answer = place.shell(
        "printf x > \"$(printf 'a\\033[2J\\ntoolcage: fine.csv')\"; truncate -s 300000 *fine.csv"
    )
    check(
        "not written: /workspace/a\\x1b[2J\\x0atoolcage: fine.csv (larger" in answer.err
        and answer.err.count("\n") == 1,
        "and in our words make no line of their own",
        answer,
    )


def steering(place):
    """A shell prompt or an editor in the directory would obey these; none of them comes there, and the others do."""
    place.write(
        "tools.toml", POLICY + '[tool.all]\nfilesystem = { writable = ["/workspace"] }\ncollect = ["*"]\n'
    )
    script = (
        "mkdir -p .git/objects .git/refs .vscode bare/objects bare/refs d; echo 'ref: refs/heads/x' > .git/HEAD; echo '[core]' | tee .git/config bare/config;"
        " echo x | tee bare/HEAD .vscode/tasks.json .envrc d/.envrc a.csv .git/objects/o; chmod 600 .envrc"
    )
    answer = place.shell(script, tool="all")
    check(
        answer.code == 125
        and set(made(place.out)) == {b"workspace/a.csv", b"workspace/.git/objects/o", b"workspace/.git/HEAD"},
        "a file that steers the host is not written",
        (made(place.out), answer),
    )
    told = [line for line in answer.err.splitlines() if line.startswith("toolcage: not written: ")]
    check(
        len(told) == 6
        and all("run or load it" in line for line in told)
        and answer.err.count("hint: review it") == 6,
        "and named, with what to do",
        answer,
    )
    rows = json.loads(place.shell(script, "--json", tool="all").out)["files"]
    check(
        {row["path"]: row.get("steers_host") for row in rows}.items()
        >= {"/workspace/bare/config": True, "/workspace/.envrc": True, "/workspace/a.csv": None}.items(),
        "the result says which",
        rows,
    )


def links(place):
    """Links where the files go: planted by somebody else, or by the tool in a directory that it can write."""
    outside = os.path.join(place.root, "outside")
    os.mkdir(outside)
    place.own(outside)
    kept = place.write("outside/kept", "kept\n")
    os.mkdir(place.out)
    place.own(place.out)
    os.symlink(outside, os.path.join(place.out, "workspace"))
    answer = place.shell("echo evil > kept.csv; echo evil > a.csv")
    check(
        answer.code == 125
        and "cannot write /workspace/" in answer.err
        and "hint: a link" in answer.err
        and os.listdir(outside) == ["kept"],
        "a directory that is a link is not followed",
        answer,
    )
    os.unlink(os.path.join(place.out, "workspace"))
    os.mkdir(os.path.join(place.out, "workspace"))
    place.own(os.path.join(place.out, "workspace"))
    os.symlink(kept, os.path.join(place.out, "workspace/a.csv"))
    answer = place.shell("echo new > a.csv")
    with open(kept, encoding="utf-8") as file:
        check(
            answer.code == 0
            and file.read() == "kept\n"
            and not os.path.islink(os.path.join(place.out, "workspace/a.csv"))
            and made(place.out)[b"workspace/a.csv"] == b"new\n",
            "a file that is a link is replaced",
            answer,
        )
    inside = os.path.join(place.project, "inside")
    answer = place.shell(f"echo x > b.csv; rm -rf inside; ln -s {outside} inside", out=inside)
    check(
        os.listdir(outside) == ["kept"] and os.path.islink(inside),
        "a tool that puts a link in the directory's place gains nothing",
        answer,
    )
    os.unlink(inside)
    answer = place.shell(f"echo x > b.csv; ln -s {outside} inside/workspace", out=inside)
    check(answer.code == 125 and os.listdir(outside) == ["kept"], "nor one that puts a link in it", answer)
    answer = place.shell("echo x > b.csv; rm inside/workspace; mkdir -p inside/workspace/b.csv", out=inside)
    check(
        answer.code == 125
        and "b.csv" in answer.err
        and os.listdir(os.path.join(inside, "workspace")) == ["b.csv"],
        "a directory of that name: nothing is left",
        answer,
    )


def a_link_for_the_directory(place):
    """A tool of an earlier call made it: what comes below it is another tool's choice."""
    outside = os.path.join(place.root, "elsewhere")
    os.makedirs(os.path.join(outside, "deep"))
    place.own(outside)
    place.own(os.path.join(outside, "deep"))
    os.symlink(outside, os.path.join(place.project, "files"))
    for name in (
        "files",
        "files/",
        "files/deep",
        os.path.join(place.project, "files"),
        os.path.join(place.project, "files//"),
    ):
        answer = place.shell("echo x > a.csv", out=name)
        check(
            answer.code == 125
            and "it is a link, or not a directory" in answer.err
            and "hint: " in answer.err
            and not made(outside),
            f"a link is no directory: {name}",
            answer,
        )
    os.unlink(os.path.join(place.project, "files"))


def failures(place):
    ran = os.path.join(place.project, "ran")
    file = place.write("file", "x")
    for name, out in (
        ("a file", file),
        ("a directory that is missing twice", os.path.join(place.root, "no/no")),
        ("no name", ""),
    ):
        answer = place.shell("touch ran", "--output-dir", out)
        check(
            answer.code == 125
            and answer.err.startswith("toolcage: cannot ")
            and "\nhint: " in answer.err
            and not os.path.exists(ran),
            f"{name}: refused before the tool runs",
            answer,
        )
    closed = os.path.join(place.root, "closed")
    os.mkdir(closed, 0o555)
    if os.geteuid() or running_as() == "ordinary":
        place.own(closed)
        os.chmod(closed, 0o555)
        answer = place.shell("touch ran", "--output-dir", closed)
        check(
            answer.code == 125 and "Permission denied" in answer.err and not os.path.exists(ran),
            "a directory that cannot be written",
            answer,
        )
    os.mkdir(place.out)
    place.own(place.out)
    place.write("out/workspace", "in the way")
    answer = place.shell("echo x > a.csv; exit 3", "--json")
    check(
        answer.code == 125
        and json.loads(answer.out)["exit_code"] == 3
        and answer.err.count("\n") == 2
        and "cannot write /workspace/a.csv below" in answer.err
        and place.out in answer.err
        and "Not a directory" in answer.err,
        "a failure afterwards: path, cause and hint, and the result is there",
        answer,
    )


def no_room(place):
    """A disk that is too small for the second of two files."""
    small = os.path.join(place.root, "small")
    os.mkdir(small)
    script = f'mount -t tmpfs -o size=160k none {small} && "$@"; code=$?; find {small} -type f; exit $code'
    argv = place.argv(
        "exec",
        "--policy",
        place.policy,
        "--tool",
        "shell",
        "--output-dir",
        small,
        "sh",
        "-c",
        "cd /workspace; for i in 1 2; do head -c 100000 /dev/zero > $i.csv; done",
    )
    if argv[0] != TOOLCAGE or os.geteuid():
        return skip("a full disk", "only root can make one")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", *argv],
        cwd=place.project,
        env=place.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "unshare failed" in done.stderr or "mount:" in done.stderr:
        return skip("a full disk", done.stderr.strip())
    files = done.stdout.split()
    return check(
        done.returncode == 125
        and "No space left on device" in done.stderr
        and len(files) == 1
        and files[0].endswith(".csv"),
        "a full disk: an error, and no half of a file",
        done,
    )


require_user()
with Place() as probe:
    found = probe.run("doctor")
    if found.code != 0:
        skip_all("no cage on this machine: " + " / ".join((found.out + found.err).strip().splitlines()[-2:]))
for part in (plain, not_written, hostile_names, steering, links, a_link_for_the_directory, failures, no_room):
    with Desk() as own:
        part(own)
finish()
