#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Changes that wait for a person: asked for by the policy, or in conflict with newer work of the host."""

import errno
import json
import os
import pathlib
import pty
import re
import shlex
import shutil
import signal
import subprocess
import time

from scene import PATIENCE, PAUSE, TOOLCAGE, Skip, check, end, finish, helper_of, is_root, run
from tree import tree

ASK = 'workspace = { mode = "%s", commit = "ask" }\n'
MODES = ("copy", "overlay")
SCRIPT = "echo tool > a; rm gone; rm -r dir; mkdir dir; echo n > dir/n; echo new > new; ln -s a link; mkdir -p p/q .git/hooks; echo h > .git/hooks/x; chmod 700 new"


SUM = "9 files changed, 5 directories changed, 5 insertions(+), 3 deletions(-), 1 not compared"


def here(s, mode):
    answer = s.shell("true", more=f'workspace = {{ mode = "{mode}" }}\n')
    if answer.status != "ok" and answer.error["stage"] == "overlay":
        raise Skip(answer.error["message"])


def in_both(part):
    def both(s):
        for mode in MODES:
            here(s, mode)
            subprocess.run(["/bin/sh", "-c", "rm -rf * .git .pytest_cache"], cwd=s.ws, check=True)
            fill(s)
            part(s, ASK % mode)

    both.__name__ = part.__name__
    return both


def fill(s):
    s.write("ws/a", "a\n")
    s.write("ws/gone", "gone\n")
    s.write("ws/dir/sub/file", "old\n")


def changes(s, *args):
    done = s.toolcage("changes", *args, "--json")
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except ValueError:
        return done.returncode, {}, done.stdout + done.stderr


def rows(s, answer):
    return {
        os.path.relpath(change["path"], s.ws): (change["kind"], change.get("held"))
        for change in answer.get("changes", [])
    }


def asked(s, more):
    before = tree(s.ws)
    answer = s.shell(f"cd {s.ws}; {SCRIPT}; exit 3", more=more)
    check(
        answer.status == "failed" and tree(s.ws) == before,
        "nothing comes back before somebody says so",
        f"{answer}\n{tree(s.ws)}",
    )
    told = {
        os.path.relpath(path, s.ws): "steers the host" if ".git/hooks" in path else "pending approval"
        for path in answer.kinds
    }
    check(
        {os.path.relpath(path, s.ws): held for path, held in answer.kinds.items()} == told
        and "pending approval" in answer.message,
        "and that is told, apart from what no approval applies",
        answer.changes,
    )
    code, calls, _ = changes(s)
    check(
        code == 0 and [row["tool"] for row in calls["held"] if row["call"] == answer.call] == ["t"],
        "the call is listed",
        calls,
    )
    code, shown, err = changes(s, answer.call)
    check(
        code == 0 and {name: held for name, (_, held) in rows(s, shown).items()} == told,
        "staged changes are listed",
        (shown, err),
    )
    code, back, err = changes(s, answer.call, "commit")
    after = tree(s.ws)
    check(
        s.read("ws/a") == b"tool\n"
        and s.read("ws/new") == b"new\n"
        and "gone" not in after
        and sorted(os.listdir(s.path("ws/dir"))) == ["n"]
        and os.readlink(s.path("ws/link")) == "a"
        and os.path.isdir(s.path("ws/p/q")),
        "with a yes all of it comes back",
        (after, back, err),
    )
    check(
        not os.path.exists(s.path("ws/.git/hooks/x"))
        and rows(s, back)[".git/hooks/x"] == ("added", "steers the host")
        and code == 1,
        "a file that steers the host stays staged",
        (code, back),
    )
    check(
        os.stat(s.path("ws/new")).st_mode & 0o777 == 0o700
        and os.stat(s.path("ws/new")).st_uid == os.getuid(),
        "with mode and owner",
        os.stat(s.path("ws/new")),
    )
    code, left, _ = changes(s, answer.call)
    check(sorted(rows(s, left)) == [".git/hooks", ".git/hooks/x"], "only that is left", left)
    changes(s, answer.call, "discard")
    code, none, err = changes(s, answer.call)
    check(
        code == 125
        and "there are no staged changes" in err + str(none)
        and answer.call not in str(changes(s)),
        "thrown away, nothing is",
        (code, none, err),
    )
    check(not [name for name in tree(s.ws) if ".toolcage" in name], "no temporary name is left", tree(s.ws))


def named(s, more):
    """A name is one line of the list, and shown whatever bytes it has."""
    answer = s.shell(
        f"""cd {s.ws}; echo x > "$(printf 'a\\nmodified  b')"; echo x > "$(printf 'bytes\\377')"; mkdir "$(printf 'd\\033[2J\\nd')" """,
        more=more,
    )
    done = s.toolcage("changes", answer.call)
    names = ("a\\x0amodified  b", "bytes\\xff", "d\\x1b[2J\\x0ad")
    want = [f"call {answer.call}", *(f"added     {name}  (pending approval)" for name in names)]
    known = "2 bytes, sha256 73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac"
    want += [
        f"not compared  {names[0]}  (its name is escaped here, and may be another's; {known})",
        f"not compared  {names[1]}  (its name is not UTF-8; {known})",
    ]
    check(
        done.stdout.splitlines() == [*want, "2 files changed, 1 directory changed, 2 not compared"],
        "every change is one line with its name, in order, and counted",
        done,
    )
    changes(s, answer.call, "discard")


def newer(s, more):
    """Newer work of the host: made between the call and the yes."""
    answer = s.shell(f"cd {s.ws}; {SCRIPT}", more=more)
    s.write("ws/a", "host\n")
    s.write("ws/new", "host\n")
    s.write("ws/dir/sub/saved", "host\n")
    code, back, err = changes(s, answer.call, "commit")
    check(
        code == 1 and [s.read(f"ws/{name}") for name in ("a", "new", "dir/sub/saved")] == [b"host\n"] * 3,
        "newer work stays",
        (back, err),
    )
    check(
        [rows(s, back).get(name, ("", ""))[1] for name in ("a", "new")] == ["conflict"] * 2
        and s.read("ws/dir/n") == b"n\n",
        "other changes are committed",
        back,
    )
    code, back, err = changes(s, answer.call, "commit", "--overwrite")
    check(
        [s.read(f"ws/{name}") for name in ("a", "new")] == [b"tool\n", b"new\n"]
        and s.read("ws/dir/sub/saved") == b"host\n",
        "a person may say that the tool's is better",
        (back, err),
    )
    changes(s, answer.call, "discard")


def compared(s, more):
    s.write("ws/bytes", b"\xff\n")
    answer = s.shell(
        f"cd {s.ws}; {SCRIPT}; printf '\\033]0;title\\007red\\n' > esc; printf '\\376' > bytes", more=more
    )
    done = s.toolcage("changes", answer.call)
    lines = done.stdout.splitlines()
    check(
        done.returncode == 0
        and "--- a" in lines
        and "-a" in lines
        and "+tool" in lines
        and "+++ new" in lines
        and "+new" in lines
        and "-gone" in lines,
        "the diff of texts is shown",
        done,
    )
    check(lines[-1] == SUM, "and counted, as git counts, at the end", lines)
    check(
        lines[0] == f"call {answer.call}"
        and lines.index("added     new  mode 0700  (pending approval)")
        < lines.index("--- a")
        < lines.index("--- gone")
        < lines.index("+++ new"),
        "the list is before the diffs, and new files are the last of them",
        lines,
    )
    check(
        "\033" not in done.stdout and "title" in done.stdout and "not compared" in done.stdout,
        "and harms no terminal",
        repr(done.stdout),
    )
    _, shown, _ = changes(s, answer.call)
    check(
        {
            os.path.basename(file["path"]): file.get("text", file.get("base64")) for file in shown["files"]
        }.items()
        >= {"a": "tool\n", "new": "new\n", "bytes": "/g=="}.items(),
        "programs get the contents",
        shown,
    )
    changes(s, answer.call, "discard")


TEXTS = (
    "",
    "a\n",
    "a",
    "a\nb\n",
    "a\nb",
    "\n",
    "\n\n",
    "-- a\n++ b\n@@ -1 +1 @@\n",
    "a\r\n\tb\x0c\n",
    "\\ No newline\n",
)


def as_diff(s, more):
    """Diffs that need no diff(1) are what diff -u prints."""
    for i in range(len(TEXTS)):
        s.write(f"ws/old{i:02}", "")
    answer = s.call(
        "/usr/bin/python3",
        "-c",
        f"""import json, os
os.chdir({s.ws!r})
for i, text in enumerate({TEXTS!r}):
    for kind in ("new", "old"):
        open(f"{{kind}}{{i:02}}", "w", newline="").write(text)""",
        more=more,
    )
    done = subprocess.run(
        [TOOLCAGE, "changes", answer.call],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        timeout=60 * PATIENCE,
        check=False,
    )
    wanted = b""
    for name, old in [(f"old{i:02}", f"old{i:02}") for i in range(len(TEXTS))] + [
        (f"new{i:02}", "/dev/null") for i in range(len(TEXTS))
    ]:
        wanted += subprocess.run(
            ["diff", "-u", "--label", old, "--label", name, "--", "/dev/null", "-"],
            input=TEXTS[int(name[3:])].encode(),
            capture_output=True,
            check=False,
        ).stdout
    check(
        wanted and wanted.replace(b"\f", b"\\x0c").replace(b"\r", b"\\x0d") in done.stdout,
        "of new and empty files",
        (wanted, done.stdout),
    )
    changes(s, answer.call, "discard")


def shown(s, more):
    """What a person is asked names what a yes would make: where links lead, rights, and each file whose content is not shown."""
    s.write("ws/run", "#!/bin/sh\n", 0o644)
    s.write("ws/keys/old", "mine\n")
    s.write("ws/place/old", "mine\n")
    s.write("away/old", "behind the link\n")
    answer = s.shell(
        f"cd {s.ws}; chmod 777 run; echo x > plain; chmod 644 plain; echo x > tool; chmod 755 tool; rm -r keys place; ln -s /root/.ssh keys; ln -s ../away place;"
        "ln -s 'a\033[31mb' sly; printf 'a\\000b' > zero; head -c 300000 /dev/zero | tr '\\0' x > large; mkdir -m 777 open",
        more=more,
    )
    links = {os.path.basename(row["path"]): row.get("target") for row in answer.changes}
    check(
        links.get("keys") == "/root/.ssh" and links.get("plain", "") is None,
        "the result says where a link leads",
        answer.changes,
    )
    _, told, err = changes(s, answer.call)
    by = {os.path.relpath(row["path"], s.ws): row for row in told["changes"]}
    check("run" in by, "a mode alone is a change", (more, answer, told, err))
    check(
        [by["run"].get(key) for key in ("type", "mode", "mode_before")] == ["file", "0777", "0644"],
        "rights before and after",
        by["run"],
    )
    check(
        [by["tool"].get(key) for key in ("type", "mode", "mode_before")] == ["file", "0755", None],
        "and of what is new",
        by["tool"],
    )
    check(
        [by["keys"].get(key) for key in ("type", "target")] == ["link", "/root/.ssh"],
        "and where a link leads",
        by["keys"],
    )
    check(
        "behind the link" not in json.dumps(told),
        "a removed file is not looked for behind a link in its place",
        told,
    )
    done = s.toolcage("changes", answer.call)
    lines = [
        line.replace(s.ws + "/", "").replace("  (pending approval)", "") for line in done.stdout.splitlines()
    ]
    wanted = [
        "modified  run  mode 0644 -> 0777",
        "added     tool  mode 0755",
        "added     plain",
        "added     open  mode 0777",
        "not compared  zero  (not text; ",
        "not compared  large  (too large; ",
    ]
    check(
        not [text for text in wanted if not any(line.startswith(text) for line in lines)]
        and all(", sha256 " in line for line in lines if line.startswith("not compared")),
        "for people, too",
        done.stdout,
    )
    check(
        any(line.endswith("keys -> /root/.ssh") for line in lines)
        and any(line.startswith("added     sly -> a") for line in lines)
        and "\033" not in done.stdout,
        "and no name acts on the terminal",
        repr(done.stdout),
    )
    changes(s, answer.call, "discard")


def alike(s, more):
    """Names that are shown alike are two files, each with its own content, whichever is listed first."""
    answer = s.shell(
        f"""cd {s.ws}; other() {{ echo other > "$(printf 'n%s\\nx' $1)"; }}; own() {{ echo own > "$(printf 'n%s\\\\x0ax' $1)"; }}
for i in 0 1 2 3; do own $i; other $i; done; for i in 4 5 6 7; do other $i; own $i; done""",
        more=more,
    )
    done = s.toolcage("changes", answer.call)
    check(
        done.stdout.count("+own") == 8 and "+other" not in done.stdout,
        "no content stands under another's name",
        done.stdout,
    )
    changes(s, answer.call, "discard")


def is_elsewhere(answer, code, back, errnum):
    """The refusal of a commit whose directories are not where they were."""
    error = back.get("error") or {}
    return code == 125 and (
        error.get("code"),
        error.get("stage"),
        error.get("subject"),
        error.get("errno"),
    ) == ("path", "changes", answer.call, errnum)


def chosen(s, more):
    """Some of the changes: by their names, with what lies below, and the directories that they need."""
    answer = s.shell(f"cd {s.ws}; {SCRIPT}; echo f > p/q/f; echo g > p/q/g; echo h > p/h", more=more)
    for paths, missing in (
        ([f"{s.ws}/nothing"], "nothing"),
        (["a", "p/q/ff"], "p/q/ff"),
        (["dir/su"], "dir/su"),
        (["/etc/passwd"], "/etc/passwd"),
        (["../x"], "../x"),
    ):
        code, back, err = changes(s, answer.call, "commit", *paths)
        error = back.get("error") or {}
        check(
            code == 125
            and (error.get("code"), error.get("stage")) == ("usage", "changes")
            and str(error.get("subject")).endswith(missing),
            f"{missing} is no change",
            (code, back, err),
        )
    check(s.read("ws/a") == b"a\n", "and then nothing has happened", tree(s.ws))
    code, told, _ = changes(s, answer.call, "show", "p")
    check(set(rows(s, told)) == {"p", "p/q", "p/q/f", "p/q/g", "p/h"}, "shown with what lies below", told)
    code, back, err = changes(s, answer.call, "commit", "./p/q/f", "gone", f"{s.ws}/a", "a")
    left = {name for name, (_, held) in rows(s, back).items() if held}
    check(
        code == 1
        and s.read("ws/a") == b"tool\n"
        and s.read("ws/p/q/f") == b"f\n"
        and not os.path.exists(s.path("ws/gone")),
        "named paths are committed",
        (back, err),
    )
    check(
        {"p/q/g", "p/h", "new", "dir/n", "link", ".git/hooks/x"} <= left
        and not {"p", "p/q", "a", "gone"} & left,
        "other paths stay staged",
        back,
    )
    check(
        sorted(os.listdir(s.path("ws/p"))) == ["q"]
        and os.listdir(s.path("ws/p/q")) == ["f"]
        and os.path.isdir(s.path("ws/dir/sub")),
        "and are not here",
        tree(s.ws),
    )
    code, back, err = changes(s, answer.call, "discard", "p", "new")
    check(
        not os.path.exists(s.path("ws/p/h"))
        and os.path.exists(s.path("ws/p/q/f"))
        and "p/h" not in rows(s, back)
        and "dir/n" in rows(s, back),
        "discarded, some are gone",
        (back, err),
    )
    code, back, err = changes(s, answer.call, "commit")
    check(
        os.readlink(s.path("ws/link")) == "a"
        and s.read("ws/dir/n") == b"n\n"
        and not os.path.exists(s.path("ws/dir/sub"))
        and not os.path.exists(s.path("ws/new")),
        "the rest comes later",
        (back, err),
    )
    changes(s, answer.call, "discard")


def rights(s, more):
    """A directory's rights are a change like others."""
    s.directory("ws/out")
    s.write("ws/dir/keep", "keep")
    os.chmod(s.path("ws/out"), 0o755)
    answer = s.shell(
        f"cd {s.ws}; chmod 700 out; mkdir -p shut/in; echo x > shut/in/f; chmod 500 shut/in; chmod 750 dir; echo y > dir/y",
        more=more,
    )
    _, told, _ = changes(s, answer.call)
    by = {os.path.relpath(row["path"], s.ws): row for row in told["changes"]}
    check(
        [by["out"].get(key) for key in ("kind", "type", "mode", "mode_before")]
        == ["modified", "directory", "0700", "0755"],
        "listed",
        told,
    )
    check(
        set(by) == {"out", "dir", "dir/y", "shut", "shut/in", "shut/in/f"}
        and by["shut/in"]["mode"] == "0500",
        "every path is listed once",
        told,
    )
    code, back, err = changes(s, answer.call, "commit", "dir/y")
    check(
        os.stat(s.path("ws/dir")).st_mode & 0o777 == 0o755 and s.read("ws/dir/y") == b"y\n",
        "files of the directory are committed without its mode",
        (back, err),
    )
    os.chmod(s.path("ws/out"), 0o711)
    code, back, err = changes(s, answer.call, "commit")
    check(
        rows(s, back)["out"] == ("modified", "conflict")
        and os.stat(s.path("ws/out")).st_mode & 0o777 == 0o711,
        "modes that the host changed since are conflicts",
        (code, back, err),
    )
    check(
        os.stat(s.path("ws/shut/in")).st_mode & 0o777 == 0o500
        and s.read("ws/shut/in/f") == b"x\n"
        and os.stat(s.path("ws/dir")).st_mode & 0o777 == 0o750,
        "other modes are committed after the files below",
        (back, err),
    )
    code, back, err = changes(s, answer.call, "commit", "--overwrite")
    check(
        code == 0 and os.stat(s.path("ws/out")).st_mode & 0o777 == 0o700,
        "unless a person says so",
        (code, back, err),
    )
    os.chmod(s.path("ws/shut/in"), 0o700)
    answer = s.shell(f"cd {s.ws}; chmod 755 out", more=more.replace("ask", "on_success"))
    check(
        os.stat(s.path("ws/out")).st_mode & 0o777 == 0o755 and answer.kinds == {s.path("ws/out"): "modified"},
        "without a question, too",
        answer,
    )
    done = subprocess.run(
        [TOOLCAGE, "exec", "--dry-run", "--write", ".", "chmod", "700", "out"],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        text=True,
        check=False,
    )
    check(done.stderr == "toolcage: would change out  mode 0755 -> 0700\n", "and --dry-run says so", done)


def moved(s, more):
    answer = s.shell(f"cd {s.ws}; echo tool > a", more=more)
    os.rename(s.ws, s.path("elsewhere"))
    s.write("other/a", "a\n")
    os.symlink(s.path("other"), s.ws)
    code, back, err = changes(s, answer.call, "commit")
    check(
        is_elsewhere(answer, code, back, errno.ELOOP) and s.read("other/a") == b"a\n",
        "a link in place of the workspace is not followed",
        (code, back, err),
    )
    os.remove(s.ws)
    os.rename(s.path("other"), s.ws)
    code, back, err = changes(s, answer.call, "commit")
    check(
        is_elsewhere(answer, code, back, errno.ESTALE) and s.read("ws/a") == b"a\n",
        "nor is another directory written",
        (code, back, err),
    )
    subprocess.run(["/bin/rm", "-r", s.ws], check=True)
    os.rename(s.path("elsewhere"), s.ws)
    code, back, err = changes(s, answer.call, "commit")
    check(
        code == 0 and s.read("ws/a") == b"tool\n",
        "back at its place it is as if nothing had been",
        (code, back, err),
    )


def listing(s, call, *words):
    done = s.toolcage("changes", call, *words)
    return (
        done.returncode,
        [
            line.replace("  (pending approval)", "")
            for line in done.stdout.splitlines()
            if line != f"call {call}"
        ],
        done.stderr,
    )


TESTED = """mkdir pkg; echo 'x = 1' > pkg/mod.py; python3 -c 'import pkg.mod'; mkdir -p .pytest_cache/v; echo [] > .pytest_cache/v/lastfailed
printf '*' > .pytest_cache/.gitignore; echo tool > a"""
CACHED = "caches: 3 files in 3 directories, not applied; --all applies them"


def cached(s, more):
    """A run of tests leaves caches: a line sums them up, and a yes leaves them out unless it says all, or names them."""
    answer = s.shell(f"cd {s.ws}; {TESTED}", more=more)
    _, told, err = changes(s, answer.call)
    flags = {os.path.relpath(row["path"], s.ws): row.get("cache", False) for row in told["changes"]}
    check(
        {name for name, cache in flags.items() if not cache} == {"a", "pkg", "pkg/mod.py"}
        and len(flags) == 9,
        "JSON has each, and tells caches",
        (told, err),
    )
    code, lines, err = listing(s, answer.call)
    check(
        code == 0
        and lines[:4] == ["modified  a", "added     pkg", "added     pkg/mod.py", CACHED]
        and lines[-1] == "2 files changed, 1 directory changed, 2 insertions(+), 1 deletion(-)",
        "a person gets a line",
        (lines, err),
    )
    code, lines, _ = listing(s, answer.call, "--all")
    check(
        code == 0 and "added     .pytest_cache/v/lastfailed" in lines and CACHED not in lines,
        "or all of them",
        lines,
    )
    code, lines, err = listing(s, answer.call, "commit", "--all", "a")
    check(
        code == 125 and "--all means every change" in err and s.read("ws/a") == b"a\n",
        "not both",
        (code, lines, err),
    )
    code, lines, err = listing(s, answer.call, "commit", "pkg", ".pytest_cache/v")
    check(
        code == 1
        and os.listdir(s.path("ws/pkg")) == ["mod.py"]
        and tree(s.path("ws/.pytest_cache")).keys() >= {"v/lastfailed"}
        and not os.path.exists(s.path("ws/.pytest_cache/.gitignore")),
        "named paths are committed: a directory's sources, and a cache by its own name",
        (code, tree(s.ws), lines, err),
    )
    code, lines, err = listing(s, answer.call, "commit")
    check(
        code == 0
        and s.read("ws/a") == b"tool\n"
        and os.listdir(s.path("ws/pkg")) == ["mod.py"]
        and not os.path.exists(s.path("ws/.pytest_cache/.gitignore")),
        "a plain yes leaves the others out",
        (code, tree(s.ws), lines, err),
    )
    check(
        [line for line in lines if line.startswith("caches")]
        == ["caches: 2 files in 2 directories, not applied (discarded)"]
        and answer.call not in str(changes(s)),
        "and lets go of them",
        lines,
    )
    answer = s.shell(f"cd {s.ws}; rm -r pkg .pytest_cache; {TESTED}", more=more)
    code, lines, err = listing(s, answer.call, "commit", "--all")
    check(
        code == 0
        and os.path.exists(s.path("ws/.pytest_cache/.gitignore"))
        and os.listdir(s.path("ws/pkg/__pycache__")),
        "all are all",
        (code, lines, err, tree(s.ws)),
    )
    answer = s.shell(
        f"cd {s.ws}; echo x > pkg/__pycache__/x.pyc; echo y > y.keep",
        more=more + 'review.ignore = ["*.keep"]\n',
    )
    _, lines, _ = listing(s, answer.call)
    check(
        lines[:2]
        == [
            "added     pkg/__pycache__/x.pyc",
            "caches: 1 file in 1 directory, not applied; --all applies them",
        ],
        "the policy's own names replace the shipped ones",
        lines,
    )
    _, calls, _ = listing(s, answer.call, "commit", "pkg/__pycache__")
    code, calls, _ = changes(s)
    check(
        [(row["changes"], row["caches"]) for row in calls["held"] if row["call"] == answer.call] == [(1, 1)],
        "a named yes keeps the others",
        calls,
    )
    changes(s, answer.call, "discard")


DATES = [
    "GIT_AUTHOR_DATE=@0 +0000",
    "GIT_COMMITTER_DATE=@0 +0000",
]  # of two objects one directory may be the same, by chance
GIT = [
    "env",
    *DATES,
    "git",
    "-c",
    "user.name=a",
    "-c",
    "user.email=a@b",
    "-c",
    "safe.directory=*",
    "-c",
    "gc.auto=0",
]


def repository(s):
    for words in (["init", "-q"], ["add", "a"], ["commit", "-qm", "one"]):
        subprocess.run([*GIT, *words], cwd=s.ws, env=s.environ, check=True)


def is_whole(s):
    done = subprocess.run(
        [*GIT, "fsck", "--strict"], cwd=s.ws, env=s.environ, capture_output=True, text=True, check=False
    )
    return done.returncode == 0 and "missing" not in done.stdout


def committed(s, more):
    """What a commit makes in the repository is a line, and comes with a plain yes: the commit is there."""
    git = GIT
    repository(s)
    answer = s.shell(
        f"cd {s.ws}; echo two > a; {shlex.join(git)} commit -qam two", more=more + 'programs = ["git"]\n'
    )
    code, lines, err = listing(s, answer.call)
    check(
        code == 0
        and "git objects: 3 files in 3 directories" in lines
        and not [line for line in lines if ".git/objects" in line]
        and not [line for line in lines if line.startswith("modified  .git/index")],
        "the objects are a line",
        (lines, err, answer),
    )
    hint = ".git/index is not applied: after applying the rest, run git reset -q in that repository"
    code, more_lines, err = listing(s, answer.call, "commit")
    check(
        code == 0 and hint in lines and hint in more_lines,
        "a hint on the index is shown",
        (code, lines, more_lines, err),
    )
    status = [
        subprocess.run(
            [*git, *words], cwd=s.ws, env=s.environ, capture_output=True, text=True, check=True
        ).stdout
        for words in (["reset", "-q"], ["status", "-s", "-uno"])
    ]
    check(status == ["", ""], "after which the repository is clean", status)
    log = subprocess.run(
        [*git, "log", "--format=%s"], cwd=s.ws, env=s.environ, capture_output=True, text=True, check=False
    )
    check(log.stdout == "two\none\n" and is_whole(s), "and come", log)
    answer = s.shell(f"cd {s.ws}; echo x >> .git/index", more=more + 'programs = ["git"]\n')
    check(answer.call not in str(changes(s)), "an index alone waits for nobody", answer)
    changes(s, answer.call, "discard")


def packed(s, more):
    """Packs that git made are verified, differences and all; what they replace is removed."""
    repository(s)
    git = shlex.join(GIT)
    answer = s.shell(
        f"cd {s.ws}; i=0; while [ $i -lt 9 ]; do seq 1 400$i > a; {git} commit -qam $i; i=$((i+1)); done; {git} repack -qad --depth=5; {git} prune-packed -q; {git} pack-refs --all",
        more=more + 'programs = ["git"]\n',
    )
    code, lines, err = listing(s, answer.call)
    check(
        code == 0
        and "git objects: 2 files in 1 directory" in lines
        and str(lines).count("steers the host") == 1,
        "a pack is summed up",
        (lines, err, answer),
    )
    code, lines, err = listing(s, answer.call, "commit")
    loose = [name for name in os.listdir(s.path("ws/.git/objects")) if len(name) == 2]
    log = subprocess.run(
        [*GIT, "log", "--format=%s"], cwd=s.ws, env=s.environ, capture_output=True, text=True, check=False
    )
    check(
        code == 0 and not loose and len(log.stdout.split()) == 10 and is_whole(s),
        "and applied, with the removals",
        (code, loose, log, lines, err),
    )
    answer = s.shell(
        f"cd {s.ws}; echo two > a; {git} commit -qam two; {git} repack -qad; for name in .git/objects/pack/*.idx; do chmod 644 $name; printf x >> $name; done",
        more=more + 'programs = ["git"]\n',
    )
    _, lines, err = listing(s, answer.call)
    check(
        [
            line.endswith(".pack  (steers the host)")
            for line in lines
            if line.startswith("deleted   .git/objects/pack")
        ].count(True)
        == 1,
        "where a new pack is not sound, the old one stays",
        (lines, err, answer),
    )
    listing(s, answer.call, "commit", ".git/objects")
    check(is_whole(s), "and the repository is whole", tree(s.path("ws/.git/objects")))
    changes(s, answer.call, "discard")


def falsified(s, more):
    """An object that is not what its name says is a row by itself, and no yes applies it; so are names by which git finds others."""
    repository(s)
    other = "printf 'blob 1\\0x' | python3 -c 'import sys, zlib; sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read()))'"
    names = [
        f".git/objects/ab/{'0' * 38}",
        ".git/objects/pack/pack-x.idx",
        ".git/objects/info/alternates",
        ".git/objects/info/commit-graph",
        ".git/refs/replace/" + "1" * 40,
    ]
    script = f"cd {s.ws}; mkdir -p .git/objects/ab .git/refs/replace; {other} > {names[0]}; for name in {' '.join(names[1:])}; do echo x > $name; done; echo {'1' * 40} refs/replace/{'2' * 40} > .git/packed-refs"
    answer = s.shell(script, more=more)
    steers = {os.path.relpath(row["path"], s.ws) for row in answer.changes if row.get("steers_host")}
    check(
        steers >= {*names, ".git/packed-refs"} and not [row for row in answer.changes if row.get("verified")],
        "the result says so",
        answer.changes,
    )
    _, lines, err = listing(s, answer.call)
    check(
        "git objects: 1 directory" in lines
        and f"added     {names[0]}  (steers the host)" in lines
        and "added     .git/packed-refs  (steers the host)" in lines,
        "every kind of git path is a row",
        (lines, err),
    )
    for words in ((), names, ("--overwrite",)):
        code, lines, err = listing(s, answer.call, "commit", *words)
        check(
            code == 1
            and not [name for name in names if os.path.lexists(s.path("ws", name))]
            and not os.path.exists(s.path("ws/.git/packed-refs")),
            f"and never applied: {words}",
            (lines, err),
        )
    changes(s, answer.call, "discard")
    answer = s.shell(script, more=more.replace("ask", "on_success"))
    held = {
        os.path.relpath(row["path"], s.ws) for row in answer.changes if row.get("held") == "steers the host"
    }
    check(
        held >= {*names, ".git/packed-refs"} and not os.path.exists(s.path("ws", names[0])),
        "without a question, too",
        answer.changes,
    )


def named_by_the_policy(s, more):
    """The policy's own names, and a grant in the middle of one, count when changes are approved."""
    s.directory("ws/.config/other")
    words = more + 'filesystem.steering = { add = ["deploy.sh"], remove = [".github"] }\n'
    answer = s.shell(
        f"cd {s.ws}; mkdir .github .config/fish; echo x > .github/x; echo x > deploy.sh; echo x > .config/fish/config.fish",
        more=words,
        writable=[s.ws, s.path("ws/.config")],
    )
    code, lines, err = listing(s, answer.call, "commit")
    check(
        code == 1
        and os.path.exists(s.path("ws/.github/x"))
        and not os.path.exists(s.path("ws/deploy.sh"))
        and not os.path.exists(s.path("ws/.config/fish/config.fish")),
        "added and removed names, as when the call ended",
        (code, lines, err, answer.changes),
    )
    changes(s, answer.call, "discard")


def denied(s, more):
    s.write("ws/.env", "KEY\n")
    answer = s.shell(f"cd {s.ws}; echo evil > .env; echo fine > a", more=more, denied=[s.path("ws/.env")])
    code, back, err = changes(s, answer.call, "commit")
    check(
        s.read("ws/.env") == b"KEY\n" and s.read("ws/a") == b"fine\n" and code == 1,
        "a denied name stays denied",
        (code, back, err),
    )
    changes(s, answer.call, "discard")


def single(s, more):
    answer = s.shell(f"cd {s.ws}; echo tool > a; echo beside > b", more=more, writable=[s.path("ws/a")])
    check(s.read("ws/a") == b"a\n", "a file that is granted by itself waits, too", answer)
    code, back, err = changes(s, answer.call, "commit")
    check(
        code == 0 and s.read("ws/a") == b"tool\n" and not os.path.exists(s.path("ws/b")),
        "and comes back alone",
        (code, back, err),
    )


def conflict(s):
    for mode in MODES:
        here(s, mode)
        fill(s)
        process = s.begin(
            f"cd {s.ws}; echo tool > a; {PAUSE}; true", more=f'workspace = {{ mode = "{mode}" }}\n'
        )
        s.write("ws/a", "host\n")
        answer = finish(process)
        code, shown, err = changes(s, answer.call)
        check(
            rows(s, shown) == {"a": ("modified", "conflict")},
            f"{mode}: a conflict of an ordinary call is kept",
            (shown, err),
        )
        code, back, err = changes(s, answer.call, "commit", "--overwrite")
        check(
            code == 0 and s.read("ws/a") == b"tool\n" and answer.call not in str(changes(s)),
            f"{mode}: and can be decided later",
            (back, err),
        )


def numbers(s):
    """Thousands of new files: the list is there at once, and their diffs take no longer than a person waits."""
    here(s, "overlay")
    answer = s.call(
        "/usr/bin/python3",
        "-c",
        f"import os\nos.chdir({s.ws!r})\nfor i in range(8000): open(f'f{{i:04}}', 'w').write('x\\n' * (i % 2))",
        more=ASK % "overlay" + 'timeout = "50s"\n',
    )
    before = time.monotonic()
    with subprocess.Popen(
        [TOOLCAGE, "changes", answer.call], env=s.environ, cwd=s.ws, stdout=subprocess.PIPE, text=True
    ) as viewer:
        line = viewer.stdout.readline()
        first, text = time.monotonic() - before, viewer.stdout.read()
    taken = time.monotonic() - before
    check(
        line == f"call {answer.call}\n"
        and text.count("\nadded ") == 7999
        and text.count("\n+x\n") == 4000
        and text.endswith("\n8000 files changed, 4000 insertions(+)\n"),
        "every file is listed, with its diff",
        text[-500:],
    )
    check(first < 5 * PATIENCE and taken < 15 * PATIENCE, "and nobody waits for it", (first, taken))
    changes(s, answer.call, "discard")


def out_of_time(s):
    """What was not compared in time is named, and a new file's diff needs no time. A diff without its middle is none."""
    here(s, "overlay")
    for i in range(8000):
        s.write(f"ws/f{i:04}", "x\n")
    s.write("ws/cut", "y\n" * 3000000)
    answer = s.call(
        "/usr/bin/python3",
        "-c",
        f"import os\nos.chdir({s.ws!r})\nfor name in os.listdir('.') + ['new']: open(name, 'w').write('z\\n')",
        more=ASK % "overlay" + 'timeout = "50s"\n',
    )
    before = time.monotonic()
    done = s.toolcage("changes", answer.call)
    lines = done.stdout.splitlines()
    late = [
        line
        for line in lines
        if line.startswith("not compared  f") and "  (no time left; 2 bytes, sha256 " in line
    ]
    left = 8001 - lines.count("-x")
    check(
        len(late) == left - 1
        and lines.count("+z") == lines.count("-x") + 1
        and lines[-1].endswith(f", {left} not compared"),
        "all of them are named, with their digests",
        late[:3] + lines[-3:],
    )
    check(
        f"hint: toolcage changes {answer.call} show PATH compares only the files at PATH\n" in done.stderr
        and time.monotonic() - before < 30 * PATIENCE,
        "with the way to see them",
        done.stderr,
    )
    check(
        any(line.startswith("not compared  cut  (its diff is too large; 2 bytes, sha256 ") for line in lines)
        and "-y" not in lines,
        "nothing is shown in part",
        [line for line in lines if "cut" in line],
    )
    changes(s, answer.call, "discard")


def in_order(s):
    """The newest call comes first."""
    answers = [s.shell(f"echo {i} > {s.ws}/a", more=ASK % "copy") for i in range(3)]
    _, calls, err = changes(s)
    check(
        [row["call"] for row in calls["held"]][:3] == [answer.call for answer in reversed(answers)],
        "the newest call is listed first",
        (calls, err),
    )
    for answer in answers:
        changes(s, answer.call, "discard")


def mistakes(s):
    for args, words in (
        (["01ARZ3NDEKTSV4RRFFQ69G5FAV"], "there are no staged changes"),
        (["../../etc"], "there are no staged changes"),
        (["last", "dance"], "show, commit or discard"),
        (["last", "show", "--overwrite"], "commit only"),
        (["a" * 26], "there are no staged changes"),
    ):
        code, answer, err = changes(s, *args)
        check(
            code == 125 and words in err + json.dumps(answer),
            f"changes {' '.join(args)}",
            (code, answer, err),
        )


class Person:
    """Somebody at a terminal, where a command runs."""

    def __init__(self, s, argv, term="xterm"):
        self.said = b""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(s.ws)
            os.execve(argv[0], argv, s.environ | {"TERM": term})

    def hears(self, words, since=0):
        """Waits until these words were said; True then, False at the end."""
        deadline = time.monotonic() + 20 * PATIENCE
        while words not in self.said[since:] and time.monotonic() < deadline:
            try:
                piece = os.read(self.master, 4096)
            except OSError:
                piece = b""
            if not piece:
                return False
            self.said += piece
        return words in self.said[since:]

    def types(self, words):
        os.write(self.master, words.encode() + b"\n")
        return len(self.said)

    def end(self):
        self.hears(b"\0never said")
        _, status = os.waitpid(self.pid, 0)
        os.close(self.master)
        return os.waitstatus_to_exitcode(status)


def caged(s, script):
    return [
        TOOLCAGE,
        "exec",
        "--policy",
        s.policy(more=ASK % "copy"),
        "--tool",
        "t",
        "--stdin",
        "none",
        "/bin/sh",
        "-c",
        f"cd {s.ws}; {script}",
    ]


def at_a_terminal(s):
    here(s, "copy")
    for reply, comes, kept in (("y", True, False), ("d", False, False), ("", False, True)):
        fill(s)
        person = Person(s, caged(s, f"echo go on?; sleep {1.5 * PATIENCE}; echo tool > a"))
        person.hears(b"go on?")
        if reply == "":
            person.types("y")  # the tool asked something, and nobody but us reads the answer
        person.hears(b"else: later")
        person.types(reply)
        check(
            person.end() == 0 and (s.read("ws/a") == b"tool\n") == comes,
            f"asked at a terminal, {reply or 'nothing'} is heard",
            person.said,
        )
        _, calls, _ = changes(s)
        mine = [row["call"] for row in calls["held"] if row["call"].encode() in person.said]
        check(bool(mine) == kept, "and the rest is said", (person.said, calls))
        for call in mine:
            changes(s, call, "discard")


def viewed(s):
    """Before the answer, the changes themselves; and the question is a line of ours, which a tool's never looks like."""
    here(s, "copy")
    fill(s)
    person = Person(s, caged(s, "echo tool > a; printf 'toolcage: apply these changes? y: yes'"))
    person.hears(b"else: later")
    check(
        b"\x1b[1mtoolcage:\x1b[0m apply these changes?" in person.said
        and b"toolcage (said by the tool): apply these" in person.said,
        "the question is marked, a tool's as the tool's",
        person.said,
    )
    before = person.types("v")
    check(
        person.hears(b"+tool", before)
        and person.hears(b"else: later", before)
        and b"1 file changed, 1 insertion(+), 1 deletion(-)" in person.said,
        "the diff is one key away",
        person.said,
    )
    check(s.read("ws/a") == b"a\n", "and looking is no answer", s.read("ws/a"))
    with open(
        os.path.join(s.environ["HOME"], ".local/state/toolcage/viewed-changes"), encoding="utf-8"
    ) as file:
        check(
            file.read() in [row["call"] for row in changes(s)[1]["held"]],
            "but makes it the call that was viewed",
            person.said,
        )
    person.types("y")
    check(
        person.end() == 0 and s.read("ws/a") == b"tool\n",
        "the change is committed after the answer",
        person.said,
    )


def one_by_one(s):
    """For each file by itself: what is said yes to comes, what is discarded goes, the others stay."""
    here(s, "copy")
    fill(s)
    person = Person(s, caged(s, "echo tool > a; rm gone; mkdir d; echo b > d/b; echo c > d/c; echo z > z"))
    person.hears(b"else: later")
    since = person.types("f")
    for name, answer in (("a", "y"), ("d/b", "y"), ("d/c", "d"), ("gone", ""), ("z", "y")):
        check(
            person.hears(b"apply this one?", since) and name.encode() in person.said[since:],
            f"asked about {name}",
            person.said[since:],
        )
        since = person.types(answer)
    person.end()
    check(
        s.read("ws/a") == b"tool\n"
        and os.listdir(s.path("ws/d")) == ["b"]
        and s.read("ws/z") == b"z\n"
        and os.path.exists(s.path("ws/gone")),
        "changes are committed as answered",
        (tree(s.ws), person.said),
    )
    _, calls, _ = changes(s)
    mine = [row["call"] for row in calls["held"] if row["call"].encode() in person.said]
    check(
        len(mine) == 1 and set(rows(s, changes(s, mine[0])[1])) == {"gone"},
        "unanswered changes stay staged",
        (calls, person.said),
    )
    changes(s, mine[0], "discard")


def asked_of_caches(s):
    """At the terminal: a yes is one to the sources, and where only caches are staged there is none."""
    here(s, "copy")
    for script, words, reply, comes in (
        ("echo x > a.pyc; echo tool > a", b"a: with caches", "y", {"a"}),
        ("echo x > a.pyc; echo tool > a", b"a: with caches", "a", {"a", "a.pyc"}),
        ("echo x > a.pyc", b"only caches were changed; apply them?", "y", set()),
        ("echo x > a.pyc", b"only caches", "a", {"a.pyc"}),
        ("echo x > a.pyc; echo tool > a", b"f: file by file", "f", {"a"}),
    ):
        fill(s)
        subprocess.run(["rm", "-f", "a.pyc"], cwd=s.ws, check=True)
        person = Person(s, caged(s, script))
        person.hears(b"else: later")
        since = person.types(reply)
        if reply == "f":
            person.hears(b"else: later", since)
            person.types("y")
        person.end()
        came = ({"a"} if s.read("ws/a") == b"tool\n" else set()) | (
            {"a.pyc"} if os.path.exists(s.path("ws/a.pyc")) else set()
        )
        check(
            words in person.said
            and b"caches: 1 file in 1 directory, not applied; --all applies them" in person.said
            and came == comes,
            f"{script}: {reply}",
            (came, person.said),
        )
        for row in changes(s)[1]["held"]:
            if row["call"].encode() in person.said:
                changes(s, row["call"], "discard")


def documented(s):
    """The README's transcript is what a person sees."""
    readme = pathlib.Path(__file__).resolve().parents[3] / "README.md"
    command, *lines = re.search(r"^```\n\$ (toolcage exec .*?)^```", readme.read_text(), re.S | re.M)[
        1
    ].splitlines()
    s.write("ws/notes", "begun\n")
    s.write("ws/run.sh", "true\n", 0o644)
    answers = [line.rsplit("else: later ", 1)[1] for line in lines if "else: later " in line]
    person, since = Person(s, [TOOLCAGE, *shlex.split(command)[1:]]), 0
    for answer in answers:
        person.hears(b"else: later", since)
        since = person.types(answer)
    person.end()
    said = re.sub(r"\x1b\[\d*m", "", person.said.decode()).replace("\r\n", "\n").strip().splitlines()
    check(answers == ["y"] and said == lines, "the README shows what is shown", (said, lines))
    check(
        s.read("ws/notes") == b"begun\ndone\n" and os.stat(s.path("ws/run.sh")).st_mode & 0o777 == 0o755,
        "and the yes applies it",
        tree(s.ws),
    )


def told_apart(s):
    """A tool's line that begins as ours do is told as the tool's, however it gets there."""
    for script, seen in (
        ("echo toolcage: x", b"toolcage (said by the tool): x"),
        ("echo hint: x >&2", b"hint (said by the tool): x"),
        ("printf tool; sleep 0.2; printf 'cage: x\\n' >&2", b"toolcage (said by the tool): x"),
        ("printf 'no\\rtoolcage: x\\n'", b"no\r\x1b[Ktoolcage (said by the tool): x"),
        ("printf 'xoolcage: x\\rt\\n'", b"xoolcage: x\r\x1b[Kt"),
        ("printf '\\302\\255toolcage: x\\n'", b"\\u{ad}toolcage: x"),
        ("printf '\\357\\270\\217toolcage: x\\n'", b"\\u{fe0f}toolcage: x"),
        ("printf '\\342\\240\\200toolcage: x\\n'", b"toolcage (said by the tool): x"),
        ("echo a toolcage: x", b"a toolcage: x"),
        ("printf '50%%\\r\\n'", b"50%\r\r\n"),
    ):
        person = Person(s, [TOOLCAGE, "exec", "--stdin", "none", "/bin/sh", "-c", script])
        person.end()
        check(seen in person.said, script, person.said)
    done = subprocess.run(
        [TOOLCAGE, "exec", "/bin/sh", "-c", "echo toolcage: x"],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        check=False,
    )
    check(done.stdout == b"toolcage: x\n", "the tool's bytes are unchanged without a terminal", done)


def steering(s):
    """A file that steers the host is staged in every private workspace; only its own option applies it."""
    for more in (f'workspace = {{ mode = "{name}", commit = "always" }}\n' for name in ("copy", "overlay")):
        answer = s.shell(
            f"cd {s.ws}; echo evil > .envrc; mkdir .vscode; echo {{}} > .vscode/tasks.json; echo x > plain; echo x > toolcage.toml; exit 3",
            more=more,
        )
        _, waits, _ = changes(s, answer.call)
        check(
            {row["held"] for row in waits["changes"]} == {"steers the host"}
            and len(waits["changes"]) == 4
            and s.read("ws/plain") == b"x\n",
            "a file that steers the host waits, and the others are applied, however the tool ended",
            waits,
        )
        check(
            "a person decides about files that steer the host" in answer.message,
            "the model is told whose decision it is",
            answer,
        )
        for words, said in (
            (("commit",), "commit --steering PATH"),
            (("discard", "--steering"), "--steering is for commit only"),
            (("commit", "--steering", "--overwrite"), "--steering is for commit only"),
        ):
            done = s.toolcage("changes", answer.call, *words)
            check(
                done.returncode in (1, 125)
                and said in done.stderr
                and not os.path.exists(s.path("ws/.envrc")),
                f"{' '.join(words)} applies none of it",
                (done.returncode, done.stderr),
            )
        done = s.toolcage("changes", answer.call, "commit", "--steering", ".vscode")
        check(
            done.returncode == 1
            and s.read("ws/.vscode/tasks.json") == b"{}\n"
            and not os.path.exists(s.path("ws/.envrc")),
            "a path with the option applies that path",
            (done.stdout, done.stderr),
        )
        done = s.toolcage("changes", answer.call, "commit", "--steering")
        check(
            done.returncode == 1
            and s.read("ws/.envrc") == b"evil\n"
            and not os.path.exists(s.path("ws/toolcage.toml")),
            "and without a path all of it, but never a policy",
            (done.stdout, done.stderr),
        )
        changes(s, answer.call, "discard")
        shutil.rmtree(s.path("ws/.vscode"))
        os.remove(s.path("ws/.envrc"))
    words = [
        word for word in s.argv("/bin/sh", "-c", f"echo x > {s.ws}/.envrc", more=more) if word != "--json"
    ]
    done = subprocess.run(words, env=s.environ, cwd=s.ws, capture_output=True, text=True, check=False)
    call = re.search("toolcage changes ([0-9A-Z]{26}) commit --steering PATH", done.stderr)
    check(call, "the person is told how to apply it", done.stderr)
    changes(s, call[1], "discard")


def full_of_steering(s):
    """Staged steering files that nobody looked at make room for newer changes."""
    if is_root():
        return  # whose store is shared with other tests
    store = s.directory("home/.local/state/toolcage/held")
    for path in (s.path("home/.local/state/toolcage"), store):
        os.chmod(path, 0o700)
    for i in range(256):
        os.mkdir(os.path.join(store, f"01AAAAAAAAAAAAAAAAAAAAA{i:03}"), 0o700)
        if i in (7, 9):
            s.write(f"home/.local/state/toolcage/held/01AAAAAAAAAAAAAAAAAAAAA{i:03}/optional", "")
    answer = s.shell(f"cd {s.ws}; echo x > a; echo y > .envrc", more=ASK % "copy")
    left = os.listdir(store)
    check(
        answer.status == "ok"
        and answer.call in left
        and "01AAAAAAAAAAAAAAAAAAAAA007" not in left
        and "01AAAAAAAAAAAAAAAAAAAAA009" in left,
        "the oldest makes room",
        (answer, len(left)),
    )


def too_large(s, more):
    """What cannot be committed now stays staged, with the rest of the call."""
    answer = s.shell(f"echo one > {s.ws}/first; head -c 300000 /dev/zero > {s.ws}/large", more=more)
    small = subprocess.run(
        [
            "/bin/sh",
            "-c",
            'trap "" XFSZ; ulimit -f 256; exec "$@"',
            "sh",
            TOOLCAGE,
            "changes",
            answer.call,
            "commit",
        ],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    check(small.returncode != 0, "a commit that cannot write a file fails", small)
    code, _, err = changes(s, answer.call, "commit")
    check(
        code == 0
        and s.read("ws/first") == b"one\n"
        and len(s.read("ws/large")) == 300000
        and answer.call not in str(changes(s)),
        "and succeeds when it can",
        (code, err, small),
    )


def cut(s):
    """The helper is killed while it keeps changes: nothing half is listed."""
    here(s, "copy")
    _, before, _ = changes(s)
    process = s.begin(
        f"cd {s.ws}; i=0; while [ $i -lt 3000 ]; do echo $i > f$i; i=$((i+1)); done; {PAUSE}; true",
        more=ASK % "copy" + 'timeout = "40s"\n',
    )
    helper = helper_of(process.pid)
    process.stdin.close()
    time.sleep(0.05)
    end(helper, signal.SIGKILL)
    process.wait()
    _, after, _ = changes(s)
    mine = [row for row in after["held"] if row not in before["held"] and row["changes"] not in (3000,)]
    check(
        not mine and not [name for name in os.listdir(s.ws) if name.startswith("f")],
        "nothing of a call that was cut is listed",
        mine,
    )
    for row in after["held"]:
        if row not in before["held"] and row["tool"] == "t" and row["changes"] == 3000:
            changes(s, row["call"], "discard")


run(
    *(
        in_both(part)
        for part in (
            asked,
            named,
            newer,
            compared,
            as_diff,
            shown,
            alike,
            chosen,
            rights,
            cached,
            committed,
            packed,
            falsified,
            named_by_the_policy,
            moved,
            denied,
            single,
            too_large,
        )
    ),
    conflict,
    numbers,
    out_of_time,
    in_order,
    mistakes,
    at_a_terminal,
    viewed,
    one_by_one,
    asked_of_caches,
    documented,
    told_apart,
    steering,
    full_of_steering,
    cut,
)
